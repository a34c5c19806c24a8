// Marked rows go into an annotation queue, or become datapoints.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreateDatasetAnswer, ListDatasetsAnswer, ListQueuesAnswer, Queue } from "../../api/types.gen.ts";
import { href } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { Dialog, Problem, useLoaded } from "../../parts/common.tsx";
import { useWork } from "../../parts/form.tsx";
import type { Head, Row } from "./rows.ts";

/** At most this many events go into a queue with one request. */
const batch = 1000;

export function AddRows({ to, rows, runs, onDone, onClose }: { to: "queue" | "dataset"; rows: Row[]; runs: Head["runs"]; onDone: () => void; onClose: () => void }) {
  const queue = to === "queue";
  const points = queue ? [] : rows.flatMap((r) => (r.stored && r.datapoint_id) || []);
  const [run, setRun] = useState(points.length > 0 ? -1 : runs.length - 1); // -1: the datapoints themselves
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const { busy, problem, run: work } = useWork();
  const [added, setAdded] = useState<string | null>(null);
  const list = useLoaded(to, async (signal): Promise<{ id: string; name: string }[]> => (queue ? (await call<ListQueuesAnswer>("v1/queues", { signal })).queues : (await call<ListDatasetsAnswer>("v1/datasets?ids=false", { signal })).datasets));
  const ids = run < 0 ? points : rows.flatMap((r) => r.cells[run]?.session_id ?? []);
  const add = () => work(async () => {
    const send = <T,>(path: string, body: unknown, method = "POST") => call<T>(path, { method, body });
    const id = chosen || (queue ? (await send<{ queue: Queue }>("v1/queues", { name })).queue.id : (await send<CreateDatasetAnswer>("v1/datasets", { name })).result.insertedId);
    setChosen(id); // what fails from here on is tried again with the same
    list.reload();
    if (run < 0) await send(`v1/datasets/${id}`, { add_datapoints: ids }, "PUT");
    else if (!queue) await send("v1/datapoints/batch", { events: ids, dataset_id: id });
    else for (let i = 0; i < ids.length; i += batch) await send(`v1/queues/${id}`, { add_event_ids: ids.slice(i, i + batch) }, "PUT");
    setAdded(format.plural(ids.length, queue ? "session" : "datapoint"));
    onDone();
  });
  const title = queue ? "Add to an annotation queue" : "Add to a dataset";
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void add(); }}>
        <h2>{title}</h2>
        {added !== null ? <p class="good" role="status">{`${added} added.`}</p> : (
          <>
            <label>What<select class="input" value={run} onChange={(e) => setRun(Number(e.currentTarget.value))}>
              {points.length > 0 && <option value={-1}>The datapoints, with their expected answers</option>}
              {runs.map((r, i) => <option key={i} value={i}>{queue ? `Sessions of ${r.name}` : `What ${r.name} answered, as the expected answer`}</option>)}
            </select></label>
            {list.error ? <Problem error={list.error} retry={list.reload} /> : <label>{queue ? "Queue" : "Dataset"}<select class="input" value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}><option value="">A new one…</option>{list.value?.map((d) => <option key={d.id} value={d.id}>{d.name}</option>)}</select></label>}
            {chosen === "" && <label>Its name<input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
            <p class="secondary">{`${format.count(ids.length)} of ${format.plural(rows.length, "marked row")}`}</p>
          </>
        )}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end">
          <button type="button" class="button" onClick={onClose}>Close</button>
          {added === null ? <button class="button primary" type="submit" disabled={busy || ids.length === 0}>Add</button> : <a class="button primary" href={href([queue ? "queues" : "datasets", chosen])}>Open it</a>}
        </div>
      </form>
    </Dialog>
  );
}
