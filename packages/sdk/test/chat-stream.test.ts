import type { Frame } from '@inlay/contract/chat.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFrames } from '../src/chat-stream.ts';

const text = fc.string({ unit: 'binary' }).map((any) => any.toWellFormed());
const frame = fc.record(
  {
    id: text,
    role: fc.constantFrom('user' as const, 'assistant' as const),
    content: text,
    sort: fc.nat(),
    graphPath: fc.array(text, { maxLength: 2 }),
    isDelta: fc.boolean(),
    isInProcess: fc.boolean(),
    toolCall: fc.record({ name: text, input: text, result: text }, { requiredKeys: ['name', 'input'] }),
  },
  { requiredKeys: ['id', 'role', 'content', 'sort'] },
) satisfies fc.Arbitrary<Frame>;

/** Cuts bytes at these places, wherever they fall. */
async function* cut(bytes: Uint8Array, places: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const to of [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)) {
    yield bytes.slice(from, to);
    from = to;
  }
}

const bytesOf = (body: string): Uint8Array => new TextEncoder().encode(body);
const read = (body: string): Promise<Frame[]> => Array.fromAsync(readFrames(cut(bytesOf(body), [])));
const line = '{"id":"a","role":"user","content":"ü","sort":1}';
const parsed = { id: 'a', role: 'user', content: 'ü', sort: 1 };

describe('a chat stream', () => {
  test('parses to the same frames wherever its bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame), fc.array(fc.nat(), { maxLength: 30 }), async (frames, places) => {
        const body = bytesOf(frames.map((one) => `${JSON.stringify(one)}\n`).join(''));
        expect(await Array.fromAsync(readFrames(cut(body, places)))).toEqual(frames);
        const stream = ReadableStream.from<Uint8Array>(cut(body, places));
        expect(await Array.fromAsync(readFrames(stream))).toEqual(frames);
      }),
    );
  });

  test('may be cut at every byte', async () => {
    const body = bytesOf(`${line}\n${line.replace('ü', '🛒')}\n`);
    const places = Array.from(body, (_, index) => index);
    const frames = await Array.fromAsync(readFrames(cut(body, places)));
    expect(frames.map(({ content }) => content)).toEqual(['ü', '🛒']);
  });

  test('may have blank lines, carriage returns and members that are not known', async () => {
    expect(await read(`\n${line}\r\n \n${line.replace('}', ',"new":1}')}\n`)).toEqual([parsed, parsed]);
    expect(await read('')).toEqual([]);
  });

  test.each([
    ['the end inside a line', `${line}\n{"id"`, 'STREAM_INCOMPLETE'],
    ['a last line without its end', `${line}\n${line}`, 'STREAM_INCOMPLETE'],
    ['a line that is not JSON', 'no\n', 'STREAM_INVALID'],
    ['a line that is not a frame', '{"id":1}\n', 'STREAM_INVALID'],
  ])('fails on %s', async (_what, body, code) => {
    await expect(read(body)).rejects.toMatchObject({ name: 'InlayClientError', code });
  });

  test('fails on bytes that are not UTF-8, or end inside a character', async () => {
    const bad = Array.fromAsync(readFrames(cut(Uint8Array.of(0xff, 0x0a), [])));
    await expect(bad).rejects.toMatchObject({ code: 'STREAM_INVALID' });
    const half = Array.fromAsync(readFrames(cut(bytesOf('🛒').slice(0, 2), [])));
    await expect(half).rejects.toMatchObject({ code: 'STREAM_INCOMPLETE' });
  });

  test('fails on a line without end, before it fills the memory', async () => {
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      const chunk = bytesOf('x'.repeat(1024 * 1024));
      while (true) {
        given += 1;
        yield chunk;
      }
    }
    await expect(Array.fromAsync(readFrames(endless()))).rejects.toMatchObject({ code: 'STREAM_INVALID' });
    expect(given).toBe(17);
  });

  test('is cancelled when the reader stops', async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytesOf(`${line}\n`)),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const _frame of readFrames(stream)) break;
    expect(isCancelled).toBe(true);
  });
});
