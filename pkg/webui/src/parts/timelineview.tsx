// The events of a session on a scale of time: bars beside their names, zoomed with the wheel, moved by dragging.
import { useEffect, useMemo, useRef } from "preact/hooks";
import * as format from "../model/format.ts";
import { place, scaleOf, ticks, within, zoom, type Range } from "../model/timeline.ts";
import { rowKey, unloaded, type Gap, type Row } from "../model/tree.ts";
import { gapText } from "../model/treewindow.ts";
import { Icon, TypeIcon } from "./icon.tsx";
import { NeedleLine, type Needle } from "./needle.tsx";
import { reveal, useWindow } from "./table.tsx";
import { useAnchor } from "./treeview.tsx";

interface Props {
  rows: Row[];
  rowHeight: number;
  whole: Range;
  range: Range;
  origin: number;
  idle: Range[]; // times that can be folded
  foldIdle: boolean;
  onFoldIdle: (fold: boolean) => void;
  selected: string | null;
  critical: ReadonlySet<string> | null;
  needle: Needle;
  onTime: (time: number) => void; // a time of the scale was chosen
  onRange: (range: Range) => void;
  onVisible: (ids: string[], gaps: Gap[]) => void;
  onSelect: (id: string) => void;
  onToggle: (row: Row, deep: boolean) => void;
}

export function TimelineView(p: Props) {
  const { ref, from, to, onScroll } = useWindow(p.rows.length, p.rowHeight);
  const at = p.rows.findIndex((r) => r.node.id === p.selected);
  const drag = useRef<{ x: number; range: Range } | null>(null);
  const track = useRef<HTMLDivElement>(null);
  useEffect(() => reveal(ref.current, at, p.rowHeight, 24), [p.selected, at >= 0]);
  const visible = p.rows.slice(from, to);
  useEffect(() => p.onVisible(visible.filter((r) => !r.gap).map((r) => r.node.id), visible.flatMap((r) => r.gap ?? [])), [visible.map(rowKey).join()]);
  useAnchor(ref, p.rows, p.rowHeight);
  const share = (x: number) => {
    const box = track.current?.getBoundingClientRect();
    return box ? Math.min(1, Math.max(0, (x - box.left) / box.width)) : 0;
  };
  const latest = useRef(p);
  latest.current = p;
  useEffect(() => {
    const box = ref.current;
    const onWheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      const { range, whole, onRange, idle, foldIdle } = latest.current;
      const time = scaleOf(range, foldIdle ? idle : []).toTime(share(e.clientX));
      onRange(zoom(range, whole, Math.exp(e.deltaY * 0.004), (time - range.start) / (range.end - range.start)));
    };
    box?.addEventListener("wheel", onWheel, { passive: false });
    return () => box?.removeEventListener("wheel", onWheel);
  }, []);
  const size = p.range.end - p.range.start;
  const scale = useMemo(() => scaleOf(p.range, p.foldIdle ? p.idle : []), [p.range, p.idle, p.foldIdle]);
  const marks = ticks(p.range, p.origin, 6).filter((t) => !scale.folded.some((f) => p.origin + t > f.start && p.origin + t < f.end));
  const idleTime = p.idle.reduce((sum, t) => sum + t.end - t.start, 0);
  const percent = (v: number) => `${v * 100}%`;
  const onKeyDown = (e: KeyboardEvent) => {
    const row = p.rows[at];
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key] ?? 0;
    let to = Math.max(0, at + by);
    while (by !== 0 && p.rows[to]?.gap) to += by;
    const next = by === 0 ? undefined : p.rows[to];
    if (next) {
      e.preventDefault();
      p.onSelect(next.node.id);
    } else if (row && ((e.key === "ArrowLeft" && !row.folded) || (e.key === "ArrowRight" && row.folded)) && row.node.childCount > 0) {
      e.preventDefault();
      p.onToggle(row, e.shiftKey);
    } else if (e.key === "+" || e.key === "=") p.onRange(zoom(p.range, p.whole, 0.7, 0.5));
    else if (e.key === "-") p.onRange(zoom(p.range, p.whole, 1 / 0.7, 0.5));
    else if (e.key === "0") p.onRange(p.whole);
  };
  return (
    <div class="timeline" ref={ref} onScroll={onScroll} tabIndex={0} onKeyDown={onKeyDown} role="treegrid" aria-label="Timeline" aria-rowcount={p.rows.length}
      onPointerMove={(e) => {
        if (e.clientX >= (track.current?.getBoundingClientRect().left ?? 0)) p.needle.hover.value = scale.toTime(share(e.clientX));
        if (!drag.current) return;
        const box = track.current!.getBoundingClientRect();
        const by = ((drag.current.x - e.clientX) / box.width) * size;
        p.onRange(within({ start: drag.current.range.start + by, end: drag.current.range.end + by }, p.whole));
      }}
      onPointerLeave={() => { drag.current = null; }} onPointerUp={() => { drag.current = null; }}>
      <div class="scale" role="row">
        <div class="time-name" role="columnheader">{size < p.whole.end - p.whole.start ? <button class="button plain" onClick={() => p.onRange(p.whole)}>Whole session</button> : <span class="faint">Ctrl+wheel zooms</span>}
          {p.idle.length > 0 && <button type="button" class="button plain" aria-pressed={p.foldIdle} title="Times of a twentieth of the session or longer in which nothing ran" onClick={() => p.onFoldIdle(!p.foldIdle)}>{`${p.foldIdle ? "Unfold" : "Fold"} ${format.duration(idleTime)} idle`}</button>}
        </div>
        <div class="time-track" role="columnheader" aria-label="Time" ref={track} title="Click: put the needle here" onClick={(e) => p.onTime(scale.toTime(share(e.clientX)))}>
          {marks.map((t) => <span key={t} class="tick faint" style={{ left: percent(scale.toShare(p.origin + t)) }}>{format.duration(t)}</span>)}
        </div>
      </div>
      <div style={{ height: `${p.rows.length * p.rowHeight}px`, position: "relative" }}>
        {visible.map((row, i) => {
          const n = row.node;
          if (row.gap) return (
            <div key={rowKey(row)} role="row" aria-level={row.depth + 1} class="gap-row" style={{ top: `${(from + i) * p.rowHeight}px`, height: `${p.rowHeight}px`, paddingLeft: `${8 + Math.min(row.depth, 12) * 12}px` }}>
              <span role="gridcell"><button type="button" class="button plain" onClick={() => p.onToggle(row, false)}>{gapText(row.gap)}</button></span>
            </div>
          );
          const spot = row.group ? place(n.start, row.group[row.group.length - 1]!.end, scale) : place(n.start, n.end, scale);
          const after = spot !== null && spot.left + spot.width < 0.85;
          return (
            <div key={n.id} data-event={n.id} role="row" aria-level={row.depth + 1} aria-rowindex={from + i + 1} aria-selected={n.id === p.selected} aria-expanded={n.childCount > 0 ? !row.folded : undefined}
              class={`time-row${n.id === p.selected ? " selected" : ""}${row.grey ? " grey" : ""}${p.critical?.has(n.id) ? " critical" : ""}`}
              style={{ top: `${(from + i) * p.rowHeight}px`, height: `${p.rowHeight}px` }} onClick={() => p.onSelect(n.id)}
              onDblClick={() => p.onRange(within({ start: n.start - n.duration * 0.05, end: n.end + Math.max(n.duration * 0.05, 0.01) }, p.whole))}>
              <div class="time-name" role="gridcell" style={{ paddingLeft: `${8 + Math.min(row.depth, 12) * 12}px` }}>
                {n.children.length > 0 || row.group || unloaded(n) ? (
                  <button type="button" class="fold" tabIndex={-1} aria-label={row.folded ? "Unfold" : "Fold"} onClick={(e) => { e.stopPropagation(); p.onToggle(row, e.shiftKey); }}>
                    <Icon name={row.folded ? "right" : "down"} small />
                  </button>
                ) : <span class="fold" />}
                <TypeIcon type={n.type} small />
                <span class="ellipsis">{n.name}</span>
                {row.group && <span class="chip">{`×${row.group.length}`}</span>}
              </div>
              <div class="time-track" role="gridcell" onPointerDown={(e) => { if (e.button === 0 && size < p.whole.end - p.whole.start) drag.current = { x: e.clientX, range: p.range }; }}>
                {spot && (
                  <>
                    <i class={`time-bar fill-${n.type}${n.error ? " failed" : ""}`} style={{ left: `min(${percent(spot.left)}, calc(100% - 2px))`, width: percent(spot.width) }} />
                    <span class={`time-label${after ? "" : " before"}`} style={after ? { left: percent(spot.left + spot.width) } : { right: percent(1 - spot.left) }}>
                      {n.error && <Icon name="alert" small tint="bad" label="error" />}
                      {format.duration(n.duration)}
                    </span>
                  </>
                )}
              </div>
            </div>
          );
        })}
      </div>
      {scale.folded.length > 0 && (
        <div class="needle-track" aria-hidden="true">
          {scale.folded.map((t) => <i key={t.start} class="idle" title={`${format.duration(t.end - t.start)} idle`} style={{ left: percent(scale.toShare(t.start)), width: percent(scale.toShare(t.end) - scale.toShare(t.start)) }} />)}
        </div>
      )}
      <div class="needle-track" aria-hidden="true"><NeedleLine needle={p.needle} toShare={scale.toShare} /></div>
    </div>
  );
}
