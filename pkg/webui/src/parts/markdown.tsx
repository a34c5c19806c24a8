// Markdown as elements, made from the lexer's tokens: no HTML text exists, so raw HTML shows as text, and links lead only to the web.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { workerUrl } from "../app/workers.ts";

export interface Token {
  type: string;
  raw?: string;
  text?: string;
  depth?: number;
  lang?: string;
  href?: string;
  ordered?: boolean;
  start?: number | "";
  tokens?: Token[];
  items?: Token[];
  header?: { tokens: Token[] }[];
  rows?: { tokens: Token[] }[][];
  checked?: boolean;
  task?: boolean;
  escaped?: boolean;
}

/** Texts from this length on are shown as they are, until somebody asks for more. */
const longText = 64 << 10;

let worker: Worker | null = null;
let nextId = 0;
const waiting = new Map<number, (tokens: Token[] | null) => void>();
const cache = new Map<string, Token[] | null>();

/** What reads Markdown in a page that cannot have a worker; null elsewhere. */
export const inPlace: { lex: ((text: string) => Token[] | null) | null } = { lex: null };

function lex(text: string): Promise<Token[] | null> {
  const known = cache.get(text);
  if (known !== undefined) return Promise.resolve(known);
  if (inPlace.lex) {
    const tokens = inPlace.lex(text);
    cache.set(text, tokens);
    return Promise.resolve(tokens);
  }
  if (!worker) {
    worker = new Worker(workerUrl("markdown.worker.js"), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<{ id: number; tokens: Token[] | null }>) => {
      waiting.get(event.data.id)?.(event.data.tokens);
      waiting.delete(event.data.id);
    });
  }
  const id = nextId++;
  return new Promise((resolve) => {
    waiting.set(id, (tokens) => {
      if (cache.size > 200) cache.clear();
      cache.set(text, tokens);
      resolve(tokens);
    });
    worker!.postMessage({ id, text });
  });
}

/** Shows a text, as Markdown where it is. */
export function Markdown({ text }: { text: string }) {
  const [anyway, setAnyway] = useState(false);
  const [tokens, setTokens] = useState<{ of: string; tokens: Token[] | null } | null>(null);
  const plain = !/[*_`#>|[\]~-]|\n\n|\d\./.test(text) || (text.length > longText && !anyway);
  useEffect(() => {
    if (plain) return;
    let gone = false;
    void lex(text).then((t) => { if (!gone) setTokens({ of: text, tokens: t }); });
    return () => { gone = true; };
  }, [text, plain]);
  if (plain || tokens?.of !== text || !tokens.tokens) {
    return (
      <div class="prose plain">
        {text}
        {text.length > longText && !anyway && <button class="button" onClick={() => setAnyway(true)}>Render as Markdown</button>}
      </div>
    );
  }
  return <div class="prose">{blocks(tokens.tokens, 0)}</div>;
}

const maxDepth = 60;

function blocks(tokens: Token[], depth: number): ComponentChildren {
  if (depth > maxDepth) return tokens.map((t) => t.raw).join("");
  return tokens.map((t, i) => <Block key={i} t={t} depth={depth} />);
}

function Block({ t, depth }: { t: Token; depth: number }) {
  switch (t.type) {
    case "space": return null;
    case "heading": {
      const Tag = `h${Math.min(6, (t.depth ?? 1) + 2)}` as "h3";
      return <Tag>{inline(t.tokens ?? [], depth)}</Tag>;
    }
    case "paragraph": return <p>{inline(t.tokens ?? [], depth)}</p>;
    case "text": return t.tokens ? <>{inline(t.tokens, depth)}</> : <>{t.text}</>;
    case "code": return <pre class="code" tabIndex={0}><code>{t.text}</code></pre>;
    case "blockquote": return <blockquote>{blocks(t.tokens ?? [], depth + 1)}</blockquote>;
    case "hr": return <hr />;
    case "list": {
      const items = (t.items ?? []).map((item, i) => (
        <li key={i}>
          {item.task && <input type="checkbox" checked={item.checked} disabled aria-label={item.checked ? "done" : "to do"} />}
          {blocks(item.tokens ?? [], depth + 1)}
        </li>
      ));
      return t.ordered ? <ol start={t.start === "" ? 1 : t.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="scroll-x" tabIndex={0}>
          <table>
            <thead><tr>{(t.header ?? []).map((c, i) => <th key={i}>{inline(c.tokens, depth)}</th>)}</tr></thead>
            <tbody>{(t.rows ?? []).map((r, i) => <tr key={i}>{r.map((c, j) => <td key={j}>{inline(c.tokens, depth)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
    default: return <p>{t.raw ?? t.text}</p>; // HTML and what is not known: as it was written
  }
}

function inline(tokens: Token[], depth: number): ComponentChildren {
  if (depth > maxDepth) return tokens.map((t) => t.raw).join("");
  return tokens.map((t, i) => {
    const inner = () => (t.tokens ? inline(t.tokens, depth + 1) : t.text);
    switch (t.type) {
      case "strong": return <strong key={i}>{inner()}</strong>;
      case "em": return <em key={i}>{inner()}</em>;
      case "del": return <del key={i}>{inner()}</del>;
      case "codespan": return <code key={i}>{t.text}</code>;
      case "br": return <br key={i} />;
      case "link": return /^https?:\/\//i.test(t.href ?? "") ? <a key={i} href={t.href} target="_blank" rel="noreferrer noopener">{inner()}</a> : <span key={i}>{t.raw}</span>;
      case "image": return /^https?:\/\//i.test(t.href ?? "") ? <a key={i} href={t.href} target="_blank" rel="noreferrer noopener">{`image: ${t.text || t.href}`}</a> : <span key={i}>{t.raw}</span>;
      case "text": return t.tokens ? <span key={i}>{inner()}</span> : t.text;
      case "escape": return t.text;
      default: return t.raw ?? t.text;
    }
  });
}
