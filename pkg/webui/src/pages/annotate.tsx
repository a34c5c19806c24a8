// What a person may do with an event: say whether it was good, put it into a dataset, copy it, delete it.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { call, serverAddress, text } from "../api/client.ts";
import { searchFields } from "../api/search.ts";
import type {
  CreateDatapointBody, CreateDatasetAnswer, CreateDatasetBody, Event, GetSessionTreeAnswer, ListDatasetsAnswer, ListMetricLibraryAnswer, ListMetricsAnswer,
  RunMetricAnswer, UpdateEventBody,
} from "../api/types.gen.ts";
import { addCommands, keysOf } from "../app/keymap.ts";
import { go, href, setParams } from "../app/router.ts";
import { valueAt } from "../model/columns.ts";
import * as format from "../model/format.ts";
import { object, pretty, textAt } from "../model/raw.ts";
import { countOf } from "../model/tree.ts";
import { allows } from "../app/session.ts";
import { Copy, Dialog, Problem, useLoaded } from "../parts/common.tsx";
import { useWork } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { AddToQueue } from "./addtoqueue.tsx";

interface Props {
  event: Event;
  session: string;
  onChange: () => void;
}

export function Annotate({ event, session, onChange }: Props) {
  const [dialog, setDialog] = useState<"dataset" | "queue" | "delete" | "comment" | "metric" | null>(null);
  const [problem, setProblem] = useState("");
  const rating = event.feedback?.rating;
  const may = allows("full");
  const rate = async (value: boolean) => {
    setProblem("");
    try {
      await call("v1/events", { method: "PUT", body: { event_id: event.event_id, feedback: { rating: rating === value ? null : value } } satisfies UpdateEventBody });
      onChange();
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  useLayoutEffect(() => addCommands(!may ? [] : [
    { id: "annotate", keys: ["a"], label: "Comment and score", group: "Event", run: () => setDialog("comment") },
    { id: "to-queue", keys: ["q"], label: "Add to a queue", group: "Event", run: () => setDialog("queue") },
    { id: "to-dataset", keys: ["s"], label: "Add to a dataset", group: "Event", run: () => setDialog("dataset") },
  ]), [may]);
  useLayoutEffect(() => event.event_type !== "model" ? undefined : addCommands([{ id: "playground", keys: ["p"], label: "Open in the playground", group: "Event", run: () => go(href(["playground"], { event: event.event_id })) }]), [event.event_id]);
  const curl = `curl "${serverAddress()}/v1/events/${event.event_id}?children=none" -H "Authorization: Bearer $SPANGROVE_API_KEY"`;
  return (
    <div class="actions">
      {may && (
        <>
          <button type="button" class="button plain icon" aria-pressed={rating === true} title="Good" aria-label="Good" onClick={() => void rate(true)}><Icon name="thumbUp" small /></button>
          <button type="button" class="button plain icon" aria-pressed={rating === false} title="Bad" aria-label="Bad" onClick={() => void rate(false)}><Icon name="thumbDown" small /></button>
          <button type="button" class="button plain" onClick={() => setDialog("comment")}>Comment</button>
          <button type="button" class="button plain" onClick={() => setDialog("dataset")}><Icon name="dataset" small />Add to dataset</button>
          <button type="button" class="button plain" onClick={() => setDialog("queue")}><Icon name="queue" small />Add to queue</button>
          <button type="button" class="button plain" onClick={() => setDialog("metric")}><Icon name="judge" small />Run a metric</button>
        </>
      )}
      {event.event_type === "model" && <a class="button plain" href={href(["playground"], { event: event.event_id })} title={keysOf("playground")}><Icon name="playground" small />Playground</a>}
      <Copy text={curl} label="curl" />
      <Copy text={() => text(`v1/events/${event.event_id}/otlp`)} label="OTLP" />
      <Copy text={`${location.href.split("#")[0]}${href(["session", session], { e: event.event_id })}`} label="Link" />
      <span class="grow" />
      {may && <button type="button" class="button plain icon danger" title="Delete" aria-label="Delete" onClick={() => setDialog("delete")}><Icon name="trash" small /></button>}
      {problem && <p class="bad" role="alert">{problem}</p>}
      {dialog === "dataset" && <AddToDataset event={event} onClose={() => setDialog(null)} />}
      {dialog === "queue" && <AddToQueue events={[event.event_id]} onClose={() => setDialog(null)} />}
      {dialog === "metric" && <RunMetric event={event} onClose={() => setDialog(null)} onChange={onChange} />}
      {dialog === "comment" && <Comment event={event} onClose={() => setDialog(null)} onChange={onChange} />}
      {dialog === "delete" && <Delete event={event} session={session} onClose={() => setDialog(null)} />}
    </div>
  );
}

function Comment({ event, onClose, onChange }: { event: Event; onClose: () => void; onChange: () => void }) {
  const [before] = useState(typeof event.feedback?.comment === "string" ? event.feedback.comment : "");
  const [comment, setComment] = useState(before);
  const [score, setScore] = useState("");
  const [metric, setMetric] = useState("");
  const [problem, setProblem] = useState("");
  const save = async () => {
    const body: UpdateEventBody = { event_id: event.event_id, ...(comment !== before && { feedback: { comment } }) };
    if (metric.trim() !== "") body.metrics = { [metric.trim()]: Number.isFinite(Number(score)) ? Number(score) : score };
    try {
      if (body.feedback || body.metrics) await call("v1/events", { method: "PUT", body });
      onChange();
      onClose();
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  return (
    <Dialog label="Comment and score" onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void save(); }}>
        <h2>What do you say of this event?</h2>
        <label>Comment<textarea class="input" rows={4} value={comment} onInput={(e) => setComment(e.currentTarget.value)} /></label>
        <div class="pair">
          <label>Score's name<input class="input" required={score.trim() !== ""} pattern=".*\S.*" value={metric} placeholder="correctness" onInput={(e) => setMetric(e.currentTarget.value)} /></label>
          <label>Score<input class="input" required={metric.trim() !== ""} pattern=".*\S.*" value={score} placeholder="0.8" onInput={(e) => setScore(e.currentTarget.value)} /></label>
        </div>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={onClose}>Cancel</button><button class="button primary" type="submit">Save</button></div>
      </form>
    </Dialog>
  );
}

/** Runs a metric of the project, or a ready-made one, over the event, and keeps its score if somebody wants it. */
function RunMetric({ event, onClose, onChange }: { event: Event; onClose: () => void; onChange: () => void }) {
  const metrics = useLoaded("metrics", async (signal) => {
    const [own, ready] = await Promise.all([call<ListMetricsAnswer>("v1/metrics", { signal }), call<ListMetricLibraryAnswer>("v1/metrics/library", { signal })]);
    return { own: own.metrics, ready: ready.metrics };
  });
  const [chosen, setChosen] = useState("");
  const [answer, setAnswer] = useState<RunMetricAnswer | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [kept, setKept] = useState(false);
  const own = metrics.value?.own.find((m) => `own ${m.name}` === chosen);
  const ready = metrics.value?.ready.find((m) => `ready ${m.name}` === chosen);
  const metric = own ?? ready;
  const run = async () => {
    setBusy(true);
    setProblem("");
    setAnswer(null);
    setKept(false);
    try {
      const definition = own ? Object.fromEntries(Object.entries(own).filter(([k]) => runFields.has(k))) : { from: ready!.name };
      setAnswer(await call<RunMetricAnswer>("v1/metrics/run", { method: "POST", json: `{"metric":${JSON.stringify(definition)},"event":${await wholeEvent(event.event_id)}}` }));
    } catch (e) {
      setProblem(format.messageOf(e));
    }
    setBusy(false);
  };
  const keep = async () => {
    const name = metric!.name;
    try {
      await call("v1/events", { method: "PUT", body: { event_id: event.event_id, metrics: { [name]: answer!.result, ...(answer!.explanation ? { [`${name}_explanation`]: answer!.explanation } : {}) } } satisfies UpdateEventBody });
      setKept(true);
      onChange();
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  return (
    <Dialog label="Run a metric" onClose={onClose} className="wide">
      <form class="form" onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <h2>Run a metric over this event</h2>
        {metrics.error ? <Problem error={metrics.error} retry={metrics.reload} /> : (
          <label>Metric
            <select class="input" required disabled={busy} value={chosen} onChange={(e) => { setChosen(e.currentTarget.value); setAnswer(null); }}>
              <option value="">Choose…</option>
              {metrics.value && metrics.value.own.length > 0 && <optgroup label="Of this project">{metrics.value.own.map((m) => <option key={m.name} value={`own ${m.name}`}>{`${m.name} (${m.type})`}</option>)}</optgroup>}
              {metrics.value && <optgroup label="Ready-made">{metrics.value.ready.map((m) => <option key={m.name} value={`ready ${m.name}`}>{`${m.name} (${m.type})`}</option>)}</optgroup>}
            </select>
          </label>
        )}
        {metric?.description && <p class="secondary">{metric.description}</p>}
        {problem && <p class="bad" role="alert">{problem}</p>}
        {answer && (
          <div class="notice" role="status">
            <p><b>{answer.success ? format.value(answer.result) : "No score"}</b>{answer.passed === true && <span class="good"> passed</span>}{answer.passed === false && <span class="bad"> not passed</span>}</p>
            {answer.explanation && <p class="wrap">{answer.explanation}</p>}
            {kept && <p class="good">The score stands on the event.</p>}
          </div>
        )}
        <div class="form-end">
          <button type="button" class="button" onClick={onClose}>Close</button>
          {answer?.success && answer.result !== null && !kept && <button type="button" class="button" onClick={() => void keep()}>Keep the score</button>}
          <button class="button primary" type="submit" disabled={busy || chosen === ""}>{busy ? "Running…" : "Run"}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Reads an event as it is stored, digit for digit. */
const wholeEvent = (id: string, signal?: AbortSignal) => text(`v1/events/${encodeURIComponent(id)}?children=none`, signal && { signal });

/** The fields of a metric that a run of it takes; the others say when it runs by itself. */
const runFields = new Set(["name", "type", "criteria", "return_type", "scale", "threshold", "categories", "child_metrics", "model_provider", "model_name", "needs_ground_truth"]);

function AddToDataset({ event, onClose }: { event: Event; onClose: () => void }) {
  const list = useLoaded("datasets", (signal) => call<ListDatasetsAnswer>("v1/datasets?ids=false", { signal }));
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const { busy, problem, run } = useWork();
  const [done, setDone] = useState(false);
  const [from, setFrom] = useState("inputs");
  const [expected, setExpected] = useState("outputs");
  const paths = useMemo(() => pathsOf(event), [event]);
  const stored = useLoaded(event.event_id, (signal) => wholeEvent(event.event_id, signal));
  const [inputs, truth] = useMemo(() => [mapped(stored.value, from, "input"), mapped(stored.value, expected, "output")], [stored.value, from, expected]);
  const save = () => run(async () => {
    let dataset = chosen;
    if (dataset === "") {
      const made = await call<CreateDatasetAnswer>("v1/datasets", { method: "POST", body: { name: name.trim() } satisfies CreateDatasetBody });
      dataset = made.result.insertedId;
      setChosen(dataset); // what fails from here on is tried again with the same
      list.reload();
    }
    const links = { linked_event: event.event_id, linked_datasets: [dataset] } satisfies Partial<CreateDatapointBody>;
    await call("v1/datapoints", { method: "POST", json: `{"inputs":${inputs},"ground_truth":${truth},${JSON.stringify(links).slice(1)}` });
    setDone(true);
  });
  return (
    <Dialog label="Add to a dataset" onClose={onClose} className="wide">
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (done) onClose(); else void save(); }}>
        <h2>Add to a dataset</h2>
        {stored.error ? <Problem error={stored.error} retry={stored.reload} /> : list.error ? <Problem error={list.error} retry={list.reload} /> : (
          <label>Dataset
            <select class="input" value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}>
              <option value="">A new one…</option>
              {(list.value?.datasets ?? []).map((d) => <option key={d.id} value={d.id}>{d.name}</option>)}
            </select>
          </label>
        )}
        {chosen === "" && <label>Its name<input class="input" required value={name} placeholder="regressions" onInput={(e) => setName(e.currentTarget.value)} /></label>}
        <datalist id="event-paths">{paths.map((p) => <option key={p} value={p} />)}</datalist>
        <div class="pair">
          <label>Inputs are<input class="input" list="event-paths" value={from} spellcheck={false} onInput={(e) => setFrom(e.currentTarget.value)} /></label>
          <label>Ground truth is<input class="input" list="event-paths" value={expected} spellcheck={false} onInput={(e) => setExpected(e.currentTarget.value)} /></label>
        </div>
        {[from, expected].filter((p) => p.trim() !== "" && valueAt(event, p.trim()) === undefined).map((p) => <p key={p} class="warn">{`The event has no ${p}.`}</p>)}
        <div class="pair">
          <div><span class="secondary">Inputs of the datapoint</span><pre class="code short" tabIndex={0}>{pretty(inputs)}</pre></div>
          <div><span class="secondary">Ground truth</span><pre class="code short" tabIndex={0}>{pretty(truth)}</pre></div>
        </div>
        {problem && <p class="bad" role="alert">{problem}</p>}
        {done && <p class="good" role="status">The datapoint was added.</p>}
        <div class="form-end">
          {!done && <button type="button" class="button" onClick={onClose}>Cancel</button>}
          <button class="button primary" type="submit" disabled={busy || stored.value === null || (!done && chosen === "" && name.trim() === "")}>{done ? "Close" : "Add"}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** What a datapoint gets of an event: the value at a path as it is stored, or nothing. Datapoints hold objects: anything else becomes a member of one. */
function mapped(event: string | null, path: string, name: string): string {
  const v = textAt(event ?? "", path.trim()) ?? "null";
  return v.startsWith("{") ? v : v === "null" ? "{}" : object([[name, v]]);
}

function Delete({ event, session, onClose }: { event: Event; session: string; onClose: () => void }) {
  const [problem, setProblem] = useState("");
  const isSession = event.event_id === session;
  // What would go, counted before anything does.
  const counted = useLoaded(session, (signal) => call<GetSessionTreeAnswer>(`v1/sessions/${encodeURIComponent(session)}/tree?limit=1`, { signal }));
  const below = useLoaded(isSession ? null : event.event_id, async (signal) =>
    (await searchFields(["event_id"], [], { filters: [{ field: "parent_id", operator: "is", value: event.event_id }], limit: 1 }, signal)).totalEvents);
  const remove = async () => {
    try {
      await call(`v1/${isSession ? "sessions" : "events"}/${event.event_id}`, { method: "DELETE" });
      onClose();
      if (isSession) go(href(["sessions"]));
      else {
        setParams({ e: null, s: null }, true);
        location.reload();
      }
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  return (
    <Dialog label="Delete" onClose={onClose}>
      <div class="form">
        <h2>{isSession ? "Delete the session with all its events?" : "Delete this event?"}</h2>
        <p>
          {isSession
            ? counted.value ? `${format.plural(countOf(counted.value), "event")} go with it.` : "All its events go with it."
            : below.value !== null ? (below.value === 0 ? "Nothing stands below it." : `${format.plural(below.value, "event")} directly below it stay, as events whose parent is missing.`) : "What stands below it stays, as events whose parent is missing."}
          {" This cannot be undone."}
        </p>
        {(counted.error || below.error) && <p class="warn">What would go could not be counted.</p>}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={onClose}>Cancel</button><button type="button" class="button danger" onClick={() => void remove()}>Delete</button></div>
      </div>
    </Dialog>
  );
}

/** The paths in an event that a datapoint may be made of, at most 200, three levels deep. */
function pathsOf(event: Event): string[] {
  const out: string[] = [];
  const walk = (v: unknown, path: string, depth: number) => {
    if (out.length >= 200 || v === undefined || v === null) return;
    out.push(path);
    if (depth < 3 && typeof v === "object" && !Array.isArray(v)) for (const [k, child] of Object.entries(v)) walk(child, `${path}.${k}`, depth + 1);
  };
  for (const field of ["inputs", "outputs", "feedback", "metadata"] as const) walk(event[field], field, 1);
  return out;
}
