/** The log: one JSON object per line on standard output, without secrets, whatever is passed to it. */
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino';

/** What logs. Errors go under the key `err`, requests under `req`. */
export type Log = Logger;

const hidden = '[hidden]';

/** Keys whose values are never written, at the depths at which requests and errors carry them. */
const secretKeys = ['authorization', 'sessionId', 'token', 'apiKey', 'secret', 'password', 'connectionString'];

/**
 * The net below the keys: secrets inside texts, such as URLs and messages of libraries. The patterns match no quote and no
 * backslash, so a line stays JSON.
 */
const secretTexts: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(api-key|bearer|embed-token|basic)(\s+|%20)[^\s"\\,]+/gi, `$1 ${hidden}`],
  [/([?&](?:session|sessionId|token)=)[^&#\s"\\]*/gi, `$1${hidden}`],
  // A secret of store/secret.ts: a short prefix and 256 bits as base64url.
  [/\b([a-z]{2,8}[-_])[\w-]{43}(?![\w-])/g, `$1${hidden}`],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, hidden],
  [/\b(postgres(?:ql)?:\/\/[^:@/\s"\\]*):[^@\s"\\]*@/gi, `$1:${hidden}@`],
];

/**
 * Opens the log. Lines hold `level` by name and `time` as ISO 8601.
 * @param destination where lines go; standard output when left out.
 */
export function openLog(destination?: DestinationStream): Log {
  return pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: {
        paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`, `*.*.*.${key}`]),
        censor: hidden,
      },
      hooks: { streamWrite: hideSecrets },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
}

/**
 * What of an error is written: what it is and where, not what it was about. Database drivers hang the values of the statement
 * (`params`), or the row that failed (`detail`), on their errors: users' texts, attribute values, hashes.
 */
const errorKeys = ['type', 'message', 'stack', 'code', 'severity', 'schema', 'table', 'column', 'constraint'];

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const all = Object.entries(stdSerializers.err(error)).filter(
    ([key, value]) => errorKeys.includes(key) && value !== undefined,
  );
  const shown = Object.fromEntries(all);
  if (!doesQuoteValues(error)) return shown;
  // The texts of causes stand in the message and the stack as well; of the stack only the places are left.
  const places = error.stack?.match(/^ {4}at .*$/gm) ?? [];
  return { ...shown, message: String(shown['message']).replace(/["'`].*$/s, '…'), stack: places.join('\n') };
}

/**
 * Whether the text of an error, or of what caused it, quotes the value that it is about: what is wrong with a value (PostgreSQL's
 * class 22), and JSON that does not parse.
 */
function doesQuoteValues(error: Error): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at ? String(at.code) : '';
    if (at instanceof SyntaxError || /^22[0-9A-Z]{3}$/.test(code)) return true;
  }
  return false;
}

function hideSecrets(line: string): string {
  return secretTexts.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}
