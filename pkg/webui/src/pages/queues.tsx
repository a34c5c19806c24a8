// Annotation queues: the list of them, and the pages of one.
import { call } from "../api/client.ts";
import type { GetQueueAnswer, ListMetricsAnswer, Metric } from "../api/types.gen.ts";
import { person, setPerson } from "../app/person.ts";
import { href, setParams } from "../app/router.ts";
import { allows, me } from "../app/session.ts";
import { Empty, Problem, useLoaded } from "../parts/common.tsx";
import { AskPerson } from "../parts/person.tsx";
import { Annotating } from "./queues/annotating.tsx";
import { Differences } from "./queues/differences.tsx";
import { People } from "./queues/people.tsx";
import { QueueList } from "./queues/list.tsx";

export function Page({ path: [id, view, event] }: { path: string[] }) {
  return id === undefined ? <QueueList /> : <QueuePage key={id} id={id} view={view ?? ""} event={event ?? null} />;
}

const views = [["", "Annotate"], ["differences", "Differences"], ["people", "People"]] as const;

function QueuePage({ id, view, event }: { id: string; view: string; event: string | null }) {
  const loaded = useLoaded(id, async (signal) => {
    const [queue, metrics] = await Promise.all([call<GetQueueAnswer>(`v1/queues/${encodeURIComponent(id)}`, { signal }), humanMetrics(signal)]);
    return { queue, metrics };
  });
  if (loaded.error && !loaded.value) return <div class="page"><Problem error={loaded.error} retry={loaded.reload} /></div>;
  if (!loaded.value) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  const { queue, metrics } = loaded.value;
  const asked = queue.metrics.length === 0 ? metrics : queue.metrics.flatMap((name) => metrics.filter((m) => m.name === name));
  const gone = queue.metrics.filter((name) => !metrics.some((m) => m.name === name));
  const may = allows("full");
  return (
    <div class="page queue">
      <header>
        <a href={href(["queues"])}>Queues</a><span class="faint">/</span><h1 class="ellipsis">{queue.name}</h1>
        <span class="grow" />
        {may && person.value !== "" && <button type="button" class="button plain" title="You annotate under this name. Click to use another." onClick={() => { setParams({ item: null }, true); setPerson(""); }}><span class="ellipsis">{person.value}</span></button>}
      </header>
      <nav class="tabs" aria-label="Views of the queue">
        {views.map(([name, label]) => <a key={name} class="tab" href={href(["queues", id, ...(name ? [name] : [])])} aria-current={view === name ? "page" : undefined}>{label}</a>)}
      </nav>
      {view === "people" ? <People queue={queue} />
        : !may && view === "" ? <Empty title="Annotating needs a key that may write"><p>This browser is signed in with a key of scope {me.value?.scope}. It may read what others said.</p></Empty>
        : may && person.value === "" ? <div class="empty"><h2>Who annotates?</h2><AskPerson name="" onName={setPerson} /></div>
        : view === "differences" ? <Differences key={event ?? ""} queue={queue} metrics={metrics} event={event} />
        : view === "" && (asked.length === 0 || gone.length > 0) ? (
          <Empty title={gone.length > 0 ? "Scores that the queue asks for are gone" : "There is nothing to score with"}>
            <p class="wrap">{gone.length > 0 ? `There is no metric ${gone.join(", ")} of the type HUMAN.` : "No metric of the type HUMAN is there: edit the queue to make one."}</p>
            <a class="button" href={href(["queues"], { edit: id })}>Edit the queue</a>
          </Empty>
        ) : view === "" ? <Annotating key={person.value} queue={queue} metrics={asked} />
        : <Empty title="There is no such page"><a class="button" href={href(["queues", id])}>Annotate</a></Empty>}
    </div>
  );
}

/** The metrics that people give; of several with one name, the newest. */
export async function humanMetrics(signal?: AbortSignal): Promise<Metric[]> {
  const { metrics } = await call<ListMetricsAnswer>("v1/metrics?type=HUMAN&limit=1000", { signal });
  return [...new Map(metrics.map((m) => [m.name, m])).values()];
}
