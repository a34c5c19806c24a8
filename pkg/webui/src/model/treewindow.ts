// The parts of a long session's tree that are loaded: parts are added, and those that nobody has looked at for long are dropped. What is
// missing is known by number, since each row says how many events stand below it.
import type { GetSessionTreeAnswer } from "../api/types.gen.ts";
import * as format from "./format.ts";
import { endOf, finish, gapsOf, pathTo, rowReader, unloaded, type Gap, type Node, type Tree } from "./tree.ts";

/** Adds the rows of an answer: of one that asked for what stands below an event and after one of its children, or from the session on. */
export function addPart(tree: Tree, answer: GetSessionTreeAnswer, below: Node | null, after: Node | null, now: number): Tree {
  const read = rowReader(answer);
  const rows: Node[] = [];
  const runs = new Map<Node, { from: number; to: number; ids: Set<string> }>(); // of children, where they stand without a gap
  const drop = (parent: Node) => { // what stands where the answer has other events
    const run = runs.get(parent)!;
    parent.children = parent.children.filter((c) => c.at < run.from || c.at >= run.to || run.ids.has(c.id));
  };
  for (const row of answer.rows) {
    const { node: fresh, parent: at } = read(row);
    const parent = at >= 0 ? rows[at]! : below;
    const known = tree.byId.get(fresh.id);
    const node = known ?? fresh;
    if (known) Object.assign(known, { ...fresh, parent: known.parent, children: known.children, depth: known.depth, at: known.at });
    node.used = now;
    rows.push(node);
    if (!parent || node === tree.root) continue;
    let run = runs.get(parent);
    const skipped = answer.gaps?.[node.id] ?? 0;
    if (!run || skipped > 0) {
      const from = (run ? run.to : parent === below && after ? endOf(after) : 0) + skipped;
      if (run) drop(parent);
      runs.set(parent, (run = { from, to: from, ids: new Set() }));
    }
    if (node.parent !== parent) {
      if (node.parent) node.parent.children = node.parent.children.filter((c) => c !== node);
      node.parent = parent;
      parent.children.push(node);
    }
    node.at = run.to;
    run.to = endOf(node);
    run.ids.add(node.id);
  }
  for (const parent of runs.keys()) drop(parent);
  for (const parent of runs.keys()) parent.children.sort((a, b) => a.at - b.at || a.start - b.start);
  tree.root.below = Math.max(tree.root.below, answer.total - 1);
  return inOrder(tree, answer.total, below || answer.gaps ? tree.touched : answer.touched);
}

/** Returns the tree of the nodes that can be reached from its root. */
function inOrder(tree: Tree, total: number, touched: string): Tree {
  const nodes: Node[] = [];
  const byId = new Map<string, Node>();
  const stack = [tree.root];
  while (stack.length > 0) {
    const node = stack.pop()!;
    node.errorsBelow = 0;
    node.depth = node.parent ? node.parent.depth + 1 : 0;
    nodes.push(node);
    byId.set(node.id, node);
    for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i]!);
  }
  return finish(tree.root, nodes, byId, { total, truncated: nodes.length < total, touched });
}

/** Notes that events are on screen, and with them those above. */
export function use(tree: Tree, ids: string[], now: number): void {
  for (const id of ids) {
    for (let n = tree.byId.get(id) ?? null; n && n.used < now; n = n.parent) n.used = now;
  }
}

/**
 * Drops events of a tree of more than a number of them: those that were used longest ago, of them the deepest and last first. What has been
 * used since a time stays, and so does an event that is named, with all above it.
 */
export function trim(tree: Tree, most: number, since: number, keep: string | null): Tree {
  if (tree.nodes.length <= most) return tree;
  const kept = new Set(keep && tree.byId.has(keep) ? pathTo(tree.byId.get(keep)!) : []);
  for (let i = tree.nodes.length - 1; i >= 0; i--) { // a parent is used when something below it is
    const n = tree.nodes[i]!;
    if (n.parent) n.parent.used = Math.max(n.parent.used, n.used);
  }
  const order = tree.nodes.map((node, i) => ({ node, i })).filter(({ node }) => node !== tree.root && node.used < since && !kept.has(node));
  order.sort((a, b) => a.node.used - b.node.used || b.node.depth - a.node.depth || b.i - a.i);
  const gone = new Set(order.slice(0, tree.nodes.length - most).map(({ node }) => node));
  for (const n of tree.nodes) if (n.children.some((c) => gone.has(c))) n.children = n.children.filter((c) => !gone.has(c));
  return inOrder(tree, tree.total, tree.touched);
}

/**
 * Returns where the first events in the order of the tree are not loaded, for a part of a number of rows. A part has its upper levels first:
 * from a branch on of which nothing is loaded, one that begins with the branch's siblings brings what is below all of them, as far as it goes.
 */
export function firstGap(tree: Tree, rows: number): Gap | null {
  for (const n of tree.nodes) {
    const gap = gapsOf(n)[0];
    if (!gap) continue;
    const siblings = n.parent?.children ?? [];
    const at = siblings.indexOf(n);
    if (!unloaded(n) || !n.parent || n.parent.childCount - at > rows / 2) return gap;
    return { parent: n.parent, after: siblings[at - 1] ?? null, events: n.parent.below - n.at };
  }
  return null;
}

/** What stands in the place of events that are not loaded. */
export const gapText = (gap: Gap) => `${format.count(gap.events)} more ${gap.events === 1 ? "event" : "events"} below ${gap.parent.name.slice(0, 60)}`;
