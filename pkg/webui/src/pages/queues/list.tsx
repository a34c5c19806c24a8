// The queues of a project, with how far each is.
import { useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { GetQueueAnswer, ListQueueAnnotatorsAnswer, ListQueuesAnswer, Queue } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { Dialog, Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { QueueEditor } from "./editor.tsx";

const pageSize = 50;

export function QueueList() {
  const [pages, setPages] = useState(1);
  const list = useLoaded(`queues ${pages}`, (signal) => call<ListQueuesAnswer>(`v1/queues?limit=${Math.min(1000, pages * pageSize + 1)}`, { signal }));
  const edit = route.value.params.get("edit"); // the id of a queue, or "new"
  const [doomed, setDoomed] = useState<Queue | null>(null);
  const may = allows("full");
  const all = list.value?.queues ?? [];
  const queues = all.slice(0, pages * pageSize);
  const move = (by: number) => {
    const links = [...document.querySelectorAll<HTMLElement>(".queues .name")];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  };
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Next queue", group: "List", run: () => move(1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Previous queue", group: "List", run: () => move(-1) },
    ...(may ? [{ id: "queue-new", keys: ["n"], label: "New queue", group: "List", run: () => setParams({ edit: "new" }) }] : []),
  ]), [may]);
  const close = (changed: boolean) => {
    setParams({ edit: null }, true);
    if (changed) list.reload();
  };
  const edited = useLoaded(edit === "new" ? null : edit, (signal) => call<GetQueueAnswer>(`v1/queues/${edit}`, { signal }));
  return (
    <div class="page">
      <header>
        <h1>Queues</h1>
        <span class="grow" />
        {may && <button type="button" class="button primary" title="New queue (n)" onClick={() => setParams({ edit: "new" })}><Icon name="plus" small />New queue</button>}
      </header>
      {list.loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      {list.error && !list.value ? <Problem error={list.error} retry={list.reload} /> : list.value && queues.length === 0 ? (
        <Empty title="No queues yet">
          <p>A queue holds events that wait for people to score them: by filters, or by “Add to queue” on an event or a session. Two people may score each, and what they differ over can be settled.</p>
          {may ? <button type="button" class="button primary" onClick={() => setParams({ edit: "new" })}>New queue</button> : <p>This key may only read: one of scope full makes queues.</p>}
        </Empty>
      ) : (
        <div class="queues" role="region" aria-label="Queues" tabIndex={0}>
          <ul>{queues.map((q) => <Row key={q.id} queue={q} may={may} onDelete={() => setDoomed(q)} />)}</ul>
          {all.length > queues.length && <button type="button" class="button" onClick={() => setPages(pages + 1)}>More queues</button>}
        </div>
      )}
      {may && (edit === "new" || edit !== null && edited.value?.id === edit) && <QueueEditor key={edit} queue={edit === "new" ? null : edited.value} onClose={close} />}
      {doomed && <Delete queue={doomed} onClose={(gone) => { setDoomed(null); if (gone) list.reload(); }} />}
    </div>
  );
}

/** How many annotators a row names. */
const named = 4;

function Row({ queue: q, may, onDelete }: { queue: Queue; may: boolean; onDelete: () => void }) {
  const people = useLoaded(q.id, (signal) => call<ListQueueAnnotatorsAnswer>(`v1/queues/${q.id}/annotators`, { signal }));
  const c = q.counts;
  const total = c.waiting + c.done + c.disputed;
  const who = (people.value?.annotators ?? []).filter((p) => p.annotated > 0).sort((a, b) => b.annotated - a.annotated);
  return (
    <li>
      <div class="what">
        <a class="name ellipsis" href={href(["queues", q.id])}>{q.name}</a>
        <div class="ellipsis secondary"><Markdown text={q.description.trim().split("\n", 1)[0]!} /></div>
      </div>
      <div class="done">
        <div class="bar" aria-hidden="true"><i style={{ width: `${total === 0 ? 0 : c.done / total * 100}%` }} /></div>
        <span>{total === 0 ? "empty" : `${format.count(c.done)} of ${format.count(total)} done`}{c.held > 0 && <span class="faint">{`, ${format.count(c.held)} held`}</span>}</span>
        {c.disputed > 0 && <a class="warn" href={href(["queues", q.id, "differences"])}>{`${format.count(c.disputed)} disputed`}</a>}
      </div>
      <div class="ellipsis secondary" title={`${format.plural(q.annotators_per_item, "person", "people")} an item`}>
        {who.length === 0 ? `${format.plural(q.annotators_per_item, "person", "people")} an item` : who.slice(0, named).map((p) => `${p.annotator} ${format.count(p.annotated)}`).join(" · ")}{who.length > named && ` and ${who.length - named} more`}
      </div>
      <div class="do">
        {may && <a class="button" href={href(["queues", q.id])} aria-label={`Annotate ${q.name}`}>Annotate</a>}
        {may && <button type="button" class="button plain" aria-label={`Edit ${q.name}`} onClick={() => setParams({ edit: q.id })}>Edit</button>}
        {may && <button type="button" class="button plain icon danger" title="Delete" aria-label={`Delete ${q.name}`} onClick={onDelete}><Icon name="trash" small /></button>}
      </div>
    </li>
  );
}

function Delete({ queue, onClose }: { queue: Queue; onClose: (gone: boolean) => void }) {
  const [problem, setProblem] = useState("");
  const c = queue.counts;
  const remove = () => call(`v1/queues/${queue.id}`, { method: "DELETE" }).then(() => onClose(true), (e) => setProblem(format.messageOf(e)));
  return (
    <Dialog label="Delete the queue" onClose={() => onClose(false)}>
      <div class="form">
        <h2 class="wrap">{`Delete ${queue.name}?`}</h2>
        <p>{`${format.plural(c.waiting + c.done + c.disputed, "item")} and what people said of them go with it. Scores that are on events stay there.`}</p>
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end"><button type="button" class="button" onClick={() => onClose(false)}>Cancel</button><button type="button" class="button danger" onClick={() => void remove()}>Delete</button></div>
      </div>
    </Dialog>
  );
}
