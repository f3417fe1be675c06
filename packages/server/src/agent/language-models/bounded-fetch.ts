/** How requests leave for a provider: to no other address than the operator's, and with an end to what comes back. */
import { InlayError } from '../../errors.ts';

/** Bytes of an answer, far above what any turn writes, and of an answer that says what is wrong. */
const answerBytesMax = 32 * 1_048_576;
const errorBytesMax = 65_536;

/**
 * `fetch` that follows no redirect (the key in a header would go along), and fails once an answer passes 32 MiB, or one that
 * is an error 64 KiB.
 */
export async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'error' });
  if (response.body === null) return response;
  let left = response.ok ? answerBytesMax : errorBytesMax;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        left -= chunk.byteLength;
        if (left < 0) controller.error(new InlayError('LANGUAGE_MODEL_FAILED', 'the answer is larger than allowed'));
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(bounded, { status: response.status, statusText: response.statusText, headers: response.headers });
}
