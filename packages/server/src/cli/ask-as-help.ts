/** The help of the commands that ask as a user. Apart, so that other commands load none of it. */

/** The two commands in the list of all. */
export const askAsSummaries = [
  {
    command: 'model explain QUERY --as ID',
    summary: 'Tell how a query is answered for a user, without a server: policies, plan, SQL',
  },
  { command: 'model query QUERY --as ID', summary: 'Run a query as a user, without a server' },
] as const;

/** The help of both. */
export const askAsHelp = `Usage: npm run inlay -- model explain QUERY --as ID [flags]
       npm run inlay -- model query QUERY --as ID [flags]

explain tells which access policies the query meets and what each of their entries comes to for the user, the plan in words, and the
SQL with its parameters. query runs it and prints its rows. QUERY is semantic SQL, or a JSON query as /load takes it. Both ask as the user, with the rights that the user has now.

Flags:
  --as ID                  The externalId of the user.
  --as-internal NAME       Instead: the user name or email address of an internal user.
  --embed-tenant NAME      Ask in the scope of this embed tenant, as a creator-mode session does. Without it: tenant-wide.
  --security-context JSON  The security context of the session. Without it: {}.
  --deployment ID          Without it: the only deployment.
  --branch NAME            A branch of the data model. Without it: the default branch.
  --account NAME           Without it: the only account.
  --timezone ZONE          In which days begin and end, as the setting of a session says it. Without it: UTC.
  --rows COUNT             query: rows that are printed at most, 1 to 100000. Without it: 100.
  --json                   Print JSON.

They work on the store itself, with the settings of the server; with the embedded store, stop the server first.
`;
