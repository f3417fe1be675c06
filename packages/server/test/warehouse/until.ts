import { setTimeout as pause } from 'node:timers/promises';

/** Resolves once the condition holds. @throws Error when it does not within 20 s */
export async function until(condition: () => Promise<boolean>, everyMs = 20): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('it did not come to be');
    await pause(everyMs);
  }
}
