/** Reads the reply of the chat endpoint. Browser-safe. */
import { type Frame, frameSchema } from '@inlay/contract/chat.ts';
import { InlayClientError } from './errors.ts';
import { type ByteStream, readLines } from './ndjson.ts';

/**
 * The frames of a chat stream, as they come. Members that this version does not know are dropped.
 * @throws InlayClientError as {@link readLines}, and STREAM_INVALID when a line is not a frame.
 */
export async function* readFrames(stream: ByteStream): AsyncGenerator<Frame> {
  for await (const line of readLines(stream)) {
    const parsed = frameSchema.safeParse(line);
    if (!parsed.success) {
      throw new InlayClientError('A line of the stream is not a frame.', {
        code: 'STREAM_INVALID',
        cause: parsed.error,
      });
    }
    yield parsed.data;
  }
}
