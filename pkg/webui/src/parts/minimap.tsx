// The whole session at a glance, on a canvas: every event a line of its type's colour. Dragging over it narrows the time that is shown.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Range } from "../model/timeline.ts";
import type { Tree } from "../model/tree.ts";
import { NeedleLine, type Needle } from "./needle.tsx";

interface Props {
  tree: Tree;
  whole: Range;
  range: Range;
  needle: Needle;
  themeKey: string;
  onRange: (range: Range) => void;
  onTime: (time: number) => void; // a time was chosen
}

/** Below this many events a minimap shows nothing that the rows do not. */
export const minimapFrom = 20;

/** How high a minimap is, in pixels. */
const leastHeight = 24;
const usualHeight = 44;
const mostHeight = 240;

export function Minimap(p: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<number | null>(null);
  const [height, setHeight] = useState(() => heightWithin(Number(localStorage.getItem("spangrove.minimap")) || usualHeight));
  const box = useRef<HTMLDivElement>(null);
  const resize = (to: number) => {
    setHeight(heightWithin(to));
    localStorage.setItem("spangrove.minimap", String(heightWithin(to)));
  };
  useEffect(() => {
    const draw = () => paint(canvas.current, p.tree, p.whole);
    draw();
    const observer = new ResizeObserver(draw);
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [p.tree, p.whole, p.themeKey]);
  const size = p.whole.end - p.whole.start;
  const timeAt = (x: number) => {
    const box = canvas.current!.getBoundingClientRect();
    return p.whole.start + Math.min(1, Math.max(0, (x - box.left) / box.width)) * size;
  };
  const percent = (t: number) => `${((t - p.whole.start) / size) * 100}%`;
  return (
    <>
    <div class="minimap" aria-hidden="true" ref={box} style={{ height: `${height}px` }} title="Drag: this time only. Click: put the needle here. Double-click: the whole session."
      onDblClick={() => p.onRange(p.whole)} onPointerLeave={() => { p.needle.hover.value = null; }}
      onPointerDown={(e) => { drag.current = timeAt(e.clientX); e.currentTarget.setPointerCapture(e.pointerId); }}
      onPointerMove={(e) => {
        const now = timeAt(e.clientX);
        p.needle.hover.value = now;
        if (drag.current === null) return;
        if (Math.abs(now - drag.current) > size / 200) p.onRange({ start: Math.min(now, drag.current), end: Math.max(now, drag.current) });
      }}
      onPointerUp={(e) => {
        if (drag.current !== null && Math.abs(timeAt(e.clientX) - drag.current) <= size / 200) p.onTime(drag.current);
        drag.current = null;
      }}>
      <canvas ref={canvas} />
      {(p.range.start > p.whole.start || p.range.end < p.whole.end) && (
        <>
          <i class="shade" style={{ left: 0, width: percent(p.range.start) }} />
          <i class="shade" style={{ left: percent(p.range.end), right: 0 }} />
        </>
      )}
      <NeedleLine needle={p.needle} toShare={(time) => (time - p.whole.start) / size} />
    </div>
    <button type="button" class="minimap-edge" role="separator" aria-orientation="horizontal" aria-label="Height of the strip" aria-valuenow={height} aria-valuemin={leastHeight} aria-valuemax={mostHeight}
      onDblClick={() => resize(usualHeight)} onPointerDown={(e) => e.currentTarget.setPointerCapture(e.pointerId)}
      onPointerMove={(e) => { if (e.currentTarget.hasPointerCapture(e.pointerId)) resize(e.clientY - box.current!.getBoundingClientRect().top); }}
      onKeyDown={(e) => { const by = { ArrowUp: -8, ArrowDown: 8 }[e.key]; if (by) { e.preventDefault(); resize(height + by); } }} />
    </>
  );
}

const heightWithin = (height: number) => Math.round(Math.min(mostHeight, Math.max(leastHeight, height)));

function paint(canvas: HTMLCanvasElement | null, tree: Tree, whole: Range): void {
  const box = canvas?.getBoundingClientRect();
  const context = canvas?.getContext("2d");
  if (!canvas || !box || !context || box.width === 0) return;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const styles = getComputedStyle(canvas);
  const probe = (name: string) => resolve(canvas, styles.getPropertyValue(name));
  const colours: Record<string, string> = Object.fromEntries(["session", "chain", "model", "tool", "generic"].map((t) => [t, probe(`--${t}`)]));
  const bad = probe("--bad");
  const depth = tree.nodes.reduce((most, n) => Math.max(most, n.depth), 1);
  const line = Math.max(ratio, canvas.height / Math.min(depth, 24));
  const size = whole.end - whole.start;
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (const n of tree.nodes) {
    if (n === tree.root) continue;
    const x = ((n.start - whole.start) / size) * canvas.width;
    const width = Math.max(ratio, (n.duration / size) * canvas.width);
    context.globalAlpha = n.error ? 1 : 0.75;
    context.fillStyle = n.error ? bad : colours[n.type] ?? "#888";
    context.fillRect(x, (Math.min(n.depth, 24) - 1) * line + ratio, width, Math.max(ratio, line - ratio));
  }
}

/** The colour that a token stands for in the theme that is shown. */
function resolve(element: HTMLElement, value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  element.parentElement!.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
