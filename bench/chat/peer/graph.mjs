/** The same script as one node of a LangGraph, each word written to the custom stream: its shortest way to a client. */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { readScript, say } from '../script.ts';

const state = Annotation.Root({ question: Annotation(), answer: Annotation() });

/** What the server of the graph looks for. */
export const graph = new StateGraph(state)
  .addNode('analyst', async ({ question }, { writer, signal }) => {
    let answer = '';
    for await (const text of say(readScript(question), signal ?? new AbortController().signal)) {
      answer += text;
      writer({ text });
    }
    return { answer };
  })
  .addEdge(START, 'analyst')
  .addEdge('analyst', END)
  .compile();
