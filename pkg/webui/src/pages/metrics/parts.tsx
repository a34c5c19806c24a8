// What the pages of metrics share.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { loadPreviews, previewOf } from "../../api/cache.ts";
import { call } from "../../api/client.ts";
import type { ChartEventsAnswer } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { href, setParams } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { printed } from "../../model/metric.ts";
import { useLoaded } from "../../parts/common.tsx";
import { useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";

/** Sends changes, one after the other, and shows what went wrong with the last. */
export function useAct(): { busy: boolean; problem: ComponentChildren; act: (work: () => Promise<unknown>) => Promise<void> } {
  const { busy, problem, run } = useWork();
  return { busy, act: run, problem: problem && <p class="bad" role="alert">{problem}</p> };
}

export const part = (n: number | null | undefined): string => (typeof n === "number" ? n.toFixed(2) : "–");

/** A score, with whether it passes. */
export const Score = ({ value, passed }: { value: unknown; passed?: boolean }) =>
  <b class="metric-score">{passed !== undefined && <Icon name={passed ? "check" : "close"} small tint={passed ? "good" : "bad"} label={passed ? "passes" : "does not pass"} />}{format.value(value)}</b>;

/** Figures with their names, and what there is to say of them. Those that are null are left out. */
export const Figures = ({ list }: { list: ([label: string, value: string, note?: string] | null)[] }) =>
  <dl class="metric-figures">{list.map((f) => f && <div key={f[0]} class="metric-figure"><dt>{f[0]}</dt><dd>{f[1]}{f[2] && <small>{f[2]}</small>}</dd></div>)}</dl>;

export interface Shown {
  event: string;
  session?: string; // not known: it is no link
  name: string;
  note?: string;
  right: ComponentChildren;
  said?: string;
  prompt?: { role: string; content: string }[];
}

/** Events with what a metric, or people, say of them. */
export function Events({ list, label }: { list: Shown[]; label: string }) {
  const [, redraw] = useState(0);
  const ids = list.map((s) => s.event);
  useEffect(() => {
    let gone = false;
    void (async () => { while (!gone && (await loadPreviews(ids))) redraw((n) => n + 1); })();
    return () => { gone = true; };
  }, [ids.join()]);
  return (
    <ol class="metric-events" aria-label={label}>
      {list.map((s, i) => {
        const [said, out] = printed(s.said ?? "");
        const p = previewOf(s.event);
        return (
          <li key={`${s.event} ${i}`}>
            <div class="line">{s.session ? <a class="ellipsis" href={href(["session", s.session], s.event === s.session ? {} : { e: s.event })}>{s.name}</a> : <code class="ellipsis">{s.name}</code>}<span class="faint">{s.note}</span><span class="grow" /><span class="side">{s.right}</span></div>
            {p && (p.input || p.output) && <div class="ellipsis secondary">{p.input}<Icon name="right" small />{p.output}</div>}
            {said && <p class="metric-said">{said}</p>}
            {out && <><small>printed</small><pre class="code short" tabIndex={0}>{out}</pre></>}
            {s.prompt && <details><summary>What the model was asked</summary>{s.prompt.map((m) => <div key={m.role}><small>{m.role}</small><pre class="code" tabIndex={0}>{m.content}</pre></div>)}</details>}
          </li>
        );
      })}
    </ol>
  );
}

interface Field { label: string; value: string | number; on: (v: string) => void; short?: boolean; [attribute: string]: unknown }

export const Text = ({ label, on, short, ...rest }: Field) =>
  <label class={short ? "metric-check" : undefined}>{label}<input class={`input${short ? " short" : ""}`} onInput={(e) => on(e.currentTarget.value)} {...rest} /></label>;

/** A number. What is being typed, such as "0." or nothing, stays as it is until the field is left. */
export function Num({ label, value, on, ...rest }: { label: string; short?: boolean; [attribute: string]: unknown } & { value: number | null | undefined; on: (v: number | null) => void }) {
  const read = (v: string) => (v.trim() === "" || Number.isNaN(Number(v)) ? null : Number(v));
  const [draft, setDraft] = useState<string | null>(null);
  return <Text inputMode="decimal" label={label} value={draft ?? String(value ?? "")} on={(v) => { setDraft(v); on(read(v)); }} onBlur={() => setDraft(null)} {...rest} />;
}

export const Choice = ({ label, value, on, options, short, ...rest }: Field & { options: readonly (readonly [string, string])[] }) =>
  <label class={short ? "metric-check" : undefined}>{label}<select class="input" value={value} onChange={(e) => on(e.currentTarget.value)} {...rest}>{options.map(([v, l]) => <option key={v} value={v}>{l}</option>)}</select></label>;

export const Check = ({ label, value, on }: { label: string; value: boolean; on: (v: boolean) => void }) =>
  <label class="metric-check"><input type="checkbox" checked={value} onChange={(e) => on(e.currentTarget.checked)} />{label}</label>;

export const Button = ({ label, on, kind, off, title }: { label: string; on: () => unknown; kind?: string; off?: boolean; title?: string }) =>
  <button type="button" class={`button ${kind ?? ""}`} disabled={off} title={title} onClick={() => void on()}>{label}</button>;

const days = 14;
let turn: Promise<unknown> = Promise.resolve();

/** The daily mean of a metric's scores over the last days. One is asked for after the other, so that a long list does not crowd out others. */
export function Trend({ name, rate }: { name: string; rate: boolean }) {
  const chart = useLoaded(name, (signal) => {
    const asked = turn.then(() => (signal.aborted ? null : call<ChartEventsAnswer>(`v1/events/chart?${new URLSearchParams({ metric: `metrics.${name}`, aggregation: "average", bucket: "day", dateRange: `${days}d` })}`, { signal })));
    turn = asked.catch(() => {});
    return asked;
  });
  const points = (chart.value?.events ?? []).filter((p) => p.value !== null);
  if (points.length === 0) return <span class="faint" title={chart.error ? format.messageOf(chart.error) : undefined}>{chart.error ? "not loaded" : chart.value ? "–" : "…"}</span>;
  const values = points.map((p) => p.value!);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [low, high] = rate ? [0, 1] : [least, most];
  const now = Date.now();
  const x = (i: number) => 2 + Math.max(0, 1 - (now - Date.parse(points[i]!.bucket)) / (days * 86_400_000)) * 92;
  const y = (v: number) => (high === low ? 10 : 18 - ((v - low) / (high - low)) * 16);
  const n = points.reduce((sum, p) => sum + p.count, 0);
  const mean = points.reduce((sum, p) => sum + p.value! * p.count, 0) / n;
  const shown = rate ? `${Math.round(mean * 100)} %` : format.value(mean);
  const last = values.length - 1;
  return (
    <span class="metric-trend" title={`${format.plural(n, "score")} in ${days} days, mean ${shown}; days from ${format.value(least)} to ${format.value(most)}`}>
      <svg viewBox="0 0 96 20" width="96" height="20" aria-hidden="true"><polyline points={values.map((v, i) => `${x(i)},${y(v)}`).join(" ")} /><circle cx={x(last)} cy={y(values[last]!)} r="2" /></svg>
      {shown}
    </span>
  );
}

/** A text of several lines in which Tab indents, and Esc and then Tab leave. */
export function Code({ value, label, rows, on, code = true }: { value: string; label: string; rows: number; on: (v: string) => void; code?: boolean }) {
  const leaving = useRef(false);
  return (
    <textarea class={`input${code ? " metric-code" : ""}`} rows={rows} value={value} aria-label={label} aria-description={code ? "Tab indents; Esc, then Tab goes on" : undefined} spellcheck={!code}
      onInput={(e) => on(e.currentTarget.value)} onBlur={() => { leaving.current = false; }}
      onKeyDown={(e) => {
        const box = e.currentTarget;
        if (e.key === "Escape") leaving.current = true;
        else if (e.key !== "Tab") leaving.current &&= e.key === "Shift";
        else if (code && !leaving.current && !e.ctrlKey && !e.altKey) {
          e.preventDefault();
          const start = box.value.lastIndexOf("\n", box.selectionStart - 1) + 1;
          if (e.shiftKey) box.setRangeText("", start, start + /^ {0,4}/.exec(box.value.slice(start))![0].length);
          else box.setRangeText("    ", box.selectionStart, box.selectionEnd, "end");
          on(box.value);
        }
      }} />
  );
}

/** Finds by name, as one types; f goes there. */
export function Find({ query }: { query: string }) {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => addCommands([{ id: "filter", keys: ["f", "/"], label: "Find by name", group: "List", run: () => box.current?.focus() }]), []);
  return <input ref={box} class="input grow" type="search" placeholder="Name or description" aria-label="Find by name or description" value={query}
    onInput={(e) => setParams({ q: e.currentTarget.value }, true)} onKeyDown={(e) => { if (e.key === "Escape") e.currentTarget.blur(); }} />;
}
