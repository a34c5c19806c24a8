// What a person may do with an event: say whether it was good, put it into a dataset, copy it, delete it.
import { useEffect, useState } from "preact/hooks";
import { call, serverAddress, text } from "../api/client.ts";
import type { EventRow } from "../api/types.ts";
import { addCommands } from "../app/keymap.ts";
import { go, href } from "../app/router.ts";
import { me } from "../app/session.ts";
import { Copy, Dialog, Problem, useLoaded } from "../parts/common.tsx";
import { Icon } from "../parts/icon.tsx";

interface Props {
  event: EventRow;
  session: string;
  onChange: () => void;
}

export function Annotate({ event, session, onChange }: Props) {
  const [dialog, setDialog] = useState<"dataset" | "delete" | "comment" | null>(null);
  const [problem, setProblem] = useState("");
  const rating = event.feedback?.rating;
  const may = me.value?.scope === "full" || me.value?.scope === "admin";
  const rate = async (value: boolean) => {
    setProblem("");
    try {
      await call("v1/events", { method: "PUT", body: { event_id: event.event_id, feedback: { rating: rating === value ? null : value } } });
      onChange();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  useEffect(() => addCommands(!may ? [] : [
    { id: "annotate", keys: ["a"], label: "Comment and score", group: "Event", run: () => setDialog("comment") },
    { id: "to-dataset", keys: ["s"], label: "Add to a dataset", group: "Event", run: () => setDialog("dataset") },
  ]), [may]);
  const curl = `curl "${serverAddress()}/v1/events/${event.event_id}?children=none" -H "Authorization: Bearer $SPANGROVE_API_KEY"`;
  return (
    <div class="actions">
      {may && (
        <>
          <button type="button" class="button plain icon" aria-pressed={rating === true} title="Good" aria-label="Good" onClick={() => void rate(true)}><Icon name="thumbUp" small /></button>
          <button type="button" class="button plain icon" aria-pressed={rating === false} title="Bad" aria-label="Bad" onClick={() => void rate(false)}><Icon name="thumbDown" small /></button>
          <button type="button" class="button plain" onClick={() => setDialog("comment")}>Comment</button>
          <button type="button" class="button plain" onClick={() => setDialog("dataset")}><Icon name="dataset" small />Add to dataset</button>
        </>
      )}
      <Copy text={curl} label="curl" />
      <Copy text={() => text(`v1/events/${event.event_id}/otlp`)} label="OTLP" />
      <Copy text={`${location.href.split("#")[0]}${href(["session", session], { e: event.event_id })}`} label="Link" />
      <span class="grow" />
      {may && <button type="button" class="button plain icon danger" title="Delete" aria-label="Delete" onClick={() => setDialog("delete")}><Icon name="trash" small /></button>}
      {problem && <p class="bad" role="alert">{problem}</p>}
      {dialog === "dataset" && <AddToDataset event={event} onClose={() => setDialog(null)} />}
      {dialog === "comment" && <Comment event={event} onClose={() => setDialog(null)} onChange={onChange} />}
      {dialog === "delete" && <Delete event={event} session={session} onClose={() => setDialog(null)} />}
    </div>
  );
}

function Comment({ event, onClose, onChange }: { event: EventRow; onClose: () => void; onChange: () => void }) {
  const [comment, setComment] = useState(typeof event.feedback?.comment === "string" ? event.feedback.comment : "");
  const [score, setScore] = useState("");
  const [metric, setMetric] = useState("");
  const [problem, setProblem] = useState("");
  const save = async () => {
    const body: Record<string, unknown> = { event_id: event.event_id, feedback: { comment } };
    if (metric.trim() !== "") body.metrics = { [metric.trim()]: score.trim() !== "" && !Number.isNaN(Number(score)) ? Number(score) : score };
    try {
      await call("v1/events", { method: "PUT", body });
      onChange();
      onClose();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog label="Comment and score" onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void save(); }}>
        <h2>What do you say of this event?</h2>
        <label>Comment<textarea class="input" rows={4} value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
        <div class="pair">
          <label>Score's name<input class="input" value={metric} placeholder="correctness" onInput={(e) => setMetric(e.currentTarget.value)} /></label>
          <label>Score<input class="input" value={score} placeholder="0.8" onInput={(e) => setScore(e.currentTarget.value)} /></label>
        </div>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={onClose}>Cancel</button><button class="button primary" type="submit">Save</button></div>
      </form>
    </Dialog>
  );
}

interface Dataset { id?: string; dataset_id?: string; name: string }

function AddToDataset({ event, onClose }: { event: EventRow; onClose: () => void }) {
  const list = useLoaded("datasets", (signal) => call<{ datasets: Dataset[] }>("v1/datasets?limit=200", { signal }));
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const [done, setDone] = useState(false);
  const inputs = asObject(event.inputs, "input");
  const truth = asObject(event.outputs, "output");
  const idOf = (d: Dataset) => d.id ?? d.dataset_id ?? "";
  const save = async () => {
    setProblem("");
    try {
      let dataset = chosen;
      if (dataset === "") {
        const made = await call<{ inserted_id?: string; result?: { insertedId: string }; id?: string; dataset_id?: string }>("v1/datasets", { method: "POST", body: { name: name.trim() } });
        dataset = made.inserted_id ?? made.result?.insertedId ?? made.dataset_id ?? made.id ?? "";
      }
      await call("v1/datapoints", { method: "POST", body: { inputs, ground_truth: truth, linked_event: event.event_id, linked_datasets: [dataset] } });
      setDone(true);
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog label="Add to a dataset" onClose={onClose} className="wide">
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (done) onClose(); else void save(); }}>
        <h2>Add to a dataset</h2>
        {list.error ? <Problem error={list.error} retry={list.reload} /> : (
          <label>Dataset
            <select class="input" value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}>
              <option value="">A new one…</option>
              {(list.value?.datasets ?? []).map((d) => <option key={idOf(d)} value={idOf(d)}>{d.name}</option>)}
            </select>
          </label>
        )}
        {chosen === "" && <label>Its name<input class="input" required value={name} placeholder="regressions" onInput={(e) => setName(e.currentTarget.value)} /></label>}
        <div class="pair">
          <div><span class="secondary">Inputs of the datapoint</span><pre class="code short" tabIndex={0}>{JSON.stringify(inputs, null, 2)}</pre></div>
          <div><span class="secondary">Ground truth</span><pre class="code short" tabIndex={0}>{JSON.stringify(truth, null, 2)}</pre></div>
        </div>
        {problem && <p class="bad" role="alert">{problem}</p>}
        {done && <p class="good" role="status">The datapoint was added.</p>}
        <div class="form-end">
          {!done && <button type="button" class="button" onClick={onClose}>Cancel</button>}
          <button class="button primary" type="submit" disabled={!done && chosen === "" && name.trim() === ""}>{done ? "Close" : "Add"}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Datapoints hold objects: anything else becomes a member of one. */
function asObject(v: unknown, name: string): Record<string, unknown> {
  if (typeof v === "object" && v !== null && !Array.isArray(v)) return v as Record<string, unknown>;
  return v === undefined || v === null ? {} : { [name]: v };
}

function Delete({ event, session, onClose }: { event: EventRow; session: string; onClose: () => void }) {
  const [problem, setProblem] = useState("");
  const isSession = event.event_id === session;
  const remove = async () => {
    try {
      await call(`v1/${isSession ? "sessions" : "events"}/${event.event_id}`, { method: "DELETE" });
      onClose();
      if (isSession) go(href(["sessions"]));
      else location.reload();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog label="Delete" onClose={onClose}>
      <div class="form">
        <h2>{isSession ? "Delete the session with all its events?" : "Delete this event?"}</h2>
        <p>{isSession ? "All its events go with it." : "What stands below it stays, as events whose parent is missing."} This cannot be undone.</p>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={onClose}>Cancel</button><button type="button" class="button danger" onClick={() => void remove()}>Delete</button></div>
      </div>
    </Dialog>
  );
}
