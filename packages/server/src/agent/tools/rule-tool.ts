/** The tool `<brand>Rule`: reads a rule that is told on request only (agent-configuration.md). */
import { z } from 'zod';
import { InlayError } from '../../errors.ts';
import type { Rule } from '../configuration/agent-configuration.ts';
import { defineTool, type Tool } from './tool.ts';

const inputSchema = z.object({ name: z.string().max(200).describe('The name of the rule, as it is listed.') });

/** Names in the hint of a rule that does not exist. */
const namesHintedMax = 20;

/** Makes the tool under its branded name, over the rules that it can read: at least one. */
export function createRuleTool(name: string, rules: readonly Rule[]): Tool {
  const byName = new Map(rules.map((rule) => [keyOf(rule.name), rule]));
  return defineTool({
    name,
    description:
      'Reads a rule of this installation by its name. Read it before you answer a question that it is about.',
    schema: inputSchema,
    shown: (input) => input,
    async run(input) {
      const rule = byName.get(keyOf(input.name));
      if (rule === undefined) {
        const names = rules.slice(0, namesHintedMax).map((one) => one.name);
        throw new InlayError('TOOL_INPUT_INVALID', 'There is no such rule.', { hint: `Rules: ${names.join(', ')}` });
      }
      return { result: { name: rule.name, rule: rule.text }, queries: 0, rows: 0 };
    },
  });
}

function keyOf(name: string): string {
  return name.trim().toLowerCase();
}
