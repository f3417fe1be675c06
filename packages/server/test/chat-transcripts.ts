/** Streams as clients of this kind of API know them, written out line by line. Ids are labels: `a1`, `a2` … by first use. */

const agent = ['platform_data_analyst_agent'];
const tools = ['platform_data_analyst_agent', 'tools'];
const vegaSpec = '{"mark":"bar","encoding":{"x":{"field":"revenue","type":"quantitative","title":"Revenue"}}}';

export const metaInput = JSON.stringify({ searchQuery: 'revenue by channel' });
export const metaAnswer = {
  searchQuery: 'revenue by channel',
  cubes: [{ name: 'sales', type: 'view', title: 'Sales', description: 'Orders', members: [] }],
};
export const sqlInput = JSON.stringify({
  sqlQuery: 'SELECT channel, MEASURE(revenue) AS revenue FROM sales GROUP BY 1',
  queryTitle: 'Revenue by channel',
  description: 'Revenue per sales channel, all time',
  userRequest: 'revenue by channel',
  vegaSpec,
});
export const wrongSqlInput = JSON.stringify({
  sqlQuery: 'SELECT chanel, MEASURE(revenue) FROM sales GROUP BY 1',
  queryTitle: 'Revenue by channel',
  description: '',
  userRequest: 'revenue by channel',
});
export const sqlAnswer = {
  schema: [
    { name: 'channel', column_type: 'String' },
    { name: 'revenue', column_type: 'Decimal' },
  ],
  data: [
    ['web', 182340.5],
    ['store', 91022.25],
  ],
  totalRows: 2,
};
export const answer = [
  'Revenue by channel, all time: web leads ',
  'with 182,340.50, then store with 91,022.25.',
] as const;
const whole = answer.join('');

const user = (content: string, ms: number, sort: number) => ({
  id: `${ms}-message`,
  role: 'user',
  content,
  isDelta: false,
  isInProcess: false,
  sort,
});
const delta = (id: string, content: string, sort: number) => ({
  id,
  role: 'assistant',
  content,
  graphPath: agent,
  isDelta: true,
  isInProcess: true,
  sort,
});
const text = (id: string, content: string, sort: number, isInProcess = false) => ({
  id,
  role: 'assistant',
  content,
  graphPath: agent,
  isDelta: false,
  isInProcess,
  sort,
});
const toolCall = (id: string, sort: number, call: { name: string; input: string; result?: string }) => ({
  id,
  role: 'assistant',
  content: '',
  graphPath: tools,
  isDelta: false,
  isInProcess: call.result === undefined,
  sort,
  toolCall: call,
});
const final = (id: string, content: string, sort: number) => ({
  id,
  role: 'assistant',
  content,
  graphPath: ['final'],
  isDelta: false,
  isInProcess: false,
  sort,
});
const cutoff = (isStreaming: boolean) => ({
  id: '__cutoff__',
  role: 'assistant',
  content: '',
  sort: 0,
  state: { chatId: 'thread', isStreaming },
});
const usage = (sort: number, llmCalls: number, queries: number, rows: number) => ({
  id: '__usage__',
  type: 'usage',
  role: 'assistant',
  content: '',
  sort,
  usage: { models: ['builtin-analyst'], llmCalls, inputTokens: 0, outputTokens: 0, totalTokens: 0, queries, rows },
});

const meta = { name: 'platformMeta', input: metaInput };
const sql = { name: 'platformSqlApi', input: sqlInput };
const sqlResult = (uuid: string) => JSON.stringify({ ...sqlAnswer, uuid });
const question = user('revenue by channel', 1767225600000, 1);

const firstTurn = [
  question,
  text('a1', 'I look up revenue and channel.', 2),
  toolCall('a2', 3, { ...meta, result: JSON.stringify(metaAnswer) }),
  toolCall('a3', 4, { ...sql, result: sqlResult('r1') }),
];
const closing = [text('a4', whole, 5), final('a5', whole, 6)];

export const newThread = [
  cutoff(true),
  question,
  delta('a1', 'I look up ', 2),
  delta('a1', 'revenue and channel.', 2),
  text('a1', 'I look up revenue and channel.', 2),
  toolCall('a2', 3, meta),
  toolCall('a2', 3, { ...meta, result: JSON.stringify(metaAnswer) }),
  toolCall('a3', 4, sql),
  toolCall('a3', 4, { ...sql, result: sqlResult('r1') }),
  delta('a4', answer[0], 5),
  delta('a4', answer[1], 5),
  ...closing,
  usage(7, 3, 1, 2),
];

export const stateRead = [...firstTurn, ...closing, cutoff(false)];

export const secondTurn = [
  ...firstTurn,
  ...closing,
  cutoff(true),
  user('only web', 1767225660000, 7),
  toolCall('a6', 8, sql),
  toolCall('a6', 8, { ...sql, result: sqlResult('r2') }),
  delta('a7', 'Web: 182,340.50.', 9),
  text('a7', 'Web: 182,340.50.', 9),
  final('a8', 'Web: 182,340.50.', 10),
  usage(11, 2, 1, 2),
];

export const joinInMidMessage = [
  ...firstTurn,
  text('a4', answer[0], 5, true),
  cutoff(true),
  delta('a4', answer[1], 5),
  ...closing,
  usage(7, 3, 1, 2),
];

const wrong = { name: 'platformSqlApi', input: wrongSqlInput };
export const toolErrorThenRight = [
  cutoff(true),
  question,
  toolCall('a1', 2, wrong),
  toolCall('a1', 2, {
    ...wrong,
    result:
      '{"error":{"code":"MEMBER_NOT_FOUND","message":"No member \\"chanel\\" in sales.","hint":"Closest: channel"}}',
  }),
  toolCall('a2', 3, sql),
  toolCall('a2', 3, { ...sql, result: sqlResult('r1') }),
  delta('a3', whole, 4),
  text('a3', whole, 4),
  final('a4', whole, 5),
  usage(6, 3, 1, 2),
];

export const abortedDuringATool = [
  cutoff(true),
  question,
  toolCall('a1', 2, sql),
  toolCall('a1', 2, { ...sql, result: '{"error":{"code":"ABORTED","message":"Stopped by the user.","hint":""}}' }),
  { id: '__aborted__', type: 'abort', role: 'assistant', content: '', sort: 3, code: 'chat_aborted' },
  usage(4, 1, 0, 0),
];

export const runError = [
  cutoff(true),
  question,
  delta('a1', 'I look up ', 2),
  text('a1', 'I look up ', 2),
  {
    id: '__error__',
    role: 'assistant',
    content: '',
    sort: 3,
    error: 'The language model did not answer in time.',
    code: 'LANGUAGE_MODEL_TIMEOUT',
    requestId: 'req_test',
  },
  usage(4, 1, 0, 0),
];

/**
 * Lines of a stream with labels for ids: `thread` for the thread's, `a1` … for those of messages and `r1` … for those of
 * results in the order of `sort`, so that streams that begin at different points can be compared.
 */
export function toLabelledLines(
  frames: readonly { id: string; sort: number; state?: { chatId: string } | undefined }[],
): string[] {
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const lines = frames.map((frame) => JSON.stringify(frame));
  const labels = new Map<string, string>();
  const add = (id: string, prefix: string): void => {
    const count = [...labels.values()].filter((label) => label.startsWith(prefix)).length;
    if (!labels.has(id)) labels.set(id, `${prefix}${prefix === 'thread' ? '' : count + 1}`);
  };
  for (const { state } of frames) if (state !== undefined) add(state.chatId, 'thread');
  const inOrder = frames
    .map((frame, index) => ({ frame, line: lines[index] ?? '' }))
    .sort((a, b) => a.frame.sort - b.frame.sort);
  for (const { frame } of inOrder) if (frame.id.match(uuid)) add(frame.id, 'a');
  for (const { line } of inOrder) for (const [id] of line.matchAll(uuid)) add(id, 'r');
  return lines.map((line) => line.replace(uuid, (id) => labels.get(id) ?? id));
}
