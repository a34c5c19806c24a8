// The first open: what to copy, with the server's address and a fresh key in it, and a line that sees the first event come.
import { useEffect, useMemo, useState } from "preact/hooks";
import { call, serverAddress } from "../api/client.ts";
import { searchSessions } from "../api/search.ts";
import type { CreateIngestionKeyAnswer, Filter, ListRefusalsAnswer, Refusal, SearchSessionsBody } from "../api/types.gen.ts";
import { go, href } from "../app/router.ts";
import { me } from "../app/session.ts";
import * as format from "../model/format.ts";
import { attempts } from "../model/refusals.ts";
import { listeners, snippets } from "../model/snippets.ts";
import { Copy } from "../parts/common.tsx";
import { useWork } from "../parts/form.tsx";
import { Icon } from "../parts/icon.tsx";
import { Refusals } from "../parts/refusals.tsx";

const placeholder = "YOUR_API_KEY";

/** How often the page looks for the first session, in milliseconds. */
const lookEvery = 700;

/** How often it looks for refused requests, in looks. */
const refusalsEvery = 3;

/** How long before it was opened a refused request is still of interest, in milliseconds. */
const refusedBefore = 10 * 60_000;

const isSample = { field: "source", operator: "is", value: "sample" } satisfies Filter;

export function StartPage() {
  const [key, setKey] = useState<string | null>(null);
  const making = useWork();
  const [chosen, setChosen] = useState("agent");
  const [found, setFound] = useState<{ id: string; name: string } | null>(null);
  const [busy, setBusy] = useState<boolean | null>(null); // there were sessions before: others send, too
  const [refused, setRefused] = useState<Refusal[]>([]);
  const opened = useMemo(() => Date.now(), []);
  const ports = listeners(me.value?.addresses ?? [], serverAddress());
  const grpc = ports.find((p) => p.name.endsWith("gRPC"))?.url;
  const list = useMemo(() => snippets(serverAddress(), key ?? placeholder, grpc), [key, grpc]);
  const snippet = list.find((s) => s.id === chosen) ?? list[0]!;
  const admin = me.value?.scope === "admin";

  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let looks = 0;
    let before = ""; // the newest session by then
    const look = async () => {
      try {
        const newest = async (range: SearchSessionsBody) => (await searchSessions({ limit: 1, filters: [{ ...isSample, operator: "is not" }], ...range }, stop.signal)).sessions[0];
        if (looks === 0) {
          before = (await newest({ dateRange: { $lte: opened - 60_000 } }))?.session_id ?? "";
          setBusy(before !== "");
        }
        const first = await newest({}); // whatever the clocks of this machine and of what sends say
        if (first && first.session_id !== before) {
          setFound({ id: first.session_id, name: first.session_name });
          return;
        }
        if (looks++ % refusalsEvery === 0) {
          const answer = await call<ListRefusalsAnswer>("v1/server/refusals", { signal: stop.signal });
          setRefused(attempts(answer.refusals, opened - refusedBefore));
        }
      } catch {
        // The server may be on its way down or up: the next look says.
      }
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), lookEvery);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, []);
  useEffect(() => {
    if (!found || busy !== false) return; // where others send, somebody reads on until they want to look
    const timer = setTimeout(() => go(href(["session", found.id])), 1200);
    return () => clearTimeout(timer);
  }, [found, busy]);

  const makeKey = () => making.run(async () => {
    const answer = await call<CreateIngestionKeyAnswer>(`v1/projects/${encodeURIComponent(me.value!.project.id)}/ingestion_api_keys`, { method: "POST", body: { name: `from the browser, ${format.time(Date.now()).slice(0, 16)}` } });
    setKey(answer.data.key_value);
  });

  return (
    <div class="page">
      <header><h1>Send your first trace</h1></header>
      <div class="start">
        <div class="notice waiting" role="status">
          {found ? <><Icon name="check" tint="good" /><span class="ellipsis">{`“${found.name}” has arrived.${busy === false ? " Opening it…" : ""}`}</span>{busy !== false && <a class="button primary" href={href(["session", found.id])}>Open it</a>}</> : <><span class="dot" /><span>{`Waiting for the ${busy ? "next" : "first"} session at `}<code>{serverAddress()}</code></span></>}
        </div>
        {!found && <Refusals list={refused} address={serverAddress()} />}
        {key === null ? (
          <div class="notice">
            <p>{admin ? "The lines below need a key that may write." : "The lines below need a key that may write; your key cannot make one, so put your own in place of YOUR_API_KEY."}</p>
            {admin && <p class="form-end"><button type="button" class="button primary" disabled={making.busy} onClick={() => void makeKey()}>Make a key and put it in</button></p>}
            {making.problem && <p class="bad" role="alert">{making.problem}</p>}
          </div>
        ) : (
          <div class="notice">
            <p>This key may only write, and is shown once. It stands in the lines below.</p>
            <p class="form-end"><code class="grow ellipsis">{key}</code><Copy text={key} label="Copy the key" /></p>
          </div>
        )}
        <div class="snippet">
          <div class="tabs">
            <div class="tablist" role="tablist" aria-label="Ways to send">
              {list.map((s) => <button key={s.id} role="tab" aria-selected={s.id === chosen} onClick={() => setChosen(s.id)}>{s.label}</button>)}
            </div>
            <span class="grow" />
            <Copy text={snippet.text} label="Copy" />
          </div>
          <pre tabIndex={0} role="tabpanel"><code>{snippet.text}</code></pre>
        </div>
        <Samples />
        <dl class="addresses">
          <div><dt>API, pages and OTLP over HTTP</dt><dd><code>{serverAddress()}</code><Copy text={serverAddress()} label="Copy this address" plain /></dd></div>
          {ports.map((p) => (
            <div key={p.url}><dt>{p.name}</dt><dd><code>{p.url}</code><Copy text={p.url} label={`Copy the address of ${p.name}`} plain />{p.local && <span class="secondary">on the server’s machine only</span>}</dd></div>
          ))}
        </dl>
        <p class="secondary">Programs of the HoneyHive SDKs need only another URL and key.</p>
        <p class="secondary">Let your coding agent read what arrives: add the MCP server <code>{`${serverAddress()}/mcp`}</code><Copy text={`${serverAddress()}/mcp`} label="Copy the address of the MCP server" plain /> to it, with a key of scope read in the header <code>Authorization: Bearer KEY</code>.</p>
      </div>
    </div>
  );
}

/** Loads sessions to look around with, and removes them again. */
function Samples() {
  const scope = me.value?.scope;
  const mayLoad = scope !== undefined && scope !== "read";
  const mayRemove = scope === "full" || scope === "admin";
  const [there, setThere] = useState<boolean | null>(null);
  const { busy, problem, run } = useWork();
  useEffect(() => {
    const stop = new AbortController();
    searchSessions({ limit: 1, filters: [isSample] }, stop.signal).then(
      (page) => setThere(page.sessions.length > 0),
      () => { if (!stop.signal.aborted) setThere(false); }, // a press of the button says what is wrong
    );
    return () => stop.abort();
  }, []);
  const act = (method: string, after: boolean) => run(async () => {
    await call("v1/samples", { method });
    setThere(after);
  });
  if (there === null || (!there && !mayLoad)) return null;
  return (
    <div class="notice samples">
      <p role="status">{there ? "The sample sessions are in this project." : "Nothing to send yet? Five sample sessions show a chat with tools, a question over documents, an agent with an error, a judged answer, and several agents at work."}</p>
      <p class="form-end">
        {there && <a class="button primary" href={href(["sessions"], { q: "source:sample", range: "all" })}>Look at them</a>}
        {there
          ? mayRemove && <button type="button" class="button" disabled={busy} onClick={() => void act("DELETE", false)}>Remove the samples</button>
          : <button type="button" class="button" disabled={busy} onClick={() => void act("POST", true)}>Load sample sessions</button>}
      </p>
      {problem && <p class="bad" role="alert">{problem}</p>}
    </div>
  );
}
