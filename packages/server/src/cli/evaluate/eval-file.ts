/** Files of questions with the SQL that answers them, `eval/*.yml`: text in, questions out. Pure. */
import { z } from 'zod';
import type { SourceFile } from '../../query/model-files.ts';
import { type ConfigurationIssue, readYaml } from '../../yaml-source.ts';

const questionsMax = 500;
const textCharactersMax = 65_536;
const text = z.string().regex(/\S/, 'must not be blank').max(textCharactersMax);

/**
 * As whom a question is asked, as in `sessionSettings` (service.md 4.3). Without a name the user is a new one for each question.
 * The server checks it further.
 */
export const askAsSchema = z
  .strictObject({
    externalId: text.optional(),
    internalId: text.optional(),
    groups: z.array(z.string()).optional(),
    userAttributes: z.array(z.strictObject({ name: z.string(), value: z.json() })).optional(),
    securityContext: z.record(z.string(), z.json()).optional(),
  })
  .refine(
    ({ externalId, internalId }) => externalId === undefined || internalId === undefined,
    'externalId and internalId exclude each other',
  );
export type AskAs = z.infer<typeof askAsSchema>;

const expectationsIn = (given: {
  readonly sql?: string | undefined;
  readonly certified_query?: string | undefined;
  readonly expect?: 'nothing' | undefined;
}): number => [given.sql, given.certified_query, given.expect].filter((one) => one !== undefined).length;

const fileSchema = z.strictObject({
  as: askAsSchema.optional(),
  questions: z
    .array(
      z
        .strictObject({
          name: text.max(200).optional(),
          question: text,
          sql: text.optional(),
          certified_query: text.optional(),
          expect: z.literal('nothing').optional(),
          ordered: z.boolean().default(false),
          as: askAsSchema.optional(),
        })
        .refine((given) => expectationsIn(given) > 0, 'needs one of sql, certified_query and expect')
        .refine((given) => expectationsIn(given) < 2, 'sql, certified_query and expect exclude each other'),
    )
    .min(1)
    .max(questionsMax),
});

/** A question of a file. */
export interface EvalQuestion {
  /** Where it stands: the path below the folder of the agents. */
  readonly file: string;
  /** Its own, or else the question. */
  readonly name: string;
  readonly question: string;
  readonly expected:
    | { readonly kind: 'sql'; readonly sql: string }
    | { readonly kind: 'certified'; readonly name: string }
    /** This user may see nothing that answers it. */
    | { readonly kind: 'nothing' };
  /** Whether the order of the rows counts. */
  readonly isOrdered: boolean;
  /** Its own, or else that of the file; undefined: neither says. */
  readonly as: AskAs | undefined;
}

/** The questions of one file in order; null when there are issues, which are pushed. */
export function readEvalFile(file: SourceFile, issues: ConfigurationIssue[]): readonly EvalQuestion[] | null {
  const read = readYaml(file, fileSchema, issues);
  if (read === null) return null;
  const { as: ofFile, questions } = read.value;
  return questions.map(({ name, question, sql, certified_query: certified, ordered: isOrdered, as }) => ({
    file: file.path,
    name: name ?? question,
    question,
    expected:
      sql !== undefined
        ? { kind: 'sql', sql }
        : certified !== undefined
          ? { kind: 'certified', name: certified }
          : { kind: 'nothing' },
    isOrdered,
    as: as ?? ofFile,
  }));
}
