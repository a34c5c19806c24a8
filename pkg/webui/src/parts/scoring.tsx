// The scores that a person gives: a metric's answers as buttons with their number keys, or a field to type in.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Metric } from "../api/types.gen.ts";
import { optionsOf, typed, type Score, type Scores } from "../model/queue.ts";

interface Props {
  metrics: Metric[];
  scores: Scores;
  active: number; // the metric that number keys are for
  optional?: boolean;
  onActive: (index: number) => void;
  onScore: (name: string, score: Score | null) => void;
  beside?: (metric: string) => ComponentChildren;
}

/** The id of the field of a metric whose answer is typed. */
export const fieldId = (index: number) => `score-${index}`;

export function Scoring({ metrics, scores, active, optional, onActive, onScore, beside }: Props) {
  return (
    <div class="scoring">
      {metrics.map((m, i) => {
        const options = optionsOf(m);
        const given = scores[m.name];
        const hint = m.criteria || m.description;
        return (
          <fieldset key={m.name} class={i === active ? "active" : ""} onFocusIn={() => onActive(i)}>
            <legend class="ellipsis">{m.name}{optional && given === undefined && <span class="faint"> not given</span>}</legend>
            {hint && <p class="secondary">{hint}</p>}
            {beside?.(m.name)}
            {options ? (
              <div class="options">
                {options.map((o) => (
                  <button key={o.label} type="button" class="button" aria-pressed={given === o.value}
                    onClick={(e) => { onScore(m.name, o.value); if (e.detail > 0) e.currentTarget.blur(); }}>
                    <span class="ellipsis">{o.label}</span>{o.key && i === active && <kbd aria-hidden="true">{o.key}</kbd>}
                  </button>
                ))}
              </div>
            ) : <Typed id={fieldId(i)} metric={m} given={given} onScore={(s) => onScore(m.name, s)} />}
          </fieldset>
        );
      })}
    </div>
  );
}

/** A field whose answer is typed. What is being typed, such as "0.", stays as it is until the field is left. */
function Typed({ id, metric: m, given, onScore }: { id: string; metric: Metric; given: Score | undefined; onScore: (s: Score | null) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState<string | null>(null);
  const number = m.return_type === "float";
  return (
    <input ref={field} id={id} class="input" value={draft ?? String(given ?? "")} aria-label={m.name} inputMode={number ? "decimal" : "text"}
      placeholder={number ? (m.scale ? `0 to ${m.scale}` : "a number") : "a text"}
      onInput={(e) => { const s = typed(m, e.currentTarget.value); setDraft(e.currentTarget.value); if (s !== null || e.currentTarget.value === "") onScore(s); }} onBlur={() => setDraft(null)}
      onKeyDown={(e) => { if (e.key === "Enter" || e.key === "Escape") { e.preventDefault(); field.current?.blur(); } }} />
  );
}
