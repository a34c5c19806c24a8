// The playground: up to three variants of a prompt side by side, streamed, with their difference; what is good is run over a dataset or kept as a
// version of a configuration.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { readEvent } from "../../api/cache.ts";
import type { GetConfigurationAnswer } from "../../api/types.gen.ts";
import { unkept } from "../../app/kept.ts";
import { addCommands, keysOf } from "../../app/keymap.ts";
import { href, route, setParams } from "../../app/router.ts";
import { allows, me } from "../../app/session.ts";
import { fromConfiguration, fromEvent, variablesOf } from "../../model/playground.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { draft, edit, kept, restart, running, runAll, stopAll } from "./draft.ts";
import { Experiments, FromDatapoint, OverDataset, SaveConfiguration } from "./dialogs.tsx";
import { VariantColumn } from "./variant.tsx";

const letters = ["A", "B", "C"];

/** Fills a draft from the event or the configuration that the address names. */
async function fillFrom(source: string, signal: AbortSignal): Promise<string> {
  const params = new URLSearchParams(source);
  const event = params.get("event");
  if (event) {
    const e = await readEvent(event, signal);
    const { variant, answer, left } = fromEvent(e);
    restart({ from: source, title: e.event_name, original: answer, variants: [variant], note: left.length > 0 ? `What does not come along: ${left.join(", ")}.` : "" });
  } else {
    const version = params.get("version");
    const { configuration: c } = await call<GetConfigurationAnswer>(`v1/configurations/${encodeURIComponent(params.get("config")!)}${version ? `?version=${version}` : ""}`, { signal });
    restart({ from: source, title: `${c.name}, version ${c.version}`, config: { id: c.id, name: c.name }, variants: [fromConfiguration(c)] });
  }
  return source;
}

export function Page() {
  const { params } = route.value;
  const [dialog, setDialog] = useState<"dataset" | "save" | "datapoint" | null>(null);
  const d = draft.value;
  const source = ["event", "config", "version"].map((k) => (params.get(k) ? `${k}=${encodeURIComponent(params.get(k)!)}` : "")).filter(Boolean).join("&");
  const filled = useLoaded(source !== "" && source !== d.from ? source : null, (signal) => fillFrom(source, signal));
  const names = variablesOf(d.variants.flatMap((v) => v.messages.map((m) => m.text)));
  const waiting = source !== "" && source !== d.from && !filled.error;
  const allowed = allows("full") && !waiting;
  const busy = running.value.size > 0;
  const compared = params.get("diff") === "1";
  const copyLast = () => { if (d.variants.length < 3) edit({ variants: [...d.variants, structuredClone(d.variants.at(-1)!)], answers: [...d.answers, null] }); };
  const open = (what: typeof dialog) => () => setDialog(what);
  const flip = () => setParams({ diff: route.value.params.get("diff") ? null : "1" }, true);
  useLayoutEffect(() => addCommands([
    ...(!allowed ? [] : [
      { id: "run", keys: ["r", "mod+enter"], label: "Run all variants", group: "Playground", run: runAll },
      { id: "over-dataset", keys: ["o"], label: "Run over a dataset", group: "Playground", run: open("dataset") },
      { id: "save", keys: ["s"], label: "Save as a configuration", group: "Playground", run: open("save") },
    ]),
    { id: "close", keys: ["escape"], label: "Stop", group: "Playground", run: stopAll },
    { id: "variant", keys: ["v"], label: "Add a variant", group: "Playground", run: copyLast },
    { id: "difference", keys: ["d"], label: "Show differences", group: "Playground", run: flip },
    { id: "datapoint", keys: ["f"], label: "Fill the variables from a datapoint", group: "Playground", run: open("datapoint") },
  ]), [d.variants, allowed]);
  useEffect(() => stopAll, []);
  const back = new URLSearchParams(d.from);
  return (
    <div class="page playground" onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && allowed) { e.preventDefault(); runAll(); } }}>
      <header>
        <h1>Playground</h1>
        {d.title && <span class="secondary ellipsis">from {back.get("config") ? <a href={href(["configurations", back.get("config")!])}>{d.title}</a> : d.title}</span>}
        <span class="grow" />
        <button type="button" class="button plain" onClick={() => { setParams({ event: null, config: null, version: null }, true); restart(); }}>Start afresh</button>
        <button type="button" class="button" aria-pressed={compared} title={`Words that differ (${keysOf("difference")})`} onClick={flip}>Differences</button>
        <button type="button" class="button" disabled={d.variants.length === 3} title={`A copy of the last one, three at most (${keysOf("variant")})`} onClick={copyLast}><Icon name="plus" small />Variant</button>
        {allowed && <button type="button" class="button" title={keysOf("over-dataset")} onClick={open("dataset")}><Icon name="dataset" small />Run over a dataset…</button>}
        {allowed && <button type="button" class="button" title={keysOf("save")} onClick={open("save")}>Save…</button>}
        {allowed && (busy ? <button type="button" class="button" onClick={stopAll}>Stop</button>
          : <button type="button" class="button primary" title={`Run all variants (${keysOf("run")}, Ctrl Enter)`} onClick={runAll}><Icon name="start" small />Run</button>)}
      </header>
      {waiting && <div class="progress" />}
      <div class="playground-body" hidden={waiting}>
        {filled.error && <Problem error={filled.error} retry={filled.reload} />}
        {!allows("full") && <p class="notice">{`To ask a model costs money, and needs a key of scope full; the one that this browser signed in with has the scope ${me.value?.scope}.`}</p>}
        {me.value?.providers?.length === 0 && <p class="notice">No model can be asked: this project has no provider. <a href={href(["settings", "providers"])}>Set one up</a></p>}
        {[d.note, unkept(kept())].filter(Boolean).map((n) => <p key={n} class="notice">{n}</p>)}
        <Experiments />
        {names.length > 0 && (
          <section class="variables" aria-label="Variables">
            <header><h2>Variables</h2><button type="button" class="button plain" title={keysOf("datapoint")} onClick={open("datapoint")}><Icon name="dataset" small />From a datapoint…</button>
              {names.some((n) => !Object.hasOwn(d.values, n)) && <span class="warn secondary">Those without a value are sent as they stand.</span>}</header>
            {names.map((n) => (
              <label key={n}><code class="ellipsis">{n}</code><textarea class="input" rows={1} value={d.values[n] ?? ""} placeholder="no value" onInput={(e) => edit({ values: { ...d.values, [n]: e.currentTarget.value } })} /></label>
            ))}
          </section>
        )}
        <div class="variants">
          {d.variants.map((v, i) => <VariantColumn key={i} at={i} letter={letters[i]!} variant={v} answer={d.answers[i] ?? null} allowed={allowed}
            against={!compared ? null : i > 0 ? { what: "A", text: d.answers[0]?.text ?? "" } : d.original ? { what: "the event's answer", text: d.original } : null} />)}
        </div>
      </div>
      {dialog === "dataset" && <OverDataset names={names} letters={letters} onClose={() => setDialog(null)} />}
      {dialog === "save" && <SaveConfiguration letters={letters} onClose={() => setDialog(null)} />}
      {dialog === "datapoint" && <FromDatapoint names={names} onClose={() => setDialog(null)} />}
    </div>
  );
}
