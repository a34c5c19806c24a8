// Refused attempts to send, each with what helps.
import * as format from "../model/format.ts";
import type { Refusal } from "../api/types.gen.ts";
import { cure } from "../model/refusals.ts";
import { Icon } from "./icon.tsx";

/** The most that are shown; the others are counted. */
const most = 5;

export function Refusals({ list, address }: { list: Refusal[]; address: string }) {
  if (list.length === 0) return null;
  return (
    <section class="notice bad refusals" aria-label="Refused requests">
      <p role="status"><Icon name="alert" tint="bad" /><strong>{`${format.plural(list.length, "attempt")} to send ${list.length === 1 ? "was" : "were"} refused`}</strong></p>
      <ul>
        {list.slice(0, most).map((r) => (
          <li key={`${r.method} ${r.path} ${r.status} ${r.message} ${r.key_prefix}`}>
            <div class="refusal-line">
              <time dateTime={r.time} class="faint" title={format.time(Date.parse(r.time))}>{format.time(Date.parse(r.time)).slice(11, 19)}</time>
              <code>{`${r.method} ${r.path}`}</code>
              {r.key_prefix && <span class="faint">key <code>{`${r.key_prefix}…`}</code></span>}
              {r.count > 1 && <span class="chip">{`${format.count(r.count)} times`}</span>}
            </div>
            <div><span class="bad">{`${r.status} ${r.message}`}</span></div>
            <div>{cure(r, address)}</div>
          </li>
        ))}
      </ul>
      {list.length > most && <p class="faint">{`${format.count(list.length - most)} more are not shown.`}</p>}
    </section>
  );
}
