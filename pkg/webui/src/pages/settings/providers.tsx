// The model providers of the project, which judges and the playground ask.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, isAbort } from "../../api/client.ts";
import { stream } from "../../api/stream.ts";
import type { ListProvidersAnswer, Provider, ProviderInput } from "../../api/types.gen.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Dialog, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";

const types = { openai: "OpenAI, and what speaks its API", anthropic: "Anthropic", gemini: "Gemini" } as const;

export function ProvidersTab() {
  const providers = useLoaded("providers", async (signal) => {
    const answer = await call<ListProvidersAnswer>("v1/providers", { signal });
    return Array.isArray(answer) ? answer : answer.providers;
  });
  const [editing, setEditing] = useState<Provider | "new" | null>(null);
  const [deleting, setDeleting] = useState<Provider | null>(null);
  const [testing, setTesting] = useState<{ name: string; model: string } | null>(null);
  if (providers.error) return <Problem error={providers.error} retry={providers.reload} />;
  if (!providers.value) return null;
  const list = providers.value;
  const configured = (me.value?.providers ?? []).filter((name) => !list.some((p) => p.name === name));
  const changes = allows("full");
  const columns: PlainColumn<Provider>[] = [
    { label: "Name", cell: (p) => <span class="strong">{p.name}</span> },
    { label: "API", cell: (p) => p.type },
    { label: "Address", wide: true, cell: (p) => (p.base_url ? <code>{p.base_url}</code> : <span class="faint">of the service</span>) },
    { label: "Model", cell: (p) => p.model || <span class="faint">–</span> },
    { label: "Key", cell: (p) => (p.has_key ? <><Icon name="check" small tint="good" /> stored, sealed</> : <span class="faint">none</span>) },
    { label: "Dollars today", right: true, cell: (p) => <Used used={p.today.usd} bound={p.daily_budget_usd} show={format.cost} /> },
    { label: "Calls today", right: true, cell: (p) => <Used used={p.today.calls} bound={p.daily_calls} show={format.count} /> },
    ...(changes ? [{ label: "", cell: (p: Provider) => <><button type="button" class="button" onClick={() => setTesting(p)}>Test…</button> <button type="button" class="button" onClick={() => setEditing(p)}>Change…</button> <button type="button" class="button danger" onClick={() => setDeleting(p)}>Delete…</button></> }] : []),
  ];
  return (
    <>
      <div class="settings-head">
        <p class="secondary">Judges and the playground ask models of these. Keys are stored sealed and never shown. Days are of UTC.</p>
        {changes && <button type="button" class="button primary" onClick={() => setEditing("new")}><Icon name="plus" small />New provider</button>}
      </div>
      {list.length > 0 ? <PlainTable label="Providers" columns={columns} rows={list} rowId={(p) => p.name} />
        : <Empty title="No provider of this project"><p>{configured.length > 0 ? "Those of the server's configuration can be asked." : "Until one is set up, no judge can be asked."}</p></Empty>}
      {configured.length > 0 && <p class="secondary">{"From the server's configuration: "}{configured.map((name) => <span key={name}>{name} {changes && <button type="button" class="button" aria-label={`Test ${name}`} onClick={() => setTesting({ name, model: "" })}>Test…</button>} </span>)}</p>}
      {editing && <Edit of={editing === "new" ? null : editing} onClose={() => setEditing(null)} onDone={() => { setEditing(null); providers.reload(); }} />}
      {testing && <Test {...testing} onClose={() => { setTesting(null); providers.reload(); }} />}
      {deleting && (
        <FormDialog title={`Delete the provider ${deleting.name}?`} action="Delete" danger onClose={() => setDeleting(null)}
          onSubmit={async () => { await call(`v1/providers/${encodeURIComponent(deleting.name)}`, { method: "DELETE" }); setDeleting(null); providers.reload(); }}>
          <p>Its key goes with it. Metrics that name it give no score until another of that name is there.</p>
        </FormDialog>
      )}
    </>
  );
}

/** So many tokens are enough for a word, and for what a model that reasons thinks before it. */
const fewTokens = 256;

/** Asks a provider for one short answer, at once if it is known which model, and says what came of it. The server asks, with the key that it has. */
function Test({ name, model: known, onClose }: { name: string; model: string; onClose: () => void }) {
  const [model, setModel] = useState(known);
  const [said, setSaid] = useState<{ good: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const ask = async () => {
    const { signal } = stop.current = new AbortController();
    setBusy(true);
    setSaid(null);
    let end = { good: false, text: "The answer ended before it was whole." };
    const body = { provider: name, ...(model.trim() ? { model: model.trim() } : {}), messages: [{ role: "user", content: "Answer with the word yes." }], parameters: { max_tokens: fewTokens } };
    try {
      for await (const [kind, data] of stream("v1/playground/run", body, signal)) {
        if (kind === "done") end = { good: true, text: `${data.model} answered in ${format.duration(Number(data.duration))}.` };
        if (kind === "error") end = { good: false, text: String(data.message) };
      }
    } catch (e) {
      if (isAbort(e)) return;
      end = { good: false, text: format.messageOf(e) };
    }
    setSaid(end);
    setBusy(false);
  };
  useEffect(() => {
    if (known) void ask();
    return () => stop.current?.abort();
  }, []);
  return (
    <Dialog label={`Test ${name}`} onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); void ask(); }}>
        <h2>{`Test the provider ${name}`}</h2>
        <label>Model; empty: the provider's<input class="input" maxLength={200} value={model} onInput={(e) => setModel(e.currentTarget.value)} /></label>
        <p class={said ? (said.good ? "good" : "bad") : "secondary"} role="status">{said?.text ?? (busy ? "It is asked for one word …" : "It is asked for one word, which counts for its budget.")}</p>
        <div class="form-end"><button type="button" class="button" onClick={onClose}>Close</button><button type="submit" class="button primary" disabled={busy}>Ask</button></div>
      </form>
    </Dialog>
  );
}

/** What was used of a bound, 0 being none. */
function Used({ used, bound, show }: { used: number; bound: number; show: (n: number) => string }) {
  return <span class={bound > 0 && used >= bound ? "bad" : ""}>{bound > 0 ? `${show(used)} of ${show(bound)}` : show(used)}</span>;
}

function Edit({ of: old, onClose, onDone }: { of: Provider | null; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(old?.name ?? "");
  const [type, setType] = useState<Provider["type"]>(old?.type ?? "openai");
  const [address, setAddress] = useState(old?.base_url ?? "");
  const [model, setModel] = useState(old?.model ?? "");
  const [key, setKey] = useState("");
  const [usd, setUsd] = useState(String(old?.daily_budget_usd ?? 5));
  const [calls, setCalls] = useState(String(old?.daily_calls ?? 0));
  const moved = old?.has_key && (old.type !== type || old.base_url !== address.trim());
  const save = async () => {
    const body: ProviderInput = { type, base_url: address.trim(), model: model.trim(), daily_budget_usd: Number(usd), daily_calls: Number(calls), ...(key ? { api_key: key } : {}) };
    await call(`v1/providers/${encodeURIComponent(name.trim())}`, { method: "PUT", body });
    onDone();
  };
  return (
    <FormDialog title={old ? `Provider ${old.name}` : "New provider"} action="Save" onSubmit={save} onClose={onClose}>
      {!old && <label>Name<input class="input" required placeholder="openai" value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>}
      <label>API<select class="input" value={type} onChange={(e) => setType(e.currentTarget.value as Provider["type"])}>{Object.entries(types).map(([t, label]) => <option key={t} value={t}>{label}</option>)}</select></label>
      <label>Address, with its version; empty: that of the service<input class="input" type="url" placeholder="https://api.openai.com/v1" value={address} onInput={(e) => setAddress(e.currentTarget.value)} /></label>
      <label>Model that is asked where a metric names none<input class="input" value={model} onInput={(e) => setModel(e.currentTarget.value)} /></label>
      <label>{old?.has_key ? "New key; empty: the stored one stays" : "Key"}<input class="input" type="password" autocomplete="off" value={key} onInput={(e) => setKey(e.currentTarget.value)} /></label>
      {moved && !key && <p class="warn">A key is for one address: where that changes, the stored one is taken away.</p>}
      <div class="pair">
        <label>Dollars a day; 0: no bound<input class="input" type="number" min="0" step="any" required value={usd} onInput={(e) => setUsd(e.currentTarget.value)} /></label>
        <label>Calls a day; 0: no bound<input class="input" type="number" min="0" step="1" required value={calls} onInput={(e) => setCalls(e.currentTarget.value)} /></label>
      </div>
    </FormDialog>
  );
}
