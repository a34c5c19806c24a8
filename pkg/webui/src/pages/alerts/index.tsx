// Alerts: which figures are watched, how they stand, what was told of them, and their test.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Alert, AlertChange, AlertNotice, AlertReading, ListAlertHistoryAnswer, ListAlertNoticesAnswer, ListAlertsAnswer, ListChartsAnswer, TestAlertAnswer } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import { conditionText, figureText, measuredBy, measuresText, type Measured, seriesOf } from "../../model/alerts.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog, useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";
import { useBooleans } from "../dashboards/data.ts";
import { AlertForm } from "./form.tsx";

/** How many changes and notices are shown; the server keeps 500 of each. */
const shown = 50;

const states: Record<string, [label: string, tint: string]> = { ok: ["OK", "good"], firing: ["Firing", "bad"], no_data: ["No data", "warn"] };

function State({ of }: { of: string | null | undefined }) {
  const [label, tint] = states[of ?? ""] ?? ["–", "faint"];
  return <span class={`alert-state ${tint}`}>{of && <Icon name={of === "ok" ? "check" : of === "firing" ? "alert" : "help"} small />}{label}</span>;
}

const when = (text: string | null | undefined) => (text ? <span title={format.time(Date.parse(text))}>{format.ago(Date.parse(text), Date.now())}</span> : <span class="faint">–</span>);

/** What an alert measures, and what is needed to write its figures with their unit. */
interface Watched { measured: Measured | null; text: string; figure: (v: number | null | undefined) => string; condition: string }

const reading = (w: Watched, r: AlertReading) => (
  <span title={`${r.value == null ? "" : `${r.value}, `}${format.plural(r.events, "event")}`}>{r.error ?? w.figure(r.value)}{r.before != null && <span class="secondary">{` (${w.figure(r.before)} a week before)`}</span>}</span>
);

/** Returns what says of an alert what it watches. Charts are loaded if an alert measures one. */
function useWatched(list: Alert[]): (a: Alert) => Watched {
  const ids = [...new Set(list.flatMap((a) => a.chart_id ?? []))].sort().join(" ");
  const charts = useLoaded(ids || null, (signal) => call<ListChartsAnswer>("v1/charts", { signal }));
  const measures = (a: Alert) => measuredBy(a, charts.value?.data ?? []);
  const booleans = useBooleans(list.flatMap((a) => { const m = measures(a); return m ? [seriesOf(m)] : []; }));
  return (a) => {
    const measured = measures(a);
    const text = measured ? measuresText(measured) : charts.value ? "a chart that is deleted" : "a chart";
    return { measured, text, figure: (v) => figureText(measured, v, booleans), condition: conditionText(a, measured, booleans) };
  };
}

const silent = (a: Alert) => a.silenced_until !== null && Date.parse(a.silenced_until) > Date.now();

export function Page() {
  const { params } = route.value;
  const id = params.get("id");
  const chart = params.get("chart");
  const mayChange = allows("full");
  const alerts = useLoaded("alerts", (signal) => call<ListAlertsAnswer>("v1/alerts", { signal }));
  const [form, setForm] = useState<Alert | "new" | null>(null);
  const [warned, setWarned] = useState<string[]>([]); // of the alert that was saved last
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) alerts.reload(); }, 30_000);
    return () => clearInterval(timer);
  }, []);
  useLayoutEffect(() => addCommands(mayChange ? [{ id: "new-alert", keys: ["n"], label: "New alert", group: "Alerts", run: () => setForm("new") }] : []), [mayChange]);
  const list = alerts.value?.data ?? [];
  const chosen = list.find((a) => a.id === id);
  const watched = useWatched(list);
  const making = mayChange && (form ?? (chart ? "new" : null));
  const close = () => { setForm(null); if (chart) setParams({ chart: null }, true); };
  const columns: PlainColumn<Alert>[] = [
    { label: "State", cell: (a) => (a.enabled ? <State of={a.status.state} /> : <span class="faint">Off</span>) },
    { label: "Name", wide: true, cell: (a) => <><button type="button" class="value strong" aria-pressed={a.id === id} onClick={() => setParams({ id: a.id === id ? null : a.id })}>{a.name}</button><Watches of={a} as={watched(a)} /></> },
    { label: "Measured", right: true, cell: (a) => (a.status.evaluated_at ? reading(watched(a), a.status) : <span class="faint">not yet</span>) },
    { label: "Since", cell: (a) => <>{when(a.status.since)}{a.status.pending_since && <div class="secondary">out of bounds {when(a.status.pending_since)}</div>}</> },
    { label: "Tells", cell: (a) => (silent(a) ? <span class="warn">{`silent until ${format.shortTime(Date.parse(a.silenced_until!), Date.now())}`}</span> : a.channels.length === 0 ? <span class="faint">nobody</span> : a.channels.map((c) => c.type).join(", ")) },
  ];
  return (
    <div class="page">
      <header>
        <h1>Alerts</h1><span class="secondary">{alerts.value && format.count(list.length)}</span><span class="grow" />
        <button type="button" class="button icon" aria-label="Load again" title="Load again" onClick={alerts.reload}><Icon name="reload" small /></button>
        <button type="button" class="button primary" disabled={!mayChange} title={mayChange ? "n" : "Your key may only read"} onClick={() => setForm("new")}><Icon name="plus" small />New alert</button>
      </header>
      <div class="settings">
        {warned.map((w) => <p key={w} class="notice warn" role="status">{w}</p>)}
        {alerts.error ? <Problem error={alerts.error} retry={alerts.reload} /> : !alerts.value ? null : list.length === 0 ? (
          <Empty title="No alerts yet"><p>An alert tells you when a figure of your events is out of bounds: by a webhook, in Slack or by e-mail.</p><code>spangrove alerts create --name slow --metric duration --func p95 --threshold 5000</code></Empty>
        ) : <PlainTable label="Alerts" columns={columns} rows={list} rowId={(a) => a.id} />}
        {chosen && <Detail key={chosen.id} turn={alerts.took} of={chosen} as={watched(chosen)} mayChange={mayChange} onEdit={() => setForm(chosen)} onChanged={alerts.reload} />}
        {id && alerts.value && !chosen && <p class="notice">There is no such alert any more.</p>}
      </div>
      {making && <AlertForm of={making === "new" ? null : making} chart={chart} onClose={close} onSaved={(a, warnings) => { setForm(null); setWarned(warnings); setParams({ id: a.id, chart: null }); alerts.reload(); }} />}
    </div>
  );
}

/** What an alert measures, and when it fires. */
const Watches = ({ of, as: w }: { of: Alert; as: Watched }) => <div class="secondary alert-watches"><div title={w.text}>{w.text.length > 300 ? `${w.text.slice(0, 300)}…` : w.text}</div><div title={of.condition}>{`fires when ${w.condition}`}</div></div>;

const changeColumns = (w: Watched): PlainColumn<AlertChange>[] => [
  { label: "When", cell: (c) => when(c.at) },
  { label: "State", cell: (c) => (c.to ? <State of={c.to} /> : <span class="faint">Off</span>) },
  { label: "Before", cell: (c) => <State of={c.from} /> },
  { label: "Measured", wide: true, cell: (c) => <>{reading(w, c)}{c.silenced && <span class="chip">silent</span>}</> },
];

const noticeColumns: PlainColumn<AlertNotice>[] = [
  { label: "When", cell: (n) => when(n.created_at) },
  { label: "Notice", cell: (n) => n.kind.replace("_", " ") },
  { label: "To", cell: (n) => <span class="notice-to" title={n.where}>{n.where}</span> },
  { label: "Became", wide: true, cell: (n) => <span class={n.state === "failed" ? "bad" : n.state === "sent" ? "good" : "warn"}>{n.state}{n.attempts > 1 && ` after ${n.attempts} attempts`}{n.error && `: ${n.error}`}</span> },
];

function Detail({ of: a, as: w, turn, mayChange, onEdit, onChanged }: { of: Alert; as: Watched; turn: number; mayChange: boolean; onEdit: () => void; onChanged: () => void }) {
  const at = `v1/alerts/${encodeURIComponent(a.id)}`;
  const history = useLoaded(`history ${turn}`, (signal) => call<ListAlertHistoryAnswer>(`${at}/history?limit=${shown}`, { signal }));
  const notices = useLoaded(`notices ${turn}`, (signal) => call<ListAlertNoticesAnswer>(`${at}/notices?limit=${shown}`, { signal }));
  const [tested, setTested] = useState<TestAlertAnswer | null>(null);
  const [doomed, setDoomed] = useState(false);
  const { busy, problem, run } = useWork();
  const set = (body: unknown) => run(async () => { await call(at, { method: "PUT", body }); onChanged(); });
  const test = () => run(async () => { setTested(null); setTested(await call<TestAlertAnswer>(`${at}/test`, { method: "POST", body: {} })); notices.reload(); });
  const why = mayChange ? undefined : "Your key may only read";
  const quiet = silent(a);
  return (
    <section class="alert-detail" aria-label={`Alert ${a.name.slice(0, 100)}`}>
      <div class="settings-head">
        <h2>{a.name}</h2><span class="grow" />
        <button type="button" class="button" disabled={!mayChange || busy} title={why} onClick={() => void test()}>{busy ? "…" : "Test"}</button>
        {quiet ? <button type="button" class="button" disabled={!mayChange || busy} onClick={() => void set({ silenced_until: 0 })}>End the silence</button> : (
          <select class="input" aria-label="Silence" disabled={!mayChange || busy} title={why} value="" onChange={(e) => void set({ silenced_until: Date.now() + Number(e.currentTarget.value) * 3_600_000 })}>
            <option value="">Silence …</option><option value="1">for an hour</option><option value="8">for 8 hours</option><option value="24">for a day</option><option value="168">for a week</option>
          </select>
        )}
        <button type="button" class="button" disabled={!mayChange || busy} title={why} onClick={() => void set({ enabled: !a.enabled })}>{a.enabled ? "Switch off" : "Switch on"}</button>
        <button type="button" class="button" disabled={!mayChange} title={why} onClick={onEdit}>Change …</button>
        <button type="button" class="button danger" disabled={!mayChange} title={why} onClick={() => setDoomed(true)}>Delete …</button>
      </div>
      <Watches of={a} as={w} />
      {a.description && <p>{a.description}</p>}
      {problem && <p class="bad" role="alert">{problem}</p>}
      {tested && (
        <div class="notice" role="status">
          <p>Now it measures {reading(w, tested.reading)} of {format.plural(tested.reading.events, "event")}: <State of={tested.reading.state} /></p>
          {tested.notices.length === 0 ? <p class="secondary">It has no channel to tell.</p> : <ul>{tested.notices.map((n) => <li key={n.id}><span class={n.state === "sent" ? "good" : "bad"}>{n.state === "sent" ? "Taken" : "Not taken"}</span>{` by ${n.where}`}{n.error && `: ${n.error}`}</li>)}</ul>}
        </div>
      )}
      <h3>History</h3>
      <Part of={history} none="Its state has not changed yet." columns={changeColumns(w)} rowId={(c) => `${c.at} ${c.to}`} />
      <h3>Notices</h3>
      <Part of={notices} none="Nobody was told of anything yet." columns={noticeColumns} rowId={(n) => n.id} />
      {doomed && <FormDialog title={`Delete ${a.name.slice(0, 60)}?`} action="Delete" danger onClose={() => setDoomed(false)} onSubmit={async () => { await call(at, { method: "DELETE" }); setDoomed(false); setParams({ id: null }); onChanged(); }}><p>Its history goes with it, and notices that wait are not sent.</p></FormDialog>}
    </section>
  );
}

function Part<T>({ of, none, columns, rowId }: { of: ReturnType<typeof useLoaded<{ data: T[] }>>; none: string; columns: PlainColumn<T>[]; rowId: (row: T) => string }) {
  if (of.error) return <Problem error={of.error} retry={of.reload} />;
  const rows = of.value?.data;
  if (!rows) return null;
  if (rows.length === 0) return <p class="secondary">{none}</p>;
  return <><PlainTable label={none} columns={columns} rows={rows} rowId={rowId} />{rows.length === shown && <p class="secondary">{`The newest ${shown}; all that are kept: spangrove alerts.`}</p>}</>;
}
