/** The language models of an installation by the names that agents call them: the built-in analyst and the operator's. */
import { createBuiltinAnalyst } from './builtin-analyst.ts';
import type { LanguageModel } from './language-model.ts';
import type { NetworkModelParts } from './network-model.ts';
import type { LanguageModelSettings, LanguageModelSource } from './settings-file.ts';

/** The name of the built-in analyst, which no other model may have. */
export const builtinName = 'builtin';

/** The longest pause before an attempt, whatever a provider asks for. */
const pauseMsMax = 20_000;

/** What a registry is made with. */
export interface LanguageModelsParts {
  /** Undefined: the operator names none. */
  readonly source: LanguageModelSource | undefined;
  /** The longest silence that the agent bears, in milliseconds. */
  readonly silenceMs: number;
  readonly log: NetworkModelParts['log'];
  /** In the place of the built-in analyst, for tests. */
  readonly builtin?: LanguageModel | undefined;
}

/**
 * Opens the language models: the built-in analyst under {@link builtinName}, then the operator's. No provider is asked anything.
 * @throws ConfigError when the file or a key does not work.
 */
export async function openLanguageModels({
  source,
  silenceMs,
  log,
  builtin = createBuiltinAnalyst(),
}: LanguageModelsParts): Promise<ReadonlyMap<string, LanguageModel>> {
  const models = new Map<string, LanguageModel>([[builtinName, builtin]]);
  if (source === undefined) return models;
  // Only who has such models loads what speaks to them.
  const [{ readLanguageModelSettings }, { createNetworkModel }] = await Promise.all([
    import('./settings-file.ts'),
    import('./network-model.ts'),
  ]);
  const settings = await readLanguageModelSettings(source, silenceMs);
  const parts = {
    log,
    pauseMs: 500,
    pauseMsMax: Math.min(pauseMsMax, silenceMs / 2),
    aliveEveryMs: Math.min(1000, silenceMs / 4),
    random: Math.random,
  };
  for (const own of settings) {
    models.set(own.name, createNetworkModel([own, ...standInsOf(own, settings)], parts));
  }
  return models;
}

/** Those that stand in for a model, in their order. The file's reader has seen to it that they do not go round in a circle. */
function standInsOf(
  { fallback }: LanguageModelSettings,
  all: readonly LanguageModelSettings[],
): readonly LanguageModelSettings[] {
  const next = all.find(({ name }) => name === fallback);
  return next === undefined ? [] : [next, ...standInsOf(next, all)];
}
