/** Makes the demo's data and the empty store in a folder: a program of its own, so that the memory which that takes does not count. */
import { readConfig } from '../packages/server/src/config.ts';
import { makeDemoData } from '../packages/server/src/installation/prepare-demo.ts';
import { openDatabase } from '../packages/server/src/store/database.ts';

const [, , dataFolder] = process.argv;
if (dataFolder === undefined) throw new Error('Which folder?');
await makeDemoData({ dataFolder }, () => undefined);
await (await openDatabase(readConfig({ INLAY_DATA_DIR: dataFolder }).store)).destroy();
