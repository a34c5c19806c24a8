// Messages as messages: text as Markdown, calls of tools with their results, reasoning folded, images and audio from data URLs.
import { jsonOf, type Message, type Part } from "../model/messages.ts";
import { useState } from "preact/hooks";
import { Copy } from "./common.tsx";
import { Icon } from "./icon.tsx";
import { Json } from "./json.tsx";
import { Markdown } from "./markdown.tsx";

export function Messages({ messages }: { messages: Message[] }) {
  return <div class="messages">{messages.map((m, i) => <MessageCard key={i} message={m} />)}</div>;
}

export function MessageCard({ message }: { message: Message }) {
  const [raw, setRaw] = useState(false);
  const texts = message.parts.filter((p) => p.kind === "text").map((p) => (p.kind === "text" ? p.text : "")).join("\n");
  return (
    <section class={`message role-${message.role === "user" || message.role === "human" ? "user" : message.role === "tool" || message.role === "function" ? "tool" : message.role}`}>
      <header>
        <span class="role">{message.role}</span>
        {message.name && <span class="faint ellipsis">{message.name}</span>}
        {message.callId && <code class="faint ellipsis">{message.callId}</code>}
        <span class="grow" />
        {texts && <button type="button" class="button plain" aria-pressed={raw} onClick={() => setRaw(!raw)}>{raw ? "Markdown" : "Text"}</button>}
        <Copy plain text={texts || JSON.stringify(message.parts, null, 2)} label="Copy the message" />
      </header>
      {message.parts.map((p, i) => <PartView key={i} part={p} raw={raw} />)}
      {message.parts.length === 0 && <p class="faint">no content</p>}
    </section>
  );
}

function PartView({ part, raw }: { part: Part; raw: boolean }) {
  switch (part.kind) {
    case "text": return raw ? <div class="prose plain">{part.text}</div> : <Markdown text={part.text} />;
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={part.text} />
        </details>
      );
    case "call":
      return (
        <div class="call">
          <div class="call-head"><Icon name="tool" small tint="type-tool" /><code>{part.name}</code>{part.id && <code class="faint ellipsis">{part.id}</code>}</div>
          <Json text={jsonOf(part.arguments) ?? JSON.stringify(part.arguments)} name="arguments" />
        </div>
      );
    case "result": {
      const json = jsonOf(part.value);
      return json === null ? <Markdown text={String(part.value)} /> : <Json text={json} name="result" />;
    }
    case "image": return <Image url={part.url} />;
    case "audio": return <audio controls src={part.url} aria-label="audio" />;
    default:
      return (
        <div class="call">
          <div class="call-head faint">{part.label}</div>
          <JsonValue value={part.value} name={part.label} />
        </div>
      );
  }
}

/** A value that was parsed already, such as the arguments of a call. */
export function JsonValue({ value, name }: { value: unknown; name: string }) {
  return <Json text={JSON.stringify(value) ?? "null"} name={name} />;
}

/** An image in the page if the data is here; one elsewhere only as a link: the page loads nothing from other servers. */
function Image({ url }: { url: string }) {
  if (/^data:image\/(png|jpe?g|gif|webp|avif)[;,]/i.test(url)) return <img class="picture" src={url} alt="image in the message" loading="lazy" />;
  if (/^https?:\/\//i.test(url)) return <p><a href={url} target="_blank" rel="noreferrer noopener">Open the image in a new tab</a> <code class="faint">{url}</code></p>;
  return <p class="faint">{`image: ${url.slice(0, 100)}${url.length > 100 ? "…" : ""}`}</p>;
}
