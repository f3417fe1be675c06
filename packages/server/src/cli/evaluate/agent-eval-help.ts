/** What the command line says of `agent eval`. */

/** The summary of the command, for the lists of commands. */
export const agentEvalSummary = 'Ask an agent the questions of eval/*.yml, and grade its answers';

/** What `agent eval --help` prints. */
export const agentEvalHelp = `Usage: npm run inlay -- agent eval [flags]

${agentEvalSummary}: by whether the query of an answer gives the rows of the expected one.

Flags:
  --dir FOLDER         The folder of the agents' files, with eval/*.yml in it. Without it: agents.
  --agent ID|NAME      The agent to ask. May be left out when the account has only one.
  --filter TEXT        Only questions that have this text in their file, name or words.
  --as JSON            As whom to ask where a question does not say: {"groups":["merchant"], …}, like sessionSettings.
  --branch NAME        Ask on this branch of the data model.
  --concurrency COUNT  Questions at a time, 1 to 20. Without it: 4.
  --timeout SECONDS    How long one answer may take. Without it: 900.
  --strict             Answers that a person has to review count as failed.
  --json               Print JSON.

The exit code is 0 when no answer is wrong and nothing went wrong. It calls the chat and the data API with an admin key.
`;
