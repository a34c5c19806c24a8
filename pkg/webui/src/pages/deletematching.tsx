// Deletes all that a list is filtered by, or the rows that are chosen: counted first, and confirmed by typing the count.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, isAbort } from "../api/client.ts";
import type { Deletion, DeletionCount } from "../api/types.gen.ts";
import * as format from "../model/format.ts";
import { Dialog, Problem, useLoaded } from "../parts/common.tsx";
import { bounds } from "../parts/range.tsx";

/** How often the progress is read, in milliseconds. */
const every = 700;

/** Fields of a search that say what matches. */
function matchOf(search: object, range: string | null, now: number): object {
  const { filters, event_filters: some } = search as { filters?: unknown; event_filters?: unknown };
  if (range === null) return { filters };
  const { from, to } = bounds(range, now);
  // The end stands still while the count is read, or new rows would make it another one.
  return { ...(filters ? { filters } : {}), ...(some ? { event_filters: some } : {}), dateRange: { ...(from === null ? {} : { $gte: from }), $lte: to ?? now } };
}

/** range is that of the list; null: the filters name rows. */
export function DeleteMatching({ of, search, range, onClose, onDeleted }: { of: "events" | "sessions"; search: object; range: string | null; onClose: () => void; onDeleted: () => void }) {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<Deletion | null>(null);
  const [opened] = useState(() => Date.now());
  const match = useRef(matchOf(search, range, opened));
  const path = `v1/${of}/delete`;
  const dry = useLoaded("count", (signal) => call<DeletionCount>(path, { method: "POST", body: { ...match.current, dry_run: true }, signal }));
  const noun = of.slice(0, -1);
  const found = dry.value;
  const n = found === null ? null : of === "sessions" ? found.sessions ?? 0 : found.events;
  const input = useRef<HTMLInputElement>(null);
  const last = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => input.current?.focus(), [n !== null]);
  useLayoutEffect(() => { if (made) last.current?.focus(); }, [made !== null]); // what had the focus is gone
  const id = made?.id;
  const running = made !== null && (made.state === "running" || made.state === "preparing");
  useEffect(() => {
    if (id === undefined || !running) return;
    const stop = new AbortController();
    const timer = setInterval(() => {
      call<Deletion>(`v1/deletions/${id}`, { signal: stop.signal }).then(setMade, (e: unknown) => {
        if (!isAbort(e)) setProblem(format.messageOf(e));
      });
    }, every);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [id, running]);
  // Before the end is shown: who closes the dialog at once would leave no time for an effect.
  useLayoutEffect(() => {
    if (made !== null && !running) onDeleted();
  }, [made !== null && !running]);
  const close = () => {
    if (running) onDeleted(); // what is gone by now is not shown any more
    onClose();
  };
  const start = async () => {
    if (!found) return;
    setBusy(true);
    setProblem("");
    try {
      const expected = { expected_events: found.events, ...(of === "sessions" ? { expected_sessions: found.sessions } : {}) };
      setMade(await call<Deletion>(path, { method: "POST", body: { ...match.current, ...expected } }));
    } catch (e) {
      setProblem(format.messageOf(e));
      if (e instanceof ApiError && e.status === 409) {
        setTyped("");
        dry.reload();
      }
    }
    setBusy(false);
  };
  const cancel = async () => {
    try {
      setMade(await call<Deletion>(`v1/deletions/${id}/cancel`, { method: "POST" }));
    } catch (e) {
      setProblem(format.messageOf(e));
    }
  };
  const sure = n !== null && n > 0 && [String(n), "delete"].includes(typed.replaceAll(/[,.\s\u202f]/g, "").toLowerCase());
  return (
    <Dialog label={`Delete ${of}`} onClose={close}>
      <form class="form" onSubmit={(e) => { e.preventDefault(); if (made) close(); else if (sure && !busy) void start(); }}>
        <h2>{`Delete ${n === null ? of : format.plural(n, noun)}`}</h2>
        {dry.error ? <Problem error={dry.error} retry={dry.reload} /> : !found ? <div class="progress" role="progressbar" aria-label="Counting" /> : !made && (
          <>
            {n === 0 ? <p>{`No ${noun} matches.`}</p> : (
              <p>
                {of === "sessions" && <>{n === 1 ? "It has " : "They have "}<b>{format.plural(found.events, "event")}</b>. </>}
                {"Scores, comments and items of queues go, too. Datapoints that were made of what is deleted stay. This cannot be undone."}
              </p>
            )}
            {(found.session_events ?? 0) > 0 && <p class="secondary">{`${format.plural(found.session_events!, "session event")} that match, too, stay: sessions are deleted in their own list.`}</p>}
            {n !== 0 && <label>{`Type ${n} or delete to go on`}<input ref={input} class="input" autocomplete="off" spellcheck={false} value={typed} onInput={(e) => setTyped(e.currentTarget.value)} /></label>}
          </>
        )}
        {made && (
          <>
            <div class="meter" role="progressbar" aria-label="Deleted" aria-valuemin={0} aria-valuemax={made.events} aria-valuenow={made.deleted_events}><div style={{ width: `${made.events === 0 || !running && made.state === "done" ? 100 : (100 * made.deleted_events) / made.events}%` }} /></div>
            <p role="status">
              {`${format.count(made.deleted_events)} of ${format.plural(made.events, "event")} deleted${made.state === "cancelled" ? ", then stopped" : ""}. `}
              {(made.kept_sessions ?? 0) > 0 && `${format.plural(made.kept_sessions!, "session")} stayed, since events came to them meanwhile. `}
              {running && "It goes on if you leave."}
            </p>
          </>
        )}
        {problem && <p class="bad" role="alert">{problem}</p>}
        <div class="form-end">
          {!made && <button type="button" class="button" onClick={close}>Cancel</button>}
          {running && <button type="button" class="button danger" onClick={() => void cancel()}>Stop</button>}
          {made ? <button ref={last} class="button primary" type="submit">{running ? "Leave" : "Close"}</button> : <button class="button danger" type="submit" disabled={!sure || busy}>{busy ? "Deleting…" : "Delete for good"}</button>}
        </div>
      </form>
    </Dialog>
  );
}
