/** What a start prints for people: where the server is, and commands to paste that use it. */
import type { Demo } from './prepare-demo.ts';

/**
 * The lines after a start. No secret is in them: the commands read the key where it lies.
 * @param start.demo null without the demo.
 * @param start.hasApiKey whether anybody could use the API yet.
 */
export function welcomeText(start: {
  readonly publicUrl: string;
  readonly demo: Demo | null;
  readonly hasApiKey: boolean;
}): string {
  const { publicUrl, demo, hasApiKey } = start;
  const lines = ['', `Inlay listens on ${publicUrl}`];
  if (demo === null) {
    if (!hasApiKey)
      lines.push(
        'There is no API key yet. Apply an installation file, then make a key (with the embedded store, stop the server first):',
        '  npm run inlay -- apply -f FILE',
        '  npm run inlay -- keys create --direct --account NAME',
      );
    return `${lines.join('\n')}\n\n`;
  }

  lines.push(demo.keyFile === null ? 'API key:  as you set INLAY_API_KEY' : `API key:  in the file ${demo.keyFile}`);
  const key = demo.keyFile === null ? '$INLAY_API_KEY' : `$(cat ${quoteInDoubleQuotes(demo.keyFile)})`;
  const chatUrl = `${publicUrl}/api/v1/public/demo/agents/1/chat/stream-chat-state`;
  const user = {
    externalId: 'merchant-7',
    groups: ['merchant'],
    userAttributes: [{ name: 'merchant_id', value: 7 }],
  };
  const sessionSettings = { ...user, isEphemeral: false };
  const post = (flags: string, url: string, body: unknown): string =>
    `curl -s${flags} '${url}' -H "Authorization: Api-Key ${key}" -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  lines.push(
    '',
    '# 1. A session for merchant 7:',
    post('', `${publicUrl}/api/v1/embed/generate-session`, { deploymentId: 1, ...user }),
    '# 2. A question, as the same user:',
    post('N', chatUrl, { input: 'revenue by month', sessionSettings }),
    '# 3. Stop an answer (put in the chatId of the line __cutoff__):',
    post(' -i', `${chatUrl}/abort`, { chatId: 'CHAT_ID', sessionSettings }),
  );
  return `${lines.join('\n')}\n\n`;
}

/** A path for a POSIX shell inside `$( … )` inside double quotes, where single quotes hold as usual. */
function quoteInDoubleQuotes(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
