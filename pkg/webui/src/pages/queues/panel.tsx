// What stands beside an item, whoever scores it.
import { useLayoutEffect, useRef } from "preact/hooks";
import { readField } from "../../api/cache.ts";
import type { Event, Metric } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { href } from "../../app/router.ts";
import { optionsOf, type Score, type Scores } from "../../model/queue.ts";
import { EventTitle, EventView } from "../../parts/eventview.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { fieldId } from "../../parts/scoring.tsx";

export function Rubric({ text }: { text: string }) {
  return text.trim() === "" ? null : <details class="rubric" open={innerWidth > 800}><summary>Rubric</summary><Markdown text={text} /></details>;
}

interface Keys {
  metrics: Metric[];
  active: number;
  onActive: (index: number) => void;
  onScore: (name: string, score: Score | null) => void;
  run: Record<string, () => void>;
}

/** Number keys give the active metric its answers, and letters do what run says. Whoever types quickly is not ahead of what is drawn: keys ask for what is now. */
export function useKeys(keys: Keys, letters: [id: string, keys: string[], label: string][]): void {
  const now = useRef(keys);
  now.current = keys;
  useLayoutEffect(() => addCommands([
    ...[..."1234567890"].map((digit) => ({
      id: `score-${digit}`, keys: [digit], label: `Answer ${digit}`, group: "Scores", run: () => {
        const { metrics, active, onScore } = now.current;
        const m = metrics[active];
        const options = m && optionsOf(m);
        const option = options?.find((o) => o.key === digit);
        if (m && option) onScore(m.name, option.value);
        else if (options === null) document.getElementById(fieldId(active))?.focus();
      },
    })),
    { id: "score-below", keys: ["j", "arrowdown"], label: "Next score", group: "Scores", run: () => now.current.onActive(Math.min(now.current.metrics.length - 1, now.current.active + 1)) },
    { id: "score-above", keys: ["k", "arrowup"], label: "Previous score", group: "Scores", run: () => now.current.onActive(Math.max(0, now.current.active - 1)) },
    { id: "queue-comment", keys: ["c"], label: "Comment", group: "Queue", run: () => document.getElementById("queue-comment")?.focus() },
    ...letters.map(([id, keys, label]) => ({ id: `queue-${id}`, keys, label, group: "Queue", run: () => now.current.run[id]!() })),
  ]), []);
}

/** Returns scores with one changed or taken away, and the first metric that has none then, if one was given by a key or a button. */
export function withScore(metrics: Metric[], scores: Scores, name: string, value: Score | null): [Scores, number] {
  const { [name]: _, ...others } = scores;
  const next = value === null ? others : { ...others, [name]: value };
  return [next, value === null || document.activeElement?.tagName === "INPUT" ? -1 : metrics.findIndex((m) => !(m.name in next))];
}

/** The field for a comment, which Esc leaves. */
export function CommentField({ label, value, onInput, onSave }: { label: string; value: string; onInput: (text: string) => void; onSave: () => void }) {
  return (
    <label class="secondary">{label}
      <textarea id="queue-comment" class="input" rows={2} maxLength={10_000} value={value} onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={(e) => { if (e.key === "Escape") e.currentTarget.blur(); else if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onSave(); }} />
    </label>
  );
}

/** What was asked and answered. */
export function Asked({ event: e, box }: { event: Event; box?: { current: HTMLDivElement | null } }) {
  return (
    <div class="asked" ref={box} role="region" aria-label="Item" tabIndex={0}>
      <header><EventTitle type={e.event_type} name={e.event_name} /><a class="button plain" href={href(["session", e.session_id], { e: e.event_id })}>Its session</a></header>
      <EventView key={e.event_id} event={e} field={(name, signal) => readField(e.event_id, name, signal)} />
    </div>
  );
}
