// One item after another: what was asked and answered, the rubric beside it, and scores by number keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call } from "../../api/client.ts";
import type { AnnotateQueueItemBody, ClaimQueueItemAnswer, Metric, Queue, ReleaseQueueItemBody } from "../../api/types.gen.ts";
import { keep, readKept, unkept } from "../../app/kept.ts";
import { person } from "../../app/person.ts";
import { route, setParams } from "../../app/router.ts";
import * as format from "../../model/format.ts";
import { position, type Score, type Scores } from "../../model/queue.ts";
import { Empty, Problem } from "../../parts/common.tsx";
import { Scoring } from "../../parts/scoring.tsx";
import { Asked, CommentField, Rubric, useKeys, withScore } from "./panel.tsx";

/** What a person has said of an item, or is about to. */
interface Draft {
  scores: Scores;
  comment: string;
}

/** What was done, the newest last, for going back; the tab of the browser keeps it. */
interface Step extends Draft {
  event: string;
  skipped: boolean;
}

const nothing: Draft = { scores: {}, comment: "" };

export function Annotating({ queue, metrics }: { queue: Queue; metrics: Metric[] }) {
  const who = person.value;
  const asked = route.value.params.get("item");
  const base = `v1/queues/${queue.id}`;
  const memory = `spangrove.queue.${queue.id}.${who}`;
  const [now, setNow] = useState<ClaimQueueItemAnswer | null>(null);
  const [draft, setDraft] = useState(nothing);
  const [active, setActive] = useState(0);
  const [steps, setSteps] = useState(() => readKept<Step[]>(memory) ?? []);
  const [busy, setBusy] = useState(true);
  const [problem, setProblem] = useState("");
  const [lost, setLost] = useState("");
  const [failed, setFailed] = useState<unknown>(null);
  const shown = useRef<string | null>(null);
  const left = useRef(false);
  useEffect(() => () => { left.current = true; }, []);
  const scroll = useRef<HTMLDivElement>(null);
  const item = now?.item ?? null;
  const draftKey = (event: string) => `${memory}.${event}`;

  const remember = (list: Step[]) => {
    setSteps(list);
    keep(memory, list.slice(-200));
  };
  const change = (next: Draft) => {
    setDraft(next);
    if (item) keep(draftKey(item.event_id), next);
  };

  /** Shows an item, or the next that waits, with what was said of it. */
  const open = async (event: string | null, given?: Draft) => {
    if (left.current) return; // nobody would see what is claimed
    setBusy(true);
    setProblem("");
    setLost("");
    try {
      const answer = await call<ClaimQueueItemAnswer>(`${base}/${event === null ? "next" : `items/${event}/claim`}`, { method: "POST", body: { annotator: who } });
      if (left.current) return; // the address is another page's by now
      const id = answer.item?.event_id ?? null;
      const said = answer.annotation ? { scores: answer.annotation.scores as Scores, comment: answer.annotation.comment ?? "" } : nothing;
      const next = given ?? (id === null ? nothing : readKept<Draft>(draftKey(id)) ?? said);
      shown.current = id;
      setNow(answer);
      setDraft(next);
      setActive(Math.max(0, metrics.findIndex((m) => !(m.name in next.scores))));
      setFailed(null);
      setParams({ item: id }, true);
      scroll.current?.scrollTo(0, 0);
    } catch (e) {
      if (event !== null && e instanceof ApiError && (e.status === 409 || e.status === 404)) {
        shown.current = event;
        setNow(null);
        setLost(e.message);
      } else setFailed(e);
    }
    setBusy(false);
  };
  useEffect(() => {
    if (asked === null || asked !== shown.current) void open(asked);
  }, [asked]);

  // The claim is renewed while the item is open. A conflict says that it ran out and others have the item.
  const mine = item !== null && !now?.annotation;
  useEffect(() => {
    if (!mine) return;
    const renew = async () => {
      try {
        const answer = await call<ClaimQueueItemAnswer>(`${base}/items/${item.event_id}/claim`, { method: "POST", body: { annotator: who } });
        if (shown.current !== item.event_id) return;
        setLost("");
        setNow((n) => n && { ...n, item: answer.item, progress: answer.progress });
      } catch (e) {
        if (shown.current === item.event_id && e instanceof ApiError && (e.status === 409 || e.status === 404)) setLost(e.message);
      }
    };
    const timer = setInterval(() => void renew(), Math.min(300_000, Math.max(1000, queue.lease_seconds * 1000 / 3)));
    const back = () => { if (document.visibilityState === "visible") void renew(); };
    document.addEventListener("visibilitychange", back);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", back);
    };
  }, [item?.event_id, mine]);

  const work = async (f: () => Promise<void>) => {
    if (busy) return;
    setBusy(true);
    setProblem("");
    try {
      await f();
    } catch (e) {
      setProblem(format.messageOf(e));
    }
    setBusy(false);
  };
  const save = () => {
    if (!item) return;
    const missing = metrics.findIndex((m) => !(m.name in draft.scores));
    if (missing >= 0 && (queue.metrics.length > 0 || Object.keys(draft.scores).length === 0)) {
      setActive(missing);
      setProblem(`${metrics[missing]!.name} has no score yet.`);
      return;
    }
    void work(async () => {
      const scores = Object.fromEntries(metrics.filter((m) => m.name in draft.scores).map((m) => [m.name, draft.scores[m.name]!])); // a draft may have others
      const body: AnnotateQueueItemBody = { annotator: who, scores, ...(draft.comment.trim() === "" ? {} : { comment: draft.comment }) };
      await call(`${base}/items/${item.event_id}/annotations`, { method: "POST", body });
      keep(draftKey(item.event_id), null);
      remember([...steps.filter((s) => s.event !== item.event_id), { event: item.event_id, skipped: false, ...draft }]);
      await open(null);
    });
  };
  const skip = () => {
    if (!item) return;
    void work(async () => {
      if (mine && !lost) {
        await call(`${base}/items/${item.event_id}/release`, { method: "POST", body: { annotator: who, skip: true } satisfies ReleaseQueueItemBody });
        remember([...steps.filter((s) => s.event !== item.event_id), { event: item.event_id, skipped: true, ...draft }]);
      }
      await open(null);
    });
  };
  const undo = () => {
    const last = steps.at(-1);
    if (last) void work(async () => {
      if (!last.skipped) await call(`${base}/items/${last.event}/annotations?annotator=${encodeURIComponent(who)}`, { method: "DELETE" });
      remember(steps.slice(0, -1));
      await open(last.event, { scores: last.scores, comment: last.comment });
    });
  };
  const at = steps.findIndex((s) => s.event === shown.current);
  const before = steps[(at < 0 ? steps.length : at) - 1];
  const previous = () => { if (before) void work(() => open(before.event)); };
  const next = () => void work(() => open(at < 0 ? null : steps[at + 1]?.event ?? null));
  const score = (name: string, value: Score | null) => {
    const [scores, wanting] = withScore(metrics, draft.scores, name, value);
    change({ ...draft, scores });
    setProblem("");
    if (wanting >= 0) setActive(wanting);
  };
  useKeys({ metrics: item ? metrics : [], active, onActive: setActive, onScore: score, run: { save, skip, undo, previous, next } }, [
    ["save", ["enter"], "Save and go on"], ["skip", ["s"], "Skip this item"], ["undo", ["u"], "Undo the last one"], ["previous", ["p", "["], "The one before"], ["next", ["n", "]"], "The one after"],
  ]);

  if (failed && !item) return <Problem error={failed} retry={() => void open(asked)} />;
  if (!now && !lost) return <div class="progress" role="progressbar" aria-label="Loading" />;
  if (!item) return (
    <Through answer={now} lost={lost} busy={busy} onNext={() => void open(null)}>
      {steps.length > 0 && <button type="button" class="button" onClick={undo}>Undo the last one <kbd aria-hidden="true">u</kbd></button>}
      {before && <button type="button" class="button" onClick={previous}>The one before <kbd aria-hidden="true">p</kbd></button>}
      {problem && <p class="bad" role="alert">{problem}</p>}
    </Through>
  );
  const event = now!.event!;
  const until = item.claims.find((c) => c.annotator === who)?.expires_at;
  return (
    <div class="work">
      {busy && <div class="progress" role="progressbar" aria-label="Working" />}
      <Asked event={{ ...event, metrics: {}, feedback: {} }} box={scroll} />
      <aside class="panel" aria-label="Scores">
        <div class="where">
          <b role="status">{now!.annotation ? "Annotated before: change it here" : position(now!.progress)}</b>
          {until && <span class="faint" title={format.time(Date.parse(until))}>{`yours until ${format.time(Date.parse(until)).slice(11, 16)}`}</span>}
        </div>
        {lost && <p class="notice warn" role="alert">Your hold on this item has ended, and others have it: {lost}. You may still save, or go on with the next one (n).</p>}
        <Rubric text={queue.description} />
        <Scoring metrics={metrics} scores={draft.scores} active={active} optional={queue.metrics.length === 0} onActive={setActive} onScore={score} />
        <CommentField label="Comment (c)" value={draft.comment} onInput={(comment) => change({ ...draft, comment })} onSave={save} />
        {unkept(draftKey(item.event_id)) && <p class="warn">{unkept(draftKey(item.event_id))}</p>}
        {(problem || failed !== null) && <p class="bad" role="alert">{problem || format.messageOf(failed)}</p>}
        <div class="moves">
          <button type="button" class="button" disabled={!before || busy} onClick={previous}>Previous <kbd aria-hidden="true">p</kbd></button>
          <button type="button" class="button" disabled={steps.length === 0 || busy} onClick={undo}>Undo <kbd aria-hidden="true">u</kbd></button>
          {now!.annotation ? <button type="button" class="button" disabled={busy} onClick={next}>Next <kbd aria-hidden="true">n</kbd></button> : <button type="button" class="button" disabled={busy} onClick={skip}>Skip <kbd aria-hidden="true">s</kbd></button>}
          <button type="button" class="button primary" disabled={busy} onClick={save}>Save <kbd aria-hidden="true">⏎</kbd></button>
        </div>
      </aside>
    </div>
  );
}

/** What stands where no item is: all is done, others are at it, or the one that was asked for is not to be had. */
function Through({ answer, lost, busy, onNext, children }: { answer: ClaimQueueItemAnswer | null; lost: string; busy: boolean; onNext: () => void; children: preact.ComponentChildren }) {
  const p = answer?.progress;
  const c = answer?.counts;
  const none = c && c.waiting + c.done + c.disputed === 0;
  return (
    <Empty title={lost ? "This item is not yours to annotate" : none ? "The queue is empty" : "You are through"}>
      {lost ? <p>{lost}.</p> : none ? <p>Events enter by the queue's filters, or by “Add to queue” on an event or a session.</p> : p && (
        <p>{`You have annotated ${format.plural(p.annotated, "item")} and skipped ${format.count(p.skipped)}.`}{p.held_by_others > 0 && ` Others hold ${format.plural(p.held_by_others, "item")} that may come back to you.`}</p>
      )}
      {answer && !answer.caught_up && <p class="warn">Not all events have been looked at yet.</p>}
      <div class="ways">
        <button type="button" class="button primary" disabled={busy} onClick={onNext}>{lost ? "Next item" : "Look again"} <kbd aria-hidden="true">n</kbd></button>
        {children}
      </div>
    </Empty>
  );
}
