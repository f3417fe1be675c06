/**
 * The providers of language models: the one place to add another (docs/guides/language-models.md). A provider is an entry
 * that says where its API is, whether it asks for a key, and which package of the AI SDK speaks its wire format.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { boundedFetch } from './bounded-fetch.ts';

/** Where a provider's API is and what opens it. Both are always given: the packages would else look into the environment. */
export interface ProviderAccess {
  readonly baseUrl: string;
  /** Null only where the provider needs no key. */
  readonly apiKey: string | null;
}

/** A provider. */
export interface Provider {
  /** Null: the operator has to say. */
  readonly defaultBaseUrl: string | null;
  readonly needsKey: boolean;
  /** True: a turn that goes on from tool calls of its own run needs the thoughts before them, or must not think. */
  readonly needsThoughtsBack: boolean;
  /** What is said with the instructions, such as that they may be kept for the next turn. */
  readonly systemOptions: SharedV4ProviderOptions | null;
  /** @param model the provider's own name of the model. */
  open(access: ProviderAccess, model: string): LanguageModelV4;
}

const openAiLike = { needsThoughtsBack: false, systemOptions: null } as const;

/** The providers, by the name that the operator writes. */
export const providers = {
  openai: {
    ...openAiLike,
    defaultBaseUrl: 'https://api.openai.com/v1',
    needsKey: true,
    open: ({ baseUrl, apiKey }, model) =>
      createOpenAI({ baseURL: baseUrl, apiKey: apiKey ?? '', fetch: boundedFetch }).chat(model),
  },
  'openai-compatible': {
    ...openAiLike,
    defaultBaseUrl: null,
    needsKey: false,
    open: ({ baseUrl, apiKey }, model) =>
      createOpenAICompatible({
        name: 'openai-compatible',
        baseURL: baseUrl,
        ...(apiKey === null ? {} : { apiKey }),
        includeUsage: true,
        fetch: boundedFetch,
      }).chatModel(model),
  },
  anthropic: {
    defaultBaseUrl: 'https://api.anthropic.com/v1',
    needsKey: true,
    needsThoughtsBack: true,
    systemOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    open: ({ baseUrl, apiKey }, model) =>
      createAnthropic({ baseURL: baseUrl, apiKey: apiKey ?? '', fetch: boundedFetch }).messages(model),
  },
} as const satisfies Readonly<Record<string, Provider>>;

/** The name of a provider. */
export type ProviderName = keyof typeof providers;

/** Whether there is a provider of that name. */
export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(providers, name);
}
