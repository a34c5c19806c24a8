// Aligns two lists: which elements of one stand for which of the other, in order.

/** Up to this many cells, the longest common subsequence is found exactly. */
const exactCells = 400_000;

/**
 * Returns pairs of places, in order: [i, j] for elements that are equal, [i, -1] for one that only the left list has, [-1, j] for one
 * that only the right list has. Lists with much in common are aligned as a person would: what both begin and end with first, then around
 * elements that occur once in each, and between these exactly, as far as the parts are short enough. Memory is linear.
 */
export function align(left: string[], right: string[]): [number, number][] {
  const out: [number, number][] = [];
  const stack: [number, number, number, number][] = [[0, left.length, 0, right.length]]; // parts still to be aligned, the first on top
  while (stack.length > 0) {
    let [a, b, c, d] = stack.pop()!;
    while (a < b && c < d && left[a] === right[c]) out.push([a++, c++]);
    let tail = 0;
    while (a < b - tail && c < d - tail && left[b - tail - 1] === right[d - tail - 1]) tail++;
    b -= tail;
    d -= tail;
    if (tail > 0) stack.push([b, b + tail, d, d + tail]); // equal: the next turn takes them as a beginning
    if (a === b || c === d) {
      for (; a < b; a++) out.push([a, -1]);
      for (; c < d; c++) out.push([-1, c]);
    } else if ((b - a) * (d - c) <= exactCells) {
      exact(left, right, a, b, c, d, out);
    } else {
      const anchors = unique(left, right, a, b, c, d);
      if (anchors.length === 0) {
        for (; a < b; a++) out.push([a, -1]);
        for (; c < d; c++) out.push([-1, c]);
        continue;
      }
      const parts: [number, number, number, number][] = [];
      for (const [i, j] of anchors) {
        parts.push([a, i, c, j], [i, i + 1, j, j + 1]);
        a = i + 1;
        c = j + 1;
      }
      parts.push([a, b, c, d]);
      for (let i = parts.length - 1; i >= 0; i--) if (parts[i]![0] < parts[i]![1] || parts[i]![2] < parts[i]![3]) stack.push(parts[i]!);
    }
  }
  return out;
}

/** The longest common subsequence by the table of its lengths. */
function exact(left: string[], right: string[], a: number, b: number, c: number, d: number, out: [number, number][]): void {
  const width = d - c + 1;
  const table = new Uint32Array((b - a + 1) * width);
  for (let i = b - a - 1; i >= 0; i--) {
    for (let j = d - c - 1; j >= 0; j--) {
      table[i * width + j] = left[a + i] === right[c + j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  let i = 0;
  let j = 0;
  while (i < b - a && j < d - c) {
    if (left[a + i] === right[c + j]) out.push([a + i++, c + j++]);
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) out.push([a + i++, -1]);
    else out.push([-1, c + j++]);
  }
  for (; i < b - a; i++) out.push([a + i, -1]);
  for (; j < d - c; j++) out.push([-1, c + j]);
}

/** Pairs of elements that occur once in each part, in the longest order that both have. */
function unique(left: string[], right: string[], a: number, b: number, c: number, d: number): [number, number][] {
  const places = new Map<string, [number, number, number, number]>(); // how often and where, left and right
  for (let i = a; i < b; i++) {
    const p = places.get(left[i]!);
    if (p) p[0]++;
    else places.set(left[i]!, [1, i, 0, -1]);
  }
  for (let j = c; j < d; j++) {
    const p = places.get(right[j]!);
    if (p) {
      p[2]++;
      p[3] = j;
    }
  }
  const pairs = [...places.values()].filter((p) => p[0] === 1 && p[2] === 1).map((p): [number, number] => [p[1], p[3]]);
  // The longest increasing run of places on the right, by patience: piles whose tops grow.
  const tops: number[] = [];
  const before = new Int32Array(pairs.length).fill(-1);
  pairs.forEach(([, j], at) => {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]!]![1] < j) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[at] = tops[low - 1]!;
    tops[low] = at;
  });
  const out: [number, number][] = [];
  for (let at = tops.length > 0 ? tops[tops.length - 1]! : -1; at >= 0; at = before[at]!) out.push(pairs[at]!);
  return out.reverse();
}

/** A part of a text that both have, or only one. */
export interface Piece {
  kind: "same" | "left" | "right";
  text: string;
}

/** Compares two texts word by word. */
export function compareTexts(left: string, right: string): Piece[] {
  const words = (text: string) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  const a = words(left);
  const b = words(right);
  const out: Piece[] = [];
  let removed = "";
  let added = "";
  let same = "";
  const flush = () => {
    if (removed !== "") out.push({ kind: "left", text: removed });
    if (added !== "") out.push({ kind: "right", text: added });
    removed = added = "";
  };
  for (const [i, j] of align(a, b)) {
    if (i >= 0 && j >= 0) {
      flush();
      same += a[i];
      continue;
    }
    if (same !== "") out.push({ kind: "same", text: same });
    same = "";
    if (i >= 0) removed += a[i];
    else added += b[j];
  }
  flush();
  if (same !== "") out.push({ kind: "same", text: same });
  return out;
}
