// What people say of an event, as a short thread below it.
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Comment, CreateCommentBody, ListCommentsAnswer, UpdateCommentBody } from "../api/types.gen.ts";
import { person, setPerson } from "../app/person.ts";
import { allows } from "../app/session.ts";
import * as format from "../model/format.ts";
import { Problem, useLoaded } from "../parts/common.tsx";
import { isDouble, useWork } from "../parts/form.tsx";
import { AskPerson } from "../parts/person.tsx";

/** What is written of an event and not said yet: it is there again when somebody comes back to the event. */
const drafts = new Map<string, string>();

/** How many the thread shows until somebody asks for all. */
const few = 20;

export function Comments({ event, onChange }: { event: string; onChange?: () => void }) {
  const list = useLoaded(event, (signal) => call<ListCommentsAnswer>(`v1/events/${event}/comments`, { signal }));
  const [all, setAll] = useState(false);
  const [draft, setDraft] = useState(drafts.get(event) ?? "");
  const write = (text: string) => {
    setDraft(text);
    if (text) drafts.set(event, text);
    else drafts.delete(event);
  };
  const [asking, setAsking] = useState(false);
  const { busy, problem, run } = useWork();
  const may = allows("full");
  const change = (work: () => Promise<unknown>) => run(async () => {
    await work();
    list.reload();
    onChange?.();
  });
  const add = () => {
    if (person.value === "") setAsking(true);
    else if (!busy) void change(async () => {
      await call(`v1/events/${event}/comments`, { method: "POST", body: { author: person.value, text: draft } satisfies CreateCommentBody });
      if (drafts.get(event) === draft) write(""); // what was typed meanwhile stays
    });
  };
  if (list.error && !list.value) return <Problem error={list.error} retry={list.reload} />;
  const comments = list.value?.data ?? [];
  if (!may && comments.length === 0) return null;
  const hidden = all ? 0 : Math.max(0, comments.length - few);
  return (
    <section class="comments" aria-label="Comments">
      <h2>{comments.length === 0 ? "Comments" : format.plural(comments.length, "comment")}</h2>
      {hidden > 0 && <button type="button" class="button earlier" onClick={() => setAll(true)}>{format.plural(hidden, "earlier comment")}</button>}
      {comments.slice(hidden).map((c) => <Said key={c.id} comment={c} may={may} busy={busy} change={change} />)}
      {may && (asking ? <AskPerson name={person.value} onName={(name) => { setPerson(name); setAsking(false); if (draft.trim() !== "") add(); }}>Comment under this name</AskPerson> : (
        <form onSubmit={(e) => { e.preventDefault(); add(); }}>
          <textarea class="input" rows={2} required maxLength={10_000} aria-label="New comment" placeholder="Comment" value={draft} onInput={(e) => write(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); if (draft.trim() !== "") add(); } }} />
          <button type="submit" class="button" disabled={busy || draft.trim() === ""}>Comment</button>
          {person.value !== "" && <button type="button" class="button plain" title="Change the name" onClick={() => setAsking(true)}><span class="ellipsis">{`as ${person.value}`}</span></button>}
        </form>
      ))}
      {problem && <p class="bad" role="alert">{problem}</p>}
    </section>
  );
}

function Said({ comment: c, may, busy, change }: { comment: Comment; may: boolean; busy: boolean; change: (work: () => Promise<unknown>) => Promise<void> }) {
  const [edit, setEdit] = useState<string | null>(null);
  const [doomed, setDoomed] = useState(false);
  const path = `v1/events/${c.event_id}/comments/${c.id}`;
  const written = Date.parse(c.created_at);
  return (
    <article>
      <header>
        <b class="ellipsis">{c.author}</b>
        <span class="faint" title={format.time(written)}>{format.ago(written, Date.now())}</span>
        {c.updated_at && <span class="faint" title={format.time(Date.parse(c.updated_at))}>edited</span>}
        <span class="grow" />
        {may && edit === null && <button type="button" class="button plain" onClick={() => setEdit(c.text)}>Edit</button>}
        {may && <button type="button" class={`button plain${doomed ? " danger" : ""}`} onBlur={() => setDoomed(false)} onClick={(e) => (!doomed ? setDoomed(true) : !isDouble(e) && void change(() => call(path, { method: "DELETE" })))}>{doomed ? "Delete it?" : "Delete"}</button>}
      </header>
      {edit === null ? <p class="said">{c.text}</p> : (
        <form onSubmit={(e) => { e.preventDefault(); void change(async () => { await call(path, { method: "PUT", body: { text: edit } satisfies UpdateCommentBody }); setEdit(null); }); }}>
          <textarea class="input" rows={3} required maxLength={10_000} aria-label="Text of the comment" value={edit} onInput={(e) => setEdit(e.currentTarget.value)} />
          <button type="submit" class="button" disabled={busy || edit.trim() === ""}>Save</button>
          <button type="button" class="button plain" onClick={() => setEdit(null)}>Cancel</button>
        </form>
      )}
    </article>
  );
}
