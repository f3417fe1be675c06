/** The help of the command line, at every level, made from the operations. Pure. */
import type { Operation } from '@inlay/contract/operation.ts';
import { isListOperation, parametersOf } from './arguments.ts';
import { type Flag, flagsOf } from './flags.ts';

/** A command with its summary. */
export interface CommandSummary {
  readonly command: string;
  readonly summary: string;
}

/** How an operation is called: `groups get <id>`. */
export function usageOf(operation: Pick<Operation, 'command' | 'path'>): string {
  return [operation.command, ...parametersOf(operation).map((name) => `<${name}>`)].join(' ');
}

/** The commands that begin with `words`; all of them without any. @param more what stands below them. */
export function commandsHelp(commands: readonly CommandSummary[], more: string): string {
  const width = Math.max(...commands.map(({ command }) => command.length));
  const lines = commands.map(({ command, summary }) => `  ${command.padEnd(width)}  ${summary}`);
  return `Usage: npm run inlay -- <command> [flags]\n\nCommands:\n${lines.join('\n')}\n\n${more}`;
}

/** One command: what it does, its flags, and the flags of all commands. */
export function operationHelp(operation: Operation): string {
  const flags: (readonly [string, string])[] = flagsOf(operation).map((flag) => [shapeOf(flag), tellOf(flag)]);
  if (operation.body !== undefined) {
    flags.push(['--body FILE', 'The body as JSON; - for standard input. Flags change fields of it.']);
  }
  if (isListOperation(operation)) flags.push(['--all', 'Every page, one after the other.']);
  flags.push(['--json', 'Print JSON.']);
  const width = Math.max(...flags.map(([name]) => name.length));
  const lines = flags.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd());
  return [
    `Usage: npm run inlay -- ${usageOf(operation)} [flags]`,
    '',
    `${operation.summary}.`,
    '',
    'Flags:',
    ...lines,
    '',
    `It calls ${operation.method} ${operation.path}.`,
    '',
  ].join('\n');
}

function shapeOf({ name, kind, values }: Flag): string {
  if (values.length > 0 && kind !== 'list') return `--${name} ${values.length > 4 ? 'NAME' : values.join('|')}`;
  const shapes: Readonly<Record<Flag['kind'], string>> = {
    text: 'TEXT',
    number: 'NUMBER',
    boolean: '[true|false]',
    list: 'ITEM …',
    json: 'JSON',
  };
  return `--${name} ${shapes[kind]}`;
}

function tellOf({ description, values, preset, isRequired, isNullable }: Flag): string {
  const presetText = typeof preset === 'string' ? preset : JSON.stringify(preset);
  return [
    isRequired ? 'Required.' : '',
    description,
    values.length > 4 ? `One of ${values.join(', ')}.` : '',
    preset === undefined || (typeof preset === 'object' && preset !== null) ? '' : `Without it: ${presetText}.`,
    isNullable ? 'null clears it.' : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}
