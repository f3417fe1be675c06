/** PostgreSQL killed as a power cut would: all its processes at once, by SIGKILL. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestPostgres } from '../../postgres.ts';

const deadlineMs = 30_000;

/** Kills the postmaster and its children, and waits until none is left. Linux only: it reads /proc. */
export async function killAll(postgres: TestPostgres): Promise<void> {
  const postmaster = Number((await readFile(join(postgres.dataFolder, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  const children = await childrenOf(postmaster);
  if (children.length === 0) throw new Error('PostgreSQL has no children: this is not its process');
  await postgres.halt('SIGKILL');
  for (const pid of children) kill(pid);
  const deadline = Date.now() + deadlineMs;
  for (const pid of children) {
    while (await isAlive(pid)) {
      if (Date.now() > deadline) throw new Error(`a process of PostgreSQL does not end: ${pid}`);
      await pause(5);
    }
  }
}

/** The second and fourth field of /proc/…/stat, after the name in brackets: the state and the parent. */
async function statOf(pid: string): Promise<{ readonly state: string; readonly parent: number } | null> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

async function childrenOf(parent: number): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })));
  return all.filter(({ stat }) => stat?.parent === parent).map(({ pid }) => pid);
}

function kill(pid: string): void {
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch {
    // It noticed by itself that its postmaster is gone.
  }
}

async function isAlive(pid: string): Promise<boolean> {
  const stat = await statOf(pid);
  // One that nobody has waited for holds nothing any more.
  return stat !== null && stat.state !== 'Z' && stat.state !== 'X';
}
