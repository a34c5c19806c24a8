// Items over which annotators differ: what each said, and a person who settles it.
import { useEffect, useState } from "preact/hooks";
import { loadPreviews, previewOf, readEvent } from "../../api/cache.ts";
import { call } from "../../api/client.ts";
import type { ListQueueItemsAnswer, Metric, Queue, QueueItem, SettleQueueItemBody } from "../../api/types.gen.ts";
import { person } from "../../app/person.ts";
import { go, href, route } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { differing, say, type Score, type Scores } from "../../model/queue.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { Scoring } from "../../parts/scoring.tsx";
import { Asked, CommentField, Rubric, useKeys, withScore } from "./panel.tsx";

/** A bound of what the list shows; how many are left out is said. */
const most = 200;

/** How many the server gives at a time. */
const page = 1000;

export function Differences({ queue, metrics, event }: { queue: Queue; metrics: Metric[]; event: string | null }) {
  const show = route.value.params.get("show") === "settled" ? "settled" : "unsettled";
  const list = useLoaded(`${queue.id} ${show}`, (signal) => call<ListQueueItemsAnswer>(`v1/queues/${queue.id}/items?differ=${show}`, { signal }));
  const items = list.value?.items ?? [];
  const [, redraw] = useState(0);
  useEffect(() => { void loadPreviews(items.slice(0, most).map((i) => i.event_id)).then((fresh) => { if (fresh) redraw((n) => n + 1); }); }, [list.value]);
  const to = (id: string | null) => href(["queues", queue.id, "differences", ...(id ? [id] : [])], { show: show === "settled" ? show : null });
  if (list.error && !list.value) return <Problem error={list.error} retry={list.reload} />;
  if (!list.value) return <div class="progress" role="progressbar" aria-label="Loading" />;
  if (event !== null) {
    const at = items.findIndex((i) => i.event_id === event);
    if (at < 0) return <Empty title="Nothing differs here"><p>Its annotators agree, or somebody has settled it meanwhile.</p><a class="button" href={to(null)}>All differences</a></Empty>;
    return <Settling queue={queue} metrics={metrics} item={items[at]!} place={`${at + 1} of ${items.length}${items.length >= page ? " or more" : ""}`} to={(by) => to(items[at + by]?.event_id ?? null)} />;
  }
  return (
    <div class="differences" role="region" aria-label="Differences" tabIndex={0}>
      <p class="switch" role="group" aria-label="Which">
        <a class="button plain" href={href(["queues", queue.id, "differences"])} aria-current={show === "unsettled" ? "true" : undefined}>To settle</a>
        <a class="button plain" href={href(["queues", queue.id, "differences"], { show: "settled" })} aria-current={show === "settled" ? "true" : undefined}>Settled</a>
      </p>
      {items.length === 0 ? <Empty title={show === "settled" ? "Nothing has been settled" : "No differences"}><p>{show === "settled" ? "What somebody settles stands here, and can be taken back." : "Wherever annotators give different scores, the item stands here."}</p></Empty> : (
        <ul>{items.slice(0, most).map((i) => <Row key={i.event_id} item={i} address={to(i.event_id)} />)}</ul>
      )}
      {items.length > most && <p class="secondary">{`${items.length >= page ? "At least " : ""}${format.count(items.length - most)} more are not shown: they come as these are settled.`}</p>}
    </div>
  );
}

function Row({ item, address }: { item: QueueItem; address: string }) {
  const preview = previewOf(item.event_id);
  const said = item.annotations ?? [];
  return (
    <li>
      <a href={address}>
        <span class="ellipsis">{preview?.input ?? item.event_id}</span>
        <span class="ellipsis secondary">{preview?.output ?? ""}</span>
      </a>
      <div class="answers">
        {differing(said).map((name) => <div key={name}><span class="secondary">{name}</span><Answers item={item} metric={name} /></div>)}
        {item.settlement && <p class="good">{`${item.settlement.annotator} settled it: ${Object.entries(item.settlement.scores).map(([name, s]) => `${name} ${say(s)}`).join(", ")}`}</p>}
      </div>
    </li>
  );
}

/** What each annotator gave a metric. */
function Answers({ item, metric }: { item: QueueItem; metric: string }) {
  return (
    <dl class="gave">
      {(item.annotations ?? []).filter((a) => metric in a.scores).map((a) => (
        <div key={a.annotator}><dt class="ellipsis">{a.annotator}</dt><dd>{say(a.scores[metric])}</dd></div>
      ))}
    </dl>
  );
}

function Settling({ queue, metrics, item, place, to }: { queue: Queue; metrics: Metric[]; item: QueueItem; place: string; to: (by: number) => string }) {
  const event = useLoaded(item.event_id, (signal) => readEvent(item.event_id, signal));
  const said = item.annotations ?? [];
  const names = differing(said);
  const open = metrics.filter((m) => names.includes(m.name) || m.name in (item.settlement?.scores ?? {}));
  const [scores, setScores] = useState<Scores>((item.settlement?.scores ?? {}) as Scores);
  const [comment, setComment] = useState(item.settlement?.comment ?? "");
  const [active, setActive] = useState(0);
  const [problem, setProblem] = useState("");
  const may = allows("full");
  const path = `v1/queues/${queue.id}/items/${item.event_id}/settlement`;
  const work = async (request: () => Promise<unknown>) => {
    setProblem("");
    try {
      await request();
      go(to(1));
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  const save = () => {
    if (Object.keys(scores).length === 0) setProblem("Give a score first.");
    else void work(() => call(path, { method: "PUT", body: { annotator: person.value, scores, ...(comment.trim() === "" ? {} : { comment }) } satisfies SettleQueueItemBody }));
  };
  const score = (name: string, value: Score | null) => {
    const [next, wanting] = withScore(open, scores, name, value);
    setScores(next);
    if (wanting >= 0) setActive(wanting);
  };
  useKeys({ metrics: may ? open : [], active, onActive: setActive, onScore: score, run: { settle: save, next: () => go(to(1)), previous: () => go(to(-1)), list: () => go(to(Infinity)) } }, [
    ...(may ? [["settle", ["enter"], "Settle it"] as [string, string[], string]] : []), ["next", ["n", "]"], "The one after"], ["previous", ["p", "["], "The one before"], ["list", ["escape"], "All differences"],
  ]);
  const e = event.value;
  return (
    <div class="work">
      {event.error ? <Problem error={event.error} retry={event.reload} /> : e ? <Asked event={e} /> : <div />}
      <aside class="panel" aria-label="Answers">
        <div class="where"><b role="status">{place}</b><a href={to(Infinity)}>All differences</a></div>
        <Rubric text={queue.description} />
        {said.filter((a) => a.comment).map((a) => <p key={a.annotator} class="secondary wrap"><b>{a.annotator}</b> {a.comment}</p>)}
        {may ? <Scoring metrics={open} scores={scores} active={active} onActive={setActive} onScore={score} beside={(name) => <Answers item={item} metric={name} />} />
          : names.map((name) => <div key={name}><h2>{name}</h2><Answers item={item} metric={name} /></div>)}
        {may && <CommentField label="Why (c)" value={comment} onInput={setComment} onSave={save} />}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="moves">
          <a class="button" href={to(-1)}>Previous <kbd aria-hidden="true">p</kbd></a>
          <a class="button" href={to(1)}>Next <kbd aria-hidden="true">n</kbd></a>
          {may && item.settlement && <button type="button" class="button" onClick={() => void work(() => call(path, { method: "DELETE" }))}>Take back</button>}
          {may && <button type="button" class="button primary" onClick={save}>Settle <kbd aria-hidden="true">⏎</kbd></button>}
        </div>
      </aside>
    </div>
  );
}
