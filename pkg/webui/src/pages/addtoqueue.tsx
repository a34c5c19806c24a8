// Puts events into an annotation queue.
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { CreateQueueAnswer, CreateQueueBody, ListQueuesAnswer, UpdateQueueBody } from "../api/types.gen.ts";
import { href } from "../app/router.ts";
import * as format from "../model/format.ts";
import { Dialog, Problem, useLoaded } from "../parts/common.tsx";
import { useWork } from "../parts/form.tsx";

/** At most 1000 events at a time, as the server takes them. */
export function AddToQueue({ events, onClose }: { events: string[]; onClose: () => void }) {
  const list = useLoaded("queues", (signal) => call<ListQueuesAnswer>("v1/queues", { signal }));
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const { busy, problem, run } = useWork();
  const [done, setDone] = useState("");
  const save = () => run(async () => {
    if (chosen !== "") await call(`v1/queues/${chosen}`, { method: "PUT", body: { add_event_ids: events } satisfies UpdateQueueBody });
    const id = chosen !== "" ? chosen : (await call<CreateQueueAnswer>("v1/queues", { method: "POST", body: { name: name.trim(), event_ids: events } satisfies CreateQueueBody })).queue.id;
    setDone(id);
  });
  return (
    <Dialog label="Add to a queue" onClose={onClose}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (done) onClose(); else void save(); }}>
        <h2>{`Add ${events.length === 1 ? "it" : format.plural(events.length, "event")} to a queue`}</h2>
        {list.error ? <Problem error={list.error} retry={list.reload} /> : (
          <label>Queue
            <select class="input" value={chosen} disabled={done !== ""} onChange={(e) => setChosen(e.currentTarget.value)}>
              <option value="">A new one…</option>
              {(list.value?.queues ?? []).map((q) => <option key={q.id} value={q.id}>{q.name}</option>)}
            </select>
          </label>
        )}
        {chosen === "" && !done && <label>Its name<input class="input" required maxLength={200} value={name} placeholder="Doubtful answers" onInput={(e) => setName(e.currentTarget.value)} /></label>}
        {problem && <p class="bad" role="alert">{problem}</p>}
        {done && <p class="good" role="status">In the queue. <a href={href(["queues", done])}>Annotate</a></p>}
        <div class="form-end">
          {!done && <button type="button" class="button" onClick={onClose}>Cancel</button>}
          <button class="button primary" type="submit" disabled={busy || (!done && chosen === "" && name.trim() === "")}>{done ? "Close" : "Add"}</button>
        </div>
      </form>
    </Dialog>
  );
}
