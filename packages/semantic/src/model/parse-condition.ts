/**
 * Reads the conditions of access policies: `{ securityContext.active and userAttributes.level >= 3 }`. Member access, and, or, not,
 * comparisons, `in`, literals and parentheses, and nothing else: no calls, no arithmetic, no code. Braces count as parentheses.
 */
import type { ConditionValue, PolicyCondition, PolicyValue } from './data-model.ts';

/** Characters of a condition, and parentheses within each other. */
const charactersMax = 2000;
const depthMax = 32;

interface Token {
  readonly kind: 'name' | 'number' | 'text' | 'sign' | 'end';
  readonly text: string;
  /** Characters before it. */
  readonly at: number;
}

/** What is wrong, and how many characters of the text stand before it. */
interface Problem {
  readonly problem: string;
  readonly at: number;
}

const isProblem = (value: object): value is Problem => 'problem' in value;

/** Parses a condition. @returns the condition, or a sentence that says what is wrong and where */
export function parseCondition(text: string): PolicyCondition | string {
  if (text.length > charactersMax) return `a condition has at most ${charactersMax} characters`;
  const tokens = tokenise(text);
  const parsed = isProblem(tokens) ? tokens : parse(tokens);
  return isProblem(parsed) ? `${parsed.problem}, at character ${parsed.at + 1} of the condition` : parsed;
}

function tokenise(text: string): readonly Token[] | Problem {
  const tokens: Token[] = [];
  const pattern =
    /\s*(?:([A-Za-z_]\w*)|(-?\d+(?:\.\d+)?)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(&&|\|\||[=!]==|[=!<>]=|[!<>(){}[\],.]))/y;
  while (pattern.lastIndex < text.trimEnd().length) {
    const from = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) {
      const at = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
      return { problem: `"${text.charAt(at)}" cannot stand here${text.charAt(at) === '=' ? ': write ==' : ''}`, at };
    }
    const [whole, name, number, quoted, sign] = match;
    const token = name ?? number ?? quoted ?? sign ?? '';
    const kind = name !== undefined ? 'name' : number !== undefined ? 'number' : quoted !== undefined ? 'text' : 'sign';
    const at = from + whole.length - token.length;
    tokens.push({ kind, text: kind === 'text' ? token.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : token, at });
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length });
  return tokens;
}

const comparisons: Readonly<Record<string, '==' | '!=' | '<' | '<=' | '>' | '>='>> = {
  '==': '==',
  '===': '==',
  '!=': '!=',
  '!==': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};
const closing: Readonly<Record<string, string>> = { '(': ')', '{': '}' };

function parse(tokens: readonly Token[]): PolicyCondition | Problem {
  let next = 0;
  let depth = 0;
  const end: Token = { kind: 'end', text: 'the end', at: 0 };
  const peek = (): Token => tokens[next] ?? end;
  const isNext = (...texts: string[]): boolean =>
    (peek().kind === 'sign' || peek().kind === 'name') && texts.includes(peek().text);
  const take = (...texts: string[]): boolean => {
    if (!isNext(...texts)) return false;
    next += 1;
    return true;
  };
  const problem = (expected: string): Problem => ({ problem: `${expected}, not ${quote(peek())}`, at: peek().at });

  const chain = (
    kind: 'and' | 'or',
    signs: readonly string[],
    inner: () => PolicyCondition | Problem,
  ): PolicyCondition | Problem => {
    const first = inner();
    const conditions = [first];
    while (take(...signs)) conditions.push(inner());
    const wrong = conditions.find(isProblem);
    if (wrong !== undefined) return wrong;
    const right = conditions.filter((one): one is PolicyCondition => !isProblem(one));
    return right.length === 1 ? first : ({ kind, conditions: right } as const);
  };
  const any = (): PolicyCondition | Problem => chain('or', ['or', '||'], all);
  const all = (): PolicyCondition | Problem => chain('and', ['and', '&&'], one);

  const one = (): PolicyCondition | Problem => {
    if (depth >= depthMax) return { problem: `more than ${depthMax} parentheses within each other`, at: peek().at };
    depth += 1;
    const found = negatedOrPlain();
    depth -= 1;
    return found;
  };
  const negatedOrPlain = (): PolicyCondition | Problem => {
    if (take('not', '!')) {
      const condition = one();
      return isProblem(condition) ? condition : { kind: 'not', condition };
    }
    const opened = closing[peek().text];
    if (peek().kind === 'sign' && opened !== undefined) {
      // `{ userAttributes.level } >= 3`: braces around one value.
      const before = next;
      next += 1;
      const inner = value();
      if (!isProblem(inner) && take(opened)) return compare(inner);
      next = before + 1;
      const condition = any();
      if (isProblem(condition)) return condition;
      return take(opened) ? condition : problem(`expected ${opened}`);
    }
    const left = value();
    return isProblem(left) ? left : compare(left);
  };
  const compare = (left: ConditionValue): PolicyCondition | Problem => {
    const isNegated = isNext('not');
    if (isNegated) {
      next += 1;
      if (!isNext('in')) return problem('expected in');
    }
    const operator = take('in') ? 'in' : peek().kind === 'sign' ? comparisons[peek().text] : undefined;
    if (operator === undefined) return { kind: 'truthy', value: left };
    if (operator !== 'in') next += 1;
    const opened = peek().kind === 'sign' ? closing[peek().text] : undefined;
    if (opened !== undefined) next += 1;
    const right = value();
    if (isProblem(right)) return right;
    if (opened !== undefined && !take(opened)) return problem(`expected ${opened}`);
    if (operator !== 'in' && (left.kind === 'list' || right.kind === 'list')) {
      return { problem: 'a list can be compared with in only', at: peek().at };
    }
    const condition: PolicyCondition = { kind: 'compare', operator, left, right };
    return isNegated ? { kind: 'not', condition } : condition;
  };

  const value = (): ConditionValue | Problem => {
    if (!isNext('[')) return single();
    next += 1;
    const values: PolicyValue[] = [];
    while (!take(']')) {
      if (values.length > 0 && !take(',')) return problem('expected , or ]');
      const item = single();
      if (isProblem(item)) return item;
      values.push(item);
    }
    return { kind: 'list', values };
  };
  const single = (): PolicyValue | Problem => {
    const token = peek();
    if (token.kind === 'end' || token.kind === 'sign') return problem('expected a value');
    next += 1;
    if (token.kind === 'text') return { kind: 'literal', value: token.text };
    if (token.kind === 'number') {
      const isSafe = Math.abs(Number(token.text)) <= Number.MAX_SAFE_INTEGER;
      return isSafe
        ? { kind: 'literal', value: Number(token.text) }
        : { problem: 'a number this large loses digits: write it in quotes', at: token.at };
    }
    if (token.text === 'true' || token.text === 'false') return { kind: 'literal', value: token.text === 'true' };
    const path = [token.text];
    while (isNext('.', '[')) {
      const isBracket = take('[');
      if (!isBracket) next += 1;
      const key = peek();
      if (key.kind !== (isBracket ? 'text' : 'name'))
        return problem(isBracket ? 'expected a name in quotes' : 'expected a name');
      next += 1;
      path.push(key.text);
      if (isBracket && !take(']')) return problem('expected ]');
    }
    if (isNext('('))
      return {
        problem: "functions are not supported (whether a list has a value is written 'x' in groups)",
        at: peek().at,
      };
    return (
      userValue(path) ?? { problem: `"${path.join('.')}" is not known; there are ${userValueNames}`, at: token.at }
    );
  };

  const condition = any();
  if (isProblem(condition)) return condition;
  return peek().kind === 'end' ? condition : problem('expected the end');
}

const quote = (token: Token): string => (token.kind === 'end' ? token.text : `"${token.text}"`);

/** What policies may read of the asking user, for messages. */
export const userValueNames = 'userAttributes.x, securityContext.x, groups and embedTenant.name';

/** The value of the asking user that a path such as `userAttributes.merchant_id` stands for; null when there is none. */
export function userValue([root, ...rest]: readonly string[]): PolicyValue | null {
  const [name] = rest;
  if (rest.includes('')) return null;
  if ((root === 'userAttributes' || root === 'user_attributes') && name !== undefined && rest.length === 1) {
    return { kind: 'userAttribute', name };
  }
  if ((root === 'securityContext' || root === 'security_context') && rest.length > 0) {
    return { kind: 'securityContext', path: rest };
  }
  if (root === 'groups' && rest.length === 0) return { kind: 'groups' };
  if ((root === 'embedTenant' || root === 'embed_tenant') && name === 'name' && rest.length === 1) {
    return { kind: 'embedTenantName' };
  }
  return null;
}
