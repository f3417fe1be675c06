/** Cutting a conversation to what a language model over the network takes. Pure. */
import type { ConversationMessage, ToolDescription } from './language-models/language-model.ts';

/** Tokens that a message costs beside its text: its role, and what stands between messages. */
const messageTokens = 8;
/** The least that is left of a question, in tokens: some words, and the note. */
const questionTokensMin = 64;

const cutNote = '\n[The rest of this message is left out: it is too long.]';
const resultNote = JSON.stringify({ note: 'This result is left out: it is too long. Ask for fewer columns or rows.' });

/**
 * The tokens of a text at most, roughly: half its bytes in UTF-8. The tokenizers of today make a token of 3 to 4 bytes of prose
 * and of 2 to 3 bytes of JSON, numbers or text in other scripts; a text that has more tokens than this is rare, and small.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 2);
}

/** The tokens of a message at most, roughly; of its text as it stands, so it has to be in the form that is sent. */
export function estimateMessage(message: ConversationMessage): number {
  if (message.role === 'user') return messageTokens + estimateTokens(message.content);
  if (message.role === 'tool') return messageTokens + estimateTokens(message.name) + estimateTokens(message.result);
  const calls = message.toolCalls.reduce(
    (sum, { name, input }) => sum + messageTokens + estimateTokens(name) + estimateTokens(input),
    0,
  );
  const data = message.turnData === null ? 0 : estimateTokens(JSON.stringify(message.turnData));
  return messageTokens + estimateTokens(message.content) + calls + data;
}

/** The tokens of what stands beside the messages of a request, at most, roughly. */
export function estimateFrame(system: string, tools: readonly ToolDescription[]): number {
  const described = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return messageTokens + estimateTokens(system) + estimateTokens(JSON.stringify(described));
}

/**
 * Cuts a conversation to `tokensMax` tokens, counted as {@link estimateMessage} does. What goes first:
 * 1. whole earlier questions with all that follows them, the oldest first;
 * 2. turns of the last question, each with the results of its calls, the oldest first, but for the latest;
 * 3. the results of the latest turn, replaced by a note; then that turn;
 * 4. the end of the last question, replaced by a note.
 * So a call is never without its result, nor a result without its call, and the last question always stays.
 * @param messages those of a turn in order, each followed by the results of its calls; with a question in them
 * @param toReady makes a message ready to be sent (none: it is left out); not asked for messages far beyond what fits
 * @returns within `tokensMax`, unless not even the beginning of the last question fits
 */
export function cutConversation(
  messages: readonly ConversationMessage[],
  tokensMax: number,
  toReady: (message: ConversationMessage) => readonly ConversationMessage[] = (message) => [message],
): ConversationMessage[] {
  const place = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[place];
  if (question?.role !== 'user') return [];
  const own = blocksOf(messages.slice(place + 1), 'assistant')
    .map((block) => block.flatMap(toReady))
    .filter((block) => block.length > 0);
  const latest = own.at(-1) ?? [];

  let room = tokensMax - estimateMessage(question);
  const kept: ConversationMessage[][] = [];
  if (costOf(latest) > room) {
    const noted = latest.map((message) => (message.role === 'tool' ? { ...message, result: resultNote } : message));
    if (costOf(noted) > room) return [cutQuestion(question, tokensMax)];
    return [question, ...noted];
  }
  // From the latest back, as long as there is room: what is left out is always the oldest.
  room -= costOf(latest);
  for (const block of own.slice(0, -1).toReversed()) {
    room -= costOf(block);
    if (room < 0) break;
    kept.unshift(block);
  }
  const earlier: ConversationMessage[][] = [];
  for (const raw of blocksOf(messages.slice(0, place), 'user').toReversed()) {
    const block = raw.flatMap(toReady);
    room -= costOf(block);
    if (room < 0) break;
    earlier.unshift(block);
  }
  return [...earlier.flat(), question, ...kept.flat(), ...latest];
}

/** Cuts the messages into blocks that each begin with a message of that role; what stands before the first is left out. */
function blocksOf(
  messages: readonly ConversationMessage[],
  role: ConversationMessage['role'],
): ConversationMessage[][] {
  const blocks: ConversationMessage[][] = [];
  for (const message of messages) {
    if (message.role === role) blocks.push([message]);
    else blocks.at(-1)?.push(message);
  }
  return blocks;
}

function costOf(block: readonly ConversationMessage[]): number {
  return block.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** The question as it is where it fits, else its beginning with a note. */
function cutQuestion(
  question: Extract<ConversationMessage, { role: 'user' }>,
  tokensMax: number,
): Extract<ConversationMessage, { role: 'user' }> {
  if (estimateMessage(question) <= tokensMax) return question;
  const tokens = Math.max(tokensMax - messageTokens, questionTokensMin) - estimateTokens(cutNote);
  const bytes = Buffer.from(question.content).subarray(0, tokens * 2);
  // A character that the cut goes through is left out.
  const content = bytes.toString().replace(/\ufffd$/, '');
  return { ...question, content: `${content}${cutNote}` };
}
