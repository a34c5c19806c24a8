// Experiments: the list of runs, one run, and runs compared.
import { href, route } from "../../app/router.ts";
import { Empty } from "../../parts/common.tsx";
import { ListPage, mostCompared } from "./list.tsx";
import { RunsPage } from "./runs.tsx";

/** The page of an address below "experiments". */
export function Page({ path: [id] }: { path: string[] }) {
  const ids = id === "compare" ? (route.value.params.get("runs") ?? "").split(",").filter(Boolean) : id === undefined ? [] : [id];
  if (ids.length > mostCompared) return <div class="page"><Empty title={`${mostCompared} runs are compared at most`}><p>{`This address names ${ids.length}.`}</p><a class="button" href={href(["experiments"], { runs: ids.slice(0, mostCompared).join() })}>Choose among the runs</a></Empty></div>;
  return ids.length === 0 ? <ListPage /> : <RunsPage key={ids.join()} ids={ids} />;
}
