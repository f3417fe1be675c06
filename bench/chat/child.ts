/** A process of its own, and what parent and child say to each other. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

type Message = Readonly<Record<string, unknown>>;

/** What a process has used so far. */
export interface Use {
  readonly cpuMicroseconds: number;
  readonly residentBytes: number;
}

/** A child: it answers each message with one, in order. Disposing ends it. */
export interface Child extends AsyncDisposable {
  /** What it said when it was ready. */
  readonly ready: Message;
  ask(message: object): Promise<Message>;
  use(): Promise<Use>;
}

/**
 * Starts a program and waits until it is ready. `stderr` is shown, `stdout` is not.
 * @param options.flags of Node, beside those of this process
 */
export async function startChild(
  file: string,
  args: readonly string[] = [],
  { cwd, flags = [] }: { readonly cwd?: string; readonly flags?: readonly string[] } = {},
): Promise<Child> {
  const child = fork(file, [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [...process.execArgv, ...flags],
    ...(cwd === undefined ? {} : { cwd }),
  });
  /** Those who wait for a message, in order; one at a time but for the first. */
  const waiting: PromiseWithResolvers<Message>[] = [];
  child.on('message', (message: Message) => {
    const next = waiting.shift();
    if (typeof message['failure'] === 'string') next?.reject(new Error(message['failure']));
    else next?.resolve(message);
  });
  child.once('exit', (code) => {
    for (const next of waiting.splice(0)) next.reject(new Error(`${file} ended with ${code}`));
  });
  const next = (): Promise<Message> => {
    const promised = Promise.withResolvers<Message>();
    waiting.push(promised);
    return promised.promise;
  };
  let asked: Promise<unknown> = Promise.resolve();
  const ask = (message: object) => {
    const reply = asked.then(() => {
      const answered = next();
      child.send(message);
      return answered;
    });
    asked = reply.catch(() => undefined);
    return reply;
  };
  return {
    ready: await next(),
    ask,
    async use() {
      const { cpuMicroseconds, residentBytes } = await ask({ kind: 'use' });
      return { cpuMicroseconds: Number(cpuMicroseconds), residentBytes: Number(residentBytes) };
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}

/** Closing the channel tells it to end; one that does not is ended. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const force = setTimeout(() => child.kill('SIGKILL'), 10_000);
  child.disconnect();
  await exited;
  clearTimeout(force);
}

/** The child's side: says that it is ready, answers messages, and ends when the parent is gone. */
export function serveParent(
  ready: object,
  answer: (message: Message) => Promise<object>,
  close: () => Promise<unknown>,
): void {
  const use = (): Use => {
    const { user, system } = process.cpuUsage();
    return { cpuMicroseconds: user + system, residentBytes: process.memoryUsage.rss() };
  };
  process.on('message', async (message: Message) => {
    const reply =
      message['kind'] === 'use' ? use() : await answer(message).catch((error) => ({ failure: String(error) }));
    // The parent may be gone by now.
    process.send?.(reply, undefined, undefined, () => undefined);
  });
  process.once('disconnect', () => void close().finally(() => process.exit(0)));
  process.send?.(ready);
}
