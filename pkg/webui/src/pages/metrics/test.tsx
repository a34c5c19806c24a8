// The live test: what the definition as it stands gives for the newest events that it is for. Nothing is stored.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { RunMetricAnswer } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { failureText, sent, type Definition } from "../../model/metric.ts";
import { useLoaded, useRested } from "../../parts/common.tsx";
import { Button, Check, Choice, Events, Score } from "./parts.tsx";

/** How long edits rest before the test runs by itself, and how long an engine that is made ready is waited for, in milliseconds. */
const rest = 600;
const pause = 1500;

export function Test({ draft }: { draft: Definition }) {
  const may = allows("full");
  const [limit, setLimit] = useState("10");
  const [live, setLive] = useState(true);
  const [at, setAt] = useState<{ body: string; turn: number } | null>(null);
  const judge = draft.type === "LLM"; // a model is paid for, so it is asked at a button only
  const wanted = JSON.stringify({ metric: { ...sent(draft), name: draft.name.trim() || "untitled", enabled_in_prod: false, sampling_percentage: 100 }, dry_run: { limit: Number(limit) } });
  const rested = useRested(wanted, rest);
  const run = (body: string) => { if (may) setAt((a) => ({ body, turn: (a?.turn ?? 0) + 1 })); };
  useEffect(() => { if (live && !judge) run(rested); }, [rested, live, judge]);
  const test = useLoaded(at && `${at.turn}`, (signal) => call<RunMetricAnswer>("v1/metrics/run", { method: "POST", body: JSON.parse(at!.body), signal }));
  const preparing = test.value?.loading === true;
  useEffect(() => {
    if (!preparing || test.loading) return;
    const timer = setTimeout(test.reload, pause);
    return () => clearTimeout(timer);
  }, [test.value, test.loading]);
  useLayoutEffect(() => addCommands(may ? [{ id: "test", keys: ["r", "mod+enter"], label: "Run the test", group: "Metric", run: () => run(wanted) }] : []), [wanted]);
  const dry = test.error ? null : test.value?.dry_run;
  const results = dry?.results ?? [];
  const scored = results.filter((r) => r.result !== null);
  const cost = results.reduce((sum, r) => sum + (r.cost ?? 0), 0);
  const summary = dry && [
    `${scored.length} of ${results.length} scored`, scored.some((r) => r.passed !== undefined) && `${scored.filter((r) => r.passed).length} pass`, cost > 0 && format.cost(cost),
    format.plural(dry.total, "event matches", "events match"), dry.omitted > 0 && `${dry.omitted} too large`, at!.body !== wanted && "not of the last edit",
  ].filter(Boolean).join(" · ");
  return (
    <section class={`metric-test${dry && (test.loading || at!.body !== wanted) ? " stale" : ""}`} aria-label="Test" aria-busy={test.loading}>
      {test.loading && <div class="progress" role="progressbar" aria-label="Testing" />}
      <header>
        <h2>Test</h2><span class="grow secondary" role="status">{summary}</span>
        <Choice short label="newest" value={limit} on={setLimit} options={["5", "10", "25", "100"].map((n) => [n, n])} />
        {!judge && <Check label="live" value={live} on={setLive} />}
        <Button label={judge ? "Ask the model" : "Run"} off={!may || test.loading} title="Ctrl Enter" on={() => run(wanted)} />
      </header>
      {judge && !at && may && <p class="secondary">{`The model is asked about ${limit} events when you say so. What it was asked before costs nothing.`}</p>}
      {test.error !== null && <p class="bad" role="alert">{format.messageOf(test.error)}</p>}
      {dry && dry.total === 0 && <p class="secondary">{`No stored event matches the filters${draft.needs_ground_truth ? " and has a ground truth" : ""}.`}</p>}
      {preparing ? <p class="secondary" role="status">{results[0]?.explanation}</p> : (
        <Events label="Results" list={results.map((r) => ({
          event: r.event_id, session: r.session_id, name: r.event_name, said: r.explanation, prompt: r.prompt,
          right: <>{r.cost !== undefined && <span class="faint">{format.cost(r.cost)}</span>}{r.result === null ? <span class={`chip${r.success ? "" : " bad"}`}>{r.failure ? failureText(r.failure) : "no score"}</span> : <Score value={r.result} passed={r.passed} />}</>,
        }))} />
      )}
    </section>
  );
}
