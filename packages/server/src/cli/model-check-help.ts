/** What the command line says of `model check`. */

/** The summary of the command, for the lists of commands. */
export const modelCheckSummary = 'Check a data model, and name what no policy protects, without a server';

/** What `model check --help` prints. */
export const modelCheckHelp = `Usage: npm run inlay -- model check [FOLDER] [flags]

${modelCheckSummary}. The folder is that of the model's *.yml files, model without it.

Flags:
  --agents FOLDER  The folder of the agents' files, where it lies in that of the model: it is passed over.
  --strict         Warnings count as errors.
  --json           Print {files, errors, warnings} as JSON.

Each line is file:line:column: message. The exit code is 0 when the model loads, else 1.
`;
