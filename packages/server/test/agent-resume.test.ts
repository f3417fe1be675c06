/** A run that is carried on ends as it would have ended: cut after any event, whatever it says and calls. */
import type { Frame } from '@inlay/contract/chat.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentDependencies, AgentLimits } from '../src/agent/agent-dependencies.ts';
import { runAgent } from '../src/agent/agent-loop.ts';
import type { AgentStep } from '../src/agent/agent-step.ts';
import type { AgentEvent } from '../src/agent/events.ts';
import type { ConversationMessage } from '../src/agent/language-models/language-model.ts';
import type { AgentInput, ResumeFrom } from '../src/agent/run-agent.ts';
import { type LoggedEntry, readProgress } from '../src/chat/carry-on.ts';
import { applyEvent, toHistory } from '../src/chat/frames.ts';
import { InlayError } from '../src/errors.ts';
import { checkShape, eventsOf, loopDependencies, question, saidIn, toolThat } from './loop-world.ts';
import { type ScriptStep, scripted, scriptedNetwork } from './scripted-language-model.ts';

const ok = toolThat('ok', async (given) => ({ given }), { queries: 0, rows: 0 });
const bad = toolThat('bad', async () => {
  throw new InlayError('QUERY_TIMEOUT', 'Too slow.');
});
const rows = toolThat('rows', async () => ({
  uuid: 'abcdef01-2345',
  schema: [{ name: 'channel', column_type: 'String' }],
  data: [['web'], ['store']],
  totalRows: 2,
}));
const tools = [ok, bad, rows];

/** What the store has of a run when its node dies: its steps, its whole messages, and what stands open. */
function leftOf(events: readonly AgentEvent[]): ResumeFrom {
  const steps: AgentStep[] = events.flatMap((event) => (event.type === 'step' ? [event.step] : []));
  const ofSteps = new Set(
    steps.flatMap((step) => (step.kind === 'turn' ? step.toolCalls.map(({ messageId }) => messageId) : [])),
  );
  const results = new Map(
    events.flatMap((event) => (event.type === 'tool-end' ? [[event.messageId, event.result] as const] : [])),
  );
  const unfinished = [...saidIn(events)].flatMap(([messageId, { kind, isOpen }]) =>
    isOpen && kind !== 'final' && !ofSteps.has(messageId) ? [{ kind, messageId }] : [],
  );
  return { steps, results, unfinished };
}

type Turn = readonly ScriptStep[];
interface Script {
  readonly turns: readonly Turn[];
  readonly limits: Partial<AgentLimits>;
  readonly showsThinking: boolean;
  readonly isPrivate: boolean;
  readonly closingLine: string | null;
}

/** Says its turns by how far the conversation is, as a real model answers what it reads. */
function dependenciesOf({ turns, limits, showsThinking, isPrivate, closingLine }: Script): AgentDependencies {
  const turnAt = (messages: readonly ConversationMessage[]): Turn => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const said = messages.slice(last).filter(({ role }) => role === 'assistant').length;
    return turns[said] ?? [{ type: 'text', text: 'The end.' }];
  };
  const languageModel = isPrivate ? scriptedNetwork(turnAt, { isPrivate }) : scripted(turnAt);
  const more = { tools, limits, showsThinking, closingLine: () => closingLine };
  return loopDependencies(languageModel, more);
}

/** The thread without ids: what a reader sees, in order. Results name no time and no chance, so they are equal. */
const threadOf = (events: readonly AgentEvent[]): unknown => [...saidIn(events).values()];

const text = fc.constantFrom('Hello', ' world.', '\n', ' ', '😀', 'a\0b', '{{qabcdef01.channel[1]}}', '{{qabc');
const step: fc.Arbitrary<ScriptStep> = fc.oneof(
  { weight: 4, arbitrary: text.map((said): ScriptStep => ({ type: 'text', text: said })) },
  { weight: 1, arbitrary: text.map((thought): ScriptStep => ({ type: 'thinking', text: thought })) },
  { weight: 1, arbitrary: fc.nat(50).map((input): ScriptStep => ({ type: 'tokens', input, output: 1 })) },
);
const calls: fc.Arbitrary<ScriptStep[]> = fc
  .array(fc.record({ name: fc.constantFrom('ok', 'bad', 'rows', 'none'), a: fc.nat(1) }), { maxLength: 3 })
  .map((all) =>
    all.map(
      ({ name, a }, index): ScriptStep => ({ type: 'tool-call', id: `call-${index}`, name, input: `{"a":${a}}` }),
    ),
  );
// Nothing said and nothing called would be a turn that the script's own counting cannot see.
const turn: fc.Arbitrary<Turn> = fc
  .tuple(fc.array(step, { maxLength: 5 }), calls)
  .map(([said, called]): Turn => [...said, ...called]);
const script: fc.Arbitrary<Script> = fc.record({
  turns: fc.array(turn, { maxLength: 4 }),
  limits: fc.record(
    {
      agentTurnsMax: fc.integer({ min: 1, max: 4 }),
      agentToolCallsMax: fc.nat(6),
      runTokensMax: fc.integer({ min: 1, max: 120 }),
    },
    { requiredKeys: [] },
  ),
  showsThinking: fc.boolean(),
  isPrivate: fc.boolean(),
  closingLine: fc.constantFrom(null, 'Certified.'),
});

/** A placeholder is written before the call whose result it names, and the next turn says nothing: that text is the answer. */
const namesItsOwnResult: Script = {
  turns: [
    [
      { type: 'text', text: '{{qabcdef01.channel[1]}}' },
      { type: 'tool-call', id: 'call-0', name: 'rows', input: '{"a":0}' },
    ],
    [],
  ],
  limits: {},
  showsThinking: false,
  isPrivate: true,
  closingLine: null,
};

describe('a run that is carried on', () => {
  test('ends with the same thread, and leaves nothing open', async () => {
    await fc.assert(
      fc.asyncProperty(script, fc.array(fc.nat(200), { minLength: 1, maxLength: 3 }), async (given, cuts) => {
        const whole = await eventsOf(dependenciesOf(given));
        checkShape(whole);
        let events: AgentEvent[] = [];
        for (const cut of cuts) {
          const rest = await eventsOf(dependenciesOf(given), resumed(events));
          // The final answer is kept together with the end of the run, so a cut is never behind it.
          const kept = rest.slice(0, Math.min(cut % rest.length, rest.length - 2));
          events = [...events, ...kept];
        }
        const rest = await eventsOf(dependenciesOf(given), resumed(events));
        const all = [...events, ...rest];
        expect(threadOf(all)).toEqual(threadOf(whole));
        expect(all.at(-1)).toEqual(whole.at(-1));
        checkOnce(all);
      }),
      { numRuns: 200 },
    );
  });

  test('and so does the thread that its readers see, also when it fails', async () => {
    const broken: fc.Arbitrary<Script> = fc.tuple(script, fc.nat(4), fc.nat(5)).map(([given, at, place]) => ({
      ...given,
      turns: given.turns.map((steps, index) =>
        index === at ? steps.toSpliced(place, 0, new InlayError('LANGUAGE_MODEL_FAILED', 'It failed.')) : steps,
      ),
    }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(script, broken), fc.array(fc.nat(200), { maxLength: 3 }), async (given, cuts) => {
        const whole = await written(given, []);
        const carriedOn = await written(given, cuts);
        expect(carriedOn.map(withoutId)).toEqual(whole.map(withoutId));
        expect(carriedOn.filter(({ isInProcess }) => isInProcess)).toEqual([]);
      }),
      { numRuns: 200, examples: [[namesItsOwnResult, [29]]] },
    );
  });

  test('says nothing twice that was whole, and says what was half said anew under its id', async () => {
    const given: Script = {
      turns: [
        [
          { type: 'text', text: 'Look' },
          { type: 'text', text: ' here.' },
          { type: 'tool-call', id: 'c', name: 'ok', input: '{}' },
        ],
        [
          { type: 'text', text: 'Half' },
          { type: 'text', text: ' and whole.' },
        ],
      ],
      limits: {},
      showsThinking: false,
      isPrivate: false,
      closingLine: null,
    };
    const whole = await eventsOf(dependenciesOf(given));
    const half = whole.findIndex((event) => event.type === 'text-delta' && event.text === 'Half') + 1;
    const begun = whole[half - 1];
    const rest = await eventsOf(dependenciesOf(given), resumed(whole.slice(0, half)));
    expect(rest.map(({ type }) => type)).toEqual([
      ...['restart', 'text-delta', 'text-delta', 'step', 'text-end', 'final', 'usage'],
    ]);
    expect(rest[0]).toEqual({ type: 'restart', messageId: begun?.type === 'text-delta' ? begun.messageId : '' });

    const inTool = whole.findIndex(({ type }) => type === 'tool-start') + 1;
    const again = await eventsOf(dependenciesOf(given), resumed(whole.slice(0, inTool)));
    expect(again[0]).toEqual(whole[inTool - 1]);
  });

  test('takes back what was half said where the language model now says less', async () => {
    const said: AgentEvent[] = [
      { type: 'thinking-delta', messageId: 'thought', text: 'Hm' },
      { type: 'text-delta', messageId: 'half', text: 'Half' },
    ];
    const calling: Turn = [{ type: 'tool-call', id: 'c', name: 'ok', input: '{}' }];
    const given = { turns: [calling], limits: {}, showsThinking: false, isPrivate: false, closingLine: null };
    const rest = await eventsOf(dependenciesOf(given), resumed(said));
    const messages = saidIn([...said, ...rest]);
    expect(messages.get('thought')).toEqual({ kind: 'thinking', content: '', isOpen: false });
    expect(messages.get('half')).toEqual({ kind: 'text', content: '', isOpen: false });
    expect(rest.at(-2)).toMatchObject({ type: 'final', text: 'The end.' });
  });

  test('closes what stands open when it is stopped before it says a word', async () => {
    const given: Script = {
      turns: [
        [
          { type: 'text', text: 'Look.' },
          { type: 'tool-call', id: 'c', name: 'ok', input: '{}' },
        ],
        [],
      ],
      limits: {},
      showsThinking: false,
      isPrivate: false,
      closingLine: null,
    };
    const whole = await eventsOf(dependenciesOf(given));
    const signal = AbortSignal.abort(new InlayError('ABORTED', 'Stopped by the user.'));
    for (let cut = 1; cut < whole.length - 2; cut++) {
      const events = whole.slice(0, cut);
      const rest = await eventsOf(dependenciesOf(given), { ...resumed(events), signal });
      const said = [...saidIn([...events, ...rest]).values()];
      expect(said.filter(({ isOpen }) => isOpen)).toEqual([]);
      // What it had said stays said.
      expect(said.map(({ content }) => content)[0]).toBe('Look.');
    }
  });

  test('keeps the messages and results that it had; their results may be referred to', async () => {
    const given: Script = {
      turns: [
        [{ type: 'tool-call', id: 'c', name: 'rows', input: '{}' }],
        [{ type: 'tool-call', id: 'd', name: 'asks', input: '{}' }],
      ],
      limits: {},
      showsThinking: false,
      isPrivate: false,
      closingLine: null,
    };
    const whole = await eventsOf(dependenciesOf(given));
    const place = whole.findIndex((event) => event.type === 'step' && event.step.kind === 'tool') + 1;
    const seen: ReadonlySet<string>[] = [];
    const asks = {
      ...toolThat('asks', async () => ({})),
      prepare: (_input: string, { resultIds }: { resultIds: ReadonlySet<string> }) => {
        seen.push(resultIds);
        return { input: '{}', run: async () => ({ result: {}, queries: 0, rows: 0 }) };
      },
    };
    const dependencies = { ...dependenciesOf(given), tools: [...tools, asks] };
    await Array.fromAsync(runAgent(dependencies, { ...question, ...resumed(whole.slice(0, place)) }));
    expect(seen.map((ids) => [...ids])).toEqual([['abcdef01-2345']]);
  });
});

/** The messages that a reader has at the end of a run whose log was cut at `cuts`, one after the other, and then read back. */
async function written(given: Script, cuts: readonly number[]): Promise<Frame[]> {
  const rows: LoggedEntry[] = [];
  const frames: Frame[] = [];
  for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
    const left = readProgress('platform', 1, rows);
    let { state } = left;
    const events = await eventsOf(dependenciesOf(given), { resume: left.resume });
    // The last words are kept together with the end of the run.
    const kept = Number.isFinite(cut) ? events.slice(0, cut % (events.length - 1)) : events;
    for (const event of kept) {
      const seq = rows.length + 1;
      if (event.type === 'step') {
        rows.push({ seq, line: null, step: event.step });
        continue;
      }
      const { state: next, frame } = applyEvent(state, event);
      state = next;
      if (frame === null) continue;
      rows.push({ seq, line: JSON.stringify(frame), step: null });
      frames.push(frame);
    }
  }
  return toHistory(frames);
}

const withoutId = ({ id: _id, ...frame }: Frame): Omit<Frame, 'id'> => frame;

function resumed(events: readonly AgentEvent[]): Partial<AgentInput> {
  return { resume: leftOf(events) };
}

/** No message is closed twice, and none is written to after it was closed. */
function checkOnce(events: readonly AgentEvent[]): void {
  const closed = new Set<string>();
  for (const event of events) {
    if (!('messageId' in event)) continue;
    expect(closed).not.toContain(event.messageId);
    if (/-end$|^final$/.test(event.type)) closed.add(event.messageId);
  }
}
