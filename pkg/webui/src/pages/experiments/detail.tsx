// The row that is open: what went in, what was expected, and what each run said, word by word against what it is compared with.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { text } from "../../api/client.ts";
import { readStored } from "../../api/cache.ts";
import type { Event } from "../../api/types.gen.ts";
import { href } from "../../app/router.ts";
import { axis, scoreText, textOf } from "../../model/experiments.ts";
import * as format from "../../model/format.ts";
import { elements, members } from "../../model/raw.ts";
import { scoresOf } from "../../model/scores.ts";
import { Problem, useLoaded, useRested } from "../../parts/common.tsx";
import { TextDiff } from "../../parts/textdiff.tsx";
import { Whisker } from "./cards.tsx";
import { select, type Cell, type Head, type Row } from "./rows.ts";
import { Score } from "./score.tsx";

export function Detail({ row, runs, metrics, base, expected, children }: Pick<Head, "runs" | "metrics"> & { row: Row; base: number; expected: boolean; children: ComponentChildren }) {
  const [turns, setTurns] = useState<Record<string, string>>({}); // the repetitions that are shown, by the first
  const sessions = row.cells.map((c) => c && (turns[c.session_id] ?? c.session_id));
  const wanted = JSON.stringify([row.stored ? row.datapoint_id : null, sessions]);
  const key = useRested(wanted, 80);
  const loaded = useLoaded(key, async (signal) => {
    const [point, said]: [string | null, (string | null)[]] = JSON.parse(key);
    const [answer, ...events] = await Promise.all([point ? text(`v1/datapoints/${encodeURIComponent(point)}`, { signal }) : null, ...said.map((id) => (id ? readStored(id, signal) : null))]);
    return { key, point: answer && members(elements(members(answer).get("datapoint")!)[0]!), events };
  });
  const now = loaded.value?.key === wanted ? loaded.value : null;
  const truth = now?.point ? textOf(now.point.get("ground_truth")) : row.expected;
  const output = (i: number) => textOf(now?.events[i]?.raw.get("outputs"));
  const plain = (text: string) => <pre class="text-plain" tabIndex={0}>{text || "–"}</pre>;
  return (
    <section class="detail-row" aria-label="The row that is open" tabIndex={0}>
      {!now && !loaded.error && <div class="progress" />}
      <div class="side">
        <h2>Input</h2>
        {plain(now?.point ? textOf(now.point.get("inputs")) : row.input)}
        <h2>Expected</h2>
        {plain(truth)}
        <p class="form-end"><button type="button" class="button" title="(Esc)" onClick={() => select(null)}>Close</button></p>
      </div>
      {loaded.error ? <Problem error={loaded.error} retry={loaded.reload} /> : row.cells.map((cell, i) => (
        <div key={i} class="side">
          <h2><span class="ellipsis">{runs.length > 1 ? runs[i]?.name : "Output"}</span>{cell && <a class="button" href={href(["session", sessions[i]!])}>Session</a>}</h2>
          {!cell ? <p class="faint">not in this run</p> : (
            <>
              {cell.session_ids && (
                <p class="row-turns">
                  {cell.session_ids.map((id, k) => <button key={id} type="button" class="button plain" aria-pressed={id === sessions[i]} aria-label={`Repetition ${k + 1}`} onClick={() => setTurns({ ...turns, [cell.session_id]: id })}>{k + 1}</button>)}
                  {cell.sessions > cell.session_ids.length && <span class="faint">{`of ${format.count(cell.sessions)}`}</span>}
                </p>
              )}
              {cell.error && <p class="bad wrap">{cell.error}</p>}
              {now && (expected || (i !== base && row.cells[base]) ? <TextDiff left={expected ? truth : output(base)} right={output(i)} /> : plain(output(i)))}
              <Scores row={row} cell={cell} metrics={metrics} event={now?.events[i]?.event} />
            </>
          )}
        </div>
      ))}
      {children}
    </section>
  );
}

/** All scores of a cell, of repetitions with what they lay between, on one axis for all runs, and what was said of them. */
function Scores({ row, cell, metrics, event }: { row: Row; cell: Cell; metrics: Head["metrics"]; event: Event | null | undefined }) {
  const said = new Map(scoresOf(event?.metrics).map((s) => [s.metric, s.explanation]));
  return (
    <ul class="detail-scores">
      {metrics.map((m) => {
        const s = cell.scores[m.key];
        return s && (
          <li key={m.key}>
            <span class="ellipsis">{m.key}</span><Score metric={m} of={s} />
            {s.min !== undefined && s.max !== undefined && s.min < s.max && <Whisker on={axis(row.cells.flatMap((c) => [c?.scores[m.key]?.min, c?.scores[m.key]?.max]))} low={s.min} high={s.max} middle={Number(s.value)} label={scoreText(m, s)!.title} />}
            {said.get(m.name) && <p class="secondary wrap">{said.get(m.name)}</p>}
          </li>
        );
      })}
    </ul>
  );
}
