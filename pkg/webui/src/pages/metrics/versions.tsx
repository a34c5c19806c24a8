// Versions of a metric: what each says, what differs, and which one is deployed.
import { useLayoutEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { ListMetricVersionsAnswer, MetricVersion } from "../../api/types.gen.ts";
import { addCommands } from "../../app/keymap.ts";
import { route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import * as format from "../../model/format.ts";
import { definitionOf, fields, text } from "../../model/metric.ts";
import { Problem, useLoaded } from "../../parts/common.tsx";
import { TextDiff } from "../../parts/textdiff.tsx";
import { Button, Choice, useAct } from "./parts.tsx";

const pageSize = 100;

export function Versions({ id, deployed, unsaved, onDeploy, onEdit }: { id: string; deployed: string; unsaved: boolean; onDeploy: () => void; onEdit: (v: MetricVersion) => void }) {
  const { params } = route.value;
  const [pages, setPages] = useState(1);
  const { act, problem } = useAct();
  const versions = useLoaded(`${id} ${deployed} ${pages}`, async (signal) => {
    const list: MetricVersion[] = [];
    for (let page = 1; page <= pages; page++) list.push(...(await call<ListMetricVersionsAnswer>(`v1/metrics/${id}/versions?limit=${pageSize}&page=${page}`, { signal })).data);
    return list;
  });
  const list = versions.value ?? [];
  const at = Math.max(0, list.findIndex((v) => v.name === params.get("v")));
  const chosen = list[at];
  const against = list.find((v) => v.name === params.get("than")) ?? list[at + 1] ?? null;
  const select = (i: number) => { const v = list[i]; if (v) setParams({ v: v.name, than: null }, true); };
  useLayoutEffect(() => addCommands([
    { id: "next", keys: ["j", "arrowdown"], label: "Older version", group: "List", run: () => select(at + 1) },
    { id: "previous", keys: ["k", "arrowup"], label: "Newer version", group: "List", run: () => select(at - 1) },
  ]), [versions.value, at]);
  const deploy = () => act(async () => {
    await call(`v1/metrics/${id}/versions/${chosen!.name}/deploy`, { method: "POST" });
    onDeploy();
  });
  if (versions.error && !versions.value) return <Problem error={versions.error} retry={versions.reload} />;
  const now = chosen && definitionOf(chosen.content);
  const before = against && definitionOf(against.content);
  const differing = now ? fields.filter(([f]) => !before || text(now, f) !== text(before, f)) : [];
  const label = (name: string) => `${name}${name === deployed ? " (deployed)" : ""}`;
  return (
    <div class="metric-versions">
      <ol aria-label="Versions">
        {list.map((v, i) => (
          <li key={v.name}><button type="button" aria-current={i === at} onClick={() => select(i)}>
            <span class="line"><b>{label(v.name)}</b><span class="grow" /><span class="faint">{format.ago(Date.parse(v.date), Date.now())}</span></span>
            <span class="ellipsis secondary">{v.message}</span>
          </button></li>
        ))}
        {list.length === pages * pageSize && <li><Button label="Show more" on={() => setPages(pages + 1)} /></li>}
      </ol>
      {chosen && (
        <section>
          <div class="metric-tools">
            <h2>{chosen.name}</h2>
            {against && <Choice short label="against" value={against.name} on={(than) => setParams({ than }, true)} options={list.filter((v) => v !== chosen).map((v) => [v.name, label(v.name)])} />}
            <span class="grow" />
            {allows("full") && <><Button label="Edit and test" off={unsaved} on={() => onEdit(chosen)} />{chosen.name !== deployed && <Button label={`Deploy ${chosen.name}`} kind="primary" on={deploy} />}</>}
          </div>
          <p class="secondary">{format.time(Date.parse(chosen.date)).slice(0, 19)} {chosen.message}</p>
          {unsaved && <p class="warn">There are unsaved edits, which are in no version yet.</p>}
          {problem}
          {differing.length === 0 && <p class="secondary">Both say the same.</p>}
          {now && differing.map(([f, name]) => <div key={f} class="metric-field"><span>{name}</span>{before ? <TextDiff left={text(before, f)} right={text(now, f)} /> : <pre class="code" tabIndex={0}>{text(now, f) || "–"}</pre>}</div>)}
        </section>
      )}
    </div>
  );
}
