// Two readings of a session as text: Thread, the messages of its conversation, each once; and Transcript, its steps one after the other.
import type { Event, EventPreview } from "../api/types.gen.ts";
import { inputMessages, messageKey, outputMessages, type Message } from "./messages.ts";
import type { Node, Tree } from "./tree.ts";

/** A message of a thread, with the event in which it first stands. */
export interface ThreadItem {
  message: Message;
  event: string;
  repeated: number; // how many messages of the history before it were shown already
}

/**
 * Returns the messages of model calls in the order in which they were said. A call sends the conversation so far again: what was shown
 * already is left out and counted, but for what somebody says once more in it. events are whole, in order of their start.
 */
export function thread(events: Event[]): ThreadItem[] {
  const seen = new Map<string, number>(); // how often a message was shown
  const items: ThreadItem[] = [];
  for (const e of events) {
    let repeated = 0;
    const times = new Map<string, number>(); // how often it stands in this call so far
    const add = (m: Message) => {
      if (m.parts.length === 0) return;
      const key = messageKey(m);
      const n = (times.get(key) ?? 0) + 1;
      times.set(key, n);
      if (n <= (seen.get(key) ?? 0)) {
        repeated++;
        return;
      }
      seen.set(key, n);
      items.push({ message: m, event: e.event_id, repeated });
      repeated = 0;
    };
    for (const m of inputMessages(e.inputs).messages) add(m);
    for (const m of outputMessages(e.outputs).messages) add(m);
  }
  return items;
}

/** A step of a transcript. */
export interface Step {
  node: Node;
  depth: number; // among the steps
  wrappers: number; // how many wrappers stand between it and the step above
}

/**
 * Returns the steps of a session in order: model calls, tools, whatever failed, and leaves. Chains around them are wrappers: they are
 * counted, and shown where they are the last that is left.
 */
export function transcript(tree: Tree): Step[] {
  const steps: Step[] = [];
  const stack: { node: Node; depth: number; wrappers: number }[] = [{ node: tree.root, depth: -1, wrappers: 0 }];
  while (stack.length > 0) {
    const { node, depth, wrappers } = stack.pop()!;
    const isStep = node !== tree.root && (node.type === "model" || node.type === "tool" || node.children.length === 0 || node.error !== null && node.errorsBelow === 0);
    if (isStep) steps.push({ node, depth: depth + 1, wrappers });
    const below = isStep ? depth + 1 : depth;
    for (let i = node.children.length - 1; i >= 0; i--) {
      stack.push({ node: node.children[i]!, depth: below, wrappers: isStep || node === tree.root ? 0 : wrappers + 1 });
    }
  }
  return steps;
}

/** The line that tells what a step did. */
export function stepLine(preview: EventPreview | undefined, of: "input" | "output"): string {
  return preview?.[of] ?? "";
}
