// What is wrong with the JSON Schema of a tool, in words, before a provider says so.

const types = ["object", "array", "string", "number", "integer", "boolean", "null"];
const most = 20;

/** Reads a schema as it was typed: its value, and what is wrong with it, at most twenty things. */
export function readSchema(typed: string): { value: unknown; flaws: string[] } {
  let value: unknown;
  try {
    value = JSON.parse(typed);
  } catch (e) {
    return { value: null, flaws: [(e as Error).message] };
  }
  const flaws: string[] = [];
  const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
  const walk = (v: unknown, path: string): void => {
    const say = (at: string, what: string) => { if (flaws.length < most) flaws.push(`${[path, at].filter(Boolean).join(".") || "the schema"}: ${what}`); };
    if (typeof v === "boolean") return;
    if (!isObject(v)) return say("", "must be an object");
    const { type, properties, required, items } = v;
    const asked = (Array.isArray(type) ? type : type === undefined ? [] : [type]) as unknown[];
    for (const t of asked) if (!types.includes(t as string)) say("type", `${JSON.stringify(t)} is not a type; must be one of ${types.join(", ")}`);
    if (v.enum !== undefined && !(Array.isArray(v.enum) && v.enum.length > 0)) say("enum", "must be an array with values");
    if (v.description !== undefined && typeof v.description !== "string") say("description", "must be a text");
    if (properties !== undefined && !isObject(properties)) say("properties", "must be an object");
    if (required !== undefined && !(Array.isArray(required) && required.every((n) => typeof n === "string"))) say("required", "must be an array of names");
    else if (isObject(properties)) for (const n of (required ?? []) as string[]) if (!Object.hasOwn(properties, n)) say("required", `${JSON.stringify(n)} is not among the properties`);
    if (asked.includes("array") && items === undefined) say("items", "is missing: what the array holds");
    if (isObject(properties)) for (const [name, p] of Object.entries(properties)) walk(p, `${path ? `${path}.` : ""}properties.${name}`);
    if (items !== undefined) walk(items, `${path ? `${path}.` : ""}items`);
    for (const key of ["anyOf", "oneOf", "allOf"]) {
      if (Array.isArray(v[key])) v[key].forEach((one, i) => walk(one, `${path ? `${path}.` : ""}${key}[${i}]`));
    }
  };
  if (isObject(value) && Object.keys(value).length > 0 && value.type !== "object") flaws.push("type: must be object at the top: the tool's arguments");
  walk(value, "");
  return { value, flaws };
}
