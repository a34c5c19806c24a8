// What leads out of the playground: datapoints, experiments, configurations.
import { useMemo, useState } from "preact/hooks";
import { call, text } from "../../api/client.ts";
import type { Configuration, CreateConfigurationAnswer, GetConfigurationAnswer, ListDatasetsAnswer, Metric } from "../../api/types.gen.ts";
import { go, href } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { lackOf, parametersOf, valuesOf } from "../../model/playground.ts";
import { elements, members, shown } from "../../model/raw.ts";
import { useLoaded } from "../../parts/common.tsx";
import { readConfigurations } from "../build/list.tsx";
import { draft, edit } from "./draft.ts";
import { cancel, experiments, start, type Point } from "./experiment.ts";
import { FormDialog } from "../../parts/form.tsx";
import { Scorers } from "../scorerun.tsx";

const mostPoints = 2000;

/** A dataset and its datapoints, chosen. */
function useDataset() {
  const list = useLoaded("datasets", (signal) => call<ListDatasetsAnswer>("v1/datasets?ids=false", { signal }));
  const [id, setId] = useState("");
  const points = useLoaded(id || null, async (signal) => {
    const rows: Point[] = [];
    let total = 0;
    for (let cursor = ""; cursor !== "null" && rows.length < mostPoints;) {
      const page = members(await text(`v1/datasets/${id}/rows?limit=500${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal }));
      for (const row of elements(page.get("rows")!)) {
        const json = members(row).get("datapoint")!;
        const d = members(json);
        if (d.get("deleted") !== "true") rows.push({ id: shown(d.get("id")!), json, inputs: d.get("inputs")!, truth: d.get("ground_truth")! });
      }
      [total, cursor] = [Number(page.get("total")), shown(page.get("next_cursor")!)];
    }
    return { id, rows: rows.slice(0, mostPoints), total };
  });
  const datasets = list.value?.datasets ?? [];
  const problem = list.error ?? points.error;
  const select = (
    <>
      <label>Dataset
        <select class="input" value={id} onChange={(e) => setId(e.currentTarget.value)}>
          <option value="">{list.value && datasets.length === 0 ? "there is none" : "choose…"}</option>
          {datasets.map((s) => <option key={s.id} value={s.id}>{`${s.name} (${format.count(s.num_points)})`}</option>)}
        </select>
      </label>
      {problem && <p class="bad" role="alert">{(problem as Error).message}</p>}
    </>
  );
  const loaded = points.value?.id === id ? points.value : null;
  return { id, name: datasets.find((s) => s.id === id)?.name ?? "", select, rows: loaded?.rows ?? [], total: loaded?.total ?? 0 };
}

const line = (d: Point) => d.inputs.slice(0, 300);

export function FromDatapoint({ names, onClose }: { names: string[]; onClose: () => void }) {
  const data = useDataset();
  const [at, setAt] = useState(0);
  const values = data.rows[at] ? valuesOf(names, data.rows[at].json) : {};
  return (
    <FormDialog title="Variables from a datapoint" action="Fill in" ready={Object.keys(values).length > 0} onClose={onClose} onSubmit={async () => { edit({ values: { ...draft.value.values, ...values } }); onClose(); }}>
      {data.select}
      {data.rows.length > 0 && <label>Datapoint<select class="input" value={at} onChange={(e) => setAt(Number(e.currentTarget.value))}>{data.rows.map((d, i) => <option key={d.id} value={i}>{line(d).slice(0, 100)}</option>)}</select></label>}
      {data.rows.length > 0 && <p class="secondary">{names.map((n) => `${n}: ${values[n] === undefined ? "not in the datapoint" : values[n]!.slice(0, 60)}`).join(" · ") || "The messages have no variables: write {{question}} for inputs.question."}</p>}
    </FormDialog>
  );
}

export function OverDataset({ names, letters, onClose }: { names: string[]; letters: string[]; onClose: () => void }) {
  const data = useDataset();
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const [unused, setUnused] = useState<ReadonlySet<number>>(new Set());
  const [metrics, setMetrics] = useState<Metric[]>([]);
  const [name, setName] = useState("");
  const { variants } = draft.value;
  const chosen = data.rows.filter((d) => !off.has(d.id));
  const used = variants.map((variant, i) => ({ letter: letters[i]!, variant })).filter((_, i) => !unused.has(i));
  const values = useMemo(() => new Map(data.rows.map((d) => [d, valuesOf(names, d.json)])), [data.rows, names.join()]);
  const lacking = names.map((n) => [n, chosen.filter((d) => !Object.hasOwn(values.get(d)!, n)).length] as const).filter(([, n]) => n > 0);
  const flip = <T,>(set: ReadonlySet<T>, v: T) => { const next = new Set(set); if (!next.delete(v)) next.add(v); return next; };
  const going = experiments.value.some((e) => e.state === "running");
  const questions = chosen.length * used.length;
  const missing = [...(data.id ? (data.rows.length > 0 && chosen.length === 0 ? ["a datapoint"] : []) : ["a dataset"]), ...(used.length === 0 ? ["a variant"] : [])];
  const lacks = used.map(({ letter, variant }) => [letter, lackOf(variant)] as const).filter(([, lack]) => lack);
  return (
    <FormDialog title="Run over a dataset" action={questions > 0 ? `Run ${format.plural(questions, "question")}` : "Run"} missing={missing} ready={questions > 0 && lacks.length === 0 && !going} onClose={onClose}
      onSubmit={async () => { void start(name.trim() || `${data.name} in the playground`, data.id, chosen, used, names, metrics); onClose(); }}>
      {data.select}
      {data.rows.length > 0 && (
        <>
          <div class="inline"><span>{`${format.count(chosen.length)} of ${format.plural(data.rows.length, "datapoint")}${data.total > data.rows.length ? `, the first of ${format.count(data.total)}` : ""}`}</span>
            <button type="button" class="button plain" onClick={() => setOff(off.size > 0 ? new Set() : new Set(data.rows.map((d) => d.id)))}>{off.size > 0 ? "All" : "None"}</button></div>
          <div class="points" tabIndex={0} role="group" aria-label="Datapoints">{data.rows.map((d) => <label key={d.id} class="check"><input type="checkbox" checked={!off.has(d.id)} onChange={() => setOff(flip(off, d.id))} /><span class="ellipsis">{line(d)}</span></label>)}</div>
          {lacking.map(([n, count]) => <p key={n} class="warn">{`${format.plural(count, "datapoint")} without ${n}: the variable is sent as it stands.`}</p>)}
        </>
      )}
      {variants.length > 1 && <div class="inline">{variants.map((_, i) => <label key={i} class="check"><input type="checkbox" checked={!unused.has(i)} onChange={() => setUnused(flip(unused, i))} />{`Variant ${letters[i]}`}</label>)}</div>}
      <div class="inline">Metrics that score it once it has ended</div>
      <Scorers chosen={metrics} onChange={setMetrics} />
      <label>Name of the experiment<input class="input" maxLength={190} value={name} placeholder={data.name ? `${data.name} in the playground` : ""} onInput={(e) => setName(e.currentTarget.value)} /></label>
      {lacks.map(([letter, lack]) => <p key={letter} class="bad" role="alert">{`Variant ${letter} cannot be asked: ${lack}.`}</p>)}
      {going && <p class="warn">Another one is running; wait for its end, or cancel it.</p>}
      <p class="secondary">Each variant makes an experiment, with a session for each datapoint. It goes on while this tab is open.</p>
    </FormDialog>
  );
}

/** How the experiments come on that were begun here. */
export function Experiments() {
  return (
    <>
      {experiments.value.map((e) => (
        <div key={e.id} class="notice experiment" role="status">
          <b class="ellipsis">{e.name}</b>
          <progress max={e.total} value={e.done} aria-label={`Datapoints of ${e.name}`} />
          <span>{`${e.state === "running" ? "" : `${e.state}: `}${format.count(e.done)} of ${format.count(e.total)}${e.cost > 0 ? ` · ${format.cost(e.cost)}` : ""}`}</span>
          {e.failed > 0 && <span class="bad">{`${format.count(e.failed)} failed`}</span>}
          {e.scores && <span class="secondary ellipsis" title={e.scores}>{e.scores}</span>}
          {e.problem && <span class="bad ellipsis" title={e.problem}>{e.problem}</span>}
          <span class="grow" />
          {e.state === "running" ? <button type="button" class="button" onClick={cancel}>Cancel</button> : <a class="button" href={href(["experiments", e.id])}>Open</a>}
        </div>
      ))}
    </>
  );
}

export function SaveConfiguration({ letters, onClose }: { letters: string[]; onClose: () => void }) {
  const { variants, config } = draft.value;
  const list = useLoaded("configurations", readConfigurations);
  const [at, setAt] = useState(0);
  const [id, setId] = useState(config?.id ?? "");
  const [name, setName] = useState("");
  const save = async () => {
    const v = variants[at]!;
    const known = (list.value ?? []).find((c: Configuration) => c.id === id);
    const body = { name: known?.name ?? name.trim(), provider: v.provider || known?.provider || "default", parameters: parametersOf(v, known?.parameters) };
    const to = known ? known.id : (await call<CreateConfigurationAnswer>("v1/configurations", { method: "POST", body })).insertedId;
    if (known) await call(`v1/configurations/${to}`, { method: "PUT", body });
    const { configuration: c } = await call<GetConfigurationAnswer>(`v1/configurations/${to}`);
    go(href(["configurations", c.id]));
  };
  return (
    <FormDialog title="Save as a configuration" action={id ? "Save as a new version" : "Save"} ready={list.value !== null} onClose={onClose} onSubmit={save}>
      {variants.length > 1 && <label>Variant<select class="input" value={at} onChange={(e) => setAt(Number(e.currentTarget.value))}>{variants.map((_, i) => <option key={i} value={i}>{letters[i]}</option>)}</select></label>}
      <label>Configuration<select class="input" value={id} onChange={(e) => setId(e.currentTarget.value)}><option value="">A new one…</option>{list.value?.map((c) => <option key={c.id} value={c.id}>{c.name}</option>)}</select></label>
      {!id && <label>Its name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
      {variants[at]!.messages.some((m) => m.images?.length) && <p class="warn">Images are not kept: a template has texts only.</p>}
      {list.error && <p class="bad" role="alert">{(list.error as Error).message}</p>}
    </FormDialog>
  );
}
