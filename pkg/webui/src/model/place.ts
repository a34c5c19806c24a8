// Where a page leads when its project is left for another one.

/** The lists, whose filters, columns and ranges mean the same in every project. */
const lists = new Set(["sessions", "completions", "events", "start"]);

/** Parameters that name one thing of a project: what is selected, and a saved view. */
const ofOneProject = ["s", "view"];

/** Returns the address of the page to show in another project after this one: the same list, or else the first page. */
export function placeElsewhere(hash: string): string {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  if (!lists.has(path)) return "#/";
  const params = new URLSearchParams(query);
  for (const name of ofOneProject) params.delete(name);
  const rest = params.toString();
  return `#/${path}${rest ? `?${rest}` : ""}`;
}
