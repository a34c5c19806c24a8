// The calls of a session merged by type and name: which calls which, how often and for how long; and a layout in layers.
import type { Range } from "./timeline.ts";
import type { Node, Tree } from "./tree.ts";

export interface GraphNode {
  key: string;
  type: string;
  name: string;
  ids: string[];
  duration: number; // of all, in milliseconds
  errors: number;
  layer: number;
  x: number; // centre, in units of the layout
  y: number;
}

export interface GraphEdge {
  from: GraphNode;
  to: GraphNode;
  count: number;
  duration: number;
  back: boolean; // leads to a layer above: a recursion
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  width: number;
  height: number;
  left: number; // kinds of calls that are not shown
}

export const nodeWidth = 180;
export const nodeHeight = 52;
const gapX = 28;
const gapY = 56;
const maxNodes = 100;

const keyOf = (n: Node) => `${n.type} ${n.name}`;

/** Merges the events of a tree. Of more than 100 kinds of calls the 100 that took longest are shown. */
export function graphOf(tree: Tree): Graph {
  const merged = new Map<string, GraphNode>();
  const kinds = new Map<Node, GraphNode>();
  for (const n of tree.nodes) {
    const key = keyOf(n);
    let g = merged.get(key);
    if (!g) merged.set(key, (g = { key, type: n.type, name: n.name, ids: [], duration: 0, errors: 0, layer: 0, x: 0, y: 0 }));
    kinds.set(n, g);
    g.ids.push(n.id);
    g.duration += n.duration;
    if (n.error) g.errors++;
  }
  const root = kinds.get(tree.root)!;
  let nodes = [...merged.values()];
  const left = Math.max(0, nodes.length - maxNodes);
  if (left > 0) nodes = nodes.sort((a, b) => Number(b === root) - Number(a === root) || b.duration - a.duration).slice(0, maxNodes);
  const shown = new Set(nodes);
  const edges = new Map<GraphNode, Map<GraphNode, GraphEdge>>();
  const nearest = new Map<Node, GraphNode>(); // the kind of an event, or of the nearest above it, that is shown
  for (const n of tree.nodes) { // parents come before their children
    const to = kinds.get(n)!;
    const from = n.parent && nearest.get(n.parent);
    if (!shown.has(to)) {
      if (from) nearest.set(n, from);
      continue;
    }
    nearest.set(n, to);
    if (!from || from === to) continue;
    let out = edges.get(from);
    if (!out) edges.set(from, (out = new Map()));
    let e = out.get(to);
    if (!e) out.set(to, (e = { from, to, count: 0, duration: 0, back: false }));
    e.count++;
    e.duration += n.duration;
  }
  const list = [...edges.values()].flatMap((out) => [...out.values()]);
  const size = layOut(nodes, list, root);
  return { nodes, edges: list, ...size, left };
}

/** Gives nodes their places: the layer is the longest way from the root without going back, the order in it that of what calls them. */
function layOut(nodes: GraphNode[], edges: GraphEdge[], root: GraphNode): { width: number; height: number } {
  const out = new Map<GraphNode, GraphEdge[]>();
  for (const e of edges) out.set(e.from, [...(out.get(e.from) ?? []), e]);
  const state = new Map<GraphNode, "open" | "done">();
  const order: GraphNode[] = [];
  const visit = (n: GraphNode) => { // at most 100 deep
    state.set(n, "open");
    for (const e of out.get(n) ?? []) {
      if (state.get(e.to) === "open") e.back = true;
      else if (!state.has(e.to)) visit(e.to);
    }
    state.set(n, "done");
    order.unshift(n);
  };
  for (const n of [root, ...nodes]) if (!state.has(n) && nodes.includes(n)) visit(n);
  for (const n of order) for (const e of out.get(n) ?? []) if (!e.back) e.to.layer = Math.max(e.to.layer, n.layer + 1);
  const layers: GraphNode[][] = [];
  for (const n of order) (layers[n.layer] ??= []).push(n);
  for (let pass = 0; pass < 4; pass++) {
    for (const layer of layers) {
      const centre = new Map(layer.map((n) => {
        const from = edges.filter((e) => e.to === n && !e.back);
        return [n, from.length === 0 ? n.x : from.reduce((sum, e) => sum + e.from.x, 0) / from.length];
      }));
      layer.sort((a, b) => centre.get(a)! - centre.get(b)!);
      layer.forEach((n, i) => (n.x = (i - (layer.length - 1) / 2) * (nodeWidth + gapX)));
    }
  }
  const width = Math.max(...layers.map((l) => l.length)) * (nodeWidth + gapX);
  for (const n of nodes) {
    n.x += width / 2;
    n.y = nodeHeight / 2 + 8 + n.layer * (nodeHeight + gapY);
  }
  return { width, height: layers.length * (nodeHeight + gapY) };
}

/** A bubble of a trajectory: which step it is, and in which row it stands. */
export interface Bubble {
  node: Node;
  step: number;
  row: number;
}

export interface Trajectory {
  rows: { key: string; type: string; name: string; count: number }[];
  bubbles: Bubble[];
  left: number; // steps that are not shown
}

const maxBubbles = 2000;
const maxRows = 60;

/** Returns the steps of a session in the order of their start, a row for each type and name. */
export function trajectoryOf(tree: Tree): Trajectory {
  const nodes = tree.nodes.filter((n) => n !== tree.root).sort((a, b) => a.start - b.start);
  const rows = new Map<string, { at: number; key: string; type: string; name: string; count: number }>();
  const bubbles: Bubble[] = [];
  for (const node of nodes) {
    let row = rows.get(keyOf(node));
    if (!row) {
      if (rows.size === maxRows) continue;
      rows.set(keyOf(node), (row = { at: rows.size, key: keyOf(node), type: node.type, name: node.name, count: 0 }));
    }
    row.count++;
    if (bubbles.length < maxBubbles) bubbles.push({ node, step: bubbles.length, row: row.at });
  }
  return { rows: [...rows.values()], bubbles, left: nodes.length - bubbles.length };
}

/** The step that a time falls on: between two steps a number between theirs; before the first -1, past those that are shown after the last. */
export function stepAt(bubbles: Bubble[], time: number): number {
  let low = 0;
  let high = bubbles.length; // the first step that starts after time is in low..high
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bubbles[middle]!.node.start <= time) low = middle + 1;
    else high = middle;
  }
  const before = bubbles[low - 1]?.node;
  const after = bubbles[low]?.node;
  if (!before) return -1;
  return low - 1 + (after && after.start > before.start ? (time - before.start) / (after.start - before.start) : 0);
}

/** Returns when calls of a kind were running, by the key of its node in a graph: in order, without overlaps. */
export function busyTimes(tree: Tree): Map<string, Range[]> {
  const times = new Map<string, Range[]>();
  for (const n of [...tree.nodes].sort((a, b) => a.start - b.start)) {
    const key = keyOf(n);
    let list = times.get(key);
    if (!list) times.set(key, (list = []));
    const last = list.at(-1);
    if (last && n.start <= last.end) last.end = Math.max(last.end, n.end);
    else list.push({ start: n.start, end: n.end });
  }
  return times;
}
