/*
The messages of an event, whatever its sender's form: the store keeps inputs.chat_history and outputs as the mapper and the native API
take them, so content may be a string, a list of parts of any provider, or an object. Nothing is dropped: what is not known is shown as JSON.
*/

export interface Message {
  role: string; // system, user, assistant, tool, … as sent, in lower case
  name: string | null;
  parts: Part[];
  callId: string | null; // of a tool's message: the call that it answers
}

export type Part =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; id: string | null; name: string; arguments: unknown }
  | { kind: "result"; id: string | null; value: unknown }
  | { kind: "image"; url: string }
  | { kind: "audio"; url: string }
  | { kind: "json"; label: string; value: unknown };

type Dict = Record<string, unknown>;

const isDict = (v: unknown): v is Dict => typeof v === "object" && v !== null && !Array.isArray(v);
const text = (v: unknown): string | null => (typeof v === "string" ? v : null);

/** Members of inputs that hold messages, in the order of preference. */
const messageKeys = ["chat_history", "messages", "contents", "history"];

/** Returns the messages that went into an event, and what else its inputs have. */
export function inputMessages(inputs: unknown): { messages: Message[]; rest: Dict } {
  if (!isDict(inputs)) return { messages: [], rest: {} };
  for (const key of messageKeys) {
    const list = inputs[key];
    if (Array.isArray(list) && list.length > 0 && list.every(looksLikeMessage)) {
      const { [key]: _, ...rest } = inputs;
      return { messages: list.flatMap((m) => readMessage(m as Dict)), rest };
    }
  }
  return { messages: [], rest: inputs };
}

/** Returns the messages that came out of an event: the answer, and further choices. */
export function outputMessages(outputs: unknown): { messages: Message[]; rest: Dict } {
  if (typeof outputs === "string") return { messages: [{ role: "assistant", name: null, parts: [{ kind: "text", text: outputs }], callId: null }], rest: {} };
  if (Array.isArray(outputs) && outputs.length > 0 && outputs.every(looksLikeMessage)) {
    return { messages: outputs.flatMap((m) => readMessage(m as Dict)), rest: {} };
  }
  if (!isDict(outputs)) return { messages: [], rest: {} };
  const messages: Message[] = [];
  let rest: Dict = { ...outputs };
  if (looksLikeMessage(outputs) && (outputs.role !== undefined || outputs.content !== undefined || outputs.tool_calls !== undefined)) {
    messages.push(...readMessage({ role: "assistant", ...outputs }));
    for (const key of ["role", "content", "tool_calls", "reasoning", "reasoning_content", "name", "refusal"]) delete rest[key];
  }
  for (const key of ["choices", "messages", "chat_history"]) {
    const list = outputs[key];
    if (!Array.isArray(list) || list.length === 0) continue;
    const inner = list.map((c) => (isDict(c) && isDict(c.message) ? c.message : c));
    if (!inner.every(looksLikeMessage)) continue;
    messages.push(...inner.flatMap((m) => readMessage({ role: "assistant", ...(m as Dict) })));
    delete rest[key];
  }
  return { messages, rest };
}

function looksLikeMessage(v: unknown): boolean {
  return isDict(v) && (typeof v.role === "string" || "content" in v || "parts" in v || "tool_calls" in v || (typeof v.type === "string" && "text" in v));
}

/** Reads one message. Tool results inside a user's message, as Anthropic has them, become messages of their own. */
export function readMessage(m: Dict): Message[] {
  const role = (text(m.role) ?? text(m.type) ?? "message").toLowerCase();
  const parts: Part[] = [];
  for (const key of ["reasoning", "reasoning_content", "thinking"]) {
    const value = m[key];
    if (typeof value === "string" && value) parts.push({ kind: "reasoning", text: value });
    else if (isDict(value) || Array.isArray(value)) parts.push(...readContent(value, true));
  }
  parts.push(...readContent(m.content ?? m.parts ?? (m.text as unknown), false));
  if (typeof m.refusal === "string" && m.refusal) parts.push({ kind: "text", text: m.refusal });
  if (Array.isArray(m.tool_calls)) for (const call of m.tool_calls) parts.push(readCall(call));
  if (isDict(m.function_call)) parts.push(readCall(m.function_call));
  const callId = text(m.tool_call_id) ?? text(m.tool_use_id);
  const known = role === "tool" || role === "function";
  if (known && callId !== null && parts.every((p) => p.kind === "text")) {
    const whole = parts.map((p) => (p.kind === "text" ? p.text : "")).join("\n");
    return [{ role, name: text(m.name), parts: [{ kind: "result", id: callId, value: whole }], callId }];
  }
  const results = parts.filter((p) => p.kind === "result");
  const others = parts.filter((p) => p.kind !== "result");
  const out: Message[] = results.map((p) => ({ role: "tool", name: null, parts: [p], callId: p.kind === "result" ? p.id : null }));
  if (others.length > 0 || results.length === 0) out.push({ role, name: text(m.name), parts: others, callId });
  return out;
}

function readContent(content: unknown, reasoning: boolean): Part[] {
  if (content === undefined || content === null || content === "") return [];
  if (typeof content === "string") return [{ kind: reasoning ? "reasoning" : "text", text: content }];
  if (Array.isArray(content)) return content.flatMap((p) => readPart(p, reasoning));
  return readPart(content, reasoning);
}

function readPart(p: unknown, reasoning: boolean): Part[] {
  if (typeof p === "string") return p ? [{ kind: reasoning ? "reasoning" : "text", text: p }] : [];
  if (!isDict(p)) return p === null || p === undefined ? [] : [{ kind: "json", label: "content", value: p }];
  const type = (text(p.type) ?? "").toLowerCase();
  if (type === "thinking" || type === "reasoning" || typeof p.thinking === "string") {
    const inner = text(p.thinking) ?? text(p.text) ?? text(p.content) ?? text(p.reasoning);
    if (inner !== null) return inner ? [{ kind: "reasoning", text: inner }] : [];
    return readContent(p.content ?? p.summary, true);
  }
  if (type === "tool_use" || type === "tool_call" || type === "tool-call" || type === "function_call" || isDict(p.toolUse) || isDict(p.functionCall)) {
    return [readCall((p.toolUse as Dict) ?? (p.functionCall as Dict) ?? p)];
  }
  if (["tool_result", "tool-result", "tool_call_response", "function_call_output", "function_response"].includes(type) || isDict(p.toolResult) || isDict(p.functionResponse)) {
    const r = (p.toolResult as Dict) ?? (p.functionResponse as Dict) ?? p;
    const id = text(r.tool_use_id) ?? text(r.toolUseId) ?? text(r.toolCallId) ?? text(r.call_id) ?? text(r.id);
    return [{ kind: "result", id, value: plainText(r.content) ?? r.content ?? r.output ?? r.result ?? r.response ?? r }];
  }
  const image = imageOf(p, type);
  if (image) return [{ kind: "image", url: image }];
  const audio = audioOf(p, type);
  if (audio) return [{ kind: "audio", url: audio }];
  const inner = text(p.text) ?? (type === "" || type === "text" || type.endsWith("_text") ? text(p.content) : null);
  if (inner !== null) return inner ? [{ kind: reasoning ? "reasoning" : "text", text: inner }] : [];
  return [{ kind: "json", label: type || "content", value: p }];
}

/** The text of a list that has nothing but texts; null for anything else. */
function plainText(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const texts = content.map((p) => (typeof p === "string" ? p : isDict(p) ? text(p.text) : null));
  return texts.every((t) => t !== null) ? texts.join("\n") : null;
}

function readCall(v: unknown): Part {
  if (!isDict(v)) return { kind: "json", label: "tool call", value: v };
  const f = isDict(v.function) ? v.function : v;
  const name = text(f.name) ?? text(v.name) ?? text(v.toolName) ?? "tool";
  const args = f.arguments ?? v.arguments ?? v.input ?? v.args ?? {};
  return { kind: "call", id: text(v.id) ?? text(v.toolUseId) ?? text(v.toolCallId) ?? text(v.call_id), name, arguments: args };
}

/** The value that a text has as JSON, if it is an object or a list. */
function asJson(v: unknown): unknown {
  if (typeof v !== "string" || !/^\s*[[{]/.test(v)) return v;
  try {
    return JSON.parse(v);
  } catch {
    return v;
  }
}

/** The JSON of arguments or a result, which stays as it was sent, digit for digit; null if it is a text that is no object and no list. */
export function jsonOf(v: unknown): string | null {
  return typeof v !== "string" ? JSON.stringify(v) ?? "null" : typeof asJson(v) === "string" ? null : v;
}

function imageOf(p: Dict, type: string): string | null {
  const source = isDict(p.source) ? p.source : isDict(p.inline_data) ? p.inline_data : isDict(p.inlineData) ? p.inlineData : p;
  const mime = text(source.media_type) ?? text(source.mime_type) ?? text(source.mimeType) ?? text(source.mediaType) ?? "";
  const isImage = type.includes("image") || mime.startsWith("image/") || p.modality === "image";
  if (!isImage) return null;
  const nested = p.image_url ?? p.imageUrl ?? p.image;
  const url = text(nested) ?? (isDict(nested) ? text(nested.url) : null) ?? text(source.url) ?? text(p.uri) ?? text(p.url);
  if (url !== null) return url.startsWith("data:") || /^https?:/.test(url) ? url : `data:${mime || "image/png"};base64,${url}`;
  const data = text(source.data) ?? text(source.content) ?? text(p.data);
  return data === null ? null : `data:${mime || "image/png"};base64,${data}`;
}

function audioOf(p: Dict, type: string): string | null {
  const source = isDict(p.input_audio) ? p.input_audio : isDict(p.source) ? p.source : p;
  const mime = text(source.media_type) ?? text(source.mime_type) ?? text(source.mimeType) ?? text(source.mediaType) ?? "";
  if (!type.includes("audio") && !mime.startsWith("audio/") && p.modality !== "audio") return null;
  const url = text(p.url) ?? text(source.url);
  if (url?.startsWith("data:")) return url;
  const data = text(source.data) ?? text(source.content);
  const format = text(source.format);
  return data === null ? null : `data:${mime || `audio/${format ?? "wav"}`};base64,${data}`;
}

/** A key by which two messages are the same in a conversation: who said what, whichever way its JSON is written. */
export function messageKey(m: Message): string {
  return `${m.role} ${m.callId ?? ""} ${JSON.stringify(m.parts, (name, v) => (name === "arguments" || name === "value" ? asJson(v) : v))}`;
}

/** The text of a message in one line, for a row. */
export function messageLine(m: Message): string {
  return m.parts
    .map((p) => {
      switch (p.kind) {
        case "text":
        case "reasoning": return p.text;
        case "call": return `${p.name}(${typeof p.arguments === "string" ? p.arguments : JSON.stringify(p.arguments)})`;
        case "result": return typeof p.value === "string" ? p.value : JSON.stringify(p.value);
        case "image": return "[image]";
        case "audio": return "[audio]";
        default: return JSON.stringify(p.value);
      }
    })
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
}
