// The rows of several runs side by side, of which only those on screen are in the page. A row that has not changed is not made again.
import { Component } from "preact";
import { useEffect } from "preact/hooks";
import { href, route } from "../../app/router.ts";
import { freshWords, score } from "../../model/experiments.ts";
import * as format from "../../model/format.ts";
import { useRested } from "../../parts/common.tsx";
import { reveal, useWindow } from "../../parts/table.tsx";
import { Mark } from "./list.tsx";
import { select, type Cell, type Head, type Metric, type Row } from "./rows.ts";
import { Score } from "./score.tsx";

/** So many scores stand in a cell; the row that is open has all. */
const mostScores = 3;

const rowHeight = 108;

interface Props {
  head: Head;
  rows: Row[];
  base: number;
  expected: boolean; // what differs is that from the expected answer, else from the baseline's
  selected: string | null;
  marks: ReadonlyMap<string, Row>;
  onMark: (row: Row) => void;
  onEnd: () => void;
}

export function Grid({ head, rows, base, expected, selected, marks, onMark, onEnd }: Props) {
  const { ref, from, to, onScroll } = useWindow(rows.length, rowHeight, 2);
  const rests = useRested(from, 120) === from; // words that differ are marked where the scrolling rests
  const at = rows.findIndex((r) => r.id === selected);
  useEffect(() => reveal(ref.current, at, rowHeight, 32), [at]);
  useEffect(() => { if (to > rows.length - 20) onEnd(); }, [to, rows.length]);
  const metric = route.value.params.get("metric");
  const own = head.metrics.filter((m) => m.key === metric || m.metric_type !== "SESSION").sort((a, b) => Number(b.key === metric) - Number(a.key === metric));
  const shown: Shown = { metrics: own.slice(0, mostScores), more: own.length - mostScores, below: head.metrics.filter((m) => m.key === "duration" || m.key === "cost") };
  const style = { gridTemplateColumns: `1.1fr repeat(${head.runs.length}, 1fr)`, minWidth: `${250 + head.runs.length * 230}px` };
  const look = JSON.stringify([base, expected, metric]);
  return (
    <div class="compared-grid" ref={ref} onScroll={onScroll} role="grid" aria-label="Rows side by side" aria-rowcount={head.total} tabIndex={0} aria-activedescendant={at >= from && at < to ? `pair-${selected}` : undefined}>
      <div class="compared-head" role="row" style={style}>
        <div role="columnheader">Input, and what is expected</div>
        {head.runs.map((r, k) => <div key={r.run_id} role="columnheader"><a class="ellipsis" tabIndex={-1} href={href(["experiments", r.run_id])} title={r.name}>{r.name}</a>{k === base && <span class="chip">baseline</span>}</div>)}
      </div>
      <div class="compared-body" style={{ height: `${rows.length * rowHeight}px`, minWidth: style.minWidth }}>
        {rows.slice(from, to).map((row, k) => <RowView key={row.id} row={row} i={from + k} selected={from + k === at} marked={marks.has(row.id)} fresh={rests} look={look} base={base} expected={expected} style={style} shown={shown} onMark={onMark} />)}
      </div>
    </div>
  );
}

interface RowProps extends Pick<Props, "base" | "expected" | "onMark"> {
  row: Row;
  i: number;
  selected: boolean;
  marked: boolean;
  fresh: boolean; // words that differ are marked
  look: string; // of all rows
  style: Record<string, string>;
  shown: Shown;
}

/** One row, which is drawn again only if it looks otherwise. */
class RowView extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const p = this.props;
    return next.row !== p.row || next.selected !== p.selected || next.marked !== p.marked || next.look !== p.look || (next.fresh && !p.fresh);
  }

  override render({ row, i, selected, marked, fresh, base, expected, style, shown, onMark }: RowProps) {
    return (
      <div id={`pair-${row.id}`} role="row" aria-rowindex={i + 2} aria-selected={selected} class={`compared${selected ? " selected" : ""}`} style={{ ...style, top: `${i * rowHeight}px` }} onClick={() => select(row.id)}>
        <div role="gridcell" class="cell">
          <Mark on={marked} onChange={() => onMark(row)} />
          <div class="said" title={row.input}>{row.input || "–"}</div>
          <div class="said faint" title={row.expected}>{row.expected}</div>
        </div>
        {row.cells.map((c, k) => <div key={k} role="gridcell" class="cell">{c ? said(c, fresh ? (expected ? row.expected : k === base ? undefined : row.cells[base]?.output) : undefined, shown) : <span class="faint">not in this run</span>}</div>)}
      </div>
    );
  }
}

interface Shown {
  metrics: Metric[];
  more: number;
  below: Metric[];
}

/** What a cell says, with the words marked that the other text does not have. */
function said(cell: Cell, other: string | undefined, { metrics, more, below }: Shown) {
  return (
    <>
      <div class="marks">
        {metrics.flatMap((m) => [<Score key={m.key} metric={m} of={cell.scores[m.key]} name />, " "])}
        {more > 0 && <span class="faint">{`+${more}`}</span>}
      </div>
      <div class={`said${cell.error ? " bad" : ""}`} title={cell.error ?? cell.output}>
        {cell.error ?? (other === undefined || other === cell.output ? cell.output || "–" : freshWords(cell.output, other).map((p, i) => (p.fresh ? <ins key={i}>{p.text}</ins> : p.text)))}
      </div>
      <div class="faint ellipsis">{[...below.flatMap((m) => (cell.scores[m.key] ? score(m, cell.scores[m.key]!.value) : [])), cell.sessions > 1 ? `${format.count(cell.sessions)} repetitions` : "", cell.errors ? format.plural(cell.errors, "error") : ""].filter(Boolean).join(" · ")}</div>
    </>
  );
}
