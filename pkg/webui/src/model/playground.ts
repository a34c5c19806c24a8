// The drafts of the playground: prompts with variables, read from events and configurations, and written as requests to models.
import type { ConfigurationParameters } from "../api/types.gen.ts";
import { inputMessages, outputMessages, type Message } from "./messages.ts";
import { members, shown, textAt } from "./raw.ts";

type Dict = Record<string, unknown>;

export interface Call {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
  signature?: string;
}

export interface DraftMessage {
  role: string;
  text: string;
  images?: string[];
  calls?: Call[];
  callId?: string; // of a tool: the call that it answers
}

export interface Variant {
  provider: string;
  model: string;
  messages: DraftMessage[];
  settings: Record<string, string>; // as they were typed
  tools: string; // JSON, as it was typed
}

export interface Answer {
  text: string;
  reasoning: string;
  calls: Call[];
  usage?: Usage;
  done?: Done;
  error?: string;
}

export interface Usage { prompt_tokens: number; completion_tokens: number; total_tokens: number; cost: number | null; estimated: boolean }
export interface Done { provider: string; model: string; finish_reason: string; refusal?: string; duration: number; time_to_first_token: number }

/** The settings of a model: numbers, and those that are texts or JSON. */
export const numbers = ["temperature", "max_tokens", "top_p", "seed", "presence_penalty", "frequency_penalty"];
export const roles = ["system", "user", "assistant", "tool"];

export const emptyVariant = (): Variant => ({ provider: "", model: "", messages: [{ role: "system", text: "" }, { role: "user", text: "" }], settings: {}, tools: "" });

const isDict = (v: unknown): v is Dict => typeof v === "object" && v !== null && !Array.isArray(v);
const text = (v: unknown) => (typeof v === "string" ? v : "");
const filled = (v: unknown) => v !== undefined && v !== null && v !== "";

/** The names between double braces, in the order in which they come. */
export function variablesOf(texts: string[]): string[] {
  return [...new Set(texts.flatMap((t) => [...t.matchAll(/\{\{\s*([\w.-]{1,100})\s*\}\}/g)].map((m) => m[1]!)))];
}

/** A text with the variables filled in; one without a value stays as it is. */
export const fill = (t: string, values: Record<string, string>) =>
  t.replace(/\{\{\s*([\w.-]{1,100})\s*\}\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? values[name]! : whole));

/** The variables of a datapoint, whose JSON is given: {{inputs.question}}, and {{question}} for it. */
export function valuesOf(names: string[], datapoint: string): Record<string, string> {
  const out: Record<string, string> = {};
  const inputs = members(datapoint).get("inputs") ?? "{}";
  for (const name of names) {
    const v = [inputs, datapoint].map((of) => textAt(of, name)).find((t) => t !== undefined && t !== "null" && t !== '""');
    if (v !== undefined) out[name] = shown(v);
  }
  return out;
}

/** Reads a model event: what was asked, with which settings, and what it answered. left names what the playground does not take. */
export function fromEvent(e: { inputs?: unknown; outputs?: unknown; config?: unknown }): { variant: Variant; answer: string; left: string[] } {
  const left = new Set<string>();
  const messages = inputMessages(e.inputs).messages.map((m) => draftOf(m, left));
  const config = isDict(e.config) ? e.config : {};
  const variant: Variant = { ...emptyVariant(), provider: text(config.provider), model: text(config.request_model) || text(config.model), settings: settingsOf({ ...config, ...(isDict(config.hyperparameters) ? config.hyperparameters : {}) }) };
  if (messages.length > 0) variant.messages = messages;
  if (Array.isArray(config.tools) && config.tools.length > 0) variant.tools = JSON.stringify(config.tools.map(toolOf), null, 2);
  const answer = outputMessages(e.outputs).messages.flatMap((m) => m.parts).map((p) => (p.kind === "text" ? p.text : "")).join("");
  return { variant, answer, left: [...left] };
}

function draftOf(m: Message, left: Set<string>): DraftMessage {
  const d: DraftMessage = { role: { human: "user", ai: "assistant", model: "assistant", function: "tool", developer: "system" }[m.role] ?? m.role, text: "" };
  const texts: string[] = [];
  for (const p of m.parts) {
    if (p.kind === "text") texts.push(p.text);
    else if (p.kind === "result") texts.push(typeof p.value === "string" ? p.value : JSON.stringify(p.value));
    else if (p.kind === "image") (d.images ??= []).push(p.url);
    else if (p.kind === "call") (d.calls ??= []).push({ id: p.id ?? `call_${p.name}`, type: "function", function: { name: p.name, arguments: typeof p.arguments === "string" ? p.arguments : JSON.stringify(p.arguments) } });
    else left.add(p.kind);
  }
  d.text = texts.join("\n");
  if (d.role === "tool" && m.callId) d.callId = m.callId;
  return d;
}

/** A tool in the form of OpenAI's chat completions, whatever form it came in. */
function toolOf(t: unknown): unknown {
  if (!isDict(t) || isDict(t.function)) return t;
  return { type: "function", function: { name: t.name, ...(filled(t.description) ? { description: t.description } : {}), parameters: t.parameters ?? t.input_schema ?? {} } };
}

function settingsOf(from: Dict): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of [...numbers, "reasoning_effort", "tool_choice", "response_format", "stop"]) {
    const v = from[name] ?? (name === "stop" ? from.stop_sequences : undefined);
    if (filled(v)) out[name] = typeof v === "string" ? v : JSON.stringify(v);
  }
  return out;
}

/** Writes a variant as a request. Throws what is wrong with what was typed. */
export function requestOf(v: Variant, values: Record<string, string>): Dict {
  const parameters: Dict = {};
  for (const name of numbers) {
    const typed = v.settings[name]?.trim();
    if (!typed) continue;
    if (!Number.isFinite(Number(typed))) throw new Error(`${name}: ${typed} is not a number`);
    parameters[name] = Number(typed);
  }
  const { reasoning_effort: effort, stop, tool_choice: choice, response_format: format } = v.settings;
  if (effort) parameters.reasoning_effort = effort;
  if (stop) parameters.stop = stop.startsWith("[") ? json("stop", stop) : [stop];
  const messages = v.messages.flatMap((m) => {
    const t = fill(m.text, values);
    if (!t && !m.images?.length && !m.calls?.length && !m.callId) return []; // it says nothing, and models refuse it
    const content = m.images?.length ? [...(t ? [{ type: "text", text: t }] : []), ...m.images.map((url) => ({ type: "image_url", image_url: { url } }))] : t;
    return { role: m.role, content: t || m.images?.length || !m.calls?.length ? content : null, ...(m.calls?.length ? { tool_calls: m.calls } : {}), ...(m.callId ? { tool_call_id: m.callId } : {}) };
  });
  return {
    ...(v.provider ? { provider: v.provider } : {}), ...(v.model ? { model: v.model } : {}), messages, parameters,
    ...(v.tools.trim() ? { tools: json("tools", v.tools) } : {}),
    ...(choice ? { tool_choice: choice.startsWith("{") ? json("tool_choice", choice) : choice } : {}),
    ...(format ? { response_format: format.startsWith("{") ? json("response_format", format) : { type: format } } : {}),
  };
}

/** Says why a variant cannot be asked as it was typed; "" if it can. */
export function lackOf(v: Variant): string {
  try {
    return (requestOf(v, {}).messages as unknown[]).length > 0 ? "" : "no message has a text";
  } catch (e) {
    return (e as Error).message;
  }
}

function json(what: string, typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch (e) {
    throw new Error(`${what}: ${(e as Error).message}`);
  }
}

interface Parameters { model?: string; hyperparameters?: Dict; template?: unknown; selectedFunctions?: unknown; functionCallParams?: string; forceFunction?: unknown; responseFormat?: unknown; response_format?: unknown }

/** Reads a configuration. */
export function fromConfiguration(c: { provider: string; parameters: Parameters }): Variant {
  const p = c.parameters;
  const list: unknown[] = typeof p.template === "string" ? [{ role: "user", content: p.template }] : Array.isArray(p.template) ? p.template : [];
  const settings = settingsOf({ ...p.hyperparameters, response_format: p.response_format ?? (isDict(p.responseFormat) ? p.responseFormat.type : undefined) });
  const forced = isDict(p.forceFunction) ? text(p.forceFunction.name) : "";
  if (p.functionCallParams) settings.tool_choice = p.functionCallParams !== "force" ? p.functionCallParams : forced ? JSON.stringify({ type: "function", function: { name: forced } }) : "required";
  return {
    provider: c.provider === "default" ? "" : c.provider, model: text(p.model), settings,
    messages: list.length > 0 ? list.filter(isDict).map((m) => ({ role: text(m.role), text: text(m.content), ...(Array.isArray(m.tool_calls) ? { calls: m.tool_calls as Call[] } : {}), ...(m.tool_call_id ? { callId: text(m.tool_call_id) } : {}) })) : emptyVariant().messages,
    tools: Array.isArray(p.selectedFunctions) && p.selectedFunctions.length > 0 ? JSON.stringify(p.selectedFunctions.map(toolOf), null, 2) : "",
  };
}

/** Writes a variant as the parameters of a configuration, over those that it had. Throws what is wrong with what was typed. */
export function parametersOf(v: Variant, before: Parameters = {}): ConfigurationParameters {
  const { parameters, tools, tool_choice: choice, response_format: format } = requestOf(v, {}) as { parameters: Dict; tools?: unknown; tool_choice?: unknown; response_format?: { type: "text" | "json_object" | "json_schema" } };
  const { selectedFunctions: _f, functionCallParams: _p, forceFunction: _o, responseFormat: _r, response_format: _s, ...rest } = before;
  return {
    call_type: "chat", ...rest, model: v.model, hyperparameters: parameters,
    template: v.messages.map((m) => ({ role: m.role, content: m.text, ...(m.calls ? { tool_calls: m.calls } : {}), ...(m.callId ? { tool_call_id: m.callId } : {}) })),
    ...(Array.isArray(tools) ? { selectedFunctions: tools.map((t) => { const f = (isDict(t) && isDict(t.function) ? t.function : t) as Dict; return { ...f, id: text(f.id) || text(f.name), name: text(f.name) }; }) } : {}),
    ...(choice ? isDict(choice) ? { functionCallParams: "force", forceFunction: choice.function as Dict } : { functionCallParams: choice === "required" ? "force" : (choice as "auto" | "none") } : {}),
    ...(format ? format.type === "json_schema" ? { response_format: format } : { responseFormat: { type: format.type } } : {}),
  };
}

/** Adds a message of the stream to an answer. */
export function addPiece(a: Answer, kind: string, data: Dict): Answer {
  switch (kind) {
    case "delta": {
      const calls = [...a.calls];
      for (const piece of (data.tool_calls ?? []) as (Call & { index: number })[]) {
        const old = calls[piece.index];
        calls[piece.index] = old ? { ...old, function: { ...old.function, arguments: old.function.arguments + piece.function.arguments } }
          : { id: piece.id, type: "function", function: { name: piece.function.name, arguments: piece.function.arguments }, ...(piece.signature ? { signature: piece.signature } : {}) };
      }
      return { ...a, text: a.text + text(data.text), reasoning: a.reasoning + text(data.reasoning), calls };
    }
    case "usage": return { ...a, usage: data as unknown as Usage };
    case "done": return { ...a, done: data as unknown as Done };
    case "error": return { ...a, error: text(data.message) };
  }
  return a;
}
