/** What is wrong in model files: gathered with file, line and column, for the whole model at once. */
import type { LineCounter } from 'yaml';

/** Something wrong in a model file, or worth knowing. Line and column count from 1. */
export interface ModelIssue {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Keys and indexes that lead from one value of a file to one inside it. */
export type Path = readonly (string | number)[];

/** Where a value stands in its file: offsets into the text, and those of the values inside. */
export interface Place {
  readonly at: number;
  readonly inside: ReadonlyMap<string | number, { readonly keyAt: number; readonly place: Place }> | null;
}

/**
 * Says what is wrong at a path, counted from the value that the reporter stands for. The nearest value that is there is named
 * as the place; with `key` it is the key instead.
 */
export interface Reporter {
  error(path: Path, message: string, part?: 'key'): void;
  warn(path: Path, message: string, part?: 'key'): void;
  /** The reporter for a value inside. */
  under(...prefix: Path): Reporter;
  /** The reporter for the same value where another cube or view takes it over: what was said there is not said again. */
  inherited(): Reporter;
}

/** More issues than this are counted, not told. */
const issuesMax = 1000;

/** Gathers the issues and warnings of all files of a model. */
export interface Issues {
  readonly count: () => number;
  /** Whether anything was reported for the file. */
  readonly isBroken: (file: string) => boolean;
  /** Adds an issue at an offset into a file. */
  add(file: string, lines: LineCounter, offset: number, message: string): void;
  /** The reporter for a file's whole value. */
  reporter(file: string, lines: LineCounter, place: Place): Reporter;
  /** Everything told so far in the order of the files and of their lines. */
  sorted(files: readonly string[]): {
    readonly issues: readonly ModelIssue[];
    readonly warnings: readonly ModelIssue[];
  };
}

/** Nothing is wrong yet. */
export function createIssues(): Issues {
  const told = { issues: [] as ModelIssue[], warnings: [] as ModelIssue[] };
  const seen = new Set<string>();
  const broken = new Set<string>();
  let untold = 0;

  const put = (
    list: 'issues' | 'warnings',
    file: string,
    lines: LineCounter,
    offset: number,
    message: string,
    isInherited = false,
  ): void => {
    const found = lines.linePos(offset);
    // A text that was never looked at has no lines.
    const { line, col } = found.line === 0 ? { line: 1, col: offset + 1 } : found;
    const place = `${list} ${line}:${col} ${file}`;
    if (list === 'issues') broken.add(file);
    if (seen.has(isInherited ? place : `${place} ${message}`)) return;
    seen.add(place).add(`${place} ${message}`);
    if (told[list].length < issuesMax) told[list].push({ file, line, column: col, message });
    else if (list === 'issues') untold += 1;
  };

  const reporter = (file: string, lines: LineCounter, place: Place, isInherited: boolean): Reporter => {
    const say = (list: 'issues' | 'warnings', path: Path, message: string, part?: 'key'): void => {
      let at = place.at;
      let here: Place | undefined = place;
      for (const [index, key] of path.entries()) {
        const found: { readonly keyAt: number; readonly place: Place } | undefined = here?.inside?.get(key);
        if (found === undefined) break;
        at = part === 'key' && index === path.length - 1 ? found.keyAt : found.place.at;
        here = found.place;
      }
      put(list, file, lines, at, message, isInherited);
    };
    return {
      error: (path, message, part) => say('issues', path, message, part),
      warn: (path, message, part) => say('warnings', path, message, part),
      under(...prefix) {
        let inner = place;
        for (const key of prefix) inner = inner.inside?.get(key)?.place ?? { at: inner.at, inside: null };
        return reporter(file, lines, inner, isInherited);
      },
      inherited: () => reporter(file, lines, place, true),
    };
  };

  return {
    count: () => told.issues.length,
    isBroken: (file) => broken.has(file),
    add: (file, lines, offset, message) => put('issues', file, lines, offset, message),
    reporter: (file, lines, place) => reporter(file, lines, place, false),
    sorted(files) {
      const order = new Map(files.map((file, index) => [file, index]));
      const compare = (one: ModelIssue, other: ModelIssue): number =>
        (order.get(one.file) ?? 0) - (order.get(other.file) ?? 0) || one.line - other.line || one.column - other.column;
      const issues = told.issues.toSorted(compare);
      const [last] = issues.slice(-1);
      if (untold > 0 && last !== undefined) issues.push({ ...last, message: `and ${untold} more issues` });
      return { issues, warnings: told.warnings.toSorted(compare) };
    },
  };
}
