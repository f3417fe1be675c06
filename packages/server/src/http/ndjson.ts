/** Replies that are written only as fast as the client reads: newline-delimited JSON in whole lines, and JSON in pieces. */
import type { FastifyReply } from 'fastify';
import { InlayError } from '../errors.ts';

/** How long a client may take nothing of what waits for it; then it is gone, as if it had hung up. */
const stallMsMax = 120_000;
/** How long the last lines may take to leave once the client may not read on. */
const lastLinesMs = 400;
/** Characters that are written at once at most, but for one longer line. */
const writeCharactersMax = 65_536;

/**
 * A signal that aborts when the client of `reply` goes away before the reply has ended. Its reason is an expected failure:
 * thrown on, it is nobody's defect, and nobody is there to read it.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    if (!reply.raw.writableFinished) controller.abort(new InlayError('ABORTED', 'The client has gone away'));
  };
  if (reply.raw.destroyed) abort();
  else reply.raw.once('close', abort);
  return controller.signal;
}

/** How lines or pieces are sent. */
export interface SendOptions {
  /** Turns a failure after the first line into the last line; without it the reply breaks off, and a defect is thrown. */
  readonly errorLine?: (error: unknown) => object;
  /**
   * Aborts when the client may not read on. It is for the lines to end then, with what is to be said of it; a client that does not
   * take that at once is cut off.
   */
  readonly ended?: AbortSignal;
  /** How long a client may take nothing. */
  readonly stallMs?: number;
}

/**
 * Sends each of `lines` as one line of JSON and ends the reply; a text is a line already, with its `\n`. Lines that are there at the
 * same moment are written together, always whole. Nothing is sent before the first line is there, so that a failure up to then is
 * thrown and becomes a normal HTTP error. When the client goes away, `return()` of the iterator is called at once; an async
 * generator hears it only at its next `yield`, so one that may wait long must also watch {@link disconnectSignal}. A client that
 * takes nothing for `stallMs` is gone as well. Resolves when the reply has ended or the lines have stopped.
 */
export function sendNdjson(
  reply: FastifyReply,
  lines: AsyncIterable<object | string>,
  options: SendOptions = {},
): Promise<void> {
  return send(reply, lines, 'application/x-ndjson; charset=utf-8', options);
}

/**
 * Sends the pieces of one JSON text as {@link sendNdjson} sends lines. A failure after the first piece breaks the reply off, so that
 * nobody takes it for whole.
 */
export function sendJson(
  reply: FastifyReply,
  pieces: AsyncIterable<string>,
  options: Omit<SendOptions, 'errorLine'> = {},
): Promise<void> {
  return send(reply, inParts(pieces), 'application/json; charset=utf-8', options);
}

/** The same text in pieces that are written at once, so that a slow client is seen to take them. No pair of a character is cut. */
async function* inParts(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const to = from + writeCharactersMax;
      const isCut = /[\ud800-\udbff]/.test(piece.charAt(to - 1));
      yield piece.slice(from, isCut ? to - 1 : to);
      from = isCut ? to - 1 : to;
    }
  }
}

async function send(
  reply: FastifyReply,
  lines: AsyncIterable<object | string>,
  contentType: string,
  { errorLine, ended, stallMs = stallMsMax }: SendOptions,
): Promise<void> {
  const { raw } = reply;
  const iterator = lines[Symbol.asyncIterator]();
  const writer = createWriter(raw);
  let isGone = raw.destroyed;
  const onClose = (): void => {
    isGone = true;
    // Not awaited: the loop below ends with the step that is under way.
    iterator.return?.().catch(() => {});
  };
  if (isGone) onClose();
  else raw.once('close', onClose);

  try {
    let step = await iterator.next();
    reply.hijack();
    if (!isGone) {
      raw.writeHead(200, {
        ...headersOf(reply),
        'content-type': contentType,
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
    }
    while (!isGone && step.done !== true) {
      writer.add(toLine(step.value));
      if (writer.isFull()) await drained(raw, stallMs, ended);
      step = await iterator.next();
    }
    writer.flush();
  } catch (error) {
    if (isGone) {
      reply.hijack();
      // Nobody is there to read it; but a defect of ours is for the log.
      if (!(error instanceof InlayError)) throw error;
      return;
    }
    if (!raw.headersSent) throw error;
    writer.flush();
    if (errorLine === undefined) {
      // Not ended: so that nobody takes it for all there is.
      raw.destroy();
      if (!(error instanceof InlayError)) throw error;
      return;
    }
    raw.write(toLine(errorLine(error)));
  } finally {
    raw.off('close', onClose);
  }
  raw.end();
  if (ended?.aborted === true) cutOff(raw);
}

const toLine = (line: object | string): string => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`);

/** Gathers the lines of one turn of the event loop into one write. */
function createWriter(raw: FastifyReply['raw']) {
  let waiting = '';
  let isFull = false;
  const flush = (): void => {
    if (waiting === '' || raw.destroyed) return;
    isFull = !raw.write(waiting);
    waiting = '';
  };
  return {
    add(line: string): void {
      // After everything that is ready at this moment, before anything else arrives.
      if (waiting === '') process.nextTick(flush);
      waiting += line;
      if (waiting.length >= writeCharactersMax) flush();
    },
    /** Whether to wait until the client has taken what was written. */
    isFull: (): boolean => isFull && raw.writableNeedDrain,
    flush,
  };
}

/** Closes the connection unless the client takes at once what is still on its way. */
function cutOff(raw: FastifyReply['raw']): void {
  const timer = setTimeout(() => raw.destroy(), lastLinesMs);
  raw.once('close', () => clearTimeout(timer));
}

/** Resolves when `raw` takes more, or will never, or `ended` aborts; one that is stuck for `stallMs` is closed. */
function drained(raw: FastifyReply['raw'], stallMs: number, ended: AbortSignal | undefined): Promise<void> {
  if (ended?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const stalled = setTimeout(() => raw.destroy(), stallMs);
    const done = (): void => {
      clearTimeout(stalled);
      raw.off('drain', done);
      raw.off('close', done);
      ended?.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    raw.once('close', done);
    ended?.addEventListener('abort', done, { once: true });
    if (raw.destroyed) done();
  });
}

/** The headers set on the reply so far, for a reply that Fastify no longer writes. */
function headersOf(reply: FastifyReply): Record<string, string | number | string[]> {
  const headers: Record<string, string | number | string[]> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) headers[name] = value;
  return headers;
}
