// Variants run over datapoints of a dataset: an experiment for each, stored as the SDKs store theirs. It goes on while one looks at other pages.
import { signal } from "@preact/signals";
import { ApiError, call, isAbort } from "../../api/client.ts";
import type { Metric } from "../../api/types.gen.ts";
import { messageOf } from "../../model/format.ts";
import { members } from "../../model/raw.ts";
import { requestOf, valuesOf, type Answer, type Variant } from "../../model/playground.ts";
import { begunText, scoreRun } from "../scorerun.tsx";
import { collect } from "./draft.ts";

/** A datapoint, its parts as they are stored. */
export interface Point {
  id: string;
  json: string; // the whole
  inputs: string;
  truth: string;
}

export interface Experiment {
  id: string;
  name: string;
  done: number;
  failed: number;
  total: number;
  cost: number;
  state: "running" | "completed" | "failed" | "cancelled";
  scores: string; // which metrics score it, once it has ended
  problem: string; // of the first datapoint that failed, or why the experiment could not be stored
}

/** The experiments that were begun here last. */
export const experiments = signal<Experiment[]>([]);

const atOnce = 4;
const retries = 4;
let stop = new AbortController();

export const cancel = (): void => stop.abort();

const keep = (e: BeforeUnloadEvent) => e.preventDefault();

/** A random UUID: browsers have crypto.randomUUID on HTTPS and on their own machine only. */
const uuid = () => "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) => (Number(c) ^ (crypto.getRandomValues(new Uint8Array(1))[0]! & (15 >> (Number(c) / 4)))).toString(16));

/** Begins an experiment for each variant, and has metrics score each that has ended. */
export async function start(name: string, dataset: string, points: Point[], variants: { letter: string; variant: Variant }[], names: string[], metrics: Metric[]): Promise<void> {
  stop = new AbortController();
  const mine = stop;
  experiments.value = variants.map(({ letter }) => ({
    id: uuid(), name: variants.length > 1 ? `${name} ${letter}` : name, done: 0, failed: 0, total: points.length, cost: 0, state: "running", scores: "", problem: "",
  }));
  const change = (id: string, f: (e: Experiment) => Partial<Experiment>) => { experiments.value = experiments.value.map((e) => (e.id === id ? { ...e, ...f(e) } : e)); };
  addEventListener("beforeunload", keep);
  await Promise.all(experiments.value.map(async ({ id, name }, i) => {
    const { variant } = variants[i]!;
    const sessions: string[] = [];
    const about = (d: Point) => ({ run_id: id, dataset_id: dataset, datapoint_id: d.id });
    const one = async (d: Point) => {
      const session = uuid();
      const body = requestOf(variant, valuesOf(names, d.json));
      const began = Date.now();
      const rest = JSON.stringify({ session_id: session, session_name: name, source: "evaluation", start_time: began, metadata: about(d) }).slice(1);
      const feedback = members(d.truth).size > 0 ? `"feedback":{"ground_truth":${d.truth}},` : "";
      await call("v1/session/start", { method: "POST", signal: mine.signal, json: `{"session":{"inputs":${d.inputs},${feedback}${rest}}` });
      sessions.push(session);
      const { answer, asked } = await patiently(body, mine.signal);
      const outputs = { role: "assistant", content: answer.text, ...(answer.calls.length > 0 ? { tool_calls: answer.calls } : {}) };
      const { messages, parameters, ...config } = body;
      const { cost, estimated: _, ...tokens } = answer.usage ?? { cost: null, estimated: false };
      const took = answer.done?.duration ?? Date.now() - asked;
      await call("v1/events", { method: "POST", body: { event: {
        event_type: "model", event_name: answer.done?.model ?? (variant.model || "model"), session_id: session, source: "evaluation", start_time: asked, duration: took, error: answer.error ?? null,
        config: { ...config, ...(parameters as object), ...(answer.done ? { provider: answer.done.provider, model: answer.done.model } : {}) }, inputs: { chat_history: messages }, outputs,
        metadata: { ...about(d), ...tokens, ...(cost === null ? {} : { cost }), ...(answer.done ? { time_to_first_token: answer.done.time_to_first_token } : {}) },
      } } });
      await call("v1/events", { method: "PUT", body: { event_id: session, outputs: { content: answer.text }, end_time: asked + took } });
      change(id, (e) => ({ done: e.done + 1, cost: e.cost + (cost ?? 0), ...(answer.error ? { failed: e.failed + 1, problem: e.problem || answer.error } : {}) }));
    };
    let state: Experiment["state"] = "completed";
    try {
      await call("v1/runs", { method: "POST", body: { run_id: id, name, status: "running", dataset_id: dataset, datapoint_ids: points.map((d) => d.id), configuration: { ...requestOf(variant, {}) }, metadata: { source: "playground" } } });
      const waiting = [...points];
      const ended = await Promise.allSettled(Array.from({ length: atOnce }, async () => {
        try {
          for (let d = waiting.shift(); d && !mine.signal.aborted; d = waiting.shift()) await one(d);
        } catch (e) {
          waiting.length = 0; // nothing more is asked, and what is under way comes to its end
          throw e;
        }
      }));
      for (const e of ended) if (e.status === "rejected") throw e.reason;
      const { failed } = experiments.value.find((e) => e.id === id)!;
      if (failed === points.length) state = "failed";
    } catch (e) {
      state = "failed";
      if (!isAbort(e)) change(id, () => ({ problem: messageOf(e) }));
    }
    if (mine.signal.aborted) state = "cancelled";
    try {
      await call(`v1/runs/${id}`, { method: "PUT", body: { name, status: state, event_ids: sessions } });
      const scores = begunText(await scoreRun(id, state === "failed" ? [] : metrics));
      change(id, () => ({ scores }));
    } catch (e) {
      change(id, () => ({ problem: messageOf(e) }));
    }
    change(id, () => ({ state }));
  }));
  removeEventListener("beforeunload", keep);
}

/** Asks, and again after a pause where there is no place for now. */
async function patiently(body: unknown, signal: AbortSignal): Promise<{ answer: Answer; asked: number }> {
  for (let n = 0; ; n++) {
    const asked = Date.now();
    try {
      return { answer: await collect(body, signal, () => {}), asked };
    } catch (e) {
      if (!(e instanceof ApiError && (e.status === 429 || e.status === 503) && n < retries)) {
        if (isAbort(e)) throw e;
        return { answer: { text: "", reasoning: "", calls: [], error: messageOf(e) }, asked };
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 << n));
  }
}
