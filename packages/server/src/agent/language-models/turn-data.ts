/**
 * What a language model over the network wants back with a turn of its own: its thoughts with their signatures, in the order
 * in which it wrote them. Pure. Kept with the step of the run, opaque to everybody else.
 */
import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { z } from 'zod';
import type { JsonValue } from '../../store/json.ts';
import { storable } from './storable.ts';

/** Longer ones are not kept: the turns that follow then go on without. */
const charactersMax = 262_144;

const metadataSchema = z.record(z.string(), z.record(z.string(), z.json()));

const partSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('thought'), text: z.string(), metadata: metadataSchema.optional() }),
  z.object({ kind: z.literal('text'), text: z.string() }),
  z.object({ kind: z.literal('call'), id: z.string(), metadata: metadataSchema.optional() }),
]);

const turnDataSchema = z.object({ by: z.string(), parts: z.array(partSchema) });

/** A part of a turn, in the order in which it was written. Texts of calls are with the calls themselves. */
export type TurnPart = z.infer<typeof partSchema>;

/** Collects a turn while it is streamed. */
export interface TurnCollector {
  add(part: LanguageModelV4StreamPart): void;
  /** Null: it is too long to be kept. */
  end(): JsonValue | null;
}

/**
 * Collects the parts of a turn.
 * @param by the model that writes it: nobody else is given its thoughts back.
 */
export function collectTurn(by: string): TurnCollector {
  const parts: TurnPart[] = [];
  /** Blocks that are being written, by their kind and id. */
  const open = new Map<string, Extract<TurnPart, { kind: 'thought' | 'text' }>>();
  let characters = 0;
  const block = (kind: 'thought' | 'text', id: string): Extract<TurnPart, { kind: 'thought' | 'text' }> => {
    const key = `${kind} ${id}`;
    const found = open.get(key);
    if (found !== undefined) return found;
    const made = { kind, text: '' };
    open.set(key, made);
    parts.push(made);
    return made;
  };
  const write = (
    kind: 'thought' | 'text',
    id: string,
    text: string,
    metadata: SharedV4ProviderMetadata | undefined,
  ) => {
    characters += text.length;
    if (characters > charactersMax) return;
    const part = block(kind, id);
    part.text += storable(text);
    if (part.kind === 'thought' && metadata !== undefined) part.metadata = merge(part.metadata, metadata);
  };
  return {
    add(part) {
      if (part.type === 'text-delta') write('text', part.id, part.delta, undefined);
      else if (part.type === 'text-end') open.delete(`text ${part.id}`);
      else if (part.type === 'reasoning-start') write('thought', part.id, '', part.providerMetadata);
      else if (part.type === 'reasoning-delta') write('thought', part.id, part.delta, part.providerMetadata);
      else if (part.type === 'reasoning-end') {
        write('thought', part.id, '', part.providerMetadata);
        open.delete(`thought ${part.id}`);
      } else if (part.type === 'tool-call') {
        const metadata = merge(undefined, part.providerMetadata ?? {});
        const hasMetadata = Object.keys(metadata).length > 0;
        parts.push({ kind: 'call', id: part.toolCallId, ...(hasMetadata ? { metadata } : {}) });
      }
    },
    end() {
      if (characters > charactersMax) return null;
      // A turn without thoughts needs no parts: text and calls are in the conversation.
      const isNeeded = parts.some((part) => part.kind === 'thought' || (part.kind === 'call' && part.metadata));
      const checked = z.json().safeParse({ by, parts: isNeeded ? parts : [] });
      return checked.success && JSON.stringify(checked.data).length <= 2 * charactersMax ? checked.data : null;
    },
  };
}

/** The parts of a turn that `by` wrote; null when somebody else wrote it, or nothing was kept. */
export function partsOf(data: JsonValue | null, by: string): readonly TurnPart[] | null {
  const parsed = turnDataSchema.safeParse(data);
  return parsed.success && parsed.data.by === by ? parsed.data.parts : null;
}

type Metadata = z.infer<typeof metadataSchema>;

function merge(before: Metadata | undefined, more: SharedV4ProviderMetadata): Metadata {
  const parsed = metadataSchema.safeParse(more);
  if (!parsed.success) return before ?? {};
  const merged = { ...before };
  for (const [provider, values] of Object.entries(parsed.data)) merged[provider] = { ...merged[provider], ...values };
  return merged;
}
