// A chart on a canvas. All plots that share a cursor have the same buckets: the cursor is the number of one, whoever moved it.
import type { Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../app/theme.ts";
import { ticks } from "../model/clock.ts";
import type { Row } from "../model/charts.ts";

interface Props {
  times: number[]; // beginnings of the buckets, in milliseconds
  end: number; // of the last one
  rows: Row[];
  stacked: boolean;
  plain?: boolean; // without axes
  whole?: boolean; // values are counts: the axis has no fractions
  label: string;
  cursor: Signal<number | null>;
  write: (v: number | null | undefined, row?: Row) => string;
  onRange: (from: number, to: number) => void;
  onPoint: (bucket: number, row: Row | null) => void;
  canvas?: (canvas: HTMLCanvasElement | null) => void;
}

/** Of so many rows the period before is drawn, too. */
export const mostBefore = 2;

const steps = Array.from({ length: 45 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3));

/** The colour of a row, as the style sheet has it. */
export const colour = (row: Row) => `var(--series-${row.tint})`;

const dark = matchMedia("(prefers-color-scheme: dark)");

export function Plot({ times, end, rows, stacked, plain, whole, label, cursor, write, onRange, onPoint, canvas }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [, redraw] = useState(0);
  useEffect(() => {
    const changed = () => redraw((n) => n + 1);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  const calls = useRef({ write, onRange, onPoint });
  calls.current = { write, onRange, onPoint };
  const look = `${theme.value} ${dark.matches}`;

  useLayoutEffect(() => {
    const style = getComputedStyle(box.current!);
    const probe = document.createElement("i");
    box.current!.append(probe);
    const inked = (value: string) => { probe.style.color = value; return getComputedStyle(probe).color; };
    const [ink, line, faint] = ["var(--ink-3)", "var(--line)", "color-mix(in srgb, var(--ink-3) 60%, transparent)"].map(inked);
    const x = times.map((t) => t / 1000);
    const step = times.length > 1 ? x[1]! - x[0]! : (end - times[0]!) / 1000;
    // Layers are drawn from the highest to the lowest, each down to 0, so that what is seen of each is its own part.
    const sums: number[] = times.map(() => 0);
    const layers = stacked ? rows.map((r) => r.values.map((v, i) => (sums[i]! += v ?? 0))) : rows.map((r) => r.values);
    const order = rows.map((_, i) => (stacked ? rows.length - 1 - i : i));
    const before = stacked && rows.every((r) => r.before) && rows.length > 0 ? [times.map((_, i) => rows.reduce((n, r) => n + (r.before![i] ?? 0), 0))] : stacked ? [] : rows.length <= mostBefore ? rows.flatMap((r) => (r.before ? [r.before] : [])) : [];
    const bars = uPlot.paths.bars!({ size: [0.85, 40], align: 1 });
    // A value between buckets without any would be no line.
    const alone = (u: uPlot, series: number) => { const v = u.data[series]!; return [...v.keys()].filter((i) => v[i] !== null && (v[i - 1] ?? null) === null && (v[i + 1] ?? null) === null); };
    const font = `11px ${style.fontFamily}`;
    const u = new uPlot({
      width: box.current!.clientWidth, height: box.current!.clientHeight, legend: { show: false }, padding: plain ? [4, 2, 2, 2] : [8, 20, 0, 0] /* half a date fits right of the last mark */,
      scales: { x: { time: false, range: () => [x[0]!, stacked ? Math.max(end / 1000, x[0]! + step) : Math.max(x[x.length - 1]!, x[0]! + step)] }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > Math.min(0, low ?? 0) ? high + (high - Math.min(0, low)) * 0.05 : 1] } },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: !stacked, size: 6 }, y: false },
      axes: plain ? [{ show: false }, { show: false }] : [
        { stroke: ink, font, size: 24, gap: 4, grid: { show: false }, ticks: { stroke: line, size: 4 },
          splits: (_, __, from, to) => ticks(from * 1000, to * 1000, Math.max(2, Math.floor(box.current!.clientWidth / 90))).map((t) => t.at / 1000),
          values: (_, at) => { const names = new Map(ticks(at[0]! * 1000, at[at.length - 1]! * 1000, at.length + 1).map((t) => [t.at, t.label])); return at.map((t) => names.get(Math.round(t * 1000)) ?? ""); } },
        { stroke: ink, font, size: 56, gap: 4, space: 32, ...(whole && { incrs: steps }), grid: { stroke: line, width: 1 }, ticks: { show: false }, values: (_, at) => at.map((v) => calls.current.write(v)) },
      ],
      series: [{},
        ...order.map((i) => { const c = inked(colour(rows[i]!)); return stacked ? { stroke: c, fill: c, width: 0, paths: bars, points: { show: false } } : { stroke: c, width: 1.5, spanGaps: false, points: { show: true, filter: alone, size: 4 } }; }),
        ...before.map(() => ({ stroke: faint, width: 1, dash: [3, 3], points: { show: false } }))],
      hooks: {
        setCursor: [(self) => {
          const i = self.cursor.idx ?? null;
          if (self.cursor.event) cursor.value = self.cursor.left! < 0 ? null : i;
        }],
        setSelect: [(self) => {
          if (self.select.width > 4) calls.current.onRange(self.posToVal(self.select.left, "x") * 1000, self.posToVal(self.select.left + self.select.width, "x") * 1000);
          self.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, [x, ...order.map((i) => layers[i]!), ...before] as uPlot.AlignedData, box.current!);
    probe.remove();
    plot.current = u;
    u.over.addEventListener("mouseleave", () => { cursor.value = null; });
    u.over.addEventListener("click", () => {
      const i = u.cursor.idx;
      if (i === null || i === undefined) return;
      const y = u.posToVal(u.cursor.top!, "y");
      const near = stacked ? layers.findIndex((l) => (l[i] ?? 0) >= y) : layers.reduce((best, l, k) => (Math.abs((l[i] ?? Infinity) - y) < Math.abs((layers[best]?.[i] ?? Infinity) - y) ? k : best), 0);
      calls.current.onPoint(i, rows[near] ?? null);
    });
    const observer = new ResizeObserver(() => { if (box.current && (box.current.clientWidth !== u.width || box.current.clientHeight !== u.height)) u.setSize({ width: box.current.clientWidth, height: box.current.clientHeight }); });
    observer.observe(box.current!);
    canvas?.(u.ctx.canvas);
    return () => { observer.disconnect(); canvas?.(null); u.destroy(); plot.current = null; };
  }, [times, end, rows, stacked, look]);

  const at = cursor.value;
  useLayoutEffect(() => {
    const u = plot.current;
    if (!u || u.cursor.idx === at && u.cursor.left! >= 0) return;
    if (at === null || times[at] === undefined) u.setCursor({ left: -10, top: -10 }, false);
    else u.setCursor({ left: u.valToPos(times[at] / 1000, "x"), top: u.over.clientHeight / 2 }, false);
  }, [at, times]);

  const step = (by: number) => { cursor.value = Math.min(times.length - 1, Math.max(0, (at ?? (by > 0 ? -1 : times.length)) + by)); };
  return (
    <div ref={box} class="plot" tabIndex={0} role="slider" aria-label={label} aria-valuemin={0} aria-valuemax={times.length - 1} aria-valuenow={at ?? 0}
      aria-valuetext={at === null ? "arrow keys move over time, Enter shows the events" : rows.map((r) => `${r.label} ${write(r.values[at], r)}`).join(", ")}
      onKeyDown={(e) => {
        if (e.key === "ArrowLeft" || e.key === "ArrowRight") step((e.key === "ArrowRight" ? 1 : -1) * (e.shiftKey ? 10 : 1));
        else if (e.key === "Enter" && at !== null) onPoint(at, rows.length === 1 ? rows[0]! : null);
        else if (e.key === "Escape" && at !== null) cursor.value = null;
        else return;
        e.preventDefault();
        e.stopPropagation();
      }} />
  );
}
