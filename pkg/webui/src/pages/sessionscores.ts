// The scores of a session, read apart from its tree: most sessions have few, and the tree has no payloads.
import { searchFields } from "../api/search.ts";
import { href } from "../app/router.ts";
import { readScores, type Score } from "../model/scores.ts";
import { useLoaded, type Loaded } from "../parts/common.tsx";
import type { ShownScore } from "../parts/scores.tsx";

/** How many events with scores are read; of more the page says so. */
export const maxScored = 200;

export interface SessionScores {
  scores: Score[];
  events: number; // that have scores, also those beyond maxScored
}

/** Loads the scores of a session, and the records of the judges that gave them. */
export function useScores(session: string): Loaded<SessionScores> {
  return useLoaded(session, async (signal) => {
    const scored = await searchFields(["event_id", "session_id", "event_name", "start_time", "metrics"], [],
      { filters: [{ field: "session_id", operator: "is", value: session }, { field: "metrics", operator: "exists" }], limit: maxScored }, signal);
    if (scored.events.length === 0) return { scores: [], events: 0 };
    const records = await searchFields(["event_id", "session_id", "start_time"], ["metadata.target_event_id", "metadata.evaluator_name"],
      { filters: [{ field: "source", operator: "is", value: "evaluator" }, { field: "metadata.target_session_id", operator: "is", value: session }], limit: maxScored }, signal);
    return { scores: readScores(scored.events, records.events), events: scored.totalEvents ?? scored.events.length };
  });
}

/** Where the judge's answer of a score is. */
export function judgeOf(score: Score): string | null {
  return score.judge && href(["session", score.judge.session], { e: score.judge.event });
}

/** A score as it is shown in a session. */
export function shownScore(score: Score): ShownScore {
  return { ...score, judge: judgeOf(score), on: { id: score.event, name: score.eventName } };
}
