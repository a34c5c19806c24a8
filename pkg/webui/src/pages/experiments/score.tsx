// A score of a cell. Its mark and its difference from the baseline have a tone each: what has improved may still not pass.
import type { ComparedScore, RunMetric } from "../../api/types.gen.ts";
import { scoreText } from "../../model/experiments.ts";

export function Score({ metric, of, name, className }: { metric: RunMetric; of: ComparedScore | undefined; name?: boolean; className?: string }) {
  const s = scoreText(metric, of);
  return s && (
    <span class={className} title={s.title}>
      {name && `${metric.name} `}
      {s.mark && <span class={s.mark === "✓" ? "good" : "bad"}>{`${s.mark} `}</span>}
      {s.text}
      {s.delta && <span class={s.tone}>{` ${s.delta}`}</span>}
    </span>
  );
}
