/** `npm run inlay -- …`: the management API at the command line, and what an operator does without a running server. */
import { listOperations } from '@inlay/contract/admin/operations.ts';
import { askAsHelp, askAsSummaries } from './cli/ask-as-help.ts';
import { readClientConfig } from './cli/client-config.ts';
import { agentEvalHelp, agentEvalSummary } from './cli/evaluate/agent-eval-help.ts';
import { type CommandSummary, commandsHelp, operationHelp, usageOf } from './cli/help.ts';
import { modelCheckHelp, modelCheckSummary } from './cli/model-check-help.ts';
import { runOperation } from './cli/run-operation.ts';
import { ConfigError, failureLines, readConfig } from './config.ts';

const settings = `A command with --help tells its flags. The commands call the server at INLAY_URL (http://127.0.0.1:4000) with the admin
key INLAY_API_KEY or, without it, the one in the file api-key of the data folder.

keys create --direct, apply, model explain and model query work on the store itself, with the settings of the server: DATABASE_URL, INLAY_DATA_DIR and
the others. With the embedded store, stop the server first.
`;

const directHelp = `
With --direct it works on the store itself, which is how an account gets its first key:

Usage: npm run inlay -- keys create --direct [--account NAME] [--role admin|member]
      Prints the key alone. The account may be left out when there is only one; the role is admin.
`;

const applyHelp = `Usage: npm run inlay -- apply -f FILE [--dry-run]

Adds and updates what the installation file declares (see examples/storefront/inlay.yml), and prints what it changed. Deletes
nothing. With --dry-run it prints what it would change, and writes nothing. It works on the store itself, with the settings of
the server; with the embedded store, stop the server first.
`;

const operations = listOperations();

const commands: readonly CommandSummary[] = [
  ...operations.map((operation) => ({ command: usageOf(operation), summary: operation.summary })),
  { command: 'agent eval', summary: agentEvalSummary },
  { command: 'keys create --direct', summary: 'Make the first API key of an account, without a server' },
  { command: 'model check', summary: modelCheckSummary },
  ...askAsSummaries,
  { command: 'apply -f FILE', summary: 'Add and update what an installation file declares, without a server' },
];

const print = {
  out: (text: string) => void process.stdout.write(`${text}\n`),
  say: (text: string) => void process.stderr.write(`${text}\n`),
};

/** Only what works on the store loads the store. */
const storeCommands = () => import('./cli/store-commands.ts');

/** The operation whose words the arguments begin with, the longest first. */
function findOperation(args: readonly string[]) {
  const words = (command: string): readonly string[] => command.split(' ');
  return operations
    .filter(({ command }) => words(command).every((word, index) => args[index] === word))
    .sort((one, other) => words(other.command).length - words(one.command).length)[0];
}

async function run(args: readonly string[]): Promise<void> {
  if (args[0] === 'help') return run([...args.slice(1), '--help']);
  const wantsHelp = args.length === 0 || args.some((text) => text === '--help' || text === '-h');
  if (args[0] === 'apply') {
    if (wantsHelp) return print.out(applyHelp.trimEnd());
    return (await storeCommands()).applyFile(readConfig(process.env), args.slice(1));
  }
  if (args[0] === 'agent' && args[1] === 'eval') {
    if (wantsHelp) return print.out(agentEvalHelp.trimEnd());
    const { runAgentEval } = await import('./cli/evaluate/agent-eval.ts');
    const isWell = await runAgentEval(await readClientConfig(process.env), args.slice(2), print);
    if (!isWell) process.exitCode = 1;
    return;
  }
  if (args[0] === 'model' && args[1] === 'check') {
    if (wantsHelp) return print.out(modelCheckHelp.trimEnd());
    const { runModelCheck } = await import('./cli/model-check.ts');
    if (!(await runModelCheck(args.slice(2), print))) process.exitCode = 1;
    return;
  }
  if (args[0] === 'model' && (args[1] === 'explain' || args[1] === 'query')) {
    if (wantsHelp) return print.out(askAsHelp.trimEnd());
    const { explainAs, queryAs } = await import('./cli/ask-as.ts');
    return (args[1] === 'explain' ? explainAs : queryAs)(readConfig(process.env), args.slice(2), print);
  }
  const operation = findOperation(args);
  if (operation === undefined) return helpOn(args, wantsHelp);
  const rest = args.slice(operation.command.split(' ').length);
  const isKeyCreation = operation.command === 'keys create';
  if (wantsHelp) return print.out((operationHelp(operation) + (isKeyCreation ? directHelp : '')).trimEnd());
  if (isKeyCreation && rest.some((text) => /^--account(=|$)/.test(text)) && !rest.includes('--direct')) {
    throw new ConfigError([
      'A key makes keys of its own account. On the store itself: keys create --direct --account NAME',
    ]);
  }
  if (isKeyCreation && rest.includes('--direct')) {
    return (await storeCommands()).createKeyDirectly(readConfig(process.env), rest);
  }
  await runOperation(await readClientConfig(process.env), operation, rest, print);
}

/** The commands that begin with the words given. @throws ConfigError when there are none, or no help was asked for. */
function helpOn(args: readonly string[], wantsHelp: boolean): void {
  const words = args.filter((text) => !text.startsWith('-')).join(' ');
  const below = commands.filter(({ command }) => words === '' || `${command} `.startsWith(`${words} `));
  if (below.length === 0) throw new ConfigError([`There is no command ${words} (npm run inlay -- --help)`]);
  if (!wantsHelp && words === '') throw new ConfigError([`There is no command ${args[0]} (npm run inlay -- --help)`]);
  if (!wantsHelp) {
    const names = below.map(({ command }) => `  ${command}`);
    throw new ConfigError([`${words} needs one more word:`, ...names]);
  }
  print.out(commandsHelp(below, settings).trimEnd());
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  for (const line of failureLines(error)) process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
