// The draft of the playground, which the browser keeps until its tab is closed.
import { signal } from "@preact/signals";
import { isAbort } from "../../api/client.ts";
import { stream } from "../../api/stream.ts";
import { keep, readKept } from "../../app/kept.ts";
import { me } from "../../app/session.ts";
import { messageOf } from "../../model/format.ts";
import { addPiece, emptyVariant, lackOf, requestOf, type Answer, type Variant } from "../../model/playground.ts";

export interface Draft {
  from: string; // the address it was filled from; "" for none
  title: string; // what it was filled from, for people
  note: string; // what did not come along
  original: string; // the answer of the event
  config: { id: string; name: string } | null; // the configuration it came from
  variants: Variant[];
  answers: (Answer | null)[];
  values: Record<string, string>;
}

export const kept = () => `spangrove.playground.${me.value?.project.id}`;
const emptyDraft = (): Draft => ({ from: "", title: "", note: "", original: "", config: null, variants: [emptyVariant()], answers: [null], values: {} });

/** The draft. */
export const draft = signal(read());

function read(): Draft {
  const old = readKept<Draft>(kept());
  return old?.variants ? old : emptyDraft();
}

/** Changes the draft, and keeps it. */
export function edit(change: Partial<Draft>): void {
  draft.value = { ...draft.value, ...change };
  keep(kept(), draft.value);
}

/** Begins a draft anew. */
export function restart(from: Partial<Draft> = {}): void {
  stopAll();
  running.value = new Map(); // what they still say is of no variant any more
  edit({ ...emptyDraft(), ...from });
}

export const editVariant = (at: number, change: Partial<Variant>): void => edit({ variants: draft.value.variants.map((v, i) => (i === at ? { ...v, ...change } : v)) });
const setAnswer = (at: number, answer: Answer | null): void => edit({ answers: draft.value.variants.map((_, i) => (i === at ? answer : draft.value.answers[i] ?? null)) });

/** What ends the variants that run. */
export const running = signal<ReadonlyMap<number, AbortController>>(new Map());

/** Asks the model of a variant; the answer so far is told as it comes. */
export async function collect(body: unknown, signal: AbortSignal, tell: (a: Answer) => void): Promise<Answer> {
  let answer: Answer = { text: "", reasoning: "", calls: [] };
  for await (const [kind, data] of stream("v1/playground/run", body, signal)) {
    answer = addPiece(answer, kind, data);
    tell(answer);
  }
  if (!answer.done && !answer.error) answer = { ...answer, error: "The answer ended before it was whole." };
  return answer;
}

/** Runs one variant of the draft. */
export async function run(at: number): Promise<void> {
  const stop = new AbortController();
  running.value.get(at)?.abort();
  running.value = new Map(running.value).set(at, stop);
  let latest: Answer = { text: "", reasoning: "", calls: [] };
  let frame = 0;
  const show = () => { frame = 0; if (!stop.signal.aborted) setAnswer(at, latest); };
  setAnswer(at, latest);
  try {
    const variant = draft.value.variants[at]!;
    const lack = lackOf(variant);
    if (lack) throw new Error(`Nothing was asked: ${lack}.`);
    latest = await collect(requestOf(variant, draft.value.values), stop.signal, (a) => {
      latest = a;
      frame ||= setTimeout(show, 50); // words come faster than anybody reads
    });
  } catch (e) {
    latest = { ...latest, error: isAbort(e) ? "Stopped." : messageOf(e) };
  }
  clearTimeout(frame);
  if (running.value.get(at) !== stop) return; // it runs again
  setAnswer(at, latest);
  const rest = new Map(running.value);
  rest.delete(at);
  running.value = rest;
}

export const runAll = (): void => draft.value.variants.forEach((_, i) => void run(i));
export const stopAll = (): void => running.value.forEach((stop) => stop.abort());
