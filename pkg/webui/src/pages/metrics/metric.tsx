// One metric: its definition with a live test, versions, agreement with people, and what it has done.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreateMetricAnswer, CreateMetricVersionAnswer, ListMetricsAnswer, Metric } from "../../api/types.gen.ts";
import { keep, readKept, unkept } from "../../app/kept.ts";
import { addCommands } from "../../app/keymap.ts";
import { useLeaving } from "../../app/leaving.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows, me } from "../../app/session.ts";
import { blank, definitionOf, same, sent, types, where, type Definition } from "../../model/metric.ts";
import { Dialog, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Agreement } from "./agreement.tsx";
import { Editor } from "./editor.tsx";
import { Button, Text, useAct } from "./parts.tsx";
import { Runs } from "./runs.tsx";
import { Test } from "./test.tsx";
import { Versions } from "./versions.tsx";

const tabs = [["edit", "Definition"], ["versions", "Versions"], ["agreement", "Agreement with people"], ["runs", "Scored events"]] as const;

/** Edits live in the tab of the browser until they are saved, with the version that they began at: a reload keeps them. */
interface Kept { version: string; draft: Definition }
const draftKey = (id: string) => `spangrove.metric.${me.value?.project.id}.${id}`;

export function MetricPage({ id }: { id: string }) {
  const fresh = id === "new";
  const loaded = useLoaded(fresh ? null : id, async (signal) => (await call<ListMetricsAnswer>(`v1/metrics?${new URLSearchParams({ id })}`, { signal })).metrics[0] ?? null);
  const metric = loaded.value;
  if (loaded.error && !metric) return <div class="page"><Problem error={loaded.error} retry={loaded.reload} /></div>;
  if (!fresh && !metric) return <div class="page">{loaded.loading ? <div class="progress" role="progressbar" aria-label="Loading" /> : <Empty title="There is no such metric"><a class="button" href={href(["metrics"])}>Metrics</a></Empty>}</div>;
  return <Opened key={id} id={id} metric={metric} reload={loaded.reload} />;
}

function Opened({ id, metric, reload }: { id: string; metric: Metric | null; reload: () => void }) {
  const { params } = route.value;
  const view = metric ? params.get("view") ?? "edit" : "edit";
  const [base, setBase] = useState<Definition>(() => (metric ? definitionOf(metric) : blank((params.get("type") as Metric["type"]) ?? "EXPRESSION")));
  const [version, setVersion] = useState(metric?.version ?? "");
  const [kept] = useState(() => readKept<Kept>(draftKey(id)));
  const [draft, setDraft] = useState<Definition>(kept?.draft ?? base);
  const [began, setBegan] = useState(kept?.version ?? version);
  const [message, setMessage] = useState("");
  const { act, busy, problem } = useAct();
  const [done, setDone] = useState<string[] | null>(null);
  const [doomed, setDoomed] = useState(false);
  const unsaved = !same(draft, base);
  const may = allows("full");
  const leaving = useLeaving(unsaved, href(["metrics", id]));
  const change = (d: Definition) => {
    setDraft(d);
    setDone(null);
    if (!unsaved) setBegan(version);
    keep(draftKey(id), same(d, base) ? null : ({ version: unsaved ? began : version, draft: d } satisfies Kept));
  };
  useEffect(() => { // somebody deployed another version, here or elsewhere
    if (!metric || metric.version === version) return;
    const now = definitionOf(metric);
    setBase(now);
    setVersion(metric.version);
    if (!unsaved) setDraft(now);
  }, [metric]);
  const saved = (d: Definition) => {
    setBase(d);
    setDraft(d);
    setMessage("");
    keep(draftKey(id), null);
  };
  const save = (deploy: boolean) => act(async () => {
    setDone(null);
    if (!metric) {
      const made = await call<CreateMetricAnswer>("v1/metrics", { method: "POST", body: sent(draft) });
      leaving.free();
      saved(draft);
      go(href(["metrics", made.metric_id]));
      return;
    }
    const now = (await call<ListMetricsAnswer>(`v1/metrics?${new URLSearchParams({ id })}`)).metrics[0];
    if (deploy && now && now.version !== version) {
      setVersion(now.version);
      throw new Error(`${now.version} was deployed meanwhile: see its difference under Versions. Deploy again to put yours in its place.`);
    }
    const made = await call<CreateMetricVersionAnswer>(`v1/metrics/${id}/versions`, { method: "POST", body: { message: message.trim(), content: sent(draft), deploy_immediately: deploy } });
    if (deploy) setVersion(made.data.name);
    saved(deploy ? draft : base);
    if (deploy) reload();
    setDone([deploy ? `${made.data.name} is deployed.` : `${made.data.name} is kept as a draft, under Versions.`, ...(made.warnings ?? [])]);
  });
  const remove = () => act(async () => {
    setDoomed(false);
    await call(`v1/metrics/${id}`, { method: "DELETE" });
    leaving.free();
    saved(base);
    go(href(["metrics"]));
  });
  const show = (v: string) => setParams({ view: v === "edit" ? null : v });
  useLayoutEffect(() => addCommands(metric ? tabs.map(([v, label], i) => ({ id: `tab-${v}`, keys: [String(i + 1)], label, group: "Metric", run: () => show(v) })) : []), [id]);
  return (
    <div class="page metric">
      <header>
        <a href={href(["metrics"])}>Metrics</a>
        <h1 class="ellipsis" title={base.name}>{metric ? base.name : "New metric"}</h1>
        {metric && <><span class="chip">{types[base.type].label}</span><span class="chip">{version}</span><span class="secondary wide-only">{where(base)}</span></>}
        {unsaved && <span class="chip running">edited</span>}
        <span class="grow" />
        {may && metric && <button type="button" class="button plain icon danger" title="Delete the metric" aria-label="Delete the metric" onClick={() => setDoomed(true)}><Icon name="trash" small /></button>}
      </header>
      {metric && (
        <div class="tabs" role="tablist" aria-label="Metric">
          {tabs.map(([v, label], i) => <button key={v} type="button" role="tab" aria-selected={view === v} onClick={() => show(v)}>{label}<kbd aria-hidden="true">{i + 1}</kbd></button>)}
        </div>
      )}
      {leaving.to !== null && (
        <div class="metric-tools metric-ask" role="alertdialog" aria-label="Unsaved edits">
          The edits are not saved.
          <button type="button" class="button primary" ref={(b) => b?.focus()} onClick={leaving.stay}>Stay</button>
          <Button label={unkept(draftKey(id)) ? "Leave, and lose them" : "Leave, and keep them in this tab"} on={leaving.leave} />
          <Button label="Discard them" kind="danger" on={() => { change(base); leaving.leave(); }} />
        </div>
      )}
      {view === "versions" ? <Versions id={id} deployed={version} unsaved={unsaved} onDeploy={reload} onEdit={(v) => { change(definitionOf(v.content)); show("edit"); }} />
        : view === "agreement" ? <Agreement id={id} name={base.name} />
        : view === "runs" ? <Runs id={id} metric={base} />
        : <>
          <div class="metric-edit"><Editor draft={draft} onChange={change} readOnly={!may} /><Test draft={draft} /></div>
          {may ? (
            <form class="foot metric-save" onSubmit={(e) => { e.preventDefault(); void save(true); }}>
              <span class="grow" role="status">{problem || (done ? <><span class="good">{done[0]}</span> <span class="warn">{done.slice(1).join(" ")}</span></> : unsaved ? <>{metric && began !== version && <span class="warn">{`These edits began at ${began}, and ${version} is deployed now. `}</span>}{unkept(draftKey(id)) || "Edits are kept in this tab until they are saved."}</> : version && `As deployed, ${version}.`)}</span>
              {metric && unsaved && <Text label="" aria-label="What is new in this version" value={message} maxLength={200} placeholder="What is new?" on={setMessage} />}
              {unsaved && <Button label="Discard" on={() => change(base)} />}
              {metric && <Button label="Keep as a draft" off={!unsaved || busy} on={() => save(false)} />}
              <button type="submit" class="button primary" disabled={busy || (metric ? !unsaved : draft.name.trim() === "")}>{metric ? "Deploy" : "Create"}</button>
            </form>
          ) : <div class="foot">This key reads only: it changes nothing and tests nothing.</div>}
        </>}
      {doomed && (
        <Dialog label="Delete the metric" onClose={() => setDoomed(false)}>
          <div class="form">
            <h2>{`Delete “${base.name}” with its versions?`}</h2>
            <p>It scores no more events. Scores that events have stay. This cannot be undone.</p>
            <div class="form-end"><Button label="Cancel" on={() => setDoomed(false)} /><Button label="Delete" kind="danger" on={remove} /></div>
          </div>
        </Dialog>
      )}
    </div>
  );
}
