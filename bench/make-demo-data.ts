/** Makes the demo's data in a folder: a program of its own, so that the memory which that takes does not count. */
import { makeDemoData } from '../packages/server/src/installation/prepare-demo.ts';

const [, , dataFolder] = process.argv;
if (dataFolder === undefined) throw new Error('Which folder?');
await makeDemoData({ dataFolder }, () => undefined);
