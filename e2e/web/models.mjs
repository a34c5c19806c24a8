// Tests of what computes without a page: filters, trees, timelines, JSON, messages, threads. SPANGROVE_WEB_MODELS is the module that
// pkg/webui/internal/bundle -models writes, SPANGROVE_WEB_SAMPLES a file of the events of all samples.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const { align, alerts, charts, clock, columns, diverge, experiments, scores, filter, tree, treewindow, timeline, jsonindex, messages, thread, graph, format, place, snippets, refusals, raw, datafile, queue, playground, toolschema, casefile } = await import(process.env.SPANGROVE_WEB_MODELS);
const exported = (await import(process.env.SPANGROVE_WEB_MODELS)).export ?? {};

/** A generator of numbers that is the same in every run. */
function random(seed) {
  let s = seed;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 2 ** 32) * n);
  };
}

test("alerts say what they measure, and write figures in its unit", () => {
  const is = (field, value, operator = "is") => ({ field, operator, value });
  const alert = (a) => ({ chart_id: null, metric: "duration", func: "p95", query: [], ...a });
  const text = (a, list = []) => alerts.measuresText(alerts.measuredBy(alert(a), list));
  assert.equal(text({ query: [is("event_type", "model")] }), "p95 of duration, type:model");
  assert.equal(text({ func: "count", query: [{ field: "error", operator: "exists" }, is("config.model", ["a", "b"], "is any of")] }), "number of events, has:error model:(a OR b)");
  assert.equal(text({ func: null, metric: "cost", query: [{ ...is("duration", 2000, "greater than"), type: "number" }, is("metadata.own_key", "x", "not contains"), is("tags", [], "is any of")] }), "average of cost, duration>2000 metadata.own_key!~x, 1 more filter");
  assert.equal(text({ query: [{ any: [[is("event_type", "tool"), is("event_name", "x")], [is("source", "y", "is not")]] }] }), "p95 of duration, (type:tool name:x OR -source:y)");
  const chart = { id: "c", name: "delay", metric: "metrics.ok", func: "mean", query: [is("source", "prod")] };
  assert.equal(text({ chart_id: "c" }, [chart]), "chart delay: average of ok, source:prod");
  assert.equal(alerts.measuredBy(alert({ chart_id: "gone" }), [chart]), null);
  const rates = new Set(["metrics.ok"]);
  const shown = (a, v) => { const m = alerts.measuredBy(alert(a), [chart]); return [alerts.figureText(m, v, rates), alerts.unitOf(m, rates)]; };
  assert.deepEqual(shown({}, 5000), ["5.00 s", "ms"]);
  assert.deepEqual(shown({}, -20), ["−20 ms", "ms"]);
  assert.deepEqual(shown({}, null), ["–", "ms"]);
  assert.deepEqual(shown({ metric: "cost" }, 0.05), ["$0.050", "$"]);
  assert.deepEqual(shown({ chart_id: "c" }, 0.953), ["95.3%", "1 is 100%"]);
  assert.deepEqual(shown({ metric: "ok", func: "max" }, 1), ["1", ""]);
  assert.deepEqual(shown({ func: "count" }, 9000), ["9,000", "events"]);
  const fires = (a) => alerts.conditionText({ compare: "value", threshold: 0.05, condition: "above 0.05 over 1 hour, for 10 minutes", ...a }, alerts.measuredBy(alert({ metric: "cost" }), []), rates);
  assert.equal(fires({}), "above $0.050 over 1 hour, for 10 minutes");
  assert.equal(fires({ compare: "week_before", condition: "more than 20 % above the week before over 1 hour" }), "more than 20 % above the week before over 1 hour");
});

test("the grammar of filters is read as it is written, whatever the values", () => {
  const r = random(7);
  const letters = ["a", "Z", "9", " ", '"', "\\", ":", ">", "<", "~", "!", "-", "(", ")", "OR", " OR ", "ü", "語", "\t", "."];
  const text = (n) => Array.from({ length: n }, () => letters[r(letters.length)]).join("");
  const fields = ["name", "metadata.a.b", "cost", "event.model", "metadata.sales region", 'metadata.llm:model "x" (y) OR -z'];
  const operators = [":", "-:", "~", "!~", ">", "<", "has", "-has", "words"];
  const simple = () => {
    const operator = operators[r(operators.length)];
    const field = operator === "words" ? "" : fields[r(fields.length)];
    if ([":", "-:", "~", "!~"].includes(operator) && r(3) === 0) return { field, operator, value: "", values: Array.from({ length: 1 + r(3) }, () => text(1 + r(8))) };
    return { field, operator, value: operator === "has" || operator === "-has" ? "" : text(1 + r(8)) };
  };
  const either = () => ({ field: "", operator: "or", value: "", any: Array.from({ length: 1 + r(3) }, () => Array.from({ length: 1 + r(3) }, simple)) });
  for (let i = 0; i < 5000; i++) {
    const terms = Array.from({ length: r(4) }, () => (r(5) === 0 ? either() : simple()));
    const written = filter.write(terms);
    const parsed = filter.parse(written);
    assert.equal(parsed.problem, null, written);
    assert.deepEqual(parsed.terms.map(({ from, to, ...part }) => part), terms, written);
    assert.equal(filter.write(parsed.terms), written);
  }
});

test("no text breaks the grammar", () => {
  const r = random(11);
  const letters = '" \\:><~!-ax.()OR';
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: r(20) }, () => letters[r(letters.length)]).join("");
    const { terms, problem } = filter.parse(text);
    for (const t of terms) assert.ok(t.from < t.to && t.to <= text.length, text);
    if (problem) assert.ok(problem.message.length > 0);
    filter.compile(text, "sessions");
    filter.termAt(text, r(text.length + 1));
  }
});

test("filters are those of the API, and what cannot be expressed is said", () => {
  const one = (text, of = "events") => filter.compile(text, of);
  assert.deepEqual(one("name:search").filters, [{ field: "event_name", operator: "is", value: "search" }]);
  assert.deepEqual(one("-type:tool").filters, [{ field: "event_type", operator: "is not", value: "tool" }]);
  assert.deepEqual(one("model~gpt has:error -has:user").filters, [{ field: "config.model", operator: "contains", value: "gpt" }, { field: "error", operator: "exists" }, { field: "user", operator: "not exists" }].map((f) => (f.field === "user" ? { ...f, field: "user_properties.user_id" } : f)));
  assert.deepEqual(one("duration>2s").filters, [{ field: "duration", operator: "greater than", type: "number", value: 2000 }]);
  assert.deepEqual(one('metadata.region:"eu west"').filters, [{ field: "metadata.region", operator: "is", value: "eu west" }]);
  assert.deepEqual(one("cost>0.5", "sessions").filters, [{ field: "totals.cost", operator: "greater than", type: "number", value: 0.5 }]);
  assert.deepEqual(one("state:running tool_events>3", "sessions").filters, [{ field: "state", operator: "is", value: "running" }, { field: "totals.tool_events", operator: "greater than", type: "number", value: 3 }]);
  assert.deepEqual(one("-state:running", "sessions").filters, [{ field: "state", operator: "is not", value: "running" }]);
  for (const wrong of ["state:gone", "state~run", "has:state", "(state:gone OR name:a)", "event.state:running", "(state:running OR event.name:a)"]) assert.ok(one(wrong, "sessions").problem, wrong);
  assert.ok(one("state:running").problem);
  assert.deepEqual(one("(cost>1 tool_events<3 OR state:running OR name:a)", "sessions"), { eventFilters: [], problem: null, filters: [{ any: [
    [{ field: "totals.cost", operator: "greater than", type: "number", value: 1 }, { field: "totals.tool_events", operator: "less than", type: "number", value: 3 }],
    [{ field: "state", operator: "is", value: "running" }], [{ field: "event_name", operator: "is", value: "a" }]] }] });
  assert.deepEqual(one("errors:(1 OR 2)", "sessions").filters, [{ field: "totals.errors", operator: "is any of", type: "number", value: [1, 2] }]);
  assert.deepEqual(one("state:(running OR ended)", "sessions").filters, [{ field: "state", operator: "is any of", value: ["running", "ended"] }]);
  const mixed = one("name:a cost>1 -state:ended (name:b OR errors>2) (name:c OR user:u)", "sessions").filters;
  assert.deepEqual(filter.withoutTotals(mixed), [mixed[0], mixed[4]]);
  const both = one("user:u1 event.model:o3 refund", "sessions");
  assert.deepEqual(both.filters, [{ field: "user_properties.user_id", operator: "is", value: "u1" }]);
  assert.deepEqual(both.eventFilters, [{ field: "config.model", operator: "is", value: "o3" }, { field: "text", operator: "contains", value: "refund" }]);
  assert.deepEqual(one("model:(o3 OR gpt-4o)").filters, [{ field: "config.model", operator: "is any of", value: ["o3", "gpt-4o"] }]);
  assert.deepEqual(one("-name:(a OR b)").filters, ["a", "b"].map((value) => ({ field: "event_name", operator: "is not", value })));
  assert.deepEqual(one("model~(o3 OR gpt)").filters, [{ any: ["o3", "gpt"].map((value) => [{ field: "config.model", operator: "contains", value }]) }]);
  assert.deepEqual(one("(type:tool has:error OR cost>1)").filters, [{ any: [
    [{ field: "event_type", operator: "is", value: "tool" }, { field: "error", operator: "exists" }],
    [{ field: "metadata.cost", operator: "greater than", type: "number", value: 1 }]] }]);
  assert.deepEqual(one("(event.name:a OR refund)", "sessions"), { filters: [], problem: null,
    eventFilters: [{ any: [[{ field: "event_name", operator: "is", value: "a" }], [{ field: "text", operator: "contains", value: "refund" }]] }] });
  for (const bad of ["region:eu", "cost>much", 'name:"open', "-word", ":x", "name:", "has>x", "a!b", "constructor:x", "__proto__:x",
    "a OR b", "name:(a", "name:(a b)", "name:(a OR)", "(name:a", "(name:a OR)", "()", "(OR name:a)", "((name:a))", "cost>(1 OR 2)", "(name:a)b"]) {
    assert.ok(one(bad).problem, bad);
  }
  for (const bad of ["(name:a OR refund)", "(cost>1 OR event.name:a)", `name:(${Array(101).fill("a").join(" OR ")})`, `(${Array(9).fill("name:a").join(" OR ")})`]) {
    assert.ok(one(bad, "sessions").problem, bad);
  }
});

test("a path with spaces or signs is asked for as it is", () => {
  for (const path of ["metadata.sales region", "metadata.llm:model", "metrics.is it good?", 'inputs."quoted"']) {
    for (const [operator, asked] of [[":", "is"], ["-:", "is not"], ["~", "contains"], ["has", "exists"]]) {
      const { filters, problem } = filter.compile(filter.addTerm("type:model", { field: path, operator, value: operator === "has" ? "" : "the north" }), "events");
      assert.deepEqual([problem, filters.length, filters[1]?.field, filters[1]?.operator], [null, 2, path, asked]);
    }
    assert.deepEqual(filter.valuesIn(filter.withValues("refund", path, ["a b", "c"]), path), ["a b", "c"]);
  }
});

test("a facet changes its own term, and nothing else", () => {
  assert.deepEqual(filter.valuesIn("type:tool name:(a OR b) name:c", "name"), ["a", "b", "c"]);
  assert.equal(filter.withValues("type:tool name:a refund", "name", ["a", "b c"]), 'type:tool name:(a OR "b c") refund');
  assert.equal(filter.withValues("type:tool name:(a OR b) refund", "name", ["b"]), "type:tool name:b refund");
  assert.equal(filter.withValues("type:tool name:b -name:c", "name", []), "type:tool -name:c");
  assert.equal(filter.withValues("", "model", ["o3"]), "model:o3");
  assert.equal(filter.withValues('name:"open', "model", ["o3"]), 'name:"open');
});

test("what is completed is what stands before the caret", () => {
  const at = (text) => { const { from, typed, field } = filter.termAt(text, text.length); return [from, typed, field]; };
  assert.deepEqual(at("name:a mod"), [7, "mod", null]);
  assert.deepEqual(at('name:"a b'), [0, 'name:"a b', null]);
  assert.deepEqual(at("model:(o3 OR gp"), [13, "gp", "model"]);
  assert.deepEqual(at("model:("), [7, "", "model"]);
  assert.deepEqual(at("model:(o3) na"), [11, "na", null]);
  assert.deepEqual(at("(type:tool OR na"), [14, "na", null]);
  assert.deepEqual(at("(na"), [1, "na", null]);
});

/** An answer of the API with events that are given as [id, parent's place, type, start, duration, error]. */
function answer(rows) {
  const columns = ["event_id", "parent", "type", "name", "start_time", "duration", "state", "error", "tokens", "cost", "children", "below", "note"];
  return {
    session_id: "s", touched: "1", total: rows.length, truncated: false, columns,
    rows: rows.map(([id, parent, type, start, duration, error]) => [id, parent, type, id.replace(/\d+$/, ""), start, duration, "ended", error ?? null, null, null, rows.filter((r) => r[1] >= 0 && rows[r[1]][0] === id).length, 0, null]),
  };
}
const small = () => tree.readTree(answer([["s", -1, "session", 0, 100], ["a", 0, "chain", 0, 60], ["m1", 1, "model", 0, 20], ["t1", 1, "tool", 20, 40, "broken"], ["b", 0, "chain", 60, 40], ["m2", 4, "model", 70, 30]]));
const ids = (rows) => rows.map((r) => r.node.id).join(" ");
const all = { folded: new Set(), opened: new Set(), match: null, group: true };

test("a tree is shown in order, folded, and filtered with its ancestors", () => {
  const t = small();
  assert.equal(ids(tree.visibleRows(t, all)), "s a m1 t1 b m2");
  assert.equal(ids(tree.visibleRows(t, { ...all, folded: new Set(["a"]) })), "s a b m2");
  const failed = tree.visibleRows(t, { ...all, match: (n) => n.error !== null });
  assert.equal(ids(failed), "s a t1");
  assert.deepEqual(failed.map((r) => r.grey), [true, true, false]);
  assert.equal(t.root.errorsBelow, 1);
  assert.equal(t.byId.get("a").errorsBelow, 1);
  assert.deepEqual([...tree.foldedBelow(t, 1)], ["a", "b"]);
});

test("five siblings alike are one row, until it is opened", () => {
  const rows = [["s", -1, "session", 0, 100], ...Array.from({ length: 6 }, (_, i) => [`search${i}`, 0, "tool", i, 1]), ["read1", 0, "tool", 7, 1]];
  const t = tree.readTree(answer(rows));
  const shown = tree.visibleRows(t, all);
  assert.equal(ids(shown), "s search0 read1");
  assert.equal(shown[1].group.length, 6);
  assert.equal(tree.visibleRows(t, { ...all, opened: new Set(["search0"]) }).length, 8);
  rows[3][5] = "failed"; // an error stands on its own
  assert.equal(ids(tree.visibleRows(tree.readTree(answer(rows)), all)), "s search0 search1 search2 search3 search4 search5 read1");
});

test("changes make the tree that a whole answer makes", () => {
  const r = random(3);
  for (let round = 0; round < 50; round++) {
    const rows = [["s", -1, "session", 0, 100]];
    for (let i = 1; i < 30; i++) rows.push([`e${i}`, r(i), "tool", r(50), 1]);
    // Rows in the order of the API: parents first, children by start and id.
    const order = (list) => {
      const out = [];
      const visit = (id, parent) => {
        const at = out.length;
        const row = list.find((x) => x[0] === id);
        out.push([row[0], parent, ...row.slice(2)]);
        for (const child of list.filter((x) => x[1] >= 0 && list[x[1]][0] === id).sort((a, b) => a[3] - b[3] || (a[0] < b[0] ? -1 : 1))) visit(child[0], at);
      };
      visit("s", -1);
      return out;
    };
    const leaves = rows.filter((row, i) => i > 0 && !rows.some((x) => x[1] === i)).slice(0, 5).map((row) => row[0]);
    const before = tree.readTree(answer(order(rows.map((row) => row))));
    const after = order(rows);
    const changed = after.map((row) => (leaves.includes(row[0]) ? [...row.slice(0, 4), 9, "late"] : row));
    const whole = tree.readTree(answer(changed));
    const a = answer(changed);
    const parents = new Map(changed.map((row) => [row[0], row[1] < 0 ? null : changed[row[1]][0]]));
    const delta = { ...a, since: "1", columns: a.columns.map((c) => (c === "parent" ? "parent_id" : c)), removed: [], rows: a.rows.filter((row) => leaves.includes(row[0])).map((row) => [row[0], parents.get(row[0]), ...row.slice(2)]) };
    const applied = tree.applyChanges(before, delta);
    assert.deepEqual(applied.nodes.map((n) => [n.id, n.parent?.id, n.depth, n.duration, n.error]), whole.nodes.map((n) => [n.id, n.parent?.id, n.depth, n.duration, n.error]));
  }
});

/** A session of events as a server has it, which answers with parts of its tree as GET /v1/sessions/{id}/tree does. */
function longSession(parents) {
  const columns = ["event_id", "parent", "type", "name", "start_time", "duration", "state", "error", "tokens", "cost", "children", "below", "note"];
  const children = parents.map(() => []);
  parents.forEach((p, i) => { if (i > 0) children[p].push(i); });
  const below = parents.map(() => 0);
  for (let i = parents.length - 1; i > 0; i--) below[parents[i]] += below[i] + 1;
  const row = (i, at) => [`e${i}`, at, "tool", `n${i % 7}`, i, 1, "ended", null, null, null, children[i].length, below[i], null];
  const levels = (first, limit) => {
    const shown = new Set();
    for (let level = first; level.length > 0 && shown.size < limit; level = level.flatMap((i) => children[i])) for (const i of level) if (shown.size < limit) shown.add(i);
    return shown;
  };
  const draw = (shown, first) => {
    const rows = [];
    const visit = (i, at) => {
      if (!shown.has(i)) return;
      const here = rows.push(row(i, at)) - 1;
      for (const c of children[i]) visit(c, here);
    };
    for (const i of first) visit(i, -1);
    return { session_id: "e0", touched: "1", total: parents.length, truncated: rows.length < parents.length, columns, rows };
  };
  const number = (id) => Number(id.slice(1));
  return {
    first: (limit) => draw(levels([0], limit), [0]),
    below: (gap, limit) => {
      const all = children[number(gap.parent.id)];
      const list = gap.after ? all.slice(all.indexOf(number(gap.after.id)) + 1) : all;
      return draw(levels(list, limit), list);
    },
    around: (i) => {
      const shown = new Set([0]);
      const gaps = {};
      for (let n = i; n > 0; n = parents[n]) {
        shown.add(n);
        const missing = children[parents[n]].filter((c) => c < n).reduce((sum, c) => sum + 1 + below[c], 0);
        if (missing > 0) gaps[`e${n}`] = missing;
      }
      return { ...draw(shown, [0]), gaps };
    },
    subtree: below,
  };
}

test("parts of a long session count what is missing, whatever is loaded and dropped", () => {
  const r = random(17);
  for (let round = 0; round < 60; round++) {
    const n = 200 + r(200);
    const server = longSession(Array.from({ length: n }, (_, i) => (i === 0 ? 0 : r(3) === 0 ? r(Math.min(i, 4)) : r(i))));
    let t = tree.readTree(server.first(30));
    const check = (what) => {
      const missing = t.nodes.reduce((sum, x) => sum + tree.gapsOf(x).reduce((all, g) => all + g.events, 0), 0);
      assert.equal(t.nodes.length + missing, n, `${what}: ${t.nodes.length} loaded, ${missing} missing of ${n}`);
      assert.equal(t.truncated, t.nodes.length < n);
      for (const x of t.nodes) {
        assert.deepEqual(x.children.map((c) => c.start), x.children.map((c) => c.start).sort((a, b) => a - b), "children by their start");
        for (const c of x.children) assert.ok(c.parent === x && c.depth === x.depth + 1);
      }
      const shown = tree.visibleRows(t, { ...all, group: false });
      const hidden = shown.reduce((sum, row) => sum + (row.gap ? row.gap.events : row.folded ? row.node.below : 0), 0);
      assert.equal(shown.filter((row) => !row.gap).length + hidden, n, "rows and what they say is missing are all events");
      assert.equal(new Set(shown.map(tree.rowKey)).size, shown.length);
    };
    check("the first part");
    for (let step = 1; step < 40; step++) {
      const gap = treewindow.firstGap(t, 20);
      const what = r(4);
      if (what === 0) {
        const wanted = r(n);
        t = treewindow.addPart(t, server.around(wanted), null, null, step);
        assert.ok(t.byId.has(`e${wanted}`));
      } else if (what === 1) {
        const keep = t.nodes[r(t.nodes.length)].id;
        t = treewindow.trim(t, 40, step, keep);
        assert.ok(t.nodes.length <= 60 && t.byId.has(keep));
      } else if (gap) {
        const gaps = t.nodes.flatMap((x) => tree.gapsOf(x));
        const one = gaps[r(gaps.length)];
        const size = t.nodes.length;
        t = treewindow.addPart(t, server.below(one, 20), one.parent, one.after, step);
        assert.ok(t.nodes.length > size, "a part that was asked for adds events");
      }
      check(`step ${step}`);
    }
    for (let gap = treewindow.firstGap(t, 50), rows = 0; gap; gap = treewindow.firstGap(t, 50)) {
      assert.ok(t.nodes.length > rows, "the first gap gets smaller");
      rows = t.nodes.length;
      t = treewindow.addPart(t, server.below(gap, 50), gap.parent, gap.after, 99);
    }
    const whole = tree.readTree(server.first(n));
    assert.deepEqual(t.nodes.map((x) => [x.id, x.parent?.id, x.depth, x.below]), whole.nodes.map((x) => [x.id, x.parent?.id, x.depth, x.below]));
  }
});

test("what was looked at stays when room is made, and a part that is read again brings what is new", () => {
  const parents = [0, ...Array.from({ length: 1000 }, (_, i) => (i < 100 ? 0 : 1 + (i % 100)))];
  const server = longSession(parents);
  let t = tree.readTree(server.first(101));
  for (let i = 1; i <= 100; i++) {
    const parent = t.byId.get(`e${i}`);
    if (!parent) continue;
    t = treewindow.addPart(t, server.below({ parent, after: null }, 50), parent, null, i + 1);
    treewindow.use(t, ["e1", "e101"], i + 1);
    t = treewindow.trim(t, 150, i + 1, "e2");
    assert.ok(t.nodes.length <= 150, `${t.nodes.length} events`);
    for (const id of ["e0", "e1", "e101", "e2", `e${i}`]) assert.ok(i < 2 || t.byId.has(id), `${id} after part ${i}`);
  }
  const grown = longSession([...parents, 0, 0]);
  t = treewindow.addPart(t, grown.first(103), null, null, 200);
  assert.equal(t.total, 1003);
  assert.ok(t.byId.has("e1001") && t.byId.has("e1002"));
});

test("the critical path is what the end waited for", () => {
  assert.deepEqual([...tree.criticalPath(small())].sort(), ["a", "b", "m1", "m2", "s", "t1"]);
  const parallel = tree.readTree(answer([["s", -1, "session", 0, 100], ["slow", 0, "tool", 0, 100], ["quick", 0, "tool", 0, 50]]));
  assert.deepEqual([...tree.criticalPath(parallel)].sort(), ["s", "slow"]);
});

test("bars stand where their time is", () => {
  const range = { start: 0, end: 100 };
  assert.deepEqual(timeline.place(25, 75, timeline.scaleOf(range, [])), { left: 0.25, width: 0.5 });
  assert.deepEqual(timeline.place(-50, 50, timeline.scaleOf(range, [])), { left: 0, width: 0.5 });
  assert.equal(timeline.place(150, 160, timeline.scaleOf(range, [])), null);
  assert.equal(timeline.place(50, 10, timeline.scaleOf(range, [])).width, 0, "an end before the start");
  const r = random(5);
  for (let i = 0; i < 2000; i++) {
    let now = range;
    for (let k = 0; k < 5; k++) now = timeline.zoom(now, range, r(2) ? 0.5 : 1.7, r(100) / 100);
    assert.ok(now.start >= -1e-6 && now.end <= 100 + 1e-6 && now.end > now.start, JSON.stringify(now));
  }
  for (const size of [0.5, 7, 1000, 65_000, 4e6, 3e9]) {
    const ticks = timeline.ticks({ start: 0, end: size }, 0, 6);
    assert.ok(ticks.length >= 1 && ticks.length <= 12, `${size}: ${ticks}`);
  }
});

test("JSON is indexed as JSON.parse reads it, and keeps its digits", () => {
  const r = random(13);
  const value = (depth) => {
    switch (r(depth > 3 ? 5 : 7)) {
      case 0: return r(1e9) - 5e8;
      case 1: return ['"', "\\", "a b", "{", "]", "ü", "\\\"", "\u2028", "", "语"][r(10)].repeat(1 + r(3));
      case 2: return r(2) === 0;
      case 3: return null;
      case 4: return r(1e6) / 1e3;
      case 5: return Array.from({ length: r(5) }, () => value(depth + 1));
      default: return Object.fromEntries(Array.from({ length: r(5) }, (_, i) => [`${["k", '"', "a.b", "__proto__x", ""][r(5)]}${i}`, value(depth + 1)]));
    }
  };
  const check = (text, start, want) => {
    const kind = jsonindex.kindAt(text, start);
    if (kind !== "object" && kind !== "array") return assert.deepEqual(JSON.parse(text.slice(start, jsonindex.valueEnd(text, start))), want);
    const got = [];
    let from;
    do {
      const page = jsonindex.members(text, start, 2, from);
      got.push(...page.entries);
      from = page.next;
    } while (from);
    const expected = Array.isArray(want) ? want.map((v, i) => [i, v]) : Object.entries(want);
    assert.equal(got.length, expected.length);
    expected.forEach(([key, v], i) => {
      assert.equal(got[i].key ?? got[i].index, key);
      check(text, got[i].start, v);
    });
  };
  for (let i = 0; i < 500; i++) {
    const v = value(0);
    const text = JSON.stringify(v, null, r(2) ? 2 : 0);
    check(text, jsonindex.skip(text, 0), v);
  }
  const exact = '{"n":9007199254740993,"f":1e999,"d":1.10}';
  assert.deepEqual(jsonindex.members(exact, 0, 9).entries.map((e) => exact.slice(e.start, e.end)), ["9007199254740993", "1e999", "1.10"]);
  for (const broken of ["{", "[", '{"a', '{"a":', "[1,", '"', "{]", "[}", "nonsense", ""]) {
    const at = jsonindex.skip(broken, 0);
    jsonindex.members(broken, at, 10);
    jsonindex.valueEnd(broken, at);
  }
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  assert.equal(jsonindex.valueEnd(deep, 0), deep.length);
  assert.equal(jsonindex.writePath(["inputs", "a b", 0, "c"]), 'inputs["a b"][0].c');
});

test("messages of every provider's form", () => {
  const parts = (m) => messages.readMessage(m).map((x) => [x.role, ...x.parts.map((p) => p.kind)].join(" "));
  assert.deepEqual(parts({ role: "user", content: "hi" }), ["user text"]);
  assert.deepEqual(parts({ role: "user", content: [{ type: "text", text: "see" }, { type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] }), ["user text image"]);
  assert.deepEqual(parts({ role: "assistant", content: null, tool_calls: [{ id: "1", function: { name: "f", arguments: '{"a":1}' } }] }), ["assistant call"]);
  assert.deepEqual(parts({ role: "tool", tool_call_id: "1", content: '{"b":2}' }), ["tool result"]);
  assert.deepEqual(parts({ role: "assistant", content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "yes" }, { type: "tool_use", id: "1", name: "f", input: {} }] }), ["assistant reasoning text call"]);
  assert.deepEqual(parts({ role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "ok" }] }] }), ["tool result"]);
  assert.deepEqual(parts({ role: "model", parts: [{ text: "from Gemini" }, { functionCall: { name: "f", args: {} } }] }), ["model text call"]);
  assert.deepEqual(parts({ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "mp3" } }] }), ["user audio"]);
  assert.deepEqual(parts({ role: "assistant", content: [{ toolUse: { toolUseId: "1", name: "f", input: {} } }] }), ["assistant call"]);
  assert.deepEqual(parts({ role: "assistant", content: { strange: 1 } }), ["assistant json"]);
  const call = messages.readMessage({ role: "assistant", tool_calls: [{ id: "1", name: "f", arguments: '{"a":1}' }] })[0].parts[0];
  assert.equal(messages.jsonOf(call.arguments), '{"a":1}');
  const out = messages.outputMessages({ role: "assistant", content: "x", finish_reason: "stop", choices: [{ message: { role: "assistant", content: "y" } }] });
  assert.equal(out.messages.length, 2);
  assert.deepEqual(out.rest, { finish_reason: "stop" });
  assert.deepEqual(messages.inputMessages({ chat_history: [{ role: "user", content: "x" }], temperature: 1 }).rest, { temperature: 1 });
  for (const odd of [null, 1, "x", [], [1], { chat_history: 1 }, { chat_history: [null] }, { messages: [[]] }]) {
    messages.inputMessages(odd);
    messages.outputMessages(odd);
  }
});

test("arguments and results of calls keep their digits, shown and sent again", () => {
  const calls = (args) => ({ role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "ship", arguments: args } }] });
  const inputs = { chat_history: [calls('{"order": 9007199254740993}'), { role: "tool", tool_call_id: "c", content: "[1.50, 9007199254740993]" }] };
  const [call, result] = messages.inputMessages(inputs).messages.map((m) => m.parts[0]);
  assert.deepEqual([messages.jsonOf(call.arguments), messages.jsonOf(result.value)], ['{"order": 9007199254740993}', "[1.50, 9007199254740993]"]);
  assert.deepEqual(["rain", '{"a":', { a: 1 }, undefined, 7].map(messages.jsonOf), [null, null, '{"a":1}', "null", "7"]);
  const asked = playground.requestOf(playground.fromEvent({ config: { provider: "openai", model: "m" }, inputs }).variant, {});
  assert.equal(asked.messages[0].tool_calls[0].function.arguments, '{"order": 9007199254740993}');
  assert.equal(asked.messages[1].content, "[1.50, 9007199254740993]");
  const keys = [calls('{"order": 1}'), calls({ order: 1 })].map((m) => messages.messageKey(messages.readMessage(m)[0]));
  assert.equal(keys[0], keys[1], "one message of a conversation, whichever way it is written");
});

test("every sample shows its messages", () => {
  const samples = JSON.parse(readFileSync(process.env.SPANGROVE_WEB_SAMPLES, "utf8"));
  let shown = 0;
  for (const e of samples) {
    if (e.event_type !== "model") continue;
    const { messages: sent } = messages.inputMessages(e.inputs);
    const { messages: got } = messages.outputMessages(e.outputs);
    if (e.inputs?.chat_history?.length > 0) assert.ok(sent.length > 0, JSON.stringify(e.inputs));
    if (e.outputs?.content || e.outputs?.tool_calls) assert.ok(got.length > 0 && got.some((m) => m.parts.length > 0), JSON.stringify(e.outputs));
    for (const m of [...sent, ...got]) {
      assert.ok(m.role, JSON.stringify(m));
      messages.messageLine(m);
    }
    shown += sent.length + got.length;
  }
  assert.ok(samples.length > 100 && shown > 200, `${shown} messages of ${samples.length} events`);
});

test("a thread says each message once, and a transcript has every step", () => {
  const event = (id, history, out) => ({ event_id: id, inputs: { chat_history: history }, outputs: { role: "assistant", content: out } });
  const u1 = { role: "user", content: "one" }, a1 = { role: "assistant", content: "first" }, u2 = { role: "user", content: "two" };
  const items = thread.thread([event("1", [u1], "first"), event("2", [u1, a1, u2], "second")]);
  assert.deepEqual(items.map((i) => [i.event, messages.messageLine(i.message), i.repeated]), [["1", "one", 0], ["1", "first", 0], ["2", "two", 2], ["2", "second", 0]]);
  // What somebody says once more in a conversation is another message, and what a call sends again is not.
  const yes = { role: "user", content: "yes" }, again = [event("1", [u1], "sure?"), event("2", [u1, { ...a1, content: "sure?" }, yes], "sure?"), event("3", [u1, { ...a1, content: "sure?" }, yes, { ...a1, content: "sure?" }, yes], "done")];
  assert.deepEqual(thread.thread(again).map((i) => [i.event, messages.messageLine(i.message), i.repeated]),
    [["1", "one", 0], ["1", "sure?", 0], ["2", "yes", 2], ["2", "sure?", 0], ["3", "yes", 4], ["3", "done", 0]]);
  const steps = thread.transcript(small());
  assert.deepEqual(steps.map((s) => [s.node.id, s.depth, s.wrappers]), [["m1", 0, 1], ["t1", 0, 1], ["m2", 0, 1]]);
});

test("a graph merges calls by name, and every step of a trajectory has its row", () => {
  const g = graph.graphOf(small());
  assert.deepEqual(g.nodes.map((n) => `${n.name}×${n.ids.length}`).sort(), ["a×1", "b×1", "m×2", "s×1", "t×1"]);
  for (const n of g.nodes) assert.ok(n.x >= 0 && n.x <= g.width && n.y >= 0 && n.y <= g.height, n.name);
  const places = new Set(g.nodes.map((n) => `${n.x} ${n.y}`));
  assert.equal(places.size, g.nodes.length, "two nodes stand on one place");
  const t = graph.trajectoryOf(small());
  assert.equal(t.bubbles.length, 5);
  const many = tree.readTree(answer([["s", -1, "session", 0, 1], ...Array.from({ length: 300 }, (_, i) => [`${String.fromCharCode(97 + (i % 26))}${"x".repeat(i % 12)}${i}`, 0, "tool", i, 1])]));
  assert.ok(graph.graphOf(many).nodes.length <= 100 && graph.graphOf(many).left > 0);
  // Of a chain of 150 kinds every third takes no time and is not shown: who called it calls what it called.
  const chain = tree.readTree(answer(Array.from({ length: 150 }, (_, i) => [`${i === 0 ? "s" : `k${"x".repeat(i)}`}`, i - 1, i === 0 ? "session" : "tool", 0, i % 3 === 2 ? 0 : 1000 - i])));
  const c = graph.graphOf(chain);
  assert.equal(c.left, 50);
  assert.deepEqual(c.edges.map((e) => chain.byId.get(e.to.ids[0]).depth - chain.byId.get(e.from.ids[0]).depth), Array.from({ length: 99 }, (_, i) => 1 + (i % 2)));
});

test("a range of time narrows a tree, and the needle has its place in every reading", () => {
  const t = small();
  assert.deepEqual(timeline.narrow(t, { start: 61, end: 65 }).nodes.map((n) => n.id), ["s", "b"]);
  assert.equal(timeline.narrow(t, null), t);
  const whole = { start: 0, end: 100 };
  assert.deepEqual(timeline.readRange(timeline.writeRange({ start: 12.5, end: 60.25 }), whole), { start: 12.5, end: 60.25 });
  assert.deepEqual(timeline.readRange("-5..50", whole), { start: 0, end: 50 });
  for (const none of [null, "", "..", "5", "a..b", "50..40", "0..100", "-1..101", "200..300", "NaN..5"]) assert.equal(timeline.readRange(none, whole), null, String(none));
  for (const none of [null, "", " ", "x", "Infinity"]) assert.equal(timeline.readTime(none), null, String(none));
  const { bubbles } = graph.trajectoryOf(t); // steps start at 0 0 20 60 70
  assert.deepEqual([-1, 0, 10, 20, 65, 70, 1000].map((time) => graph.stepAt(bubbles, time)), [-1, 1, 1.5, 2, 3.5, 4, 4]);
  const busy = graph.busyTimes(t);
  assert.deepEqual(busy.get("model m"), [{ start: 0, end: 20 }, { start: 70, end: 100 }]);
  assert.deepEqual(graph.busyTimes(tree.readTree(answer([["s", -1, "session", 0, 9], ["a1", 0, "tool", 0, 5], ["a2", 0, "tool", 3, 1], ["a3", 0, "tool", 5, 2]]))).get("tool a"), [{ start: 0, end: 7 }]);
});

test("values are written for people", () => {
  assert.equal(format.duration(0.42), "0.4 ms");
  assert.deepEqual([0.97, 999.6, 9996, 59_600].map(format.duration), ["1 ms", "1.00 s", "10.0 s", "1 m"]); // no unit is written where the next one begins
  assert.equal(format.duration(1234), "1.23 s");
  assert.equal(format.duration(75_000), "1 m 15 s");
  assert.equal(format.duration(300_000), "5 m");
  assert.equal(format.duration(7_200_000), "2 h");
  assert.equal(format.duration(90 * 3_600_000), "3 d 18 h");
  assert.equal(format.duration(-1), "–");
  assert.equal(format.duration(Infinity), "–");
  assert.equal(format.cost(0.000042), "$0.000042");
  assert.equal(format.cost(12.345), "$12.35");
  assert.deepEqual([1.2e-6, 2.5e-9].map(format.cost), ["$0.0000012", "$0.0000000025"]); // a cached token costs something
  assert.equal(format.short(1_234_567), "1.2M");
  assert.deepEqual([9999, 10_000, 99_949, 99_950, 999_499, 999_500, 999_499_999, 999_500_000, -250_000].map(format.short), ["9,999", "10.0k", "99.9k", "100k", "999k", "1.0M", "999M", "1.0B", "-250k"]);
  assert.equal(format.time(NaN), "–");
  assert.equal(format.plural(1, "error"), "1 error");
});

test("each letter is in lower case where it was", () => {
  for (let c = 0; c < 0x110000; c++) {
    const letter = String.fromCodePoint(c);
    assert.equal(format.lower(letter).length, letter.length, `U+${c.toString(16)}`);
  }
  assert.equal(format.lower("İSTANBUL, Straße"), "istanbul, straße");
});

test("a scale has round times of the clock that is shown, in every zone, also where it is put forward or back", () => {
  const own = process.env.TZ;
  const hour = 3_600_000;
  try {
    for (const zone of ["UTC", "Europe/Lisbon", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]) {
      process.env.TZ = zone;
      const r = random(11);
      for (let i = 0; i < 400; i++) {
        const from = Date.UTC(2026, r(12), 1 + r(28), r(24), r(60), r(60));
        const to = from + [9, 70, 900, 3600, 20_000, 86_400, 604_800, 2_592_000, 30_000_000, 300_000_000][r(10)] * 1000;
        const n = 2 + r(12);
        const found = clock.ticks(from, to, n);
        assert.ok(found.length <= n + 1 && found.every((t, k) => t.at >= from && t.at <= to && (k === 0 || t.at > found[k - 1].at)), `${zone} ${from} ${to} ${n}`);
        for (const t of found) {
          const shown = format.time(t.at);
          const [date, time] = [clock.dayOf(t.at), shown.slice(11, 16)];
          assert.ok(t.label.startsWith(time) || t.label.startsWith(date), `${zone}: ${t.label} for ${shown}`);
          if (to - from > 40 * 24 * hour) assert.equal(time, "00:00", `${zone}: ${shown}`);
        }
      }
      assert.equal(clock.parse(clock.fieldTime(Date.UTC(2026, 6, 4, 12, 30))), Date.UTC(2026, 6, 4, 12, 30));
    }
    process.env.TZ = "America/New_York";
    assert.equal(format.time(Date.UTC(2026, 0, 1, 3, 4, 5, 6)), "2025-12-31 22:04:05.006");
    assert.equal(format.shortTime(Date.UTC(2026, 0, 1, 3), Date.UTC(2026, 0, 1, 4)), "22:00:00");
    clock.showUTC(true);
    assert.equal(format.time(Date.UTC(2026, 0, 1, 3, 4, 5, 6)), "2026-01-01 03:04:05.006");
    assert.equal(format.shortTime(Date.UTC(2026, 2, 1, 3), Date.UTC(2026, 4, 1)), "Mar 1 03:00");
    assert.equal(clock.parse("2026-07-04T12:30"), Date.UTC(2026, 6, 4, 12, 30));
    assert.equal(format.time(8.64e15), "275760-09-13 00:00:00.000");
  } finally {
    clock.showUTC(false);
    if (own === undefined) delete process.env.TZ;
    else process.env.TZ = own;
  }
});

test("columns are any field of a row, and an address keeps them", () => {
  const row = { metadata: { resource: { "service.name": "desk", "a.b": { c: 1 } }, a: { b: 2 }, "a.b": 3 } };
  assert.equal(columns.valueAt(row, "metadata.resource.service.name"), "desk");
  assert.equal(columns.valueAt(row, "metadata.resource.a.b.c"), 1);
  assert.equal(columns.valueAt(row, "metadata.a.b"), 3);
  assert.equal(columns.valueAt(row, "metadata.constructor.name"), undefined);
  assert.equal(columns.valueAt(row, "metadata.resource.none"), undefined);
  for (const ids of [["start", "metadata.a,b"], ["metadata.100%", "metrics.%2C"]]) {
    assert.deepEqual(columns.readColumns(columns.writeColumns(ids)), ids);
  }
  assert.equal(columns.readColumns(null), null);
  assert.equal(columns.readColumns(""), null);
  assert.deepEqual(columns.readColumns("a,a,%"), ["a", "%"]);
  assert.equal(columns.columnLabel("metadata.resource.service.name"), "service.name");
  assert.equal(columns.columnLabel("metrics.f1"), "f1");
});

test("scores have their explanations and their judges", () => {
  const events = [
    { event_id: "e1", event_name: "answer", metrics: { correct: true, correct_explanation: "as expected", tone_explanation: "alone", none: null, n: 0 } },
    { event_id: "e2", event_name: "other", metrics: { correct: 0.5, correct_explanation: "" } },
    { event_id: "e3", event_name: "without" },
  ];
  const record = (event, metric, session, start) => ({ event_id: `${session}-e`, session_id: session, start_time: start, metadata: { target_event_id: event, evaluator_name: metric } });
  const read = scores.readScores(events, [record("e1", "correct", "j1", 1), record("e1", "correct", "j2", 2), record("e2", "tone", "j3", 1)]);
  assert.deepEqual(read, [
    { metric: "correct", value: true, explanation: "as expected", event: "e1", eventName: "answer", judge: { session: "j2", event: "j2-e" } },
    { metric: "tone_explanation", value: "alone", explanation: null, event: "e1", eventName: "answer", judge: null },
    { metric: "n", value: 0, explanation: null, event: "e1", eventName: "answer", judge: null },
    { metric: "correct", value: 0.5, explanation: null, event: "e2", eventName: "other", judge: null },
  ]);
});

test("explanations are no scores", () => {
  assert.deepEqual(scores.scoreNames(["metrics.a", "metrics.a_explanation", "metrics.b_explanation", "metrics.a"]), ["metrics.a", "metrics.b_explanation"]);
});

/** Whether pairs name every element of both lists once, in order, and pair only what is equal. */
function isAlignment(left, right, pairs) {
  assert.deepEqual(pairs.filter(([i]) => i >= 0).map(([i]) => i), left.map((_, i) => i));
  assert.deepEqual(pairs.filter(([, j]) => j >= 0).map(([, j]) => j), right.map((_, j) => j));
  for (const [i, j] of pairs) if (i >= 0 && j >= 0) assert.equal(left[i], right[j]);
}

test("scores of experiments are written in the unit of their metric, and stand on one axis", () => {
  const plain = { unit: "", is_boolean: false };
  assert.equal(experiments.score(plain, 0.72345), "0.723");
  assert.equal(experiments.score(plain, -1234.5), "−1235");
  assert.equal(experiments.score(plain, 1e-9), "1.00e-9");
  assert.equal(experiments.score(plain, null), "–");
  assert.equal(experiments.score(plain, "tone: warm"), "tone: warm");
  assert.equal(experiments.score({ unit: "", is_boolean: true }, 0.915), "91.5 %");
  assert.equal(experiments.difference({ unit: "ms", is_boolean: false }, 1500), "+1.50 s");
  assert.equal(experiments.difference({ unit: "ms", is_boolean: false }, -1500), "−1.50 s");
  assert.equal(experiments.difference({ unit: "USD", is_boolean: false }, -0.002), "−$0.0020");
  assert.equal(experiments.difference(plain, 0), "0");
  // The mark of a score and its difference have a tone each.
  const ranged = { ...plain, key: "ok", passing_range: { min: 0.5 } };
  assert.deepEqual(experiments.scoreText(ranged, { value: 0.536, values: 3, min: 0.45, max: 0.64, deviation: 0.102, passed: false, values_passed: 2, delta: 0.1, change: "improved" }),
    { mark: "✕", text: "0.536 ±0.102", delta: "▲ +0.1", tone: "good", title: "ok 0.536, 0.45 to 0.64, 2 of 3 pass, at least 0.5, improved" });
  assert.deepEqual(experiments.scoreText(ranged, { value: 0.7, passed: true }), { mark: "✓", text: "0.7", delta: "", tone: "", title: "ok 0.7, passed, at least 0.5" });
  assert.equal(experiments.passesText({ ...plain, passing_range: { min: 0.2, max: 0.5 } }), "0.2 to 0.5");
  assert.equal(experiments.difference({ unit: "", is_boolean: true }, 0.25), "+25 pp");
  assert.equal(experiments.difference({ unit: "", is_boolean: true }, -0.276), "−27.6 pp");
  for (const values of [[], [0], [1, 2, undefined], [-3, -1], [1e-12, 2e-12], [-1e9, 1e9]]) {
    const on = experiments.axis(values);
    for (const v of [0, ...values.filter((v) => v !== undefined)]) assert.ok(experiments.place(on, v) > 0 && experiments.place(on, v) < 100, `${v} on the axis of ${values}`);
  }
});

test("words that another text does not have are told apart, and the text stays whole", () => {
  for (const [text, other, fresh] of [["It takes 3 days.", "It takes 5 days.", "3"], ["a b c", "a b c", ""], ["", "a", ""], ["new", "", "new"], ["x ".repeat(3000), "x", null]]) {
    const parts = experiments.freshWords(text, other);
    assert.equal(parts.map((p) => p.text).join(""), text);
    if (fresh !== null) assert.equal(parts.filter((p) => p.fresh).map((p) => p.text.trim()).join(" "), fresh);
  }
  const textOf = (v) => experiments.textOf(JSON.stringify(v));
  assert.equal(textOf({ answer: "yes" }), "yes");
  assert.equal(textOf({ role: "assistant", content: "yes" }), "yes");
  assert.equal(textOf({ a: 1, b: [2] }), '{\n  "a": 1,\n  "b": [\n    2\n  ]\n}');
  assert.equal(textOf({}), "");
  assert.equal(textOf("yes"), "yes");
  assert.equal(textOf(undefined), "");
  assert.equal(experiments.textOf('{"order":9007199254740993}'), '{\n  "order": 9007199254740993\n}');
  assert.deepEqual(experiments.groups([["a", 1], ["__proto__", 2], ["a", 3]], (x) => x[0]), [["a", [["a", 1], ["a", 3]]], ["__proto__", [["__proto__", 2]]]]);
});

test("lists are aligned, whatever their length", () => {
  const r = random(23);
  for (let i = 0; i < 500; i++) {
    const list = () => Array.from({ length: r(30) }, () => "abcdef"[r(6)]);
    const [left, right] = [list(), list()];
    const pairs = align.align(left, right);
    isAlignment(left, right, pairs);
    // As many pairs as the longest common subsequence has, found another way.
    const best = left.reduce((row, x) => right.reduce((next, y, j) => { next.push(x === y ? row[j] + 1 : Math.max(row[j + 1], next[j])); return next; }, [0]), Array(right.length + 1).fill(0)).at(-1);
    assert.equal(pairs.filter(([i, j]) => i >= 0 && j >= 0).length, best, `${left} ${right}`);
  }
  const long = Array.from({ length: 200_000 }, (_, i) => `word ${i % 5000} ${r(40_000)}`);
  const other = long.flatMap((x, i) => (i % 997 === 3 ? [] : i % 1009 === 5 ? [x, "more"] : [x]));
  const pairs = align.align(long, other);
  isAlignment(long, other, pairs);
  assert.ok(pairs.filter(([i, j]) => i >= 0 && j >= 0).length > 199_000);
  isAlignment(Array(3000).fill("a").concat("b"), Array(2000).fill("c"), align.align(Array(3000).fill("a").concat("b"), Array(2000).fill("c")));
});

test("texts are compared by words, and make both texts again", () => {
  const r = random(5);
  const text = () => Array.from({ length: r(60) }, () => ["one", " ", "\n", "zwölf", "語", "{", "😀"][r(7)]).join("");
  for (let i = 0; i < 300; i++) {
    const [left, right] = [text(), text()];
    const pieces = align.compareTexts(left, right);
    assert.equal(pieces.filter((p) => p.kind !== "right").map((p) => p.text).join(""), left);
    assert.equal(pieces.filter((p) => p.kind !== "left").map((p) => p.text).join(""), right);
  }
  assert.deepEqual(align.compareTexts("the red fox", "the blue fox"), [
    { kind: "same", text: "the " }, { kind: "left", text: "red" }, { kind: "right", text: "blue" }, { kind: "same", text: " fox" }]);
  assert.deepEqual(align.compareTexts("", ""), []);
});

test("two sessions part where they first differ", () => {
  const session = (rows) => tree.readTree(answer(rows));
  const steps = [["s", -1, "session", 0, 100], ["plan1", 0, "chain", 1, 90], ["look1", 1, "tool", 2, 10], ["look2", 1, "tool", 14, 10], ["chat1", 1, "model", 30, 10], ["write1", 1, "tool", 50, 10]];
  const left = session(steps);
  const alike = diverge.pairTrees(left, session(steps), () => "");
  assert.equal(diverge.nextDifference(alike, 0), -1);
  assert.deepEqual(diverge.foldAlike(alike, new Set()), [{ at: 0, folded: 1 }, { at: 1, folded: 5 }]);
  assert.equal(diverge.foldAlike(alike, new Set([1])).length, 6);
  const other = session([...steps.slice(0, 3), ["chat1", 1, "model", 30, 10], ["write1", 1, "tool", 50, 10, "failed"], ["check1", 1, "tool", 70, 10]]);
  const pairs = diverge.pairTrees(left, other, () => "");
  assert.deepEqual(pairs.map((p) => [p.left?.name ?? null, p.right?.name ?? null, p.kind]), [
    ["s", "s", "same"], ["plan", "plan", "same"], ["look", "look", "same"], ["look", null, "left"], ["chat", "chat", "same"], ["write", "write", "changed"], [null, "check", "right"]]);
  assert.equal(diverge.nextDifference(pairs, 0), 3);
  assert.equal(diverge.nextDifference(pairs, 3), 5);
  assert.equal(diverge.nextDifference(pairs, 5, -1), 3);
  const swapped = diverge.pairTrees(other, left, () => "");
  assert.deepEqual(swapped.map((p) => p.kind).sort(), pairs.map((p) => ({ left: "right", right: "left" })[p.kind] ?? p.kind).sort());
  const said = diverge.pairTrees(left, session(steps), (id) => (id === "chat1" ? String(said_++) : undefined));
  assert.deepEqual(said.filter((p) => p.kind === "changed").map((p) => p.left.name), ["chat"]);
  const many = (n) => session([["s", -1, "session", 0, 1], ...Array.from({ length: n }, (_, i) => [`e${i}`, i % 10 === 0 ? 0 : i - (i % 10) + 1, "tool", i, 1])]);
  assert.equal(diverge.pairTrees(many(3000), many(2999), () => "").filter((p) => p.kind !== "same").length, 1);
  const deep = session(Array.from({ length: 3000 }, (_, i) => [`e${i}`, i - 1, i === 0 ? "session" : "chain", i, 1]));
  assert.equal(diverge.pairTrees(deep, deep, () => "").length, 3000);
});
let said_ = 0;

test("idle times are folded, and places stay in order", () => {
  const rows = [["s", -1, "session", 0, 1000], ["plan1", 0, "chain", 0, 1000], ["look1", 1, "tool", 10, 40], ["look2", 1, "tool", 30, 50], ["chat1", 1, "model", 600, 100], ["chat2", 1, "model", 710, 40]];
  const t = tree.readTree(answer(rows));
  const idle = timeline.idleTimes(t);
  assert.deepEqual(idle, [{ start: 80, end: 600 }, { start: 750, end: 1000 }]); // 10 ms at the beginning and 10 between calls are too short
  assert.deepEqual(timeline.idleTimes(tree.readTree(answer([["s", -1, "session", 0, 1000]]))), []);
  const whole = timeline.wholeRange(t);
  for (const scale of [timeline.scaleOf(whole, idle), timeline.scaleOf(whole, []), timeline.scaleOf({ start: 50, end: 700 }, idle), timeline.scaleOf({ start: 100, end: 200 }, idle)]) {
    assert.ok(Math.abs(scale.toShare(scale.range.start)) < 1e-9 && Math.abs(scale.toShare(scale.range.end) - 1) < 1e-9);
    let before = -Infinity;
    for (let time = scale.range.start; time <= scale.range.end; time += 3.7) {
      const share = scale.toShare(time);
      assert.ok(share > before, `${time}`);
      assert.ok(Math.abs(scale.toTime(share) - time) < 1e-3, `${time}`);
      before = share;
    }
  }
  const folded = timeline.scaleOf(whole, idle);
  assert.ok(timeline.place(80, 600, folded).width < 0.05 && timeline.place(600, 700, folded).width > 0.3);
  assert.equal(timeline.scaleOf({ start: 100, end: 200 }, idle).folded.length, 0, "a time that is shown in part stays");
});

test("cells of CSV are no formulas", () => {
  assert.equal(exported.cell("=1+1"), "'=1+1");
  assert.equal(exported.cell('@x,"y"'), `"'@x,""y"""`);
  assert.equal(exported.cell(-5), "-5");
  assert.equal(exported.cell({ a: 1 }), '"{""a"":1}"');
});

test("a file has the fields of the columns, and the id of each row", () => {
  assert.deepEqual(exported.fieldsOf("events", ["start", "name", "session", "metrics.toString", "tokens", "constructor"]), ["event_id", "start_time", "event_name", "session_id", "metrics.toString", "metadata.total_tokens", "constructor"]);
  assert.deepEqual(exported.fieldsOf("sessions", ["session_id", "start", "tokens", "cost", "metadata.a.b"]), ["session_id", "start_time", "tokens.total", "cost", "metadata.a.b"]);
});

test("rows are chosen by lists of a hundred ids", () => {
  const ids = Array.from({ length: 250 }, (_, i) => `${i}`);
  assert.deepEqual(exported.filtersOf("events", ids.slice(0, 2)), [{ field: "event_id", operator: "is any of", value: ["0", "1"] }]);
  const [{ any }] = exported.filtersOf("sessions", ids);
  assert.deepEqual(any.map((l) => l[0].value.length), [100, 100, 50]);
  assert.deepEqual(any.flatMap((l) => l[0].value), ids);
});

test("every snippet has the address and the key", () => {
  for (const s of snippets.snippets("https://x.example/prefix", "sg_key")) {
    assert.ok(s.text.includes("https://x.example/prefix") && s.text.includes("sg_key"), s.id);
  }
});

test("the addresses of OTLP are those that a program needs", () => {
  const bound = (grpc, http) => [{ serves: "api", url: "http://0.0.0.0:7420" }, { serves: "otlp_grpc", url: grpc }, { serves: "otlp_http", url: "http://0.0.0.0:7420" }, { serves: "otlp_http", url: http }];
  const seen = (page, grpc, http) => snippets.listeners(bound(grpc, http), page).map((l) => `${l.name} ${l.url} ${l.local}`);
  assert.deepEqual(seen("http://obs.example:7420/x", "https://0.0.0.0:4317", "http://[::]:4318"), ["OTLP over gRPC https://obs.example:4317 false", "OTLP over HTTP http://obs.example:4318 false"]);
  assert.deepEqual(seen("http://obs.example:7420", "http://127.0.0.1:4317", "http://[::1]:4318"), ["OTLP over gRPC http://127.0.0.1:4317 true", "OTLP over HTTP http://[::1]:4318 true"]);
  assert.deepEqual(seen("http://localhost:7420", "http://127.0.0.1:4317", "unix:///run/o.sock"), ["OTLP over gRPC http://127.0.0.1:4317 false", "OTLP over HTTP unix:///run/o.sock false"]);
  assert.deepEqual(seen("http://localhost:7420", "http://10.0.0.7:4317", "unix:///run/o.sock")[0], "OTLP over gRPC http://10.0.0.7:4317 false");
  assert.ok(snippets.snippets("a", "k", "http://h:4317").some((s) => s.text.includes("http://h:4317") && s.text.includes('PROTOCOL="grpc"')));
  assert.ok(!snippets.snippets("a", "k").some((s) => s.text.includes('"grpc"')));
});

test("refused attempts to send are told from questions, each with what helps", () => {
  const at = (minutes) => new Date(Date.UTC(2026, 10, 23, 12, minutes)).toISOString();
  const one = (method, path, status, key_prefix = "sg_9fk2m4x", minutes = 5) => ({ time: at(minutes), method, path, status, message: "no", key_prefix, count: 1 });
  const list = [
    one("POST", "/v1/traces", 401), one("POST", "/v1/events/batch", 400), one("PUT", "/v1/events", 403), one("POST", "/", 404),
    one("POST", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", 401, ""),
    one("GET", "/v1/me", 401, ""), one("POST", "/v1/login", 401), one("POST", "/v1/sessions/search", 400), one("POST", "/v1/events/previews", 400), one("POST", "/v1/traces", 401, "sg_old", 0),
  ];
  const shown = refusals.attempts(list, Date.parse(at(1)));
  assert.deepEqual(shown, list.slice(0, 5));
  const help = shown.map((r) => refusals.cure(r, "http://h:7420"));
  assert.match(help[0], /begins with sg_9fk2m4x/);
  assert.match(help[1], /names what is wrong/);
  assert.match(help[2], /scope ingest/);
  assert.match(help[3], /need http:\/\/h:7420, others http:\/\/h:7420\/v1\/traces/);
  assert.match(help[4], /No key came along/);
  for (const status of [405, 409, 413, 415, 422, 429]) assert.ok(refusals.cure(one("POST", "/v1/traces", status), "http://h").length > 20);
});

test("a list is the same list in another project, without what is of one project alone", () => {
  for (const [from, to] of [
    ["#/sessions?range=all&q=name%7Ea&s=1&view=2", "#/sessions?range=all&q=name%7Ea"],
    ["#/events?view=2", "#/events"],
    ["#/completions", "#/completions"],
    ["#/start", "#/start"],
    ["#/session/1234?e=5", "#/"],
    ["#/sessions/1234", "#/"],
    ["#/compare?a=1&b=2", "#/"],
    ["", "#/"],
    ["#", "#/"],
    ["#/in/code", "#/"],
  ]) assert.equal(place.placeElsewhere(from), to, from);
});

test("tiles make room for one that is moved, dragged or resized, and none overlap", () => {
  const r = random(11);
  const tile = (chart, x, y, width, height) => ({ chart, x, y, width, height });
  const places = (tiles) => tiles.map((t) => `${t.chart} ${t.x},${t.y} ${t.width}x${t.height}`);
  const two = [tile("a", 0, 0, 6, 4), tile("b", 6, 0, 6, 4), tile("c", 0, 4, 12, 2)];
  assert.deepEqual(places(charts.move(two, "c", 0, -1)), ["c 0,0 12x2", "a 0,2 6x4", "b 6,2 6x4"]);
  assert.deepEqual(places(charts.move(two, "a", 0, 1)), ["b 6,0 6x4", "c 0,4 12x2", "a 0,6 6x4"]);
  assert.deepEqual(places(charts.move(two, "a", -1, 0)), places(two));
  assert.deepEqual(places(charts.resize(two, "a", 20, 1)), ["a 0,0 12x2", "b 6,2 6x4", "c 0,6 12x2"]);
  let tiles = charts.flow(Array.from({ length: 12 }, (_, i) => ({ id: String(i), display: r(2) ? "number" : "lines" })));
  for (let i = 0; i < 500; i++) {
    const chart = String(r(12));
    tiles = [() => charts.move(tiles, chart, r(3) - 1, r(3) - 1), () => charts.put(tiles, chart, r(14) - 1, r(20)), () => charts.resize(tiles, chart, r(14), r(24))][r(3)]();
    assert.equal(tiles.length, 12);
    for (const a of tiles) {
      assert.ok(a.x >= 0 && a.width >= 2 && a.x + a.width <= 12 && a.height >= 2 && a.height <= 20 && Number.isInteger(a.y) && a.y >= 0, places([a])[0]);
      for (const b of tiles) assert.ok(a === b || a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height, `${places([a, b])}`);
    }
  }
});

test("filters of a chart come back as the text that they were made of, and what no text says is kept", () => {
  for (const text of ["", "type:model duration>150", "-type:tool has:error -has:feedback.rating", "model:(o3 OR gpt-4o) cost<0.5", 'metadata.region:"eu west" refund', "(type:tool has:error OR cost>1)", "model!~mini name~an"]) {
    const { filters } = filter.compile(text, "events");
    const back = charts.textOf(filters);
    assert.deepEqual(back.rest, [], text);
    assert.deepEqual(filter.compile(back.text, "events").filters, filters, `${text}: ${back.text}`);
  }
  const odd = [{ field: "metadata.n", operator: "is", type: "number", value: 3 }, { field: "event_type", operator: "is", value: "tool" }, { field: "text", operator: "matches words", value: "a b" }];
  assert.deepEqual(charts.textOf(odd), { text: "type:tool", rest: [odd[0], odd[2]] });
});

test("the events behind a point are found by a text", () => {
  const series = { name: "", metric: "cost", aggregation: "sum", groupBy: "config.model", filters: [{ field: "event_type", operator: "is", value: "model" }] };
  assert.equal(charts.eventsOf("user:u", series, { group: "gpt 4", other: false }), 'user:u type:model model:"gpt 4" has:cost -source:evaluator');
  assert.equal(charts.eventsOf("", series, { group: null, other: false }), "type:model -has:model has:cost -source:evaluator");
  assert.equal(charts.eventsOf("", series, { group: "other", other: true }), null);
  assert.equal(charts.eventsOf("source:x", { ...series, aggregation: "count", groupBy: "", filters: [] }, null), "source:x");
});

test("rows of a chart: totals that can be added up, the others last, and a CSV that no spreadsheet runs", () => {
  const drawing = { id: null, name: "", display: "bars", series: [{ name: "", metric: "metrics.ok", aggregation: "average", groupBy: "config.model", filters: [] }] };
  const row = (group, values, counts, more = {}) => ({ group, values, counts, previous: [null, 0.5], previous_counts: [0, 4], ...more });
  const rows = charts.rowsOf(drawing, [{ total: 9, rows: [row("=a", [1, 0.5], [1, 3]), row("b", [0, null], [9, 0]), row("other", [1, 1], [20, 20], { other: true }), row(null, [null, null], [0, 0], { previous: null })] }]);
  assert.deepEqual(rows.map((r) => [r.label, r.tint, r.total]), [["b", 1, 0], ["=a", 2, 0.625], ["all others", 10, 1]]);
  assert.equal(charts.valueText(drawing.series[0], rows[1].total, new Set(["metrics.ok"])), "62.5%");
  assert.equal(charts.csvOf(["t1", "t2"], rows).split("\r\n")[0], 'time,b,"b, before",\'=a,"\'=a, before",all others,"all others, before"');
  assert.equal(charts.csvOf(["t1", "t2"], rows).split("\r\n")[1], "t1,0,,1,,1,");
  assert.equal(charts.change(undefined, 110, 100, new Set()), "+10%");
  assert.equal(charts.change(drawing.series[0], 0.732, 0.75, new Set(["metrics.ok"])), "−1.8 pp");
  assert.equal(charts.change(drawing.series[0], 0.75, 0, new Set(["metrics.ok"])), "+75 pp");
  assert.equal(charts.change({ ...drawing.series[0], aggregation: "sum" }, 3, 2, new Set(["metrics.ok"])), "+50%");
  const board = charts.readyMade("quality", [{ field: "metrics.ok", rate: true }, { field: "feedback.stars", rate: false }]);
  assert.deepEqual(board.charts.slice(2).map((c) => [c.name, c.series[0].metric]), [["ok, rate of true", "metrics.ok"], ["Feedback: stars, average", "feedback.stars"]]);
  assert.equal(charts.change(undefined, 5, 0, new Set()), "");
});

test("a metric's answers have number keys, and what is typed is a score or none", () => {
  const keys = (m) => queue.optionsOf({ scale: null, categories: null, ...m })?.map((o) => `${o.key}=${o.value}`).join(" ");
  assert.equal(keys({ return_type: "boolean" }), "1=true 2=false");
  assert.equal(keys({ return_type: "float", scale: 3 }), "0=0 1=1 2=2 3=3");
  assert.equal(keys({ return_type: "float", scale: 10 }).split(" ").at(0), "=0");
  assert.equal(keys({ return_type: "float", scale: 10 }).split(" ").at(-1), "0=10");
  for (const scale of [null, 0, 2.5, 11]) assert.equal(keys({ return_type: "float", scale }), undefined, String(scale));
  assert.equal(keys({ return_type: "categorical", categories: Array.from({ length: 11 }, (_, i) => ({ category: `c${i}` })) }), "1=c0 2=c1 3=c2 4=c3 5=c4 6=c5 7=c6 8=c7 9=c8 0=c9 =c10");
  assert.equal(keys({ return_type: "string" }), undefined);
  for (const [type, text, want] of [["float", "1.5", 1.5], ["float", "1e999", null], ["float", "x", null], ["float", " ", null], ["string", "x", "x"], ["string", " ", null]]) {
    assert.equal(queue.typed({ return_type: type }, text), want, `${type} ${text}`);
  }
});

test("how far somebody is, and over what annotators differ", () => {
  assert.equal(queue.position({ annotated: 2, skipped: 1, open: 30, held_by_others: 2 }), "4 of 35, 2 held by others");
  assert.equal(queue.position({ annotated: 0, skipped: 0, open: 1, held_by_others: 0 }), "1 of 1");
  assert.deepEqual(queue.differing([{ scores: { a: 1, b: true, c: "x" } }, { scores: { a: 1.0, b: false } }]), ["b"]);
  assert.deepEqual(queue.differing([{ scores: { __proto__: null, constructor: 1 } }, { scores: { constructor: 2 } }]), ["constructor"]);
  assert.deepEqual(queue.differing([]), []);
  assert.deepEqual([true, false, undefined, 0, "x"].map(queue.say), ["Yes", "No", "–", "0", "x"]);
});

test("JSON is split and put together by its text, digit for digit", () => {
  const text = '{"a": 9007199254740993, "b\\"}": "x, ]\\\\", "c": [1.50, {"d": []}] , "e":{}, "f" : null}';
  const members = raw.members(text);
  assert.deepEqual([...members], [["a", "9007199254740993"], ['b"}', '"x, ]\\\\"'], ["c", '[1.50, {"d": []}]'], ["e", "{}"], ["f", "null"]]);
  assert.equal(raw.object(members.set("a", "1e999")), '{"a":1e999,"b\\"}":"x, ]\\\\","c":[1.50, {"d": []}],"e":{},"f":null}');
  assert.deepEqual(raw.elements('[ {"a":[1,2]}, "]", 3 ]'), ['{"a":[1,2]}', '"]"', "3"]);
  assert.deepEqual([raw.elements("[]"), [...raw.members("{ }")]], [[], []]);
  assert.equal(raw.pretty('{"a":{},"b":[1,{"c":"{,"}],"d":[ ]}'), '{\n  "a": {},\n  "b": [\n    1,\n    {\n      "c": "{,"\n    }\n  ],\n  "d": []\n}');
  const r = random(3);
  const value = (depth) => [() => r(1e9), () => null, () => true, () => `t"{}[],:\\ ${r(99)}`, () => Array.from({ length: r(4) }, () => value(depth + 1)), () => Object.fromEntries(Array.from({ length: r(4) }, () => [`k"${r(9)}`, value(depth + 1)]))][r(depth > 4 ? 4 : 6)]();
  for (let i = 0; i < 2000; i++) {
    const v = { a: value(0), b: value(0) };
    for (const text of [JSON.stringify(v), JSON.stringify(v, null, 3)]) {
      assert.deepEqual(JSON.parse(raw.object(raw.members(text))), v);
      assert.deepEqual(JSON.parse(raw.pretty(text)), v);
      if (Array.isArray(v.a)) assert.deepEqual(raw.elements(raw.members(text).get("a")).map((e) => JSON.parse(e)), v.a);
    }
  }
  // Two texts of one value are one text when they are compared, and no digit is lost.
  assert.equal(raw.comparable('{"\\u0061":1.50,"b":[1e2,-0.0,true,"\\u00e9\\/"]}'), raw.comparable(' {"a" : 1.5, "b": [100, 0, true, "é/"]}'));
  for (const [a, b] of [["9007199254740993", "9007199254740992"], ["0.10000000000000001", "0.1"], ["1e400", "1e401"], ["-1e-400", "0"]]) assert.notEqual(raw.comparable(`[${a}]`), raw.comparable(`[${b}]`));
  assert.deepEqual([raw.written("1.50 ", false), raw.written("x", false), raw.written("x", true), raw.shown('"a\\nb"')], ["1.50", null, '"x"', "a\nb"]);
});

test("files of rows are read as the server reads them, and what is wrong is named", () => {
  const read = (text, name = "f.csv") => {
    const f = datafile.readFile(name, text);
    return { ...f, rows: f.rows.map((row) => Object.fromEntries(row)) };
  };
  let f = read('\uFEFFq;a\r\n"a;""b""\r\nc";2\r\n\r\nx;\r\n');
  assert.deepEqual([f.separator, f.columns, f.rows, f.total, f.bad], [";", ["q", "a"], [{ q: '"a;\\"b\\"\\nc"', a: '"2"' }, { q: '"x"', a: '""' }], 2, 0]);
  f = read('q,a\n1\n2,3\n"x"y,4\nz"z,5\n"open,6');
  assert.deepEqual(f.wrong.map((w) => [w.row, w.line, w.column, w.message]), [
    [1, 2, "a", "has 1 cells, the line of names has 2"], [3, 4, undefined, "there is text behind the quote that ends a cell"],
    [4, 5, undefined, "a quote stands in a cell that does not begin with one"], [5, 6, undefined, "a cell that begins with a quote does not end with one"]]);
  assert.deepEqual([f.total, f.bad, f.rows.length], [5, 4, 1]);
  assert.equal(read("a,a\n1,2").problem, "The column “a” is there twice.");
  assert.equal(read("a,\n1,2").problem, "Column 2 has no name.");
  assert.equal(read("a,b\n").problem, "The file has no rows.");
  assert.match(read(`a\n${"x\n".repeat(10_001)}`).problem, /10,001 rows/);
  assert.equal(read("a\tb\n1\t2").separator, "\t");
  f = read('{"inputs": {"n": 1.50}}\n\n[1]\n{"x"\n{"other": 1}', "f.jsonl");
  assert.deepEqual([f.total, f.bad, f.columns, f.rows, f.wrong.map((w) => [w.row, w.line])], [4, 2, ["inputs", "other"], [{ inputs: '{"n": 1.50}' }, { other: "1" }], [[2, 3], [3, 4]]]);
  f = read(' [{"a": 1}, {"a": [2]}]', "");
  assert.deepEqual([f.format, f.total, f.rows], ["jsonl", 2, [{ a: "1" }, { a: "[2]" }]]);
  assert.match(read("[{]", "f.json").problem, /no JSON/);
  assert.deepEqual(["question", "inputs.q", "answer", "split", "id", "history", "inputs", "inputs."].map(datafile.guess), ["inputs.question", "inputs.q", "ground_truth.answer", "metadata.split", "", "history", "inputs", "metadata.inputs."]);
  const row = new Map([["q", '"1"'], ["all", '"{\\"a\\": 1.50}"'], ["h", '"[]"'], ["none", '"x"']]);
  assert.deepEqual(datafile.asDatapoint(row, (c) => ({ q: "inputs.q", all: "inputs", h: "history", none: "" })[c]).parts, { inputs: '{"q":"1","a":1.50}', history: "[]" });
  assert.match(datafile.asDatapoint(row, (c) => (c === "q" ? "history" : "")).message, /“q” must be an array of objects/);
});

test("what is no JSON is said in words, with the place", () => {
  const wrong = (text) => datafile.readFile("f.jsonl", text).wrong.map((w) => `${w.line}: ${w.message}`);
  assert.deepEqual(wrong('{"a":1}\n{"a":1 "b":2}\n{"a":\n{a:1}\n'), ["2: is no JSON: character 8 does not belong there", "3: is no JSON: it ends too early", "4: is no JSON: character 2 does not belong there"]);
  assert.deepEqual(wrong('{"a":1,]'), ["1: is no JSON: character 8 does not belong there"]);
  assert.equal(datafile.readFile("f.json", '[{"a":1},\n{"a":1 "b"}]').problem, "The file is no JSON: line 2, character 8 does not belong there.");
});

test("no file breaks the reader, and every row is kept or named", () => {
  const r = random(5);
  const letters = '",;\t\r\n a{}[]:1';
  for (let i = 0; i < 5000; i++) {
    const text = Array.from({ length: r(30) }, () => letters[r(letters.length)]).join("");
    for (const name of ["f.csv", "f.jsonl"]) {
      const f = datafile.readFile(name, text);
      if (!f.problem) assert.equal(f.rows.length + f.bad, f.total, JSON.stringify(text));
    }
  }
});

test("a prompt is read from an event and a configuration, and written as a request", () => {
  const { variant, answer, left } = playground.fromEvent({
    config: { provider: "openai", model: "gpt-4o-mini-2024", request_model: "gpt-4o-mini", temperature: 0, stop_sequences: ["END"], tools: [{ name: "weather", parameters: { type: "object" } }], hyperparameters: { top_p: 0.5 } },
    inputs: { chat_history: [
      { role: "system", content: "Be brief, {{ name }}." }, { role: "user", content: [{ type: "text", text: "Look" }, { type: "image_url", image_url: { url: "data:image/png;base64,AQI=" } }] },
      { role: "assistant", content: null, reasoning: "Hm.", tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }] }, { role: "tool", tool_call_id: "c1", content: "rain" },
    ] },
    outputs: { role: "assistant", content: "It rains." },
  });
  assert.equal(answer, "It rains.");
  assert.deepEqual(left, ["reasoning"]);
  assert.deepEqual(playground.variablesOf(variant.messages.map((m) => m.text)), ["name"]);
  const asked = playground.requestOf(variant, { name: "{{city}} $& Ann" });
  assert.deepEqual(asked, {
    provider: "openai", model: "gpt-4o-mini", parameters: { temperature: 0, top_p: 0.5, stop: ["END"] }, tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
    messages: [
      { role: "system", content: "Be brief, {{city}} $& Ann." }, { role: "user", content: [{ type: "text", text: "Look" }, { type: "image_url", image_url: { url: "data:image/png;base64,AQI=" } }] },
      { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }] }, { role: "tool", content: "rain", tool_call_id: "c1" },
    ],
  });
  // A configuration keeps all but images, and what it had besides.
  variant.messages[1].images = undefined;
  variant.settings.tool_choice = "required";
  const kept = playground.parametersOf(variant, { call_type: "chat", own: 1, functionCallParams: "none" });
  assert.equal(kept.own, 1);
  assert.deepEqual(playground.fromConfiguration({ provider: "openai", parameters: kept }).messages, variant.messages.map(({ images: _, ...m }) => m));
  assert.deepEqual(playground.fromConfiguration({ provider: "openai", parameters: kept }).settings, variant.settings);
  assert.deepEqual(JSON.parse(playground.fromConfiguration({ provider: "openai", parameters: kept }).tools), JSON.parse(variant.tools).map((t) => ({ ...t, function: { name: "weather", parameters: { type: "object" } } })));
  assert.throws(() => playground.requestOf({ ...variant, settings: { temperature: "warm" } }, {}), /temperature: warm is not a number/);
  assert.throws(() => playground.requestOf({ ...variant, tools: "[" }, {}), /tools: /);
  // What says nothing is not sent, but for what a tool returned.
  const empty = playground.emptyVariant();
  empty.messages[1].text = "{{question}}";
  assert.deepEqual(playground.requestOf(empty, { question: "Why?" }).messages, [{ role: "user", content: "Why?" }]);
  assert.deepEqual(playground.requestOf({ ...empty, messages: [{ role: "tool", text: "", callId: "c1" }] }, {}).messages, [{ role: "tool", content: "", tool_call_id: "c1" }]);
  assert.equal(playground.lackOf(empty), "");
  assert.equal(playground.lackOf(playground.emptyVariant()), "no message has a text");
  assert.match(playground.lackOf({ ...empty, settings: { temperature: "warm" } }), /temperature: warm is not a number/);
});

test("variables are filled from datapoints, and nothing that is no variable is touched", () => {
  const d = { inputs: { question: "Why?", deep: { n: 1 }, "a.b": "dotted", __proto__: null }, ground_truth: { answer: "So" } };
  assert.deepEqual(playground.valuesOf(["question", "inputs.question", "deep.n", "deep", "a.b", "ground_truth.answer", "none", "constructor", "toString"], JSON.stringify(d)),
    { question: "Why?", "inputs.question": "Why?", "deep.n": "1", deep: '{"n":1}', "a.b": "dotted", "ground_truth.answer": "So" });
  assert.deepEqual(playground.valuesOf(["order", "empty", "nothing", "list.1"], '{"inputs":{"order":9007199254740993,"empty":"","nothing":null,"list":[0,1.50]},"nothing":"so"}'), { order: "9007199254740993", nothing: "so", "list.1": "1.50" });
  assert.equal(playground.fill("{{a}} {{ a }} {{b}} {{constructor.constructor('x')()}} {a}", { a: "1" }), "1 1 {{b}} {{constructor.constructor('x')()}} {a}");
});

test("an answer is put together from its pieces", () => {
  const pieces = [["delta", { reasoning: "Hm." }], ["delta", { text: "It " }], ["delta", { text: "rains.", tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: '{"a"' } }] }], ["delta", { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }],
    ["later", {}], ["usage", { cost: null }], ["error", { message: "No." }]];
  const a = pieces.reduce((a, [kind, data]) => playground.addPiece(a, kind, data), { text: "", reasoning: "", calls: [] });
  assert.deepEqual(a, { text: "It rains.", reasoning: "Hm.", calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } }], usage: { cost: null }, error: "No." });
});

test("what is wrong with a tool's schema is said", () => {
  const flaws = (v) => toolschema.readSchema(typeof v === "string" ? v : JSON.stringify(v)).flaws;
  assert.deepEqual(flaws({ type: "object", properties: { a: { type: "array", items: { type: "string" } }, b: { enum: [1] } }, required: ["a"] }), []);
  assert.deepEqual(flaws({}), []);
  assert.equal(flaws("{").length, 1);
  assert.match(flaws({ type: "strin" }).join(), /must be object at the top.*"strin" is not a type/);
  assert.match(flaws({ type: "object", properties: { a: { type: "array" } }, required: ["b", "toString"] }).join(), /"b" is not among the properties.*"toString" is not.*properties\.a\.items: is missing/);
  assert.match(flaws({ type: "object", properties: { a: { enum: [] }, b: 7, c: { required: [1] } } }).join(), /a\.enum: must be an array.*properties\.b: must be an object.*c\.required: must be an array of names/);
  assert.equal(flaws({ type: "object", properties: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`p${i}`, 7])) }).length, 20);
});

test("a case file answers as a server would: trees, events digit for digit, previews, words and scores", () => {
  const event = (id, more) => `{"event_id":"${id}","session_id":"s","event_name":"n ${id}",${more}}`;
  const file = casefile.readCase([
    `{"spangrove_case":1}`, `{"event":${event("s", `"inputs":{}`)}}`, `{"event":${event("a", `"inputs":{"n":9007199254740993},"outputs":{"t":"a \\"quote\\""},"metrics":{"m":1}`)}}`,
    `{"event":{"event_id":"b","session_id":"other","event_name":"b","metrics":{"m":2}}}`,
    `{"tree":{"session_id":"s","rows":[]},"session":"s"}`, `{"previews":{"a":{"input":"x"}}}`, `{"later":{}}`, `{"end":7}`, ``,
  ].join("\n"));
  const ask = (path, body) => { const text = casefile.answerOf(file, path, body); return text && JSON.parse(text); };
  assert.deepEqual(ask("v1/sessions/s/tree?since=1"), { session_id: "s", rows: [] });
  assert.equal(ask("v1/sessions/t/tree"), null);
  assert.equal(casefile.answerOf(file, "v1/events/a/fields/inputs"), `{"n":9007199254740993}`);
  assert.equal(ask("v1/events/a?children=none").event_name, "n a");
  assert.equal(ask("v1/events/missing?children=none"), null);
  assert.equal(ask("v1/metrics"), null);
  assert.deepEqual(ask("v1/events/previews", { event_ids: ["a", "s"] }), { previews: { a: { input: "x" } } });
  const found = (...filters) => ask("v1/events/search", { filters: [{ field: "session_id", operator: "is", value: "s" }, ...filters] }).events.map((e) => e.event_id);
  assert.deepEqual(found({ field: "metrics", operator: "exists" }), ["a"]);
  assert.deepEqual(found({ field: "text", operator: "contains", value: `a "quote"` }), ["a"]);
  assert.deepEqual(found({ field: "source", operator: "is", value: "evaluator" }), []);
  assert.equal(file.nameOf("s"), "n s");
});
