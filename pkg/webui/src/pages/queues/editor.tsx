// A queue is made or changed: its name, rubric, scores, how many people an item needs, and which events enter.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreateMetricBody, CreateQueueAnswer, CreateQueueBody, Metric, Queue, UpdateQueueBody } from "../../api/types.gen.ts";
import { go, href } from "../../app/router.ts";
import { compile } from "../../model/filter.ts";
import { Dialog, Problem, useLoaded } from "../../parts/common.tsx";
import { FilterBar } from "../../parts/filterbar.tsx";
import { changesOf, useWork } from "../../parts/form.tsx";
import { useFields, valuesOf } from "../completion.ts";
import { humanMetrics } from "../queues.tsx";

/** The filters of a queue, with the text of the filter bar that they were made from. */
type Filters = NonNullable<CreateQueueBody["filters"]> & { q?: string };

export function QueueEditor({ queue, onClose }: { queue: Queue | null; onClose: (changed: boolean) => void }) {
  const stored = (queue?.filters ?? {}) as Filters;
  const foreign = stored.q === undefined && (stored.filterArray ?? []).length > 0; // made by a program, not here
  const [name, setName] = useState(queue?.name ?? "");
  const [rubric, setRubric] = useState(queue?.description ?? "");
  const [chosen, setChosen] = useState(queue?.metrics ?? []);
  const [people, setPeople] = useState(String(queue?.annotators_per_item ?? 2));
  const [minutes, setMinutes] = useState(String((queue?.lease_seconds ?? 900) / 60));
  const [enabled, setEnabled] = useState(queue?.enabled ?? true);
  const [q, setQ] = useState(stored.q ?? "");
  const { busy, problem, run } = useWork();
  const metrics = useLoaded("metrics", humanMetrics);
  const fields = useFields("events");
  const compiled = compile(q, "events");
  const typed = { name, description: rubric, metrics: chosen, annotators_per_item: Number(people), lease_seconds: Math.round(Number(minutes) * 60), enabled };
  const [opened] = useState(typed);
  const save = () => run(async () => {
    // Filters that are sent make the queue look at all events again.
    const filters = q.trim() === (stored.q ?? "") ? {} : { filters: { filterArray: compiled.filters, q: q.trim() } as Filters };
    if (queue) await call(`v1/queues/${queue.id}`, { method: "PUT", body: { ...changesOf(opened, typed), ...filters } satisfies UpdateQueueBody });
    else {
      const made = await call<CreateQueueAnswer>("v1/queues", { method: "POST", body: { ...typed, ...filters } satisfies CreateQueueBody });
      go(href(["queues", made.queue.id]));
      return;
    }
    onClose(true);
  });
  return (
    <Dialog label={queue ? "Edit the queue" : "New queue"} onClose={() => onClose(false)} className="wide">
      <div class="form">
        <h2>{queue ? "Edit the queue" : "New queue"}</h2>
        <label>Name<input class="input" required maxLength={200} value={name} placeholder="Doubtful answers" onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>Rubric, beside each item (Markdown)<textarea class="input" rows={4} maxLength={10_000} value={rubric} placeholder="What makes an answer good? When in doubt, …" onInput={(e) => setRubric(e.currentTarget.value)} /></label>
        <fieldset class="picks">
          <legend>Scores to give</legend>
          {metrics.error ? <Problem error={metrics.error} retry={metrics.reload} /> : (metrics.value ?? []).map((m) => (
            <label key={m.name}><input type="checkbox" checked={chosen.includes(m.name)} onChange={(e) => setChosen(e.currentTarget.checked ? [...chosen, m.name] : chosen.filter((n) => n !== m.name))} /><span class="ellipsis">{m.name}</span><span class="faint ellipsis">{kindOf(m)}</span></label>
          ))}
          {metrics.value && metrics.value.length > 0 && chosen.length === 0 && <p class="secondary">None is chosen: people may give any of them.</p>}
          <NewScore open={metrics.value?.length === 0} onMade={(made) => { metrics.reload(); setChosen([...chosen, made]); }} />
        </fieldset>
        <div class="label">Events that enter, past and new ones; empty: only those added by hand</div>
        {foreign && <p class="secondary wrap">{`Filters were set by a program: ${JSON.stringify(stored.filterArray)}. What you type here takes their place.`}</p>}
        <div class="filters"><FilterBar text={q} of="events" fields={fields.names} values={(field, typed) => valuesOf("events", field, typed)} onType={setQ} /></div>
        <div class="pair">
          <label>People an item needs<input class="input" type="number" min={1} max={10} required value={people} onInput={(e) => setPeople(e.currentTarget.value)} /></label>
          <label>Minutes that an item is held<input class="input" type="number" min={1} max={10_080} step="any" required value={minutes} onInput={(e) => setMinutes(e.currentTarget.value)} /></label>
        </div>
        <label class="check"><input type="checkbox" checked={enabled} onChange={(e) => setEnabled(e.currentTarget.checked)} />New events go on to enter</label>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={() => onClose(false)}>Cancel</button><button type="button" class="button primary" disabled={busy || name.trim() === "" || compiled.problem !== null} onClick={() => void save()}>{queue ? "Save" : "Create"}</button></div>
      </div>
    </Dialog>
  );
}

function kindOf(m: Metric): string {
  switch (m.return_type) {
    case "boolean": return "yes or no";
    case "categorical": return (m.categories ?? []).map((c) => c.category).join(", ");
    case "float": return m.scale === null ? "a number" : `0 to ${m.scale}`;
    default: return "a text";
  }
}

/** Makes a HUMAN metric, so that a queue can be begun without leaving its page. */
function NewScore({ open, onMade }: { open: boolean; onMade: (name: string) => void }) {
  const [name, setName] = useState("");
  const [question, setQuestion] = useState("");
  const [kind, setKind] = useState<"boolean" | "categorical" | "float" | "string">("boolean");
  const [scale, setScale] = useState("5");
  const [categories, setCategories] = useState("");
  const { busy, problem, run } = useWork();
  const make = () => run(async () => {
    const body: CreateMetricBody = { name: name.trim(), type: "HUMAN", criteria: question, return_type: kind };
    if (kind === "float") body.scale = Number(scale);
    if (kind === "categorical") body.categories = categories.split(",").map((c) => c.trim()).filter(Boolean).map((category) => ({ category }));
    await call("v1/metrics", { method: "POST", body });
    setName("");
    setQuestion("");
    onMade(body.name);
  });
  return (
    <details open={open}>
      <summary>New score</summary>
      <div class="pair">
        <label>Its name<input class="input" value={name} maxLength={200} placeholder="helpful" onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>Its answers<select class="input" value={kind} onChange={(e) => setKind(e.currentTarget.value as typeof kind)}>
          <option value="boolean">Yes or no</option><option value="categorical">Categories</option><option value="float">A number from 0</option><option value="string">A text</option>
        </select></label>
      </div>
      {kind === "categorical" && <label>Categories, with commas<input class="input" value={categories} placeholder="right, partly, wrong" onInput={(e) => setCategories(e.currentTarget.value)} /></label>}
      {kind === "float" && <label>Up to<input class="input" type="number" min={1} value={scale} onInput={(e) => setScale(e.currentTarget.value)} /></label>}
      <label>The question<input class="input" value={question} placeholder="Did the answer help?" onInput={(e) => setQuestion(e.currentTarget.value)} /></label>
      {problem && <p class="bad" role="alert">{problem}</p>}
      <button type="button" class="button" disabled={busy || name.trim() === ""} onClick={() => void make()}>Make this score</button>
    </details>
  );
}
