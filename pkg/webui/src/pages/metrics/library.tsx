// The ready-made metrics, to make metrics of the project from.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { EnableMetricAnswer, LibraryMetric, ListMetricLibraryAnswer } from "../../api/types.gen.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { types } from "../../model/metric.ts";
import { Dialog, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { Button, Check, Find, Text, useAct } from "./parts.tsx";

export function Library() {
  const query = route.value.params.get("q") ?? "";
  const library = useLoaded("library", async (signal) => (await call<ListMetricLibraryAnswer>("v1/metrics/library", { signal })).metrics);
  const [chosen, setChosen] = useState<LibraryMetric | null>(null);
  const list = (library.value ?? []).filter((m) => `${m.name}\n${m.description}\n${m.type}`.toLowerCase().includes(query.toLowerCase()));
  return (
    <div class="page metric">
      <header><a href={href(["metrics"])}>Metrics</a><h1>Ready-made metrics</h1></header>
      <div class="filters"><Find query={query} /></div>
      {library.error !== null && <Problem error={library.error} retry={library.reload} />}
      {library.value && list.length === 0 && <Empty title="No ready-made metric matches"><Button label="Show all" on={() => setParams({ q: null })} /></Empty>}
      <ul class="metric-library" aria-label="Ready-made metrics">
        {list.map((m) => (
          <li key={m.name}>
            <div class="line"><b class="ellipsis">{m.name}</b><span class="chip">{types[m.type as keyof typeof types].label}</span><span class="faint">{m.return_type}</span><span class="grow" /><button type="button" class="button" aria-label={`Use ${m.name}`} onClick={() => setChosen(m)}>Use</button></div>
            <p class="secondary">{m.description}</p>
          </li>
        ))}
      </ul>
      {chosen && <Enable metric={chosen} onClose={() => setChosen(null)} />}
    </div>
  );
}

function Enable({ metric: m, onClose }: { metric: LibraryMetric; onClose: () => void }) {
  const [name, setName] = useState(m.name);
  const [values, setValues] = useState<Record<string, string>>({});
  const [online, setOnline] = useState(false);
  const { act, problem } = useAct();
  const may = allows("full");
  const enable = async () => {
    const parameters = Object.fromEntries(Object.entries(values).filter(([, v]) => v.trim() !== "").map(([k, v]) => [k, read(v)]));
    const made = await call<EnableMetricAnswer>("v1/metrics/library", { method: "POST", body: { from: m.name, name: name.trim(), parameters, enabled_in_prod: online } });
    onClose();
    go(href(["metrics", made.metric_id]));
  };
  return (
    <Dialog label={`Use ${m.name}`} className="wide" onClose={onClose}>
      <form class="form metric" onSubmit={(e) => { e.preventDefault(); void act(enable); }}>
        <h2>{m.name}</h2>
        <p>{m.description}</p>
        <pre class="code short" tabIndex={0}>{m.criteria}</pre>
        {m.type === "LLM" && me.value?.providers?.length === 0 && <p class="warn">No model provider is set up in this project: it gives no scores before one is.</p>}
        {may && <>
          <Text label="Name" required maxLength={200} value={name} on={setName} />
          {m.parameters.map((p) => <Text key={p.name} label={`${p.name}: ${p.description}`} required={p.required} placeholder={format.value(p.default)} value={values[p.name] ?? ""} on={(v) => setValues({ ...values, [p.name]: v })} />)}
          <Check label="Score new events as they come, 10 % of them" value={online} on={setOnline} />
        </>}
        <details><summary>{format.plural(m.examples.length, "example")}</summary>
          {m.examples.map((x, i) => <div key={i}><b>{format.value(x.score)}</b><pre class="code short" tabIndex={0}>{JSON.stringify(x.event, null, 1)}</pre></div>)}
        </details>
        {problem}
        <div class="form-end"><Button label="Close" on={onClose} />{may ? <button type="submit" class="button primary">Make it a metric of the project</button> : <span class="secondary">This key reads only.</span>}</div>
      </form>
    </Dialog>
  );
}

/** The value of a parameter: JSON, or else a text. */
function read(v: string): unknown {
  try {
    return JSON.parse(v);
  } catch {
    return v;
  }
}
