/** What a provider streams, as text that a thread and the store can hold. Pure. */

/** Text that is well-formed and without NUL. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

/**
 * The same for text that comes in pieces: half a character at the end of one waits for its other half in the next.
 * `end` gives what still waits.
 */
export function createStorableText(): { write(piece: string): string; end(): string } {
  let half = '';
  return {
    write(piece) {
      const text = half + piece;
      const last = text.charCodeAt(text.length - 1);
      half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
      return storable(half === '' ? text : text.slice(0, -1));
    },
    end() {
      const rest = half;
      half = '';
      return storable(rest);
    },
  };
}
