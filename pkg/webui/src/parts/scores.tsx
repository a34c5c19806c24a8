// Scores with what was said of them, and the way to the judge that gave each.
import * as format from "../model/format.ts";
import { Icon } from "./icon.tsx";

export interface ShownScore {
  metric: string;
  value: unknown;
  explanation: string | null;
  judge: string | null; // the address of the judge's recorded answer
  on?: { id: string; name: string }; // the event that has the score
}

export function Scores({ scores, onSelect }: { scores: ShownScore[]; onSelect?: (id: string) => void }) {
  return (
    <ul class="scores" aria-label="Scores">
      {scores.map((s, i) => (
        <li key={i}>
          <span class="score-name ellipsis" title={s.metric}>{s.metric}</span>
          <b class="score-value">{s.value === true ? <><Icon name="check" small tint="good" />true</> : s.value === false ? <><Icon name="close" small tint="bad" />false</> : format.value(s.value)}</b>
          <span class="score-said">
            {s.explanation ?? <span class="faint">no explanation</span>}
            {s.judge && <a href={s.judge}>judge's answer</a>}
          </span>
          {s.on && onSelect && <button type="button" class="score-on ellipsis" title={`Select ${s.on.name}`} onClick={() => onSelect(s.on!.id)}>{s.on.name}</button>}
        </li>
      ))}
    </ul>
  );
}
