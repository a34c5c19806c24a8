// The keys of the project: what each may do, until when, when it was last used, and what a revocation would stop.
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CreateDataPlaneKeyAnswer, Key, ListKeysAnswer, Scope } from "../../api/types.gen.ts";
import { allows, me } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Copy, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { FormDialog } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PlainTable, type PlainColumn } from "../../parts/plaintable.tsx";
import { Needs, projectPath } from "./common.tsx";

/** The most keys that the page shows; the server has more for programs. */
const most = 1000;

const scopes: Record<Scope, string> = {
  ingest: "sends sessions and events, reads nothing",
  read: "reads everything, changes nothing",
  full: "sends, reads, changes and deletes",
  admin: "all of it, and manages projects and keys",
};

const lifetimes: [days: number, label: string][] = [[30, "30 days"], [90, "90 days"], [365, "a year"], [3650, "ten years"]];

export function KeysTab() {
  const admin = allows("admin");
  const keys = useLoaded(admin ? "keys" : null, (signal) => call<ListKeysAnswer>(projectPath(`api_keys?limit=${most}`), { signal }));
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const [made, setMade] = useState<{ name: string; value: string } | null>(null);
  const [all, setAll] = useState(false);
  if (!admin) return <Needs what="To see keys" />;
  if (keys.error) return <Problem error={keys.error} retry={keys.reload} />;
  if (!keys.value) return null;
  const list = keys.value.data;
  const shown = all ? list : list.filter((k) => k.in_force);
  const now = Date.now();
  const day = (text?: string) => (text ? format.time(Date.parse(text)).slice(0, 10) : "never");
  const columns: PlainColumn<Key>[] = [
    { label: "Name", wide: true, cell: (k) => <><span class="strong">{k.name}</span>{k.description && <div class="secondary">{k.description}</div>}{k.key_id === me.value?.key_id && <span class="chip">this browser</span>}</> },
    { label: "Key", cell: (k) => <code>{`${k.prefix}…`}</code> },
    { label: "Scope", cell: (k) => <span title={scopes[k.scope]}>{k.scope}</span> },
    { label: "Last used", cell: (k) => (k.last_used_at ? <span title={`${format.time(Date.parse(k.last_used_at))} from ${k.last_used_from}`}>{format.ago(Date.parse(k.last_used_at), now)}</span> : <span class="faint">not yet</span>) },
    { label: "Made", cell: (k) => day(k.created_at) },
    { label: "Expires", cell: (k) => (k.revoked_at ? <span class="bad">{`revoked ${day(k.revoked_at)}`}</span> : k.in_force ? day(k.expires_at) : <span class="bad">{`expired ${day(k.expires_at)}`}</span>) },
    { label: "", cell: (k) => k.in_force && (k.origin === "configured" ? <span class="secondary" title="It is changed in the server's configuration">configured</span> : <button type="button" class="button danger" onClick={() => setRevoking(k)}>Revoke…</button>) },
  ];
  return (
    <>
      <div class="settings-head">
        <p class="secondary">{`A key lets a program or a browser act in ${me.value!.project.name}. Only its first characters are kept readable.`}</p>
        <label class="check"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} />{`Also revoked and expired (${list.filter((k) => !k.in_force).length})`}</label>
        <button type="button" class="button primary" onClick={() => setMaking(true)}><Icon name="plus" small />New key</button>
      </div>
      {made && (
        <div class="notice made-key" role="status">
          <p>{`The key ${made.name} is shown this once:`}</p>
          <code>{made.value}</code><Copy text={made.value} label="Copy the key" />
          <button type="button" class="button plain" onClick={() => setMade(null)}>Done</button>
        </div>
      )}
      {shown.length === 0 ? <Empty title="No key is in force" /> : <PlainTable label="Keys" columns={columns} rows={shown} rowId={(k) => k.key_id} />}
      {list.length >= most && <p class="secondary">{`The oldest ${most} keys are shown.`}</p>}
      {making && <NewKey onClose={() => setMaking(false)} onMade={(name, value) => { setMade({ name, value }); setMaking(false); keys.reload(); }} />}
      {revoking && <Revoke of={revoking} onClose={() => setRevoking(null)} onDone={() => { setRevoking(null); keys.reload(); }} />}
    </>
  );
}

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: (name: string, value: string) => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("ingest");
  const [days, setDays] = useState(0);
  const needs = scope !== "ingest";
  const make = async () => {
    const lasts = days || (needs ? 90 : 0);
    const body = lasts === 0 ? { name } : { name, permissions: [scope], expires_at: Date.now() + lasts * 86_400_000 };
    const answer = await call<CreateDataPlaneKeyAnswer>(projectPath(lasts === 0 ? "ingestion_api_keys" : "fine_grained_api_keys"), { method: "POST", body });
    onMade(name, answer.data.key_value);
  };
  return (
    <FormDialog title="New key" action="Make the key" onSubmit={make} onClose={onClose}>
      <label>Name<input class="input" required maxLength={200} placeholder="checkout service" value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
      <fieldset class="choices">
        <legend>Scope</legend>
        {(Object.keys(scopes) as Scope[]).map((s) => (
          <label key={s} class="check"><input type="radio" name="scope" checked={scope === s} onChange={() => setScope(s)} /><span><strong>{s}</strong>{` ${scopes[s]}`}</span></label>
        ))}
      </fieldset>
      <label>Expires
        <select class="input" value={String(days || (needs ? 90 : 0))} onChange={(e) => setDays(Number(e.currentTarget.value))}>
          {!needs && <option value="0">never</option>}
          {lifetimes.map(([n, label]) => <option key={n} value={String(n)}>{`after ${label}`}</option>)}
        </select>
      </label>
    </FormDialog>
  );
}

function Revoke({ of: key, onClose, onDone }: { of: Key; onClose: () => void; onDone: () => void }) {
  const own = key.key_id === me.value?.key_id;
  const revoke = async () => {
    await call(projectPath(`api_keys/${key.key_id}`), { method: "DELETE" });
    onDone();
  };
  return (
    <FormDialog title={`Revoke the key ${key.name}?`} action="Revoke" danger onSubmit={revoke} onClose={onClose}>
      <p>{key.last_used_at
        ? `It was last used ${format.ago(Date.parse(key.last_used_at), Date.now())}, from ${key.last_used_from || "an address that was not told"}. What uses it is refused from now on.`
        : "It was not used since uses are noted, so nothing stops that is known."}</p>
      <p>{own ? "This browser signed in with it, and is signed out at once." : "Browsers that signed in with it are signed out at once."}</p>
      <p class="secondary">A revoked key cannot be brought back.</p>
    </FormDialog>
  );
}
