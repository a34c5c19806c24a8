// The definition of a metric, field by field.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Filter, ListMetricsAnswer, Threshold } from "../../api/types.gen.ts";
import { me } from "../../app/session.ts";
import { compile } from "../../model/filter.ts";
import { filterText, filtersOf, readCategories, types, writeCategories, type Definition } from "../../model/metric.ts";
import { useLoaded } from "../../parts/common.tsx";
import { FilterBar } from "../../parts/filterbar.tsx";
import { useFields, valuesOf } from "../completion.ts";
import { Button, Check, Choice, Code, Num, Text } from "./parts.tsx";

interface Part { draft: Definition; set: (changes: Partial<Definition>) => void }

const hints: Record<Definition["type"], string> = {
  LLM: "Fields of the event in double braces: {{ inputs.question }}, {{ outputs.content }}, {{ ground_truth }}, {{ event }}.",
  PYTHON: "A function of event, or of outputs, inputs and ground_truth; or a script that sets result. (score, \"why\") explains.",
  EXPRESSION: "answer, question, expected, duration, metadata.cost, children; and functions such as tokenF1(answer, expected).",
  HUMAN: "People read this beside the event.", COMPOSITE: "",
};

export function Editor({ draft: d, onChange, readOnly }: { draft: Definition; onChange: (d: Definition) => void; readOnly: boolean }) {
  const set = (changes: Partial<Definition>) => onChange({ ...d, ...changes });
  const retype = (type: Definition["type"]) => set({ type, ...(d.criteria === types[d.type].start && { criteria: types[type].start }) });
  const { code } = types[d.type];
  const part: Part = { draft: d, set };
  return (
    <fieldset class="metric-form" disabled={readOnly} aria-label="Definition">
      <Text label="Name" value={d.name} maxLength={200} placeholder="answers the question" on={(name) => set({ name })} />
      <Text label="What it measures" value={d.description} on={(description) => set({ description })} />
      <div class="pair">
        <Choice label="Type" value={d.type} on={(v) => retype(v as Definition["type"])} options={Object.entries(types).map(([name, t]) => [name, t.label])} />
        <Choice label="Gives" value={d.return_type} on={(v) => set({ return_type: v as Definition["return_type"], threshold: null })} options={[["boolean", "true or false"], ["float", "a number"], ["categorical", "a category"], ["string", "a text"]]} />
      </div>
      {me.value?.evaluators && !me.value.evaluators.includes(d.type) && <p class="warn">{d.type === "LLM" ? "No model provider is set up in this project: it gives no scores before one is." : "This server does not run this type."}</p>}
      {d.type === "COMPOSITE" ? <Parts {...part} /> : <div class="metric-field"><span>{code}</span><Code value={d.criteria} label={code} rows={d.type === "EXPRESSION" ? 5 : 14} on={(criteria) => set({ criteria })} /><small>{hints[d.type]}</small></div>}
      {d.type === "LLM" && (
        <div class="pair">
          <Text label="Provider" list="providers" value={d.model_provider ?? ""} placeholder="the default" on={(v) => set({ model_provider: v || null })} />
          <Text label="Model" value={d.model_name ?? ""} placeholder="the provider's" on={(v) => set({ model_name: v || null })} />
          <datalist id="providers">{(me.value?.providers ?? []).map((p) => <option key={p} value={p} />)}</datalist>
        </div>
      )}
      <Passing {...part} />
      {d.type !== "HUMAN" && (
        <fieldset class="metric-group">
          <legend>Events that it is for</legend>
          <Filters {...part} />
          <Check label="Only events with a ground truth" value={d.needs_ground_truth} on={(needs_ground_truth) => set({ needs_ground_truth })} />
          <Check label="Score new events as they come" value={d.enabled_in_prod} on={(enabled_in_prod) => set({ enabled_in_prod })} />
          {d.enabled_in_prod && <Num short label="Sample, in %" value={d.sampling_percentage} on={(n) => { if (n !== null) set({ sampling_percentage: n }); }} />}
        </fieldset>
      )}
    </fieldset>
  );
}

/** The scores that it may give, and which of them pass. */
function Passing({ draft: d, set }: Part) {
  const t: Threshold = d.threshold ?? {};
  const limit = (changes: Threshold) => set({ threshold: { ...t, ...changes } });
  if (d.return_type === "boolean") return <Choice label="Passes" value={String(t.pass_when ?? "")} on={(v) => set({ threshold: v === "" ? null : { pass_when: v === "true" } })} options={[["", "no rule"], ["true", "true"], ["false", "false"]]} />;
  if (d.return_type === "float") return <div class="metric-triple"><Num label="Passes from" value={t.min} on={(min) => limit({ min })} /><Num label="to" value={t.max} on={(max) => limit({ max })} /><Num label="Highest score" placeholder="open" value={d.scale} on={(scale) => set({ scale })} /></div>;
  if (d.return_type === "string") return null;
  const passing = t.passing_categories ?? [];
  const toggle = (name: string, on: boolean) => {
    const next = on ? [...passing, name] : passing.filter((n) => n !== name);
    set({ threshold: next.length > 0 ? { passing_categories: next } : null });
  };
  return (
    <>
      <div class="metric-field"><span>Categories, one a line</span><Lines value={d.categories} on={(categories) => set({ categories })} /><small>A number behind = is what the category counts for: good = 1</small></div>
      <div class="metric-field"><span>Those that pass</span>{(d.categories ?? []).map(({ category: c }) => <Check key={c} label={c} value={passing.includes(c)} on={(on) => toggle(c, on)} />)}</div>
    </>
  );
}

/** Categories as lines. What is being typed stays as it is. */
function Lines({ value, on }: { value: Definition["categories"]; on: (v: Definition["categories"]) => void }) {
  const [draft, setDraft] = useState(writeCategories(value));
  useEffect(() => { if (JSON.stringify(readCategories(draft)) !== JSON.stringify(value ?? [])) setDraft(writeCategories(value)); }, [value]);
  return <Code code={false} rows={4} value={draft} label="Categories, one a line" on={(v) => { setDraft(v); on(readCategories(v)); }} />;
}

/** The filters of a metric: as text, or where text would not say the same, as they are. */
function Filters({ draft: d, set }: Part) {
  const { names } = useFields("events");
  const filters = filtersOf(d);
  const written = filterText(filters);
  const change = (filterArray: Filter[]) => set({ filters: { filterArray } });
  const [raw, setRaw] = useState(JSON.stringify(filters, null, 1));
  if (written !== null) return <div class="filters"><FilterBar text={written} of="events" fields={names} values={(field, typed) => valuesOf("events", field, typed)} onChange={(t) => change(compile(t, "events").filters)} /></div>;
  const read = (v: string): Filter[] | null => {
    try {
      return JSON.parse(v) as Filter[];
    } catch {
      return null;
    }
  };
  return <><Code value={raw} label="Filters as JSON" rows={6} on={(v) => { setRaw(v); const next = read(v); if (next) change(next); }} />{!read(raw) && <p class="bad" role="alert">This is not JSON.</p>}</>;
}

/** The parts of a composite metric. */
function Parts({ draft: d, set }: Part) {
  const metrics = useLoaded("metrics", async (signal) => (await call<ListMetricsAnswer>("v1/metrics?limit=1000", { signal })).metrics);
  const list = d.child_metrics ?? [];
  const others = (metrics.value ?? []).filter((m) => m.name !== d.name && m.return_type !== "string" && !list.some((c) => c.name === m.name));
  const add = (id: string) => {
    const m = others.find((o) => o.id === id);
    if (m) set({ child_metrics: [...list, { id, name: m.name, weight: 1, scale: m.scale }] });
  };
  return (
    <>
      <Choice label="Combined as" value={/weighted\s*sum/i.test(d.criteria) ? "weighted sum" : "weighted mean"} on={(criteria) => set({ criteria })} options={[["weighted mean", "weighted mean"], ["weighted sum", "weighted sum"]]} />
      <div class="metric-field"><span>Parts and their weights</span>
        {list.map((c, i) => (
          <div key={c.name} class="line">
            <span class="grow ellipsis">{c.name}</span>
            <Num short label="" aria-label={`Weight of ${c.name}`} value={c.weight} on={(n) => { if (n !== null) set({ child_metrics: list.map((o, k) => (k === i ? { ...c, weight: n } : o)) }); }} />
            <Button label="Remove" kind="plain" on={() => set({ child_metrics: list.filter((o) => o !== c) })} />
          </div>
        ))}
        <Choice label="" aria-label="Add a part" value="" on={add} options={[["", "Add a part…"], ...others.map((m) => [m.id, m.name] as const)]} />
      </div>
    </>
  );
}
