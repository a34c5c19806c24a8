// The form of an alert.
import { effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { Alert, ListChartsAnswer, UpdateAlertAnswer } from "../../api/types.gen.ts";
import { keep, readKept, unkept } from "../../app/kept.ts";
import { me } from "../../app/session.ts";
import { figureText, measuredBy, seriesOf, unitOf } from "../../model/alerts.ts";
import { aggregations, textOf } from "../../model/charts.ts";
import { compile } from "../../model/filter.ts";
import * as format from "../../model/format.ts";
import { useLoaded } from "../../parts/common.tsx";
import { changesOf, FormDialog } from "../../parts/form.tsx";
import { FilterBar } from "../../parts/filterbar.tsx";
import { summable, useFields, valuesOf } from "../completion.ts";
import { useBooleans } from "../dashboards/data.ts";

interface Channel { id?: string; type: string; host?: string; url: string; secret: string; to: string }

const newSecret = () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

const spans: [minutes: number, label: string][] = [[5, "5 minutes"], [15, "15 minutes"], [30, "30 minutes"], [60, "an hour"], [360, "6 hours"], [1440, "a day"], [10080, "a week"]];

function Minutes({ label, value, none, onChange }: { label: string; value: number; none?: string; onChange: (v: number) => void }) {
  const known = spans.some(([m]) => m === value) || (none && value === 0);
  return (
    <label>{label}
      <select class="input" value={String(value)} onChange={(e) => onChange(Number(e.currentTarget.value))}>
        {none && <option value="0">{none}</option>}
        {!known && <option value={String(value)}>{`${value} minutes`}</option>}
        {spans.map(([m, text]) => <option key={m} value={String(m)}>{text}</option>)}
      </select>
    </label>
  );
}

/** What stands in the form. */
interface Draft {
  name: string; description: string; chart: string; metric: string; func: string; query: string; compare: string; op: string; threshold: string;
  window: number; for: number; min: string; noData: boolean; zone: string; channels: Channel[];
}

/**
 * Edits that are not saved yet, by their keys. The tab of the browser keeps them over a reload, but for addresses of webhooks and secrets, which
 * no page stores and which are forgotten when somebody signs out.
 */
const drafts = new Map<string, Draft>();
effect(() => { if (!me.value) drafts.clear(); });
const draftKey = (of: Alert | null, chart: string | null) => `spangrove.alert.${me.value?.project.id ?? ""}.${of?.id ?? `new ${chart ?? ""}`}`;

/** Returns the edits that are kept; webhooks whose secret is not kept get a new one. */
function readDraft(key: string): Draft | null {
  const d = drafts.get(key) ?? readKept<Draft>(key);
  return d?.channels ? { ...d, channels: d.channels.map((c) => (c.type === "webhook" && !c.id && !c.secret ? { ...c, secret: newSecret() } : c)) } : null;
}

/** Keeps edits; null: there are none any more. */
function keepDraft(key: string, d: Draft | null): void {
  if (d) drafts.set(key, d);
  else drafts.delete(key);
  keep(key, d && { ...d, channels: d.channels.map((c) => ({ ...c, url: "", secret: "" })) });
}

/** What the form shows before anything is typed. */
function draftOf(of: Alert | null, chart: string | null): Draft {
  return {
    name: of?.name ?? "", description: of?.description ?? "", chart: of ? of.chart_id ?? "" : chart ?? "", metric: of?.metric ?? "duration", func: of?.func ?? "average", query: ownQuery(of).text,
    compare: of?.compare ?? "value", op: of?.op ?? "above", threshold: of ? String(of.threshold) : "", window: of?.window_minutes ?? 60, for: of?.for_minutes ?? 0, min: of ? String(of.min_events) : "", noData: of?.notify_no_data ?? false,
    zone: of?.timezone || Intl.DateTimeFormat().resolvedOptions().timeZone,
    channels: (of?.channels ?? []).map((c) => ({ id: c.id, type: c.type, host: c.host, url: "", secret: "", to: (c.to ?? []).join(", ") })),
  };
}

/** The filters of an alert as text, and those that no text says. */
const ownQuery = (of: Alert | null) => textOf((of?.query ?? []) as Parameters<typeof textOf>[0]);

/** What must be given before an alert can be saved. */
function missingOf(v: Draft, unreadable: boolean): string[] {
  const list: [boolean, string][] = [
    [v.name.trim() === "", "a name"],
    [v.chart === "" && v.metric.trim() === "", "a field or a metric"],
    [v.chart === "" && unreadable, "a filter that can be read"],
    [v.threshold === "", v.compare === "week_before" ? "by how many % it changes" : "the value above or below which it fires"],
    ...v.channels.flatMap((c, i): [boolean, string][] => [
      [c.type === "email" && c.to.trim() === "", `the addresses under Tell ${i + 1}`],
      [c.type !== "email" && !c.id && c.url.trim() === "", `the address under Tell ${i + 1}`],
      [c.type === "webhook" && !c.id && c.secret.trim() === "", `the secret under Tell ${i + 1}`],
    ]),
  ];
  return list.flatMap(([missing, words]) => (missing ? [words] : []));
}

/** The form of a new alert, of a chart if one is given, or of one that is changed. */
export function AlertForm({ of, chart, onClose, onSaved }: { of: Alert | null; chart: string | null; onClose: () => void; onSaved: (a: Alert, warnings: string[]) => void }) {
  const charts = useLoaded("charts", (signal) => call<ListChartsAnswer>("v1/charts", { signal }));
  const { paths, names } = useFields("events");
  const own = ownQuery(of);
  const key = draftKey(of, chart);
  const [base] = useState(() => draftOf(of, chart));
  const [kept] = useState(() => readDraft(key));
  const [v, setV] = useState(kept ?? base);
  const unsaved = JSON.stringify(v) !== JSON.stringify(base);
  const change = (d: Draft) => {
    setV(d);
    keepDraft(key, JSON.stringify(d) === JSON.stringify(base) ? null : d);
  };
  const { channels } = v;
  const setChannels = (list: Channel[]) => change({ ...v, channels: list });
  const set = (changes: Partial<Draft>) => change({ ...v, ...changes });
  const edit = (i: number, changes: Partial<Channel>) => setChannels(channels.map((c, k) => (k === i ? { ...c, ...changes } : c)));
  const { problem } = compile(v.query, "events");
  const week = v.compare === "week_before";
  const measured = measuredBy({ chart_id: v.chart || null, metric: v.metric, func: v.func, query: [] }, charts.value?.data ?? []);
  const booleans = useBooleans(measured ? [seriesOf(measured)] : []);
  const unit = measured ? unitOf(measured, booleans) : "";
  const bodyOf = (v: Draft) => ({
    name: v.name, description: v.description, compare: v.compare, op: v.op, threshold: Number(v.threshold), window_minutes: v.window, for_minutes: v.for, notify_no_data: v.noData, timezone: v.zone,
    ...(v.min === "" ? {} : { min_events: Number(v.min) }),
    ...(v.chart ? { chart_id: v.chart } : { chart_id: "", metric: v.metric, func: v.func, query: [...compile(v.query, "events").filters, ...own.rest] }),
    channels: v.channels.map((c) => ({ ...(c.id ? { id: c.id } : {}), type: c.type, ...(c.type === "email" ? { to: c.to.split(/[\s,;]+/).filter(Boolean) } : { ...(c.url ? { url: c.url } : {}), ...(c.secret && c.type === "webhook" ? { secret: c.secret } : {}) }) })),
  });
  const save = async () => {
    const body = of ? changesOf<object>(bodyOf(base), bodyOf(v)) : bodyOf(v);
    const answer = await call<UpdateAlertAnswer>(of ? `v1/alerts/${encodeURIComponent(of.id)}` : "v1/alerts", { method: of ? "PUT" : "POST", body });
    keepDraft(key, null);
    onSaved(answer.data, answer.warnings ?? []);
  };
  return (
    <FormDialog title={of ? "Change the alert" : "New alert"} action="Save" missing={missingOf(v, problem !== null)} onSubmit={save} onClose={onClose}>
      {kept && unsaved && <div class="alert-ask"><span class="grow">These edits were kept in this tab; they are not saved.</span><button type="button" class="button" onClick={() => change(base)}>Discard them</button></div>}
      {unkept(key) && <p class="warn">{unkept(key)}</p>}
      <label>Name<input class="input" required maxLength={200} value={v.name} placeholder="slow answers" onInput={(e) => set({ name: e.currentTarget.value })} /></label>
      <label>What is measured
        <select class="input" value={v.chart} onChange={(e) => set({ chart: e.currentTarget.value })}>
          <option value="">a field or a metric</option>
          {v.chart && !charts.value?.data.some((c) => c.id === v.chart) && <option value={v.chart}>{charts.value ? "a chart that is deleted" : "a chart"}</option>}
          {charts.value?.data.map((c) => <option key={c.id} value={c.id}>{`chart: ${c.name.slice(0, 80)}`}</option>)}
        </select>
      </label>
      {!v.chart && (
        <>
          <div class="triple">
            <label>Sum up<select class="input" value={v.func} onChange={(e) => set({ func: e.currentTarget.value })}>{aggregations.map(([a, label]) => <option key={a} value={a}>{label}</option>)}</select></label>
            <label>Field or metric<input class="input" required list="alert-metrics" value={v.metric} onInput={(e) => set({ metric: e.currentTarget.value })} /></label>
          </div>
          <datalist id="alert-metrics">{summable(paths).map((m) => <option key={m} value={m} />)}</datalist>
          <div class="label">Of events that match{own.rest.length > 0 && `, and ${format.plural(own.rest.length, "filter")} that no text says`}</div>
          <div class="filters"><FilterBar text={v.query} of="events" fields={names} values={(field, typed) => valuesOf("events", field, typed)} onType={(query) => set({ query })} /></div>
        </>
      )}
      <div class="triple">
        <label>Fires when it is<select class="input" value={v.op} onChange={(e) => set({ op: e.currentTarget.value as "above" })}><option value="above">above</option><option value="below">below</option></select></label>
        <label>{week ? "by more than, %" : unit ? `the value, ${unit}` : "the value"}<input class="input" type="number" step="any" required min={week ? 0 : undefined} value={v.threshold} onInput={(e) => set({ threshold: e.currentTarget.value })} />{!week && unit && unit !== "events" && v.threshold !== "" && <span>{`= ${figureText(measured, Number(v.threshold), booleans)}`}</span>}</label>
        <label>Compared with<select class="input" value={v.compare} onChange={(e) => set({ compare: e.currentTarget.value as "value" })}><option value="value">the value</option><option value="week_before">the week before</option></select></label>
        <Minutes label="Measured over" value={v.window} onChange={(window) => set({ window })} />
        <Minutes label="For at least" none="at once" value={v.for} onChange={(m) => set({ for: m })} />
        <label>Fewest events<input class="input" type="number" min={0} placeholder="as it needs" value={v.min} onInput={(e) => set({ min: e.currentTarget.value })} /></label>
      </div>
      <label class="check"><input type="checkbox" checked={v.noData} onChange={(e) => set({ noData: e.currentTarget.checked })} />Tell also when there is no data</label>
      {channels.map((c, i) => (
        <fieldset key={i} class="choices">
          <legend>{`Tell ${i + 1}`}</legend>
          <div class="inline">
            <select class="input" aria-label="Channel" value={c.type} disabled={c.id !== undefined} onChange={(e) => edit(i, { type: e.currentTarget.value, secret: e.currentTarget.value === "webhook" ? newSecret() : "" })}><option value="email">e-mail</option><option value="slack">Slack</option><option value="webhook">webhook</option></select>
            <span class="grow" /><button type="button" class="button plain" onClick={() => setChannels(channels.filter((_, k) => k !== i))}>Remove</button>
          </div>
          {c.type === "email" ? <label>Addresses<input class="input" required value={c.to} placeholder="ann@example.com, bob@example.com" onInput={(e) => edit(i, { to: e.currentTarget.value })} /></label> : <label>Address<input class="input" type="url" required={!c.id} value={c.url} placeholder={c.id ? `${c.host} stays` : "https://"} onInput={(e) => edit(i, { url: e.currentTarget.value })} /></label>}
          {c.type === "webhook" && <label>Secret, by which the receiver verifies; it is not shown again<input class="input" required={!c.id} value={c.secret} placeholder={c.id ? "stays" : ""} spellcheck={false} onInput={(e) => edit(i, { secret: e.currentTarget.value })} /></label>}
        </fieldset>
      ))}
      {channels.length < 10 && <div><button type="button" class="button" onClick={() => setChannels([...channels, { type: "email", url: "", secret: "", to: "" }])}>Add a channel</button></div>}
      <label>Note, part of the notices<input class="input" maxLength={2000} value={v.description} onInput={(e) => set({ description: e.currentTarget.value })} /></label>
    </FormDialog>
  );
}
