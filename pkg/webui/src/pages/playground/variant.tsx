// One variant: whom it asks, with which settings and messages, and what came back.
import { useState } from "preact/hooks";
import { me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { numbers, type Answer, type Variant } from "../../model/playground.ts";
import { Copy } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { Prompt } from "../../parts/prompt.tsx";
import { TextDiff } from "../../parts/textdiff.tsx";
import { draft, edit, editVariant, run, running, stopAll } from "./draft.ts";

/** Settings that are seldom set, in words. */
const texts: [string, string, string][] = [
  ["reasoning_effort", "reasoning effort", "low, medium, high"], ["tool_choice", "tool choice", "auto, none, required"], ["response_format", "response format", "json_object, or JSON"], ["stop", "stop", "a text, or a JSON array"],
];
const first = numbers.slice(0, 3);

interface Props {
  at: number;
  letter: string;
  variant: Variant;
  answer: Answer | null;
  allowed: boolean;
  against: { what: string; text: string } | null;
}

export function VariantColumn({ at, letter, variant: v, answer, allowed, against }: Props) {
  const busy = running.value.get(at);
  const change = (c: Partial<Variant>) => editVariant(at, c);
  const field = (name: string, label: string, hint: string) => (
    <label key={name}>{label}<input class="input" value={v.settings[name] ?? ""} placeholder={hint} spellcheck={false} inputMode={numbers.includes(name) ? "decimal" : undefined} onInput={(e) => change({ settings: { ...v.settings, [name]: e.currentTarget.value } })} /></label>
  );
  const providers = me.value?.providers ?? [];
  const hidden = [...numbers.slice(3), ...texts.map(([n]) => n)].filter((n) => v.settings[n]).length + (v.tools.trim() ? 1 : 0);
  const remove = () => {
    const stopped = running.value; // the others would move
    stopAll();
    running.value = new Map();
    edit({ variants: draft.value.variants.filter((_, i) => i !== at), answers: draft.value.answers.map((a, i) => (a && stopped.has(i) ? { ...a, error: "Stopped." } : a)).filter((_, i) => i !== at) });
  };
  return (
    <section class="variant" aria-label={`Variant ${letter}`}>
      <header>
        <b class="letter">{letter}</b>
        <select class="input" aria-label={`Provider of ${letter}`} value={v.provider} onChange={(e) => change({ provider: e.currentTarget.value })}>
          <option value="">default provider</option>
          {[...new Set([...providers, ...(v.provider ? [v.provider] : [])])].map((p) => <option key={p} value={p}>{providers.includes(p) ? p : `${p} (not set up)`}</option>)}
        </select>
        <input class="input grow" aria-label={`Model of ${letter}`} value={v.model} placeholder="model" spellcheck={false} onInput={(e) => change({ model: e.currentTarget.value })} />
        {allowed && (busy ? <button type="button" class="button plain icon" aria-label={`Stop ${letter}`} title="Stop" onClick={() => busy.abort()}><Icon name="pause" small /></button>
          : <button type="button" class="button plain icon" aria-label={`Run ${letter}`} title={`Run ${letter} alone`} onClick={() => void run(at)}><Icon name="start" small /></button>)}
        {draft.value.variants.length > 1 && <button type="button" class="button plain icon" aria-label={`Delete ${letter}`} title="Delete" onClick={remove}><Icon name="close" small /></button>}
      </header>
      <div class="settings-row">{first.map((n) => field(n, n.replace("_", " "), "default"))}</div>
      <details>
        <summary>{hidden > 0 ? `Tools and other settings: ${hidden} set` : "Tools and other settings"}</summary>
        <div class="settings-row">{numbers.slice(3).map((n) => field(n, n.replace("_", " "), "default"))}{texts.map(([n, label, hint]) => field(n, label, hint))}</div>
        <label class="stacked">Tools, a JSON array<textarea class="input mono" rows={3} spellcheck={false} value={v.tools} placeholder={'[{"type": "function", "function": {"name": "…", "parameters": {…}}}]'} onInput={(e) => change({ tools: e.currentTarget.value })} /></label>
      </details>
      <Prompt messages={v.messages} onChange={(messages) => change({ messages })} />
      {answer && <AnswerView at={at} answer={answer} busy={busy !== undefined} against={against} allowed={allowed} />}
    </section>
  );
}

function AnswerView({ at, answer: a, busy, against, allowed }: { at: number; answer: Answer; busy: boolean; against: Props["against"]; allowed: boolean }) {
  const [results, setResults] = useState<Record<string, string>>({});
  const messages = draft.value.variants[at]!.messages;
  const said = { role: "assistant", text: a.text, ...(a.calls.length > 0 ? { calls: a.calls } : {}) };
  const goOn = () => {
    editVariant(at, { messages: [...messages, said, ...a.calls.map((c) => ({ role: "tool", text: results[c.id] ?? "", callId: c.id }))] });
    void run(at);
  };
  const { usage: u, done } = a;
  return (
    <section class="answer" aria-label="Answer" aria-busy={busy}>
      {a.reasoning && <details class="reasoning"><summary>Reasoning</summary><div class="prose plain">{a.reasoning}</div></details>}
      {against && !busy && a.text ? <><p class="faint">{`against ${against.what}`}</p><TextDiff left={against.text} right={a.text} /></> : a.text && (busy ? <div class="prose plain">{a.text}</div> : <Markdown text={a.text} />)}
      {a.calls.map((c) => (
        <div key={c.id} class="call">
          <div class="call-head"><Icon name="tool" small tint="type-tool" /><code>{c.function.name}</code></div>
          <pre class="wrap" tabIndex={0}>{c.function.arguments}</pre>
          {!busy && allowed && <label class="stacked">What it returned<textarea class="input" rows={2} value={results[c.id] ?? ""} onInput={(e) => setResults({ ...results, [c.id]: e.currentTarget.value })} /></label>}
        </div>
      ))}
      {done?.refusal && <p class="warn">{`Refused: ${done.refusal}`}</p>}
      {a.error && <p class="bad" role="alert"><Icon name="alert" small /> {a.error}</p>}
      {busy && !a.text && a.calls.length === 0 && <p class="faint" role="status">waiting for the first word…</p>}
      <div class="answer-foot">
        {u && <span class="secondary">{`${u.estimated ? "about " : ""}${format.count(u.prompt_tokens)} + ${format.count(u.completion_tokens)} tokens · ${u.cost === null ? "price not known" : format.cost(u.cost)}`}</span>}
        {done && <span class="secondary" title="in all, and until the first word">{`${format.duration(done.duration)}, first ${format.duration(done.time_to_first_token)}`}</span>}
        {done && done.finish_reason !== "stop" && <span class="chip">{done.finish_reason}</span>}
        <span class="grow" />
        {!busy && a.calls.length > 0 && allowed && <button type="button" class="button primary" disabled={a.calls.some((c) => !results[c.id])} onClick={goOn}>Go on with the results</button>}
        {!busy && a.text && a.calls.length === 0 && <button type="button" class="button plain" onClick={() => editVariant(at, { messages: [...messages, said, { role: "user", text: "" }] })}>Reply…</button>}
        {a.text && <Copy plain text={a.text} label="Copy the answer" />}
      </div>
    </section>
  );
}
