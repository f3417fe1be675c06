/** The data model: 500 cubes with 20,000 members, loaded, held in memory, and searched. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseDocument } from 'yaml';
import { loadDataModel, type ModelFile } from '../packages/semantic/src/model/load-data-model.ts';
import { visibleMetadata } from '../packages/semantic/src/policy/visible-metadata.ts';
import { createRelationSearch } from '../packages/semantic/src/search/search-relations.ts';
import { type Figure, median, ms } from './report.ts';

const cubeCount = 500;
const dimensionsPerCube = 30;
const measuresPerCube = 10;
const rounds = 5;

const subjects = [
  'order',
  'customer',
  'shipment',
  'invoice',
  'product',
  'visit',
  'ticket',
  'payment',
  'refund',
  'campaign',
];
const fields = [
  'amount',
  'city',
  'status',
  'channel',
  'weight',
  'country',
  'category',
  'created date',
  'discount',
  'owner',
];

/** One file for each cube, as a tool that writes models from a warehouse's tables would make them, with a view over each ten. */
function modelFiles(): readonly ModelFile[] {
  return Array.from({ length: cubeCount }, (_, index) => {
    const about = `${subjects[index % subjects.length]}_${index}`;
    const fieldOf = (at: number): string => `${fields[at % fields.length]} ${at}`;
    const nameOf = (at: number): string => fieldOf(at).replaceAll(' ', '_');
    const lines = [
      'cubes:',
      `  - name: ${about}`,
      `    sql_table: warehouse.${about}`,
      `    description: Rows about ${about}, one each.`,
      ...(index % 10 === 9
        ? []
        : [
            '    joins:',
            `      - name: ${subjects[(index + 1) % subjects.length]}_${index + 1}`,
            '        relationship: many_to_one',
            `        sql: "{CUBE}.next_id = {${subjects[(index + 1) % subjects.length]}_${index + 1}.id}"`,
          ]),
      '    dimensions:',
      '      - { name: id, sql: "{CUBE}.id", type: number, primary_key: true }',
      ...Array.from({ length: dimensionsPerCube - 1 }, (_, at) =>
        [
          `      - name: ${nameOf(at)}`,
          `        sql: "{CUBE}.${nameOf(at)}"`,
          '        type: string',
          `        title: The ${fieldOf(at)}`,
          `        description: What is known of the ${fieldOf(at)} of a row.`,
          `        meta: { synonyms: [alias ${at}, other ${fieldOf(at)}] }`,
        ].join('\n'),
      ),
      '    measures:',
      ...Array.from({ length: measuresPerCube }, (_, at) =>
        at % 5 === 4
          ? `      - { name: ratio_${at}, type: number, sql: "1.0 * {total_${at - 1}} / NULLIF({total_${at - 2}}, 0)" }`
          : `      - { name: total_${at}, type: sum, sql: "{CUBE}.${nameOf(at)}", filters: [{ sql: "{${nameOf(at)}} IS NOT NULL" }] }`,
      ),
      '    access_policy:',
      '      - group: member',
      '        row_level: { filters: [{ member: id, operator: equals, values: ["{ userAttributes.id }"] }] }',
    ];
    return { path: `${about}.yml`, text: `${lines.join('\n')}\n` };
  });
}

/** What a process of its own says of loading the model: the heap before would blur it here. */
async function heapOfModel(): Promise<number> {
  const child = spawn(process.execPath, ['--expose-gc', import.meta.filename, 'heap'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child, 'close');
  return Number(text);
}

const load = (files: readonly ModelFile[]) => {
  const loaded = loadDataModel(files);
  if ('issues' in loaded) throw new Error(`the model of the bench: ${JSON.stringify(loaded.issues.slice(0, 3))}`);
  return loaded.dataModel;
};

/** Load time beside that of reading the YAML alone, heap, and the time of a search. */
export async function benchModel(): Promise<Figure[]> {
  const files = modelFiles();
  const times = { load: [] as number[], yaml: [] as number[], search: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    load(files);
    const loaded = performance.now();
    for (const { text } of files) parseDocument(text).toJS();
    times.load.push(loaded - started);
    times.yaml.push(performance.now() - loaded);
  }
  const model = load(files);
  const subject = {
    ...{ groups: ['member'], userAttributes: { id: 7 }, securityContext: {} },
    ...{ embedTenantName: null, isEmbedTenantScope: false, seesUnprotected: false },
  };
  const relations = visibleMetadata(model, subject);
  const members = relations.reduce((sum, relation) => sum + relation.members.length, 0);
  const search = createRelationSearch();
  const firstStarted = performance.now();
  search(relations, 'anything');
  const firstMs = performance.now() - firstStarted;
  for (const words of [
    'total amount by city',
    'discounts of shipments',
    'customer 41 statsu',
    'which category weighs most',
    'owner',
  ]) {
    for (let round = 0; round < rounds; round += 1) {
      const started = performance.now();
      search(relations, words);
      times.search.push(performance.now() - started);
    }
  }
  const [loadMs, yamlMs, searchMs] = [median(times.load), median(times.yaml), median(times.search)];
  const heapMb = await heapOfModel();
  return [
    {
      claim: `load ${model.cubes.size} cubes, ${members} members (floor: the YAML alone)`,
      ours: ms(loadMs),
      floor: ms(yamlMs),
      ratio: loadMs / yamlMs,
    },
    { claim: 'heap of that model, MB (floor: the goal)', ours: heapMb.toFixed(0), floor: '300', ratio: heapMb / 300 },
    { claim: 'search its metadata (floor: the goal)', ours: ms(searchMs), floor: ms(10), ratio: searchMs / 10 },
    {
      claim: 'the first search, which makes the index (floor: a later one)',
      ours: ms(firstMs),
      floor: ms(searchMs),
      ratio: firstMs / searchMs,
    },
  ];
}

if (process.argv[1] === import.meta.filename && process.argv[2] === 'heap') {
  const files = modelFiles();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const model = load(files);
  globalThis.gc?.();
  process.stdout.write(String((process.memoryUsage().heapUsed - before) / 2 ** 20));
  // Held until it was measured.
  if (model.cubes.size === 0) process.exitCode = 1;
}
