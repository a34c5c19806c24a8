// The tree of a session: read from the rows of the API, folded, filtered, and flattened to the rows that a page shows.
import type { EventType, GetSessionTreeAnswer } from "../api/types.gen.ts";

export interface Node {
  id: string;
  parent: Node | null;
  children: Node[];
  depth: number;
  type: EventType;
  name: string;
  start: number; // Unix milliseconds
  end: number;
  duration: number; // milliseconds
  running: boolean;
  error: string | null;
  tokens: number | null;
  cost: number | null;
  childCount: number; // on the server, which may be more than children
  below: number; // at all levels, on the server
  at: number; // how many events stand before it below its parent: its siblings and what is below them, on the server
  used: number; // when it was loaded or on screen last, as a number that grows
  note: "" | "orphan" | "cycle";
  errorsBelow: number; // of those that are loaded
}

export interface Tree {
  root: Node;
  byId: Map<string, Node>;
  nodes: Node[]; // parents before children, children by start
  start: number;
  end: number;
  total: number; // events of the session, on the server; as nodes, with the session's own
  truncated: boolean; // there are events that are not loaded
  touched: string;
}

/** How many events a session has, as everywhere else: those below its own. */
export const countOf = (tree: { total: number }): number => tree.total - 1;

/** How many of them are loaded. */
export const loadedOf = (tree: Tree): number => tree.nodes.length - 1;

/** Events of a session that are not loaded: they stand below parent, directly behind after or first. */
export interface Gap {
  parent: Node;
  after: Node | null;
  events: number;
}

/** Builds the tree of an answer of GET /v1/sessions/{id}/tree. */
export function readTree(answer: GetSessionTreeAnswer): Tree {
  const read = rowReader(answer);
  const nodes: Node[] = [];
  const byId = new Map<string, Node>();
  for (const row of answer.rows) {
    const { node, parent: parentAt } = read(row);
    const parent = parentAt >= 0 ? nodes[parentAt] ?? null : null;
    if (parent) {
      const before = parent.children.at(-1);
      node.parent = parent;
      node.depth = parent.depth + 1;
      node.at = before ? endOf(before) : 0;
      parent.children.push(node);
    }
    nodes.push(node);
    byId.set(node.id, node);
  }
  const root = nodes[0];
  if (!root) throw new Error("The session has no events.");
  return finish(root, nodes, byId, answer);
}

/** Returns what reads a row of an answer: as a node that stands nowhere yet, and the place of its parent's row. */
export function rowReader(answer: GetSessionTreeAnswer): (row: unknown[]) => { node: Node; parent: number } {
  const at = new Map(answer.columns.map((name, i) => [name, i]));
  const column = (name: string) => at.get(name) ?? -1;
  const c = {
    id: column("event_id"), parent: column("parent"), type: column("type"), name: column("name"), start: column("start_time"),
    duration: column("duration"), state: column("state"), error: column("error"), tokens: column("tokens"), cost: column("cost"),
    children: column("children"), below: column("below"), note: column("note"),
  };
  return (row) => {
    const start = row[c.start] as number;
    const duration = row[c.duration] as number;
    const node: Node = {
      id: row[c.id] as string, parent: null, children: [], depth: 0, type: row[c.type] as EventType,
      name: row[c.name] as string, start, end: start + duration, duration, running: row[c.state] === "running",
      error: row[c.error] as string | null, tokens: row[c.tokens] as number | null, cost: row[c.cost] as number | null,
      childCount: row[c.children] as number, below: row[c.below] as number, at: 0, used: 0, note: (row[c.note] as Node["note"] | null) ?? "", errorsBelow: 0,
    };
    return { node, parent: row[c.parent] as number };
  };
}

/** Where the events of a node end among those below its parent. */
export const endOf = (node: Node) => node.at + 1 + node.below;

/** How many events are missing between the i-th of some siblings and the one before it. */
const missingBefore = (siblings: Node[], i: number) => Math.max(0, siblings[i]!.at - (i > 0 ? endOf(siblings[i - 1]!) : 0));

/** Reports whether nothing of what stands below a node is loaded. */
export const unloaded = (node: Node) => node.children.length === 0 && node.childCount > 0;

/** Returns which events directly below a node, and below those, are not loaded. */
export function gapsOf(parent: Node): Gap[] {
  const gaps: Gap[] = [];
  parent.children.forEach((_, i) => {
    const events = missingBefore(parent.children, i);
    if (events > 0) gaps.push({ parent, after: parent.children[i - 1] ?? null, events });
  });
  const last = parent.children.at(-1);
  const left = parent.below - (last ? endOf(last) : 0);
  if (left > 0) gaps.push({ parent, after: last ?? null, events: left });
  return gaps;
}

/** Makes the tree of nodes that stand in order, with what is counted over all of them. */
export function finish(root: Node, nodes: Node[], byId: Map<string, Node>, answer: { total: number; truncated: boolean; touched: string }): Tree {
  let start = Infinity;
  let end = -Infinity;
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i]!;
    if (node.parent) node.parent.errorsBelow += node.errorsBelow + (node.error ? 1 : 0);
    if (node !== root || nodes.length === 1) {
      start = Math.min(start, node.start);
      end = Math.max(end, node.end);
    }
  }
  return {
    root, byId, nodes, start: Math.min(start, root.start), end: Math.max(end, root.end, start), total: answer.total,
    truncated: answer.truncated, touched: answer.touched,
  };
}

/** Applies an answer with changes (since) to a tree, and returns the new tree. */
export function applyChanges(tree: Tree, answer: GetSessionTreeAnswer): Tree {
  const at = new Map(answer.columns.map((name, i) => [name, i]));
  const rows = new Map<string, unknown[]>();
  for (const node of tree.nodes) rows.set(node.id, rowOf(node));
  for (const id of answer.removed ?? []) rows.delete(id);
  for (const row of answer.rows) {
    rows.set(row[at.get("event_id")!] as string, row);
  }
  const children = new Map<string | null, unknown[][]>();
  for (const row of rows.values()) {
    const parent = row[1] as string | null;
    const list = children.get(parent);
    if (list) list.push(row);
    else children.set(parent, [row]);
  }
  for (const list of children.values()) {
    list.sort((a, b) => (a[4] as number) - (b[4] as number) || ((a[0] as string) < (b[0] as string) ? -1 : 1));
  }
  const ordered: unknown[][] = [];
  const stack: { row: unknown[]; parent: number }[] = (children.get(null) ?? []).map((row) => ({ row, parent: -1 }));
  while (stack.length > 0) {
    const { row, parent } = stack.pop()!;
    const index = ordered.length;
    ordered.push([row[0], parent, ...row.slice(2)]);
    const below = children.get(row[0] as string) ?? [];
    for (let i = below.length - 1; i >= 0; i--) stack.push({ row: below[i]!, parent: index });
  }
  const columns = answer.columns.map((name) => (name === "parent_id" ? "parent" : name));
  return readTree({ ...answer, columns, rows: ordered });
}

function rowOf(n: Node): unknown[] {
  return [n.id, n.parent?.id ?? null, n.type, n.name, n.start, n.duration, n.running ? "running" : "ended", n.error, n.tokens, n.cost, n.childCount, n.below, n.note || null];
}

/** A row of the tree as it is shown: an event, or several siblings alike that are folded into one. */
export interface Row {
  node: Node;
  depth: number; // below what is shown
  folded: boolean;
  group: Node[] | null; // the siblings of a group, the first of which is node
  grey: boolean; // shown only because something below it matches
  gap: Gap | null; // in the place of events that are not loaded; node is their parent
}

/** What tells a row from all others. */
export const rowKey = (row: Row) => (row.gap ? `${row.node.id}>${row.gap.after?.id ?? ""}` : row.node.id);

export interface Show {
  folded: ReadonlySet<string>;
  opened: ReadonlySet<string>; // groups that are shown event by event, by the id of their first
  match: ((node: Node) => boolean) | null; // null: all are shown
  group: boolean;
}

/** The least number of siblings alike that are folded into one row. */
export const groupFrom = 5;

/** Returns the rows to show, in order. What does not match is left out, but for the ancestors of what does, and so are gaps. */
export function visibleRows(tree: Tree, show: Show): Row[] {
  const keep = show.match ? matching(tree, show.match) : null;
  const rows: Row[] = [];
  const stack: Row[] = [];
  const folded = (node: Node) => show.folded.has(node.id) || unloaded(node);
  const push = (nodes: Node[], depth: number, parent: Node | null) => {
    const list: Row[] = [];
    const gaps = keep || !parent || !tree.truncated || nodes.length === 0 ? [] : gapsOf(parent);
    let next = 0;
    const skip = (after: Node | null) => {
      if (next < gaps.length && gaps[next]!.after === after) list.push({ node: parent!, depth, folded: false, group: null, grey: false, gap: gaps[next++]! });
    };
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i]!;
      skip(nodes[i - 1] ?? null);
      if (keep && !keep.has(node)) continue;
      if (show.group && !keep) {
        const group = alike(nodes, i);
        if (group.length >= groupFrom && !show.opened.has(node.id)) {
          list.push({ node, depth, folded: true, group, grey: false, gap: null });
          i += group.length - 1;
          continue;
        }
        if (group.length >= groupFrom) {
          for (const one of group) list.push({ node: one, depth, folded: folded(one), group: null, grey: false, gap: null });
          i += group.length - 1;
          continue;
        }
      }
      list.push({ node, depth, folded: folded(node), group: null, grey: keep !== null && !show.match!(node), gap: null });
    }
    skip(nodes.at(-1) ?? null);
    for (let i = list.length - 1; i >= 0; i--) stack.push(list[i]!);
  };
  push([tree.root], 0, null);
  while (stack.length > 0) {
    const row = stack.pop()!;
    rows.push(row);
    if (!row.folded && !row.group && !row.gap) push(row.node.children, row.depth + 1, row.node);
  }
  return rows;
}

/** Returns the siblings from i on that are alike: leaves of one type and name, without errors. */
function alike(nodes: Node[], i: number): Node[] {
  const first = nodes[i]!;
  const plain = (n: Node) => n.children.length === 0 && n.childCount === 0 && !n.error && !n.running;
  if (!plain(first)) return [first];
  let end = i + 1;
  while (end < nodes.length && missingBefore(nodes, end) === 0 && plain(nodes[end]!) && nodes[end]!.name === first.name && nodes[end]!.type === first.type) end++;
  return nodes.slice(i, end);
}

/** Returns the nodes that match, with all their ancestors. */
function matching(tree: Tree, match: (node: Node) => boolean): Set<Node> {
  const keep = new Set<Node>([tree.root]);
  for (const node of tree.nodes) {
    if (!match(node)) continue;
    for (let n: Node | null = node; n && !keep.has(n); n = n.parent) keep.add(n);
  }
  return keep;
}

/** Returns the ids of all nodes at a depth or below that have children: folded, they leave that many levels open. */
export function foldedBelow(tree: Tree, depth: number): Set<string> {
  return new Set(tree.nodes.filter((n) => n.depth >= depth && n.children.length > 0).map((n) => n.id));
}

/**
 * Returns the events that the end of the session waited for: from the last one to end backwards, at each level the child
 * that ended last before the time from which nothing of the path is left. (As Jaeger defines it: the path over
 * which less time would have made the whole shorter.)
 */
export function criticalPath(tree: Tree): Set<string> {
  const path = new Set<string>();
  const stack: { node: Node; until: number }[] = [{ node: tree.root, until: tree.end }];
  while (stack.length > 0) {
    const { node, until } = stack.pop()!;
    path.add(node.id);
    let before = Math.min(node === tree.root ? tree.end : node.end, until);
    const byEnd = [...node.children].sort((a, b) => b.end - a.end);
    for (const child of byEnd) {
      if (child.start >= before && child.duration > 0) continue;
      if (child.end > before) continue;
      stack.push({ node: child, until: before });
      before = child.start;
    }
  }
  return path;
}

/** Returns the path of an event from the session down, the event last. */
export function pathTo(node: Node): Node[] {
  const path: Node[] = [];
  for (let n: Node | null = node; n; n = n.parent) path.unshift(n);
  return path;
}
