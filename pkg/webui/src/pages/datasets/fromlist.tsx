// All that a list is filtered by, as datapoints: counted and shown before anything is stored.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreateDatasetFromSearchBody, DatasetExtended, ListDatasetsAnswer } from "../../api/types.gen.ts";
import { href } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { Dialog, Problem, useLoaded, useRested } from "../../parts/common.tsx";

interface Dry {
  total: number;
  most: number;
  preview: { inputs: object; ground_truth: object }[];
}

const paths = (text: string) => text.split(",").map((p) => p.trim()).filter(Boolean);

export function FromList({ of, search, onClose }: { of: "events" | "sessions"; search: object; onClose: () => void }) {
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const [inputs, setInputs] = useState("");
  const [truth, setTruth] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<DatasetExtended | null>(null);
  const list = useLoaded("datasets", (signal) => call<ListDatasetsAnswer>("v1/datasets?limit=1000&ids=false", { signal }));
  const mapping = inputs.trim() + truth.trim() === "" ? {} : { mapping: { inputs: paths(inputs), ground_truth: paths(truth) } };
  const body = (rest: object) => ({ [of]: search, ...mapping, ...rest }) as CreateDatasetFromSearchBody;
  const rested = useRested(JSON.stringify(mapping), 300);
  const dry = useLoaded(rested, (signal) => call<Dry>("v1/datasets/from_search", { method: "POST", body: { [of]: search, ...(JSON.parse(rested) as object), dry: true }, signal }));
  const found = dry.error ? null : dry.value;
  const over = found !== null && found.total > found.most;
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      setMade(await call<DatasetExtended>("v1/datasets/from_search", { method: "POST", body: body(chosen ? { dataset_id: chosen } : { name: name.trim() }) }));
    } catch (e) {
      setProblem(format.messageOf(e));
    }
    setBusy(false);
  };
  const what = found ? format.plural(found.total, of.slice(0, -1)) : "…";
  return (
    <Dialog label="Add to a dataset" className="wide" onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (made) onClose(); else void save(); }}>
        <h2>{`Add all ${what} to a dataset`}</h2>
        <p class="secondary">{of === "sessions" ? "A datapoint for each session: what went into it, and what came out as the ground truth." : "A datapoint for each event, newest first: its inputs, and its outputs as the ground truth."}</p>
        {list.error ? <Problem error={list.error} retry={list.reload} /> : (
          <label>Dataset<select class="input" value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}><option value="">A new one…</option>{list.value?.datasets.map((d) => <option key={d.id} value={d.id}>{d.name}</option>)}</select></label>
        )}
        {chosen === "" && <label>Its name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
        <div class="pair">
          <label>Inputs, as paths with commas<input class="input mono" value={inputs} placeholder="all inputs" spellcheck={false} onInput={(e) => setInputs(e.currentTarget.value)} /></label>
          <label>Ground truth<input class="input mono" value={truth} placeholder="all outputs" spellcheck={false} onInput={(e) => setTruth(e.currentTarget.value)} /></label>
        </div>
        {dry.error && <p class="bad" role="alert">{dry.error instanceof Error ? dry.error.message : ""}</p>}
        {over && <p class="bad" role="alert">{`At most ${format.count(found.most)} are added at once: narrow the filter or the range.`}</p>}
        {found && found.preview.length > 0 && <div><span class="secondary">The newest</span><pre class="code short" tabIndex={0}>{found.preview.slice(0, 3).map((p) => JSON.stringify({ inputs: p.inputs, ground_truth: p.ground_truth }, null, 2)).join("\n")}</pre></div>}
        {problem && <p class="bad" role="alert">{problem}</p>}
        {made && <p class="good" role="status">{`${format.plural(made.added, "datapoint")} added. `}<a href={href(["datasets", made.dataset_id])}>Open the dataset</a></p>}
        <div class="form-end">
          {!made && <button type="button" class="button" onClick={onClose}>Cancel</button>}
          <button type="submit" class="button primary" disabled={busy || (!made && (!found || found.total === 0 || over || (chosen === "" && name.trim() === "")))}>{made ? "Close" : busy ? "Adding…" : `Add ${what}`}</button>
        </div>
      </form>
    </Dialog>
  );
}
