// Two sessions side by side: which event of one stands for which of the other, and where they part.
import { align } from "./align.ts";
import type { Node, Tree } from "./tree.ts";

export type Kind = "same" | "changed" | "left" | "right";

export interface Pair {
  left: Node | null;
  right: Node | null;
  depth: number;
  kind: Kind;
}

/** What an event says in short; undefined if that is not known. */
export type Say = (id: string) => string | undefined;

/**
 * Pairs the events of two trees, in the order of display: children of events that stand for each other are aligned by type and name. A pair
 * is changed if one failed and the other did not, or failed otherwise, or if both are known to say different things.
 */
export function pairTrees(left: Tree, right: Tree, say: Say): Pair[] {
  const out: Pair[] = [];
  const stack: [Node | null, Node | null, number][] = [[left.root, right.root, 0]];
  while (stack.length > 0) {
    const [a, b, depth] = stack.pop()!;
    out.push({ left: a, right: b, depth, kind: !b ? "left" : !a ? "right" : isChanged(a, b, say) ? "changed" : "same" });
    const [x, y] = [a?.children ?? [], b?.children ?? []];
    const pairs = align(x.map(key), y.map(key));
    for (let i = pairs.length - 1; i >= 0; i--) stack.push([x[pairs[i]![0]] ?? null, y[pairs[i]![1]] ?? null, depth + 1]);
  }
  return out;
}

const key = (n: Node) => `${n.type} ${n.name}`;

function isChanged(a: Node, b: Node, say: Say): boolean {
  if (a.error !== b.error && !(a.parent === null && b.parent === null)) return true; // a session's error is one of its events'
  const [x, y] = [say(a.id), say(b.id)];
  return x !== undefined && y !== undefined && x !== y;
}

/** The place of the first pair after another that is not the same; -1 if there is none. The sessions' own events do not count. */
export function nextDifference(pairs: Pair[], after: number, step: 1 | -1 = 1): number {
  for (let i = after + step; i >= 0 && i < pairs.length; i += step) if (i > 0 && pairs[i]!.kind !== "same") return i;
  return -1;
}

/** A row of the comparison: a pair, or pairs alike that are folded. */
export interface PairRow {
  at: number; // the place of the (first) pair
  folded: number; // how many pairs stand for this row; 1 for a pair itself
}

/** Runs of at least this many pairs alike are one row. */
const leastFolded = 4;

/** Folds what is alike, but for the pairs that were opened and the one before each difference. */
export function foldAlike(pairs: Pair[], opened: ReadonlySet<number>): PairRow[] {
  const out: PairRow[] = [];
  for (let i = 0; i < pairs.length; ) {
    let end = i;
    while (end < pairs.length && pairs[end]!.kind === "same" && end > 0) end++;
    if (end - i >= leastFolded && !opened.has(i)) {
      out.push({ at: i, folded: end - i });
      i = end;
      continue;
    }
    for (end = Math.max(end, i + 1); i < end; i++) out.push({ at: i, folded: 1 });
  }
  return out;
}
