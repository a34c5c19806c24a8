// The whole session at a glance, on a canvas: every event a line of its type's colour. Dragging over it narrows the time that is shown.
import { useEffect, useRef } from "preact/hooks";
import type { Range } from "../model/timeline.ts";
import type { Tree } from "../model/tree.ts";

interface Props {
  tree: Tree;
  whole: Range;
  range: Range;
  needle: number | null;
  themeKey: string;
  onRange: (range: Range) => void;
}

/** Below this many events a minimap shows nothing that the rows do not. */
export const minimapFrom = 20;

export function Minimap(p: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<number | null>(null);
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
    <div class="minimap" aria-hidden="true"
      onPointerDown={(e) => { drag.current = timeAt(e.clientX); e.currentTarget.setPointerCapture(e.pointerId); }}
      onPointerMove={(e) => {
        if (drag.current === null) return;
        const now = timeAt(e.clientX);
        if (Math.abs(now - drag.current) > size / 200) p.onRange({ start: Math.min(now, drag.current), end: Math.max(now, drag.current) });
      }}
      onPointerUp={(e) => {
        if (drag.current !== null && Math.abs(timeAt(e.clientX) - drag.current) <= size / 200) p.onRange(p.whole);
        drag.current = null;
      }}>
      <canvas ref={canvas} />
      {(p.range.start > p.whole.start || p.range.end < p.whole.end) && (
        <>
          <i class="shade" style={{ left: 0, width: percent(p.range.start) }} />
          <i class="shade" style={{ left: percent(p.range.end), right: 0 }} />
        </>
      )}
      {p.needle !== null && <i class="needle" style={{ left: percent(p.needle) }} />}
    </div>
  );
}

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
  const line = Math.max(ratio, canvas.height / (Math.min(depth, 24) + 1));
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
