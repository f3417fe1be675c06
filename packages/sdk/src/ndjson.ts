/** Newline-delimited JSON, read from bytes that may be cut anywhere. Browser-safe. */
import { InlayClientError } from './errors.ts';

/** The longest line in UTF-16 code units: 16 Mi. */
const lineCharactersMax = 16 * 1024 * 1024;

/** A stream of bytes, as `fetch` or Node gives it. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * The JSON value of each line. Blank lines are skipped. Ending the reading early cancels the stream.
 * @throws InlayClientError STREAM_INVALID (a line is not JSON, not UTF-8, or longer than 16 Mi characters), STREAM_INCOMPLETE
 * when the bytes end inside a line; and what the stream throws.
 */
export async function* readLines(stream: ByteStream): AsyncGenerator<unknown> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // The pieces of the line that is not whole yet: joined once, so that a long line costs no more than its length.
  let pieces: string[] = [];
  let length = 0;
  const take = (text: string): void => {
    length += text.length;
    if (length > lineCharactersMax) throw invalid('A line of the stream is too long.');
    pieces.push(text);
  };
  for await (const bytes of iterate(stream)) {
    const [first = '', ...rest] = decode(decoder, bytes).split('\n');
    take(first);
    for (const piece of rest) {
      const line = pieces.join('');
      pieces = [];
      length = 0;
      take(piece);
      if (line.trim() !== '') yield parse(line);
    }
  }
  take(decode(decoder));
  if (pieces.join('').trim() !== '') {
    throw new InlayClientError('The stream ended inside a line.', { code: 'STREAM_INCOMPLETE' });
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    // Bytes that end inside a character are an incomplete stream, not a wrong one.
    if (bytes === undefined)
      throw new InlayClientError('The stream ended inside a line.', { code: 'STREAM_INCOMPLETE', cause });
    throw invalid('The stream is not UTF-8.', cause);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw invalid('A line of the stream is not JSON.', cause);
  }
}

function invalid(message: string, cause?: unknown): InlayClientError {
  return new InlayClientError(message, { code: 'STREAM_INVALID', cause });
}

/** Not every browser can iterate a ReadableStream; a reader works everywhere. */
async function* iterate(stream: ByteStream): AsyncGenerator<Uint8Array> {
  if (!('getReader' in stream)) return yield* stream;
  const reader = stream.getReader();
  let isDone = false;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) {
        isDone = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}
