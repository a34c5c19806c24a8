// The merged graph of a session's calls, and its trajectory. Both are SVG; a click selects an event.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as format from "../model/format.ts";
import { graphOf, nodeHeight, nodeWidth, stepAt, trajectoryOf, type GraphEdge, type GraphNode } from "../model/graph.ts";
import type { Node, Tree } from "../model/tree.ts";
import { NeedleLine, type Needle } from "./needle.tsx";

export function GraphView({ tree, selected, critical, onSelect }: { tree: Tree; selected: string | null; critical: ReadonlySet<string> | null; onSelect: (id: string) => void }) {
  const graph = useMemo(() => graphOf(tree), [tree]);
  const [only, setOnly] = useState<"all" | "errors" | "slow">("all");
  const slow = useMemo(() => new Set([...graph.nodes].filter((n) => n.type !== "session").sort((a, b) => b.duration - a.duration).slice(0, 3)), [graph]);
  const faint = (n: GraphNode) => (only === "errors" && n.errors === 0) || (only === "slow" && !slow.has(n)) || (critical !== null && !n.ids.some((id) => critical.has(id)));
  const whole = tree.end - tree.start || 1;
  const box = useRef<HTMLDivElement>(null);
  const shown = graph.nodes.find((n) => n.ids.includes(selected ?? "")) ?? graph.nodes.find((n) => n.ids.includes(tree.root.id));
  useLayoutEffect(() => { // the node that is selected, else the session, is on screen
    const area = box.current;
    if (!area || !shown) return;
    const left = shown.x - nodeWidth / 2;
    const top = shown.y - nodeHeight / 2;
    if (left < area.scrollLeft || left + nodeWidth + 32 > area.scrollLeft + area.clientWidth) area.scrollLeft = shown.x + 16 - area.clientWidth / 2;
    if (top < area.scrollTop || top + nodeHeight + 32 > area.scrollTop + area.clientHeight) area.scrollTop = shown.y + 16 - area.clientHeight / 2;
  }, [shown?.key]);
  return (
    <div class="graph">
      <div class="graph-tools">
        {(["all", "slow", "errors"] as const).map((o) => <button key={o} class="button plain" aria-pressed={only === o} onClick={() => setOnly(o)}>{{ all: "All", slow: "Bottlenecks", errors: "Errors" }[o]}</button>)}
        {graph.left > 0 && <span class="faint">{`${format.count(graph.left)} kinds of calls that took less are not shown`}</span>}
      </div>
      <div class="scroll-x graph-box" ref={box} tabIndex={0}>
        <svg width={graph.width} height={graph.height} role="group" aria-label="Calls of the session, merged by name">
          {graph.edges.map((e) => <Edge key={`${e.from.key}>${e.to.key}`} e={e} faint={faint(e.from) || faint(e.to)} />)}
          {graph.nodes.map((n) => (
            <g key={n.key} data-event={n.key} class={`graph-node${n.ids.includes(selected ?? "") ? " selected" : ""}${faint(n) ? " faded" : ""}`} transform={`translate(${n.x - nodeWidth / 2} ${n.y - nodeHeight / 2})`}
              role="button" tabIndex={0}
              onClick={() => onSelect(nextOf(n.ids, selected))} onKeyDown={(ev) => { if (ev.key === "Enter") onSelect(nextOf(n.ids, selected)); }}>
              <rect width={nodeWidth} height={nodeHeight} rx="6" />
              <rect class={`fill-${n.type}`} width="4" height={nodeHeight} rx="2" />
              <text x="14" y="21" class="graph-name">{cut(n.name, n.errors > 0 ? 17 : 23)}</text>
              <text x="14" y="40" class="graph-note">{`${n.ids.length}× · ${format.duration(n.duration / n.ids.length)} · ${Math.round((n.duration / whole) * 100)} %`}</text>
              {n.errors > 0 && <text x={nodeWidth - 10} y="21" text-anchor="end" class="graph-bad">{`${n.errors} ✕`}</text>}
              <title>{`${n.name}\n${format.plural(n.ids.length, "call")}, ${format.duration(n.duration)} in all${n.errors ? `, ${format.plural(n.errors, "error")}` : ""}`}</title>
            </g>
          ))}
        </svg>
      </div>
    </div>
  );
}

/** A name of at most some letters. */
const cut = (name: string, most: number) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** A click on a node that is selected goes to its next event. */
function nextOf(ids: string[], selected: string | null): string {
  return ids[(ids.indexOf(selected ?? "") + 1) % ids.length]!;
}

function Edge({ e, faint }: { e: GraphEdge; faint: boolean }) {
  const x1 = e.from.x, y1 = e.from.y + nodeHeight / 2, x2 = e.to.x, y2 = e.to.y - nodeHeight / 2;
  const bend = e.back ? 60 : (y2 - y1) / 2;
  return (
    <g class={`graph-edge${faint ? " faded" : ""}`}>
      <path d={`M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`} stroke-width={1 + Math.min(4, Math.log2(e.count))} />
      {e.count > 1 && <text x={(x1 + x2) / 2 + 6} y={(y1 + y2) / 2}>{`${e.count}×`}</text>}
    </g>
  );
}

type Measure = "duration" | "tokens" | "cost";

export function TrajectoryView({ tree, selected, needle, onSelect }: { tree: Tree; selected: string | null; needle: Needle; onSelect: (id: string) => void }) {
  const t = useMemo(() => trajectoryOf(tree), [tree]);
  const [by, setBy] = useState<Measure>("duration");
  const of = (n: Node) => n[by] ?? 0;
  const most = Math.max(...t.bubbles.map((b) => of(b.node)), 1e-9);
  const step = t.bubbles.length > 400 ? 10 : t.bubbles.length > 100 ? 16 : 26;
  const line = 30;
  const steps = useRef<HTMLDivElement>(null);
  const at = t.bubbles.findIndex((b) => b.node.id === selected);
  useLayoutEffect(() => { // the step that is selected is on screen
    const area = steps.current;
    const x = at * step + 20;
    if (area && at >= 0 && (x < area.scrollLeft + 20 || x > area.scrollLeft + area.clientWidth - 20)) area.scrollLeft = x - area.clientWidth / 2;
  }, [selected, at >= 0]);
  const radius = (n: Node) => 3 + Math.sqrt(of(n) / most) * Math.min(11, step * 0.9);
  const show = (n: Node) => (by === "duration" ? format.duration(n.duration) : by === "tokens" ? `${format.count(n.tokens ?? 0)} tokens` : format.cost(n.cost ?? 0));
  return (
    <div class="graph">
      <div class="graph-tools">
        <span class="faint">Size shows</span>
        {(["duration", "tokens", "cost"] as const).map((m) => <button key={m} class="button plain" aria-pressed={by === m} onClick={() => setBy(m)}>{m}</button>)}
        {t.left > 0 && <span class="faint">{`the first ${format.count(t.bubbles.length)} of ${format.count(t.bubbles.length + t.left)} steps`}</span>}
      </div>
      <div class="trajectory">
        <div class="trajectory-names">
          {t.rows.map((r) => <div key={r.key} class="ellipsis" style={{ height: `${line}px`, lineHeight: `${line}px` }} title={`${r.type} ${r.name}, ${r.count} times`}><span class={`type-${r.type}`}>●</span> {r.name} <span class="faint">{r.count}</span></div>)}
        </div>
        <div class="scroll-x trajectory-steps" ref={steps} tabIndex={0}>
          <div class="needle-box" style={{ width: `${t.bubbles.length * step + 40}px`, height: `${t.rows.length * line}px` }}>
          <svg width={t.bubbles.length * step + 40} height={t.rows.length * line} role="group" aria-label="Steps in order">
            {t.rows.map((r, i) => <line key={r.key} class="trajectory-line" x1="0" x2={t.bubbles.length * step + 40} y1={i * line + line / 2} y2={i * line + line / 2} />)}
            <polyline class="trajectory-path" points={t.bubbles.map((b) => `${b.step * step + 20},${b.row * line + line / 2}`).join(" ")} />
            {t.bubbles.map((b) => (
              <circle key={b.node.id} data-event={b.node.id} class={`bubble fill-${b.node.type}${b.node.error ? " failed" : ""}${b.node.id === selected ? " selected" : ""}`} cx={b.step * step + 20} cy={b.row * line + line / 2} r={radius(b.node)}
                role="button" tabIndex={-1} aria-label={`step ${b.step + 1}, ${b.node.name}`} onClick={() => onSelect(b.node.id)}>
                <title>{`${b.step + 1}. ${b.node.name}: ${show(b.node)}${b.node.error ? "\nerror: " + b.node.error : ""}`}</title>
              </circle>
            ))}
          </svg>
          <NeedleLine needle={needle} toShare={(time) => (stepAt(t.bubbles, time) * step + 20) / (t.bubbles.length * step + 40)} />
          </div>
        </div>
      </div>
    </div>
  );
}
