/** `npm run bench [name …]`: takes the figures and prints each beside its floor. */
import { benchAnalyst } from './analyst.ts';
import { benchChat } from './chat.ts';
import { benchChatAbort } from './chat-abort.ts';
import { benchLists } from './lists.ts';
import { benchModel } from './model.ts';
import { type Figure, printFigures } from './report.ts';
import { benchSemantic } from './semantic.ts';
import { benchSemanticPeers } from './semantic-peers.ts';
import { benchSessions } from './sessions.ts';
import { benchStart } from './start.ts';
import { benchStream } from './stream.ts';

const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: benchStart,
  sessions: benchSessions,
  lists: benchLists,
  chat: benchChat,
  abort: benchChatAbort,
  analyst: benchAnalyst,
  semantic: benchSemantic,
  'semantic-peers': benchSemanticPeers,
  stream: benchStream,
  model: benchModel,
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(benches);
const figures: Figure[] = [];
for (const name of names) {
  const bench = benches[name];
  if (bench === undefined) throw new Error(`no bench "${name}"; there are: ${Object.keys(benches).join(', ')}`);
  console.error(`bench: ${name} …`);
  figures.push(...(await bench()));
}
printFigures(figures);
