/** The agent's loop by itself: what it is given, and what holds of every run. */
import { SemanticError } from '@inlay/semantic/semantic-error.ts';
import { expect } from 'vitest';
import { z } from 'zod';
import type { AgentDependencies, AgentLimits, Grounding } from '../src/agent/agent-dependencies.ts';
import { runAgent } from '../src/agent/agent-loop.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import type { LanguageModel } from '../src/agent/language-models/language-model.ts';
import type { AgentInput } from '../src/agent/run-agent.ts';
import { defineTool, type Tool } from '../src/agent/tools/tool.ts';

/** Limits that a test does not meet unless it means to. */
export const loopLimits: AgentLimits = {
  agentTurnsMax: 20,
  agentToolCallsMax: 40,
  runTokensMax: 1_000_000,
  runMs: 20_000,
  languageModelSilenceMs: 20_000,
  textCharactersMax: 10_000,
  modelRowsMax: 25,
  runResultBytesMax: 4_194_304,
};

/** A question by somebody, of a run that begins. */
export const question: AgentInput = {
  messages: [{ role: 'user', content: 'question' }],
  resultIds: [],
  principal: { accountId: 1, userId: 1, sessionId: null, apiKeyId: null, scopeId: null, securityContext: {} },
  agent: { id: 1, name: 'shop', deploymentId: 1 },
  branch: null,
  requestId: 'req_1',
  startedAt: new Date('2026-01-01T00:00:00Z'),
  resume: null,
  signal: new AbortController().signal,
};

/** A tool that answers what it is told to, and says that it ran a query unless told otherwise. */
export function toolThat(
  name: string,
  run: (input: object, signal: AbortSignal) => Promise<Record<string, unknown>>,
  counts = { queries: 1, rows: 2 },
): Tool {
  return defineTool({
    name,
    description: name,
    schema: z.looseObject({}),
    shown: (input) => input,
    run: async (input, { signal }) => ({ result: await run(input, signal), ...counts }),
  });
}

export const failing = toolThat('failing', async () => {
  throw new SemanticError('MEMBER_NOT_FOUND', 'No such member.');
});
export const breaking = toolThat('breaking', async () => {
  throw new Error('relation "secrets" does not exist');
});
export const working = toolThat('working', async (given) => ({ given }));
export const hanging = toolThat('hanging', () => new Promise(() => undefined));

/** What a language model that knows nothing is told. */
export const noGrounding: Grounding = {
  context: { today: '2026-01-01', relations: [], valueMatches: [], toolNames: { meta: 'm', sql: 's' } },
  system: 'You are an analyst.',
};

/** A line of the log. */
export interface Logged {
  readonly level: 'error' | 'warn' | 'info';
  readonly fields: object;
}

/** What a run needs, at the instant at which it began; what is logged goes to `logged`. */
export function loopDependencies(
  languageModel: LanguageModel,
  { limits, ...more }: Partial<Omit<AgentDependencies, 'limits'>> & { readonly limits?: Partial<AgentLimits> } = {},
  logged: Logged[] = [],
): AgentDependencies {
  const to =
    (level: Logged['level']) =>
    (fields: object): void =>
      void logged.push({ level, fields });
  return {
    languageModel,
    tools: [failing, breaking, working, hanging],
    ground: async () => noGrounding,
    isPrivate: false,
    showsThinking: false,
    clock: () => question.startedAt,
    log: { error: to('error'), warn: to('warn'), info: to('info') },
    ...more,
    limits: { ...loopLimits, ...limits },
  };
}

/** The events of a whole run. */
export async function eventsOf(
  dependencies: AgentDependencies,
  input: Partial<AgentInput> = {},
): Promise<AgentEvent[]> {
  return Array.fromAsync(runAgent(dependencies, { ...question, ...input }));
}

/** Every message is opened once and closed once; the end comes before the usage; the usage is last. */
export function checkShape(events: readonly AgentEvent[]): void {
  const open = new Set<string>();
  const closed = new Set<string>();
  for (const event of events) {
    if (event.type === 'text-delta' || event.type === 'thinking-delta' || event.type === 'tool-start') {
      expect(closed).not.toContain(event.messageId);
      open.add(event.messageId);
    }
    if (event.type === 'text-end' || event.type === 'thinking-end' || event.type === 'tool-end') {
      expect(open.delete(event.messageId)).toBe(true);
      closed.add(event.messageId);
    }
    if (event.type === 'final') expect(open.size).toBe(0);
  }
  expect(open.size).toBe(0);
  expect(events.slice(-2).map(({ type }) => type)).toEqual([
    expect.stringMatching(/^(final|aborted|failed)$/),
    'usage',
  ]);
}

/** A message of a run as a reader sees it. */
export interface Said {
  readonly kind: 'text' | 'thinking' | 'tool' | 'final';
  readonly content: string;
  readonly isOpen: boolean;
}

/** What the events come to by message id, in the order in which the messages began. */
export function saidIn(events: readonly AgentEvent[]): Map<string, Said> {
  const said = new Map<string, Said>();
  const put = (id: string, kind: Said['kind'], change: (content: string) => string, isOpen: boolean): void => {
    said.set(id, { kind, content: change(said.get(id)?.content ?? ''), isOpen });
  };
  for (const event of events) {
    switch (event.type) {
      case 'text-delta':
        put(event.messageId, 'text', (content) => content + event.text, true);
        break;
      case 'thinking-delta':
        put(event.messageId, 'thinking', (content) => content + event.text, true);
        break;
      case 'restart':
        put(event.messageId, said.get(event.messageId)?.kind ?? 'text', () => '', true);
        break;
      case 'text-end':
        put(event.messageId, 'text', (content) => content, false);
        break;
      case 'thinking-end':
        put(event.messageId, 'thinking', (content) => content, false);
        break;
      case 'tool-start':
        put(event.messageId, 'tool', () => `${event.name} ${event.input}`, true);
        break;
      case 'tool-end':
        put(event.messageId, 'tool', (content) => `${content} ${event.result}`, false);
        break;
      case 'final':
        put(event.messageId, 'final', () => event.text, false);
    }
  }
  return said;
}
