// Two texts as one, with what only the left and only the right has.
import { useEffect, useState } from "preact/hooks";
import { workerUrl } from "../app/workers.ts";
import { compareTexts, type Piece } from "../model/align.ts";

/** Texts from this length on, in characters, are compared beside the page. */
const longText = 20_000;

/** So many characters of what is alike stand around a difference; the rest is folded, and counted. */
const context = 200;

/** At most this many pieces are shown until somebody asks for all. */
const maxPieces = 400;

function compare(left: string, right: string, done: (pieces: Piece[]) => void): () => void {
  if (left.length + right.length < longText) {
    done(compareTexts(left, right));
    return () => {};
  }
  const worker = new Worker(workerUrl("diff.worker.js"), { type: "module" });
  worker.addEventListener("message", (event: MessageEvent<{ pieces: Piece[] }>) => {
    done(event.data.pieces);
    worker.terminate();
  });
  worker.postMessage({ id: 0, left, right });
  return () => worker.terminate();
}

export function TextDiff({ left, right }: { left: string; right: string }) {
  const [pieces, setPieces] = useState<Piece[] | null>(null);
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    setPieces(null);
    return compare(left, right, setPieces);
  }, [left, right]);
  if (!pieces) return <p class="faint">comparing…</p>;
  if (pieces.every((p) => p.kind === "same")) return <p class="faint">{left === "" ? "empty in both" : `the same in both, ${left.length.toLocaleString("en-US")} characters`}</p>;
  const shown = whole ? pieces : pieces.slice(0, maxPieces);
  return (
    <pre class="text-diff" tabIndex={0}>
      {shown.map((p, i) => (p.kind === "left" ? <del key={i}>{p.text}</del> : p.kind === "right" ? <ins key={i}>{p.text}</ins> : <span key={i}>{whole ? p.text : shorten(p.text, i > 0, i < pieces.length - 1)}</span>))}
      {shown.length < pieces.length && <button type="button" class="button" onClick={() => setWhole(true)}>{`Show the other ${pieces.length - shown.length} parts`}</button>}
    </pre>
  );
}

/** What is alike, without what stands far from a difference. */
function shorten(text: string, before: boolean, after: boolean): string {
  if (text.length <= context * 3) return text;
  const head = before ? text.slice(0, context) : "";
  const tail = after ? text.slice(-context) : "";
  return `${head} [… ${(text.length - head.length - tail.length).toLocaleString("en-US")} characters alike …] ${tail}`;
}
