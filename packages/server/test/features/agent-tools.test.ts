import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMetaTool } from '../../src/agent/tools/meta-tool.ts';
import { createSqlTool } from '../../src/agent/tools/sql-tool.ts';
import type { Tool, ToolContext } from '../../src/agent/tools/tool.ts';
import type { QueryDependencies } from '../../src/query/run-query.ts';
import { openSession, openTestServer, type TestServer } from '../test-server.ts';

const chart = '{"mark":"bar","encoding":{"x":{"field":"revenue","type":"quantitative"}}}';
const words = { queryTitle: 'Title', description: 'What it does', userRequest: 'what was asked' };
const byMonth = `SELECT date_trunc('month', created_at) AS month, MEASURE(revenue) AS revenue FROM sales GROUP BY 1 ORDER BY 1`;
const earlier = '11111111-1111-4111-8111-111111111111';

describe('the tools of the agent', () => {
  let server: TestServer;
  let query: QueryDependencies;
  beforeAll(async () => {
    server = await openTestServer();
    query = server.context.query;
  });
  afterAll(() => server.close());

  /** What a tool may know when it works for a merchant of the demo; null: for a user in no group. */
  async function contextOf(merchant: number | null): Promise<ToolContext> {
    const externalId = `merchant-${merchant}`;
    const userAttributes = [{ name: 'merchant_id', value: merchant }];
    const rights = merchant === null ? {} : { groups: ['merchant'], userAttributes };
    await openSession(server, server.demo, { externalId, ...rights });
    const user = await server.context.db
      .selectFrom('users')
      .select('id')
      .where('external_id', '=', externalId)
      .where('account_id', '=', server.accountId)
      .executeTakeFirstOrThrow();
    return {
      principal: {
        accountId: server.accountId,
        userId: user.id,
        sessionId: null,
        apiKeyId: null,
        scopeId: null,
        securityContext: {},
      },
      deploymentId: 1,
      branch: null,
      signal: new AbortController().signal,
      resultIds: new Set([earlier]),
    };
  }
  const sqlTool = (rowsMax = 100): Tool => createSqlTool(query, 'acmeSqlApi', rowsMax);
  const prepare = async (input: object, rowsMax?: number) =>
    sqlTool(rowsMax).prepare(JSON.stringify(input), await contextOf(7));

  test('SQL gives its result in the documented order, with the chart only when one is asked for', async () => {
    const call = await prepare({ sqlQuery: byMonth, ...words, vegaSpec: ` ${chart} ` }, 3);
    const { result, queries, rows, resultId } = await call.run();
    expect(JSON.stringify(result)).toBe(
      JSON.stringify({
        sqlQuery: byMonth,
        ...words,
        schema: [
          { name: 'month', column_type: 'Timestamp' },
          { name: 'revenue', column_type: 'Decimal' },
        ],
        data: result['data'],
        totalRows: rows,
        uuid: resultId,
        vegaSpec: chart,
      }),
    );
    expect(result['data']).toHaveLength(3);
    expect(rows).toBeGreaterThan(3);
    expect(queries).toBe(1);
    const plain = await (await prepare({ sqlQuery: byMonth, ...words })).run();
    expect(plain.result).not.toHaveProperty('vegaSpec');
    expect(plain.result['uuid']).not.toBe(resultId);
  });

  test('an input is shown in order, with a memoryId of this thread only', async () => {
    const input = { vegaSpec: chart, memoryId: earlier, ...words, sqlQuery: byMonth, more: 1 };
    const shown = { sqlQuery: byMonth, ...words, memoryId: earlier, vegaSpec: chart };
    expect((await prepare(input)).input).toBe(JSON.stringify(shown));
    const { memoryId: _, ...without } = shown;
    expect((await prepare({ ...input, memoryId: 'another' })).input).toBe(JSON.stringify(without));
  });

  test('a chart is shown and kept without what is more than a chart', async () => {
    const vegaSpec = '{"mark":"bar","data":{"url":"https://evil.example"}}';
    const call = await prepare({ sqlQuery: byMonth, ...words, vegaSpec });
    expect(JSON.parse(call.input)).toMatchObject({ vegaSpec: '{"mark":"bar"}' });
    expect((await call.run()).result).toMatchObject({ vegaSpec: '{"mark":"bar"}' });
  });

  test('a chart that would be another one without it fails the call, and is not shown', async () => {
    const vegaSpec = '{"mark":{"type":"image","url":"https://evil.example"}}';
    const call = await prepare({ sqlQuery: byMonth, ...words, vegaSpec });
    expect(call.input).not.toContain('evil');
    await expect(call.run()).rejects.toMatchObject({ code: 'TOOL_INPUT_INVALID' });
  });

  test('SQL that does not fit the data model fails with what is right', async () => {
    const sqlQuery = 'SELECT chanel, MEASURE(revenue) FROM sales GROUP BY 1';
    const call = await prepare({ sqlQuery, ...words });
    await expect(call.run()).rejects.toMatchObject({ code: 'MEMBER_NOT_FOUND', hint: 'Closest: channel' });
    await expect((await prepare({ sqlQuery })).run()).rejects.toMatchObject({ code: 'TOOL_INPUT_INVALID' });
  });

  test('metadata is what the user may see, member by member as documented', async () => {
    const meta = createMetaTool(query, 'acmeMeta');
    const input = JSON.stringify({ searchQuery: 'revenue by category' });
    const { result, queries } = await meta.prepare(input, await contextOf(7)).run();
    expect(queries).toBe(0);
    expect(Object.keys(result)).toEqual(['searchQuery', 'cubes']);
    const { cubes } = result;
    if (!Array.isArray(cubes)) throw new Error('no cubes');
    expect(cubes.length).toBeGreaterThan(0);
    for (const cube of cubes) {
      expect(Object.keys(cube)).toEqual(['name', 'type', 'title', 'description', 'members']);
      for (const member of cube.members) {
        const keys = [
          'name',
          'title',
          'description',
          'type',
          'kind',
          ...(member.kind === 'measure' ? ['aggType'] : []),
        ];
        expect(Object.keys(member)).toEqual(keys);
        expect(member.name).toMatch(new RegExp(`^${cube.name}\\.`));
      }
    }
    const nothing = await meta.prepare(input, await contextOf(null)).run();
    expect(nothing.result).toEqual({ searchQuery: 'revenue by category', cubes: [] });
  });
});
