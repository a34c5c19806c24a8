// Experiments: the list of runs, one run, and runs compared.
import { route } from "../../app/router.ts";
import { ListPage } from "./list.tsx";
import { RunsPage } from "./runs.tsx";

/** The page of an address below "experiments". */
export function Page({ path: [id] }: { path: string[] }) {
  const ids = id === "compare" ? (route.value.params.get("runs") ?? "").split(",").filter(Boolean) : id === undefined ? [] : [id];
  return ids.length === 0 ? <ListPage /> : <RunsPage key={ids.join()} ids={ids} />;
}
