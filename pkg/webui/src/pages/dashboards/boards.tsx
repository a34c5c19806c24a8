// Dashboards: their list, and one of them with its charts on twelve columns.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, isAbort } from "../../api/client.ts";
import type { CreateChartAnswer, CreateDashboardAnswer, CreateDashboardBody, DashboardInList, GetDashboardAnswer, ListChartsAnswer, Tile, UpdateDashboardBody } from "../../api/types.gen.ts";
import { addCommands, keysOf } from "../../app/keymap.ts";
import { go, href, route, setParams } from "../../app/router.ts";
import { allows } from "../../app/session.ts";
import { flow, fromSaved, move, put, readyMade, readyMadeIds, resize, settle, toSaved, type Drawing } from "../../model/charts.ts";
import { compile } from "../../model/filter.ts";
import * as format from "../../model/format.ts";
import { Empty, Problem, useLoaded } from "../../parts/common.tsx";
import { barId, FilterBar } from "../../parts/filterbar.tsx";
import { isDouble, useWork } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { defaultRange, RangePicker } from "../../parts/range.tsx";
import { useFields, valuesOf } from "../completion.ts";
import { ChartBody } from "./chart.tsx";
import { loadCharts, scoreFields, useBooleans, type Answers } from "./data.ts";


export function Page({ path }: { path: string[] }) {
  return path[0] ? <Board key={path[0]} id={path[0]} /> : <Boards />;
}

/** What the boards of every project are for. */
const purposes: Record<string, string> = { overview: "Sessions, calls, errors, latency, tokens and cost at a glance", cost: "What models cost, by model, step and session", quality: "Scores, feedback and errors over time" };

function Boards() {
  const saved = useLoaded("dashboards", (signal) => all<DashboardInList>("dashboards", signal));
  const [name, setName] = useState("");
  const { busy, problem, run } = useWork();
  const create = () => run(async () => go(href(["dashboards", (await call<CreateDashboardAnswer>("v1/dashboards", { method: "POST", body: { name: name.trim() } satisfies CreateDashboardBody })).data.id])));
  return (
    <div class="page">
      <header><h1>Dashboards</h1><span class="grow" />{allows("full") && <a class="button" href={href(["charts", "new"])}><Icon name="plus" small />Chart</a>}</header>
      <div class="boards">
        <section><h2>For every project</h2>
          <ul>{readyMadeIds.map((id) => <li key={id}><a href={href(["dashboards", id])}><b>{readyMade(id, [])!.name}</b><span class="secondary">{purposes[id]}</span></a></li>)}</ul>
        </section>
        <section><h2>Of this project</h2>
          {saved.error ? <Problem error={saved.error} retry={saved.reload} /> : saved.value?.length === 0 ? <p class="secondary">None yet. Open one from above and copy it, or begin an empty one.</p> : (
            <ul>{saved.value?.map((d) => <li key={d.id}><a href={href(["dashboards", d.id])}><b class="ellipsis">{d.name}</b><span class="secondary">{format.plural(d.layout.length, "chart")}{d.description ? ` · ${d.description}` : ""}</span></a></li>)}</ul>
          )}
        </section>
        {allows("full") && (
          <form class="new" onSubmit={(e) => { e.preventDefault(); if (name.trim()) void create(); }}>
            <input class="input" aria-label="Name of a new dashboard" placeholder="Name of a new dashboard" maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} /> <button type="submit" class="button" disabled={busy || !name.trim()}>Create</button>
            {problem && <p class="bad" role="alert">{problem}</p>}
          </form>
        )}
      </div>
    </div>
  );
}

/** Reads all of a list, page by page. */
async function all<T>(of: string, signal?: AbortSignal): Promise<T[]> {
  const out: T[] = [];
  for (let page = 1; ; page++) {
    const { data } = await call<{ data: T[] }>(`v1/${of}?limit=1000&page=${page}`, { signal });
    out.push(...data);
    if (data.length < 1000) return out;
  }
}

interface Shown {
  name: string;
  ready: boolean; // one that every project has
  tiles: Tile[];
  charts: Map<string, Drawing>; // by the name that tiles have for them
}

async function read(id: string, signal: AbortSignal): Promise<Shown> {
  if (readyMadeIds.includes(id)) {
    const board = readyMade(id, id === "quality" ? await scoreFields(signal) : [])!;
    const charts = new Map(board.charts.map((c, i) => [String(i), c]));
    return { name: board.name, ready: true, tiles: flow([...charts].map(([key, c]) => ({ id: key, display: c.display }))), charts };
  }
  const { data } = await call<GetDashboardAnswer>(`v1/dashboards/${encodeURIComponent(id)}`, { signal });
  return { name: data.name, ready: false, tiles: settle(data.layout), charts: new Map(data.charts.map((c) => [c.id, fromSaved(c)])) };
}

/** Where the tiles of a layout stand, as a text. */
const placesOf = (layout: Tile[]): string => JSON.stringify(settle(layout).map((t) => [t.chart, t.x, t.y, t.width, t.height]));

/** Says that a layout is not saved, since it would undo what somebody else has done. */
class Changed extends Error {}

/** Saves a chart, and returns its id. */
export async function saveChart(d: Drawing): Promise<string> {
  const answer = await call<CreateChartAnswer>(d.id ? `v1/charts/${d.id}` : "v1/charts", { method: d.id ? "PUT" : "POST", body: toSaved(d) });
  return answer.data.id;
}

/** Puts a chart at the end of a board. */
export async function addToBoard(board: string, chart: string): Promise<void> {
  const { data } = await call<GetDashboardAnswer>(`v1/dashboards/${encodeURIComponent(board)}`);
  if (data.layout.some((t) => t.chart === chart)) return;
  const layout: Tile[] = settle([...data.layout, { chart, x: data.layout.length % 2 === 0 ? 0 : 6, y: 900, width: 6, height: 4 }]);
  await call(`v1/dashboards/${encodeURIComponent(board)}`, { method: "PUT", body: { layout } satisfies UpdateDashboardBody });
}

function Board({ id }: { id: string }) {
  const board = useLoaded(id, (signal) => read(id, signal));
  if (board.error) return <div class="page"><Problem error={board.error} retry={board.reload} /></div>;
  if (!board.value) return <div class="page"><div class="progress" role="progressbar" aria-label="Loading" /></div>;
  return <Shown key={board.took} id={id} board={board.value} reload={board.reload} />;
}

function Shown({ id, board, reload }: { id: string; board: Shown; reload: () => void }) {
  const { params } = route.value;
  const [query, range] = [params.get("q") ?? "", params.get("range") ?? defaultRange];
  const compare = params.get("before") !== "off" && range !== "all";
  const arranging = params.has("arrange") && !board.ready && allows("full");
  const { filters, problem } = useMemo(() => compile(query, "events"), [query]);
  const [tiles, setTiles] = useState(board.tiles);
  const [past, setPast] = useState<Tile[][]>([]);
  const [name, setName] = useState(board.name);
  const [doomed, setDoomed] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const [answers, setAnswers] = useState<Answers | null>(null);
  const [loading, setLoading] = useState(true);
  const [turn, setTurn] = useState(0);
  const cursor = useMemo(() => signal<number | null>(null), []);
  const { names } = useFields("events");
  const list = useMemo(() => [...board.charts], [board]);
  const booleans = useBooleans(list.flatMap(([, d]) => d.series));
  const stop = useRef<AbortController | null>(null);

  useEffect(() => {
    if (problem || list.length === 0) return setLoading(false);
    const mine = stop.current = new AbortController();
    setLoading(true);
    cursor.value = null;
    loadCharts(list.map(([, d]) => d), filters, range, compare, mine.signal, (a) => { if (!mine.signal.aborted) setAnswers(a); }).then(
      () => { setFailure(null); setLoading(false); },
      (e) => { if (!isAbort(e)) setFailure(e); if (stop.current === mine) setLoading(false); },
    );
    return () => mine.abort();
  }, [list, query, range, compare, turn]);

  // What was arranged is kept once it rests, one layout after the other, so that the last one stays.
  const kept = useRef(placesOf(board.tiles));
  const keeping = useRef(Promise.resolve());
  const keep = (layout: Tile[]) => (keeping.current = keeping.current.then(async () => {
    const text = placesOf(layout);
    if (text === kept.current) return;
    try {
      const { data } = await call<GetDashboardAnswer>(`v1/dashboards/${id}`);
      if (placesOf(data.layout) !== kept.current) throw new Changed("Somebody else has arranged this dashboard meanwhile, and your last steps are not saved.");
      await call(`v1/dashboards/${id}`, { method: "PUT", body: { layout } satisfies UpdateDashboardBody });
      kept.current = text;
      setFailure(null);
    } catch (e) { setFailure(e); }
  }));
  useEffect(() => {
    if (!arranging) return;
    const timer = setTimeout(() => void keep(tiles), 600);
    return () => clearTimeout(timer);
  }, [tiles]);
  const latest = useRef(tiles);
  latest.current = tiles;
  useEffect(() => () => { if (!board.ready && placesOf(latest.current) !== kept.current) void keep(latest.current); }, [arranging]);
  const arrange = (next: Tile[]) => {
    if (JSON.stringify(next) === JSON.stringify(tiles)) return;
    setPast((p) => [...p.slice(-99), tiles]);
    setTiles(next);
  };
  const undo = () => setPast((p) => {
    if (p.length > 0) setTiles(p[p.length - 1]!);
    return p.slice(0, -1);
  });
  const work = useWork();
  const copy = () => work.run(async () => {
    const ids = new Map<string, string>();
    for (const [key, d] of list) ids.set(key, await saveChart(d.id ? { ...d, id: null } : d));
    const layout = tiles.flatMap((t) => (ids.has(t.chart) ? [{ ...t, chart: ids.get(t.chart)! }] : []));
    const made = await call<CreateDashboardAnswer>("v1/dashboards", { method: "POST", body: { name: `${board.name} (copy)`.slice(0, 200), layout } satisfies CreateDashboardBody });
    go(href(["dashboards", made.data.id], { q: query, range: params.get("range"), arrange: "1" }));
  });
  const rename = () => {
    if (name.trim() && name.trim() !== board.name) void work.run(async () => { await call(`v1/dashboards/${id}`, { method: "PUT", body: { name: name.trim() } satisfies UpdateDashboardBody }); board.name = name.trim(); });
  };
  const remove = (e: MouseEvent) => (!doomed ? setDoomed(true) : !isDouble(e) && work.run(async () => { await call(`v1/dashboards/${id}`, { method: "DELETE" }); kept.current = placesOf(latest.current); go(href(["dashboards"])); }));
  const setArranging = (on: boolean) => { setDoomed(false); setPast([]); setParams({ arrange: on ? "1" : null }); };
  const setRange = (r: string) => setParams({ range: r === defaultRange ? null : r });

  const commands = useRef({ undo, arranging });
  commands.current = { undo, arranging };
  useLayoutEffect(() => addCommands([
    { id: "filter", keys: ["f", "/"], label: "Filter", group: "Dashboard", run: () => document.getElementById(barId)?.focus() },
    { id: "board-reload", keys: ["r"], label: "Load again", group: "Dashboard", run: () => setTurn((n) => n + 1) },
    { id: "board-undo", keys: ["u", "mod+z"], label: "Undo: the last step of arranging, or back", group: "Dashboard", run: () => (commands.current.arranging ? commands.current.undo() : history.back()) },
    { id: "board-before", keys: ["p"], label: "Show the period before, or hide it", group: "Dashboard", run: () => setParams({ before: route.value.params.get("before") === "off" ? null : "off" }) },
    { id: "board-stop", keys: ["escape"], label: "Stop loading, or end arranging", group: "Dashboard", run: () => { stop.current?.abort(); if (commands.current.arranging) setArranging(false); } },
    ...(board.ready || !allows("full") ? [] : [{ id: "board-arrange", keys: ["a"], label: "Arrange", group: "Dashboard", run: () => setArranging(!commands.current.arranging) }]),
  ]), []);

  return (
    <div class="page">
      {loading && <div class="progress" role="progressbar" aria-label="Loading" />}
      <header>
        {arranging ? <input class="input" aria-label="Name of the dashboard" maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} onBlur={rename} onKeyDown={(e) => { if (e.key === "Enter") rename(); }} /> : <h1 class="ellipsis">{board.name}</h1>}
        <a class="button plain" href={href(["dashboards"])}>All</a>
        <span class="grow" />
        {arranging ? <>
          <AddChart board={id} there={tiles.map((t) => t.chart)} onAdd={(chart) => void work.run(async () => { await keep(tiles); await addToBoard(id, chart); reload(); })} />
          <button type="button" class="button" disabled={past.length === 0} title={keysOf("board-undo")} onClick={undo}>Undo</button>
          <button type="button" class={`button${doomed ? " danger" : ""}`} onClick={remove}>{doomed ? "Delete the dashboard?" : "Delete"}</button>
          <button type="button" class="button primary" onClick={() => { rename(); setArranging(false); }}>Done</button>
        </> : allows("full") && <>
          <button type="button" class="button" disabled={work.busy} onClick={() => void copy()} title={board.ready ? "A copy can be arranged and its charts changed" : "Copy"}><Icon name="copy" small />Copy</button>
          {!board.ready && <button type="button" class="button" title={`Arrange (${keysOf("board-arrange")})`} onClick={() => setArranging(true)}>Arrange</button>}
        </>}
      </header>
      <div class="filters">
        <FilterBar text={query} of="events" fields={names} values={(field, typed) => valuesOf("events", field, typed)} onChange={(q) => setParams({ q })} />
        <button type="button" class="button" aria-pressed={compare} disabled={range === "all"} title={`Compare with the period before (${keysOf("board-before")})`} onClick={() => setParams({ before: compare ? "off" : null })}>{compare ? <Icon name="check" small /> : null}Before</button>
        <RangePicker range={range} onChange={setRange} />
        <button type="button" class="button icon" aria-label="Load again" title={`Load again (${keysOf("board-reload")})`} onClick={() => setTurn((n) => n + 1)}><Icon name="reload" small /></button>
      </div>
      {(work.problem || failure !== null) && <p class="told bad" role="alert">{work.problem || format.messageOf(failure)}{failure instanceof Changed && <> <button type="button" class="button" onClick={reload}>Show theirs</button></>}</p>}
      {arranging && <p class="told secondary">Arrow keys move the chart that has the focus, with Shift they change its size, Delete takes it off the dashboard. Or drag it, or its corner.</p>}
      {tiles.length === 0
        ? <Empty title="No charts yet">{allows("full") && <div><a class="button primary" href={href(["charts", "new"], { board: id })}>Build a chart</a>{!arranging && <> <button type="button" class="button" onClick={() => setArranging(true)}>Add a saved one</button></>}</div>}</Empty>
        : <div class="board"><div class="tiles">
          {tiles.map((t) => {
            const at = list.findIndex(([key]) => key === t.chart);
            const d = list[at]?.[1];
            return (
              <TileBox key={t.chart} tile={t} tiles={tiles} arranging={arranging} name={d?.name ?? "A chart that was deleted"} onArrange={arrange}>
                {!d ? <p class="told">The chart was deleted.</p> : !answers || answers.times.length === 0 ? <><header><h2 class="ellipsis">{d.name}</h2></header><p class="told">{problem ?? (loading ? "Loading …" : "Not loaded.")}</p></> : (
                  <ChartBody drawing={d} id={t.chart} answers={answers} at={at} query={query} booleans={booleans} cursor={cursor} onRange={setRange}
                    menu={<ChartMenu drawing={d} board={id} onRemove={board.ready ? null : () => { const next = settle(tiles.filter((o) => o.chart !== t.chart)); arrange(next); void keep(next); }} onError={setFailure} />} />
                )}
              </TileBox>
            );
          })}
        </div></div>}
    </div>
  );
}

function ChartMenu({ drawing, board, onRemove, onError }: { drawing: Drawing; board: string; onRemove: (() => void) | null; onError: (e: unknown) => void }) {
  const alerts = (chart: string) => href(["alerts"], { chart });
  if (!allows("full")) return null;
  return <>
    <a href={drawing.id ? href(["charts", drawing.id], { board }) : href(["charts", "new"], { c: JSON.stringify(drawing) })}>{drawing.id ? "Edit" : "Build one like it"}</a>
    {drawing.id ? <a href={alerts(drawing.id)}>Alert on this …</a> : <button type="button" title="Saves the chart first" onClick={() => void saveChart(drawing).then((c) => go(alerts(c)), onError)}>Alert on this …</button>}
    {onRemove && <button type="button" onClick={onRemove}>Take off the dashboard</button>}
  </>;
}

/** A menu of the saved charts, and a way to a new one. */
function AddChart({ board, there, onAdd }: { board: string; there: string[]; onAdd: (chart: string) => void }) {
  const [charts, setCharts] = useState<ListChartsAnswer["data"] | Error | null>(null);
  return <>
    <button type="button" class="button add-chart" popoverTarget="add-chart"><Icon name="plus" small />Chart</button>
    <div id="add-chart" class="menu add-chart-menu" popover="auto" onToggle={(e) => { if ((e as unknown as ToggleEvent).newState === "open") all<ListChartsAnswer["data"][number]>("charts").then(setCharts, setCharts); }}>
      <a href={href(["charts", "new"], { board })}>New chart …</a>
      {charts instanceof Error ? <p class="bad">{charts.message}</p> : charts?.filter((c) => !there.includes(c.id)).map((c) => <button key={c.id} type="button" onClick={() => onAdd(c.id)}><span class="ellipsis">{c.name}</span></button>)}
    </div>
  </>;
}

/** The place of a chart, which can be moved and resized while the board is arranged. */
function TileBox({ tile: t, tiles, arranging, name, onArrange, children }: { tile: Tile; tiles: Tile[]; arranging: boolean; name: string; onArrange: (tiles: Tile[]) => void; children: preact.ComponentChildren }) {
  const box = useRef<HTMLElement>(null);
  const [by, setBy] = useState<{ x: number; y: number } | null>(null);
  const begun = useRef<{ x: number; y: number; resize: boolean } | null>(null);
  const place = { gridColumn: `${t.x + 1} / span ${t.width}`, gridRow: `${t.y + 1} / span ${t.height}`, ...(by && !begun.current?.resize ? { transform: `translate(${by.x}px, ${by.y}px)`, zIndex: 5 } : by ? { width: box.current!.offsetWidth + by.x, height: box.current!.offsetHeight + by.y, zIndex: 5 } : {}) };
  if (!arranging) return <section ref={box} class={`tile${t.height < 3 ? " small" : ""}`} style={place} aria-label={name}>{children}</section>;
  const keys: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const drag = (resize: boolean) => ({
    onPointerDown: (e: PointerEvent) => {
      if (e.target instanceof Element && e.target.closest("button, a, .menu") || e.button !== 0) return;
      e.stopPropagation();
      (e.currentTarget as Element).setPointerCapture(e.pointerId);
      begun.current = { x: e.clientX, y: e.clientY, resize };
    },
    onPointerMove: (e: PointerEvent) => { if (begun.current?.resize === resize) setBy({ x: e.clientX - begun.current.x, y: e.clientY - begun.current.y }); },
    onPointerUp: () => {
      if (begun.current?.resize !== resize) return;
      const [column, row] = [(box.current!.parentElement!.clientWidth + 12) / 12, 72];
      begun.current = null;
      setBy(null);
      if (!by) return;
      const [dx, dy] = [Math.round(by.x / column), Math.round(by.y / row)];
      if (dx !== 0 || dy !== 0) onArrange(resize ? resizeBy(dx, dy) : put(tiles, t.chart, t.x + dx, Math.max(0, dy > 0 ? t.y + dy + 1 : t.y + dy)));
    },
    onPointerCancel: () => { begun.current = null; setBy(null); },
  });
  const resizeBy = (dx: number, dy: number) => resize(tiles, t.chart, t.width + dx, t.height + dy);
  return (
    <section ref={box} class={`tile arranged${by ? " dragged" : ""}${t.height < 3 ? " small" : ""}`} style={place} tabIndex={0} aria-label={`${name}: column ${t.x + 1}, row ${t.y + 1}, ${t.width} wide, ${t.height} high`} {...drag(false)}
      onKeyDown={(e) => {
        if (e.target !== e.currentTarget) return;
        const way = keys[e.key];
        if (way) onArrange(e.shiftKey ? resizeBy(...way) : move(tiles, t.chart, ...way));
        else if (e.key === "Delete" || e.key === "Backspace") {
          (e.currentTarget.nextElementSibling as HTMLElement ?? e.currentTarget.previousElementSibling as HTMLElement | null)?.focus();
          onArrange(settle(tiles.filter((o) => o !== t)));
        } else return;
        e.preventDefault();
        e.stopPropagation();
      }}>
      {children}
      <div class="corner" aria-hidden="true" {...drag(true)} />
    </section>
  );
}
