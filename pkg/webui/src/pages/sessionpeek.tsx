// A look at a session beside the list: its numbers at once, its steps when the key rests.
import { useMemo, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { loadPreviews, previewOf } from "../api/cache.ts";
import type { GetSessionTreeAnswer, SessionSummary } from "../api/types.gen.ts";
import { go, href } from "../app/router.ts";
import * as format from "../model/format.ts";
import { transcript } from "../model/thread.ts";
import { countOf, loadedOf, readTree } from "../model/tree.ts";
import { Problem, useLoaded, useRested } from "../parts/common.tsx";
import { Icon } from "../parts/icon.tsx";
import { TranscriptView } from "../parts/transcriptview.tsx";

/** A peek reads the upper levels of a session of more events. */
const peekLimit = 5000;

export function SessionPeek({ id, row, onClose }: { id: string; row: SessionSummary | null; onClose: () => void }) {
  const rested = useRested(id, 80);
  const [turn, redraw] = useState(0);
  const tree = useLoaded(rested, async (signal) => readTree(await call<GetSessionTreeAnswer>(`v1/sessions/${encodeURIComponent(rested)}/tree?limit=${peekLimit}`, { signal })));
  const current = tree.value?.root.id === id ? tree.value : null;
  const steps = useMemo(() => (current ? transcript(current) : []), [current]);
  return (
    <aside class="peek" aria-label="Session">
      <header>
        <Icon name="session" small />
        <h2 class="ellipsis grow">{row?.session_name ?? current?.root.name ?? id}</h2>
        <a class="button" href={href(["session", id])}>Open</a>
        <button type="button" class="button plain icon" aria-label="Close" title="Close (Esc)" onClick={onClose}><Icon name="close" small /></button>
      </header>
      {row && (
        <div class="summary">
          <span>{format.time(row.start_time).slice(0, 19)}</span>
          <b>{format.duration(row.duration)}</b>
          {row.state === "running" && <span class="chip running">running</span>}
          <span>{format.plural(row.num_events, "event")}</span>
          {row.tokens.total > 0 && <span>{format.count(row.tokens.total)} tokens</span>}
          {row.cost !== undefined && <span>{format.cost(row.cost)}</span>}
          {row.num_errors > 0 && <span class="bad">{format.plural(row.num_errors, "error")}</span>}
        </div>
      )}
      {current?.truncated && <p class="foot">{`The upper levels of ${format.plural(countOf(current), "event")}; open the session for all of them`}</p>}
      {tree.loading && <div class="progress" />}
      {tree.error && !current ? <Problem error={tree.error} retry={tree.reload} /> : current && (
        <TranscriptView steps={steps} hidden={loadedOf(current) - steps.length} selected={null} preview={previewOf} turn={turn}
          onVisible={(ids) => void loadPreviews(ids).then((fresh) => { if (fresh) redraw((n) => n + 1); })} onSelect={(e) => go(href(["session", id], { e }))} />
      )}
    </aside>
  );
}
