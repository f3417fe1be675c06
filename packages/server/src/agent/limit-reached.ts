/** A cap on runs that a run has met. */

/** Ends a run with an answer that says so: not a failure. `why` completes the sentence "I stop here: …". */
export class LimitReached extends Error {
  /** The whole sentence, for the user. */
  readonly sentence: string;

  constructor(why: string) {
    super(why);
    this.name = 'LimitReached';
    this.sentence = `I stop here: ${why}.`;
  }
}
