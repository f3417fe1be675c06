/**
 * The lines of a run between who writes them and who reads them. The log in the store (`run_log`) is the truth: nothing reaches a
 * reader before it is durable there.
 */

/** A line of a run that is durable. */
export interface LogLine {
  /** Its place in the run's log, from 1 up. Steps of the agent take places too: the lines alone may have gaps. */
  readonly seq: number;
  /** The sort number of its message. */
  readonly sort: number;
  /** A whole line of NDJSON, with its `\n`. */
  readonly text: string;
  /** Of a frame that is never history. */
  readonly isControl: boolean;
  /** The usage: the run has ended, and nothing follows. */
  readonly isLast: boolean;
}

/** Where lines go that have become durable. No function may throw. */
export interface LogReaders {
  /** From now on this node writes the run: the lines with a higher `seq` than this come by `push`, all of them. */
  begin(runId: string, seq: number): void;
  /** The next lines of a run that has begun here, in order. */
  push(runId: string, lines: readonly LogLine[]): void;
  /**
   * This node writes the run no more: its last line is out, or another node carries it on, or it is gone from the store. In the
   * latter two cases no last line was pushed, and what follows is to be found in the store.
   */
  end(runId: string): void;
}
