// How many there were over time, above a list. Dragging over it narrows the range.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { ChartEventsAnswer, Filter } from "../api/types.gen.ts";
import { ticks } from "../model/clock.ts";
import * as format from "../model/format.ts";
import { useLoaded } from "../parts/common.tsx";
import { bounds } from "../parts/range.tsx";

/** How long the buckets are that have names, in milliseconds; those of other names say it: 10s, 30m, 3h. */
const named: Record<string, number> = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 2_592_000_000 };

function lengthOf(bucket: string): number {
  const unit = { s: 1000, m: 60_000, h: 3_600_000 }[bucket.slice(-1)];
  return named[bucket] ?? (unit ? Number.parseInt(bucket) * unit : 3_600_000);
}

export function Histogram({ range, filters, onRange, turn }: { range: string; filters: Filter[]; onRange: (range: string) => void; turn: number }) {
  const now = useRef(Date.now());
  const { from, to } = bounds(range, now.current);
  const span = from === null ? null : (to ?? now.current) - from;
  const key = from === null ? null : JSON.stringify([range, filters, turn]);
  const chart = useLoaded(key, async (signal) => {
    now.current = Date.now();
    const params = new URLSearchParams({ metric: "count", aggregation: "count", bucket: "auto", filters: JSON.stringify(filters), dateRange: JSON.stringify({ $gte: from, $lte: to ?? now.current }) });
    return call<ChartEventsAnswer>(`v1/events/chart?${params}`, { signal });
  });
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const box = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(1000);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry!.contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [from === null]);
  if (from === null || span === null) return null;
  const end = to ?? now.current;
  const bucket = chart.value?.bucket ?? "hour";
  const size = lengthOf(bucket);
  const points = (chart.value?.events ?? []).map((p) => ({ start: Date.parse(p.bucket), count: p.value ?? 0 })).filter((p) => p.count > 0);
  const most = Math.max(1, ...points.map((p) => p.count));
  const x = (t: number) => Math.min(1000, Math.max(0, ((t - from) / span) * 1000));
  const timeAt = (clientX: number) => {
    const b = box.current!.getBoundingClientRect();
    return from + Math.min(1, Math.max(0, (clientX - b.left) / b.width)) * span;
  };
  return (
    <div class="bars">
      <svg ref={box} viewBox="0 0 1000 48" preserveAspectRatio="none" role="img" aria-label={`Over time, at most ${most} a ${bucket}`}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); const t = timeAt(e.clientX); setDrag([t, t]); }}
        onPointerMove={(e) => { if (drag) setDrag([drag[0], timeAt(e.clientX)]); }}
        onPointerUp={() => {
          if (drag && Math.abs(drag[1] - drag[0]) > span / 200) onRange(`${Math.round(Math.min(...drag))}..${Math.round(Math.max(...drag))}`);
          setDrag(null);
        }}>
        <rect class="hit" x="0" y="0" width="1000" height="48" />
        {points.map((p) => {
          const left = x(p.start);
          const width = Math.max(1, x(Math.min(end, p.start + size)) - left - 1);
          const height = Math.max(1, (p.count / most) * 46);
          return <rect key={p.start} class="bar" x={left} y={48 - height} width={width} height={height}><title>{`${format.time(p.start).slice(0, 19)}: ${format.count(p.count)}`}</title></rect>;
        })}
        {drag && <rect class="drag" x={Math.min(x(drag[0]), x(drag[1]))} y="0" width={Math.abs(x(drag[1]) - x(drag[0]))} height="48" />}
      </svg>
      <div class="scale" aria-hidden="true">
        {ticks(from, end, Math.max(2, Math.floor(width / 110))).map((t) => <span key={t.at} style={{ left: `${x(t.at) / 10}%` }}>{t.label}</span>)}
      </div>
      {points.length > 0 && <span class="most" aria-hidden="true">{format.short(most)}</span>}
    </div>
  );
}
