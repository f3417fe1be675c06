/** A language model over the network: attempts with back-off, then the one that stands in, and an end to all of it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { JSONSchema7, LanguageModelV4, LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider';
import { InlayError } from '../../errors.ts';
import { followSignal } from '../follow-signal.ts';
import type { LanguageModelEvent, NetworkModel, ToolDescription } from './language-model.ts';
import { type ProviderFailure, toProviderFailure } from './provider-failure.ts';
import { providers } from './providers.ts';
import type { LanguageModelSettings } from './settings-file.ts';
import { alive, isSaid, streamAttempt } from './stream-attempt.ts';
import { toPrompt } from './to-prompt.ts';

const warningsToldMax = 20;

/** What network models are made with. */
export interface NetworkModelParts {
  readonly log: { warn(fields: object, message: string): void };
  /** The first pause, in milliseconds; each one after is twice as long, and each is cut at random by up to a half. */
  readonly pauseMs: number;
  /** The longest pause, in milliseconds: a provider that asks for more is not asked again. */
  readonly pauseMsMax: number;
  /** How often a model that writes what nobody reads yet says that it is alive, in milliseconds. */
  readonly aliveEveryMs: number;
  /** From 0 up to 1. */
  readonly random: () => number;
}

type Request = Parameters<NetworkModel['stream']>[0];

/** A model of the chain: itself, or one that stands in. */
interface Candidate {
  readonly settings: LanguageModelSettings;
  readonly by: string;
  readonly model: LanguageModelV4;
  readonly tell: (warnings: readonly SharedV4Warning[]) => void;
}

/**
 * Makes a language model of the operator's settings.
 * @param chain the model itself, then those that stand in for it, in the order in which they are asked.
 */
export function createNetworkModel(
  chain: readonly [LanguageModelSettings, ...LanguageModelSettings[]],
  parts: NetworkModelParts,
): NetworkModel {
  const [own] = chain;
  const candidates = chain.map((settings) => toCandidate(settings, parts.log));
  return {
    kind: 'network',
    name: own.name,
    isPrivate: own.isPrivate,
    inputTokensMax: Math.min(...chain.map(({ inputTokensMax }) => inputTokensMax)),
    async *stream(request, signal) {
      using turn = followSignal(signal);
      const deadline = setTimeout(
        () => turn.abort(new InlayError('LANGUAGE_MODEL_TIMEOUT', 'The language model took too long over its turn.')),
        own.turnMs,
      );
      try {
        yield* streamChain(candidates, request, turn.signal, parts);
      } finally {
        clearTimeout(deadline);
      }
    },
  };
}

function toCandidate(settings: LanguageModelSettings, log: NetworkModelParts['log']): Candidate {
  const { name, provider, model, baseUrl, apiKey } = settings;
  const told = new Set<string>();
  return {
    settings,
    by: `${provider} ${model}`,
    model: providers[provider].open({ baseUrl, apiKey }, model),
    // Each once: they come with every turn.
    tell(warnings) {
      for (const warning of warnings) {
        const text = JSON.stringify(warning).slice(0, 300);
        if (told.has(text) || told.size >= warningsToldMax) continue;
        told.add(text);
        log.warn({ languageModel: name, warning: text }, 'a language model is not asked as its settings say');
      }
    },
  };
}

/** One candidate after the other, each as often as it may be tried, until one has said something. */
async function* streamChain(
  candidates: readonly Candidate[],
  request: Request,
  signal: AbortSignal,
  parts: NetworkModelParts,
): AsyncGenerator<LanguageModelEvent> {
  let last: ProviderFailure | null = null;
  for (const [index, candidate] of candidates.entries()) {
    const { settings } = candidate;
    if (index > 0) yield { type: 'model', name: settings.name };
    for (let attempt = 0; ; attempt++) {
      let hasSaid = false;
      try {
        for await (const event of streamAttempt(
          { ...toAttempt(candidate, request), aliveEveryMs: parts.aliveEveryMs },
          signal,
        )) {
          hasSaid ||= isSaid(event);
          yield event;
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        last = toProviderFailure(error, Date.now());
      }
      const { status, reason, providerRequestId } = last;
      const waitMs = hasSaid ? null : toWait(last, attempt, settings.retries, parts);
      parts.log.warn(
        { languageModel: settings.name, attempt, status, reason, providerRequestId, hasSaid, waitMs },
        'a language model failed',
      );
      if (hasSaid) throw toError(last);
      // Each attempt, and the pause before it, is a silence of its own.
      yield alive;
      if (waitMs === null) break;
      await pause(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      yield alive;
    }
  }
  throw last === null ? new Error('there is no language model to ask') : toError(last);
}

/** How long to wait before the next attempt, in milliseconds; null: there is none. */
function toWait(
  { isTransient, retryAfterMs }: ProviderFailure,
  attempt: number,
  retries: number,
  { pauseMs, pauseMsMax, random }: NetworkModelParts,
): number | null {
  if (!isTransient || attempt >= retries) return null;
  if (retryAfterMs !== null) return retryAfterMs <= pauseMsMax ? retryAfterMs : null;
  return Math.min(pauseMs * 2 ** attempt, pauseMsMax) * (1 - random() / 2);
}

function toError({ code, status, reason }: ProviderFailure): InlayError {
  const message =
    code === 'LANGUAGE_MODEL_TIMEOUT' ? 'The language model did not answer in time.' : 'The language model failed.';
  // The cause is for the log, where the request id stands beside it.
  return new InlayError(code, message, { cause: new Error(status === null ? reason : `status ${status}: ${reason}`) });
}

function toAttempt(candidate: Candidate, { system, messages, tools }: Request) {
  const { settings, by, model, tell } = candidate;
  const { needsThoughtsBack, systemOptions } = providers[settings.provider];
  const { prompt, hasAllThoughts } = toPrompt({ system, messages }, by, systemOptions);
  // A turn that another model began: its thoughts are not ours to give.
  const reasoning = needsThoughtsBack && !hasAllThoughts && settings.reasoning !== null ? 'none' : settings.reasoning;
  const options: LanguageModelV4CallOptions = {
    prompt,
    ...(tools.length === 0 ? {} : { tools: tools.map(toFunctionTool) }),
    ...(settings.outputTokensMax === null ? {} : { maxOutputTokens: settings.outputTokensMax }),
    ...(settings.temperature === null ? {} : { temperature: settings.temperature }),
    ...(reasoning === null ? {} : { reasoning }),
  };
  return { model, options, by, firstTokenMs: settings.firstTokenMs, onWarnings: tell };
}

function toFunctionTool({ name, description, inputSchema }: ToolDescription) {
  if (!isObjectSchema(inputSchema)) throw new Error(`The input of the tool ${name} is not an object.`);
  return { type: 'function', name, description, inputSchema } as const;
}

function isObjectSchema(schema: Readonly<Record<string, unknown>>): schema is JSONSchema7 & Record<string, unknown> {
  return schema['type'] === 'object';
}
