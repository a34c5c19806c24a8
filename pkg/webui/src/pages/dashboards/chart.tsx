// One chart: its plot, what stands below it, its menu, its table and its files.
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { go, href } from "../../app/router.ts";
import { change, csvOf, eventsOf, rowsOf, valueText, type Drawing, type Row } from "../../model/charts.ts";
import * as format from "../../model/format.ts";
import { Dialog } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { colour, mostBefore, Plot } from "../../parts/plot.tsx";
import { download, type Answers } from "./data.ts";

interface Props {
  drawing: Drawing;
  id: string; // of the place on the page
  answers: Answers;
  at: number; // which of the answers
  query: string; // the filter of the page
  booleans: Set<string>;
  cursor: Signal<number | null>;
  onRange: (range: string) => void;
  menu?: ComponentChildren;
}

export function ChartBody({ drawing, id, answers, at, query, booleans, cursor, onRange, menu }: Props) {
  const answer = answers.of[at];
  const [hidden, setHidden] = useState<string[]>([]);
  const [table, setTable] = useState(false);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const rows = useMemo(() => (Array.isArray(answer) ? rowsOf(drawing, answer) : []), [answer, drawing]);
  const shown = useMemo(() => rows.filter((r) => !hidden.includes(r.label)), [rows, hidden]);
  const write = (v: number | null | undefined, row?: Row) => valueText(drawing.series[row?.series ?? 0], v, booleans);
  const grown = (r: Row) => change(drawing.series[r.series], r.total, r.totalBefore, booleans);
  const { times } = answers;
  const problem = answer instanceof Error ? answer.message : answer?.find((a) => a.error)?.error;
  const empty = !problem && answer && rows.every((r) => r.counts.every((n) => n === 0));
  const number = drawing.display === "number";
  const end = (i: number) => (times[i + 1] ?? answers.ended + 1) - 1;
  const open = (from: number, to: number, row: Row | null) => {
    const q = eventsOf(query, drawing.series[row?.series ?? 0]!, row);
    if (q !== null) go(href(["events"], { q, range: `${from}..${to}` }));
  };
  const csv = () => download(`${drawing.name}.csv`, new Blob([csvOf(times.map((t) => new Date(t).toISOString()), rows)], { type: "text/csv" }));
  return (
    <>
      <header>
        <h2 class="ellipsis" title={drawing.name}>{drawing.name || "Chart"}</h2>
        <button type="button" class="button plain icon" popoverTarget={`menu-${id}`} aria-label={`Menu of ${drawing.name || "the chart"}`} title="Menu"><Icon name="more" small /></button>
        <div id={`menu-${id}`} class="menu" popover="auto" onClick={(e) => { if (e.target instanceof Element && e.target.closest("a, button")) e.currentTarget.hidePopover(); }}
          onToggle={(e) => { const b = e.currentTarget.previousElementSibling!.getBoundingClientRect(); Object.assign(e.currentTarget.style, { left: "auto", right: `${Math.max(8, innerWidth - b.right)}px`, top: `${Math.min(b.bottom + 4, innerHeight - e.currentTarget.offsetHeight - 8)}px`, bottom: "auto" }); }}>
          {rows.length > 0 && <>
            {eventsOf(query, drawing.series[0]!, null) === null
              ? <span class="secondary">No filter text says which events these are</span>
              : <button type="button" onClick={() => open(times[0]!, answers.ended, null)}>Show the events</button>}
            <button type="button" onClick={() => setTable(true)}>Table</button>
            <button type="button" onClick={csv}>CSV</button>
            <button type="button" onClick={() => picture(drawing.name, canvas.current, shown, write)}>Picture (PNG)</button>
          </>}
          {menu}
        </div>
      </header>
      {problem && <p class="told bad" role="alert">{problem}</p>}
      {empty && <p class="told">{query ? "No events match the filters in this range." : "No events in this range."}</p>}
      {!answer && !problem && <p class="told">Loading …</p>}
      {!problem && !empty && rows.length > 0 && <>
        {number && <Numbers rows={rows} write={write} grown={grown} />}
        <Plot times={times} end={answers.end} rows={shown} stacked={drawing.display === "bars"} plain={number} whole={drawing.series.every((s) => s.aggregation === "count")} label={drawing.name || "Chart"} cursor={cursor} write={write} canvas={(c) => { canvas.current = c; }}
          onRange={(from, to) => onRange(`${Math.round(from)}..${Math.round(to)}`)} onPoint={(i, row) => open(Math.max(times[i]!, 0), end(i), row)} />
        {!number && <Legend rows={rows} hidden={hidden} onHide={setHidden} cursor={cursor} times={times} write={write} grown={grown} undrawn={drawing.display === "lines" && shown.length > mostBefore && shown.some((r) => r.before)} />}
      </>}
      {table && (
        <Dialog label={`Table of ${drawing.name}`} className="chart-dialog" onClose={() => setTable(false)}>
          <header><h2 class="grow ellipsis">{drawing.name}</h2><button type="button" class="button" onClick={csv}><Icon name="download" small />CSV</button><button type="button" class="button" onClick={() => setTable(false)}>Close</button></header>
          <div class="chart-table" tabIndex={0} role="group" aria-label="Table">
            <table>
              <thead><tr><th scope="col">Time</th>{rows.map((r) => <><th scope="col" title={r.label}>{r.label}</th>{r.before && <th scope="col">before</th>}</>)}</tr></thead>
              <tbody>{times.map((t, i) => <tr key={t}><th scope="row">{format.time(t).slice(0, 16)}</th>{rows.map((r) => <><td>{write(r.values[i], r)}</td>{r.before && <td class="faint">{write(r.before[i], r)}</td>}</>)}</tr>)}</tbody>
            </table>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Numbers of the whole range, with what they were before. */
function Numbers({ rows, write, grown }: { rows: Row[]; write: (v: number | null | undefined, row?: Row) => string; grown: (row: Row) => string }) {
  return (
    <div class="big">
      {rows.slice(0, 3).map((r) => {
        const last = r.values.findLast((v) => v !== null);
        return <span key={r.label} title={r.total === null ? `${r.label}, newest` : r.label}>{write(r.total ?? last, r)} <small class="secondary" title={r.totalBefore === null ? undefined : `before: ${write(r.totalBefore, r)}`}>{r.total === null ? "newest" : grown(r)}</small></span>;
      })}
    </div>
  );
}

/** Names and colours of the rows, with their values where the cursor is, or of the whole range. A click hides a row. */
function Legend({ rows, hidden, onHide, cursor, times, write, grown, undrawn }: { rows: Row[]; hidden: string[]; onHide: (h: string[]) => void; cursor: Signal<number | null>; times: number[]; write: (v: number | null | undefined, row?: Row) => string; grown: (row: Row) => string; undrawn: boolean }) {
  const at = cursor.value;
  const here = at !== null && times[at] !== undefined;
  return (
    <div class="legend">
      {here && <span class="secondary">{format.time(times[at]!).slice(5, 16)}</span>}
      {rows.map((r) => {
        const value = here ? write(r.values[at], r) : r.total === null ? "" : write(r.total, r);
        const before = here ? r.before && write(r.before[at], r) : grown(r);
        return (
          <button key={r.label} type="button" aria-pressed={!hidden.includes(r.label)} title={`${r.label}${before ? `; before: ${here ? before : write(r.totalBefore, r)}` : ""}`}
            onClick={() => onHide(hidden.includes(r.label) ? hidden.filter((h) => h !== r.label) : [...hidden, r.label])}>
            <i style={{ background: colour(r) }} /><span class="ellipsis">{r.label}</span>{value && <b>{value}</b>}{!here && before && <span>{before}</span>}
          </button>
        );
      })}
      {undrawn && <span class="secondary">{`The period before is drawn of ${mostBefore} rows at most: a click hides one.`}</span>}
    </div>
  );
}

/** Saves a picture of a chart, with its name above and the names of its rows below. */
function picture(name: string, from: HTMLCanvasElement | null, shown: Row[], write: (v: number | null | undefined, row?: Row) => string) {
  if (!from) return;
  const scale = devicePixelRatio;
  const out = document.createElement("canvas");
  [out.width, out.height] = [from.width + 32 * scale, from.height + (72 + 18 * Math.ceil(shown.length / 2)) * scale];
  const c = out.getContext("2d")!;
  const style = getComputedStyle(document.body);
  const probe = document.body.appendChild(document.createElement("i"));
  c.fillStyle = style.backgroundColor;
  c.fillRect(0, 0, out.width, out.height);
  c.drawImage(from, 16 * scale, 40 * scale);
  c.scale(scale, scale);
  c.fillStyle = style.color;
  c.font = `600 14px ${style.fontFamily}`;
  c.fillText(name, 16, 26, out.width / scale - 32);
  c.font = `12px ${style.fontFamily}`;
  const half = (out.width / scale - 32) / 2;
  shown.forEach((r, i) => {
    const [x, y] = [16 + (i % 2) * half, from.height / scale + 62 + 18 * Math.floor(i / 2)];
    probe.style.color = colour(r);
    c.fillStyle = getComputedStyle(probe).color;
    c.fillRect(x, y - 9, 10, 10);
    c.fillStyle = style.color;
    c.fillText(`${r.label}${r.total === null ? "" : `  ${write(r.total, r)}`}`, x + 16, y, half - 24);
  });
  probe.remove();
  out.toBlob((blob) => { if (blob) download(`${name}.png`, blob); });
}
