// A JSON value of any size: rows of one height, of which those on screen are in the page; members are found when they are opened.
import { useEffect, useMemo, useState } from "preact/hooks";
import { kindAt, members, skip, writePath, type Entry, type Kind } from "../model/jsonindex.ts";
import { bytes, count, lower } from "../model/format.ts";
import { Copy } from "./common.tsx";
import { Icon } from "./icon.tsx";
import { reveal, useWindow } from "./table.tsx";

const rowHeight = 20;
const pageSize = 500;

/** A value up to this length needs no tools to find and copy in it. */
const smallText = 120;

interface Line {
  id: string; // the path, as JSON
  depth: number;
  key: string | null;
  index: number;
  kind: Kind | "more";
  start: number;
  end: number;
  path: (string | number)[];
  open: boolean;
  next?: { at: number; index: number }; // of a line that shows more
}

/** Shows the text of a JSON value. name is what paths begin with. */
export function Json({ text, name }: { text: string; name: string }) {
  const [opened, setOpened] = useState<ReadonlyMap<string, number>>(() => firstOpen(text));
  const [find, setFind] = useState("");
  const [hit, setHit] = useState(0);
  const [selected, setSelected] = useState(0);
  useEffect(() => setOpened(firstOpen(text)), [text]);
  const lines = useMemo(() => layout(text, opened), [text, opened]);
  const { ref, from, to, onScroll } = useWindow(lines.length, rowHeight);
  const hits = useMemo(() => findAll(text, find), [text, find]);

  const toggle = (line: Line) => {
    const next = new Map(opened);
    if (line.kind === "more") next.set(line.id.slice(0, -2), (next.get(line.id.slice(0, -2)) ?? pageSize) + pageSize * 4);
    else if (next.has(line.id)) next.delete(line.id);
    else next.set(line.id, pageSize);
    setOpened(next);
  };

  const goTo = (n: number) => {
    if (hits.length === 0) return;
    const i = (n + hits.length) % hits.length;
    setHit(i);
    const path = openTo(text, hits[i]!, opened);
    setOpened(path.opened);
    const at = layout(text, path.opened).findIndex((l) => l.id === path.line);
    setSelected(at);
    requestAnimationFrame(() => reveal(ref.current, at, rowHeight));
  };
  useEffect(() => { if (find) goTo(0); }, [hits]);

  const line = lines[selected];
  return (
    <div class="json">
      {text.length > smallText && <div class="json-tools">
        <input class="input" type="search" placeholder="Find" aria-label="Find in this value" value={find} onInput={(e) => setFind(e.currentTarget.value)}
          onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); goTo(hit + (e.shiftKey ? -1 : 1)); } }} />
        {find && <span class="faint" role="status">{hits.length === 0 ? "no match" : `${count(hit + 1)} of ${count(hits.length)}`}</span>}
        <span class="grow" />
        {line && line.kind !== "more" && <Copy plain text={() => writePath([name, ...line.path])} label="Copy the path" />}
        {line && line.kind !== "more" && <Copy text={() => text.slice(line.start, line.end)} label="Copy value" />}
      </div>}
      <div class="json-lines" ref={ref} onScroll={onScroll} tabIndex={0} role="tree" aria-label={name} style={{ height: `${Math.min(lines.length, 24) * rowHeight + 8}px` }}
        onKeyDown={(e) => {
          const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
          if (move) {
            e.preventDefault();
            const n = Math.min(lines.length - 1, Math.max(0, selected + move));
            setSelected(n);
            reveal(ref.current, n, rowHeight);
          } else if (line && (e.key === "Enter" || (e.key === "ArrowRight" && !line.open) || (e.key === "ArrowLeft" && line.open)) && canOpen(line)) {
            e.preventDefault();
            toggle(line);
          }
        }}>
        <div style={{ height: `${lines.length * rowHeight}px`, position: "relative" }}>
          {lines.slice(from, to).map((l, i) => (
            <div key={l.id} role="treeitem" aria-level={l.depth + 1} aria-expanded={canOpen(l) ? l.open : undefined} aria-selected={from + i === selected}
              class={`json-line${from + i === selected ? " selected" : ""}`} style={{ top: `${(from + i) * rowHeight}px`, paddingLeft: `${4 + Math.min(l.depth, 40) * 14}px` }}
              onClick={() => { setSelected(from + i); if (canOpen(l)) toggle(l); }}>
              {canOpen(l) ? <Icon name={l.open ? "down" : "right"} small /> : <span class="json-gap" />}
              {l.kind === "more" ? <span class="json-more">more …</span> : (
                <>
                  {l.key !== null ? <span class="json-key">{l.key.length > 200 ? `${l.key.slice(0, 200)}…` : l.key}</span> : l.depth > 0 && <span class="json-index">{l.index}</span>}
                  <Value text={text} line={l} find={find} />
                </>
              )}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

const canOpen = (l: Line) => l.kind === "more" || ((l.kind === "object" || l.kind === "array") && l.end - l.start > 2);

/** Opens the root, and what stands in it while that stays short. */
function firstOpen(text: string): ReadonlyMap<string, number> {
  const opened = new Map<string, number>([["[]", pageSize]]);
  if (text.length > 20_000) return opened;
  const add = (start: number, path: (string | number)[], depth: number) => {
    const { entries } = members(text, start, 30);
    for (const e of entries) {
      if ((e.kind !== "object" && e.kind !== "array") || depth > 4 || opened.size > 40) continue;
      const at = [...path, e.key ?? e.index];
      opened.set(JSON.stringify(at), pageSize);
      add(e.start, at, depth + 1);
    }
  };
  const start = skip(text, 0);
  if (text[start] === "{" || text[start] === "[") add(start, [], 0);
  return opened;
}

/** Returns the lines that are open, in order. */
function layout(text: string, opened: ReadonlyMap<string, number>): Line[] {
  const start = skip(text, 0);
  const kind = kindAt(text, start);
  const root: Line = { id: "[]", depth: 0, key: null, index: 0, kind, start, end: text.trimEnd().length, path: [], open: opened.has("[]") };
  const lines: Line[] = [];
  const stack: Line[] = [root];
  while (stack.length > 0) {
    const l = stack.pop()!;
    lines.push(l);
    if (!l.open || (l.kind !== "object" && l.kind !== "array")) continue;
    const { entries, next } = members(text, l.start, opened.get(l.id) ?? pageSize);
    if (next) stack.push({ id: `${l.id}…m`, depth: l.depth + 1, key: null, index: next.index, kind: "more", start: next.at, end: next.at, path: l.path, open: false, next });
    for (let i = entries.length - 1; i >= 0; i--) stack.push(lineOf(entries[i]!, l, opened));
  }
  return lines;
}

function lineOf(e: Entry, parent: Line, opened: ReadonlyMap<string, number>): Line {
  const path = [...parent.path, e.key ?? e.index];
  const id = JSON.stringify(path);
  return { id, depth: parent.depth + 1, key: e.key, index: e.index, kind: e.kind, start: e.start, end: e.end, path, open: opened.has(id) };
}

function Value({ text, line, find }: { text: string; line: Line; find: string }) {
  const size = line.end - line.start;
  if (line.kind === "object" || line.kind === "array") {
    const marks = line.kind === "object" ? ["{", "}"] : ["[", "]"];
    if (line.open) return <span class="faint">{marks[0]}</span>;
    return <span class="faint">{`${marks[0]} ${size > 2 ? (size > 64 ? bytes(size) : text.slice(line.start + 1, line.end - 1)) : ""} ${marks[1]}`}</span>;
  }
  const long = size > 400;
  const raw = text.slice(line.start, long ? line.start + 400 : line.end);
  return (
    <span class={`json-${line.kind}`}>
      {find ? marked(raw, find) : raw}
      {long && <span class="faint">{`… ${bytes(size)}`}</span>}
    </span>
  );
}

function marked(text: string, find: string) {
  const at = lower(text).indexOf(lower(find));
  if (at < 0) return text;
  return <>{text.slice(0, at)}<mark>{text.slice(at, at + find.length)}</mark>{text.slice(at + find.length)}</>;
}

const maxHits = 10_000;

/** Returns the places of a text in the value, at most 10,000. */
function findAll(text: string, find: string): number[] {
  if (!find) return [];
  const hits: number[] = [];
  const low = lower(text);
  const word = lower(find);
  for (let at = low.indexOf(word); at >= 0 && hits.length < maxHits; at = low.indexOf(word, at + word.length)) hits.push(at);
  return hits;
}

/** Opens all that stands around a place, and returns the line in which it is. */
function openTo(text: string, at: number, opened: ReadonlyMap<string, number>): { opened: ReadonlyMap<string, number>; line: string } {
  const next = new Map(opened);
  let start = skip(text, 0);
  let path: (string | number)[] = [];
  for (;;) {
    const kind = kindAt(text, start);
    const id = JSON.stringify(path);
    if (kind !== "object" && kind !== "array") return { opened: next, line: id };
    let from: { at: number; index: number } | undefined;
    let found: Entry | undefined;
    let seen = 0;
    do {
      const part = members(text, start, pageSize, from);
      found = part.entries.find((e) => at < e.end);
      seen += part.entries.length;
      from = part.next ?? undefined;
    } while (!found && from);
    if (!found) return { opened: next, line: id };
    next.set(id, Math.max(next.get(id) ?? 0, Math.ceil(seen / pageSize) * pageSize));
    path = [...path, found.key ?? found.index];
    if (at < found.start) return { opened: next, line: JSON.stringify(path) };
    start = found.start;
  }
}

