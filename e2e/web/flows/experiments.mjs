// Experiments in Chromium: the list, one run, and runs compared, with the keyboard alone; and eight large runs, measured.
import assert from "node:assert/strict";
import { base, figure, hostile, open, run, send, shots, soon, test, time, uuid } from "../page.mjs";
import { frameWork, held, median } from "../measure.mjs";

// ---- Data ----

async function dataset(name, inputs) {
  const id = (await send("POST", "/v1/datasets", { name })).result.insertedId;
  const points = [];
  for (let i = 0; i < inputs.length; i += 5000) {
    const data = inputs.slice(i, i + 5000).map((question, k) => ({ question, answer: `It takes ${i + k} days, and is free of charge.` }));
    points.push(...(await send("POST", `/v1/datasets/${id}/datapoints`, { data, mapping: { inputs: ["question"], ground_truth: ["answer"] } })).datapoint_ids);
  }
  return { id, name, inputs, points };
}

/** A run over a dataset, of which score gives the correctness of a repetition of a datapoint. */
async function experiment(name, set, score, { repeat = 1, calls = true, answer = (i) => `It takes ${i} days.` } = {}) {
  const id = uuid();
  await send("POST", "/v1/runs", { run_id: id, name, status: "completed", dataset_id: set.id, passing_ranges: { correctness: { min: 0.5 }, latency: { max: 5000 } } });
  const now = Date.now() - 60_000;
  const events = set.points.flatMap((point, i) => Array.from({ length: repeat }, (_, k) => {
    const session = uuid();
    const model = { event_id: uuid(), session_id: session, parent_id: session, event_type: "model", event_name: "chat", start_time: now + i, duration: 200, inputs: {}, outputs: { content: answer(i) }, metadata: { cost: 0.001, total_tokens: 100 } };
    return [{
      event_id: session, session_id: session, event_type: "session", event_name: name, start_time: now + i, duration: 300 + i % 7, error: name === "cheaper" && i === 3 ? "TimeoutError: no answer" : undefined,
      inputs: { question: set.inputs[i] }, outputs: { answer: answer(i) }, metadata: { run_id: id, datapoint_id: point },
      metrics: { correctness: score(i, k), correctness_explanation: `said of ${i}`, latency: (name === "cheaper" ? 290 : 300) + i % 7, polite: i % 5 > 0, ...(name === "before" ? { zeal: 1 } : {}) },
    }, ...(calls ? [model] : [])];
  }).flat());
  for (let i = 0; i < events.length; i += 5000) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 5000) });
  return id;
}

const questions = [...hostile.map((text) => text.slice(0, 20_000)), ...Array.from({ length: 44 }, (_, i) => `How long does it take to return order ${i}?`)];
const support = await dataset("support <b>questions</b>", questions);
const before = await experiment("before", support, (i, k) => 0.4 + (i % 5) / 10 + k / 100, { repeat: 3 });
const better = await experiment("better", support, (i) => 0.55 + (i % 5) / 10, { answer: (i) => `It takes ${i} days, and is free of charge.` });
const cheaper = await experiment("cheaper", support, (i) => (i % 2 ? 0.2 : 0.9) + (i % 5) / 50, { answer: (i) => hostile[i % hostile.length].slice(0, 3000) });
await experiment("alone", await dataset("another", ["one", "two"]), () => 1);
const compared = `experiments/compare?runs=${before},${better},${cheaper}`;

// ---- Cases ----

test("the list: scores over time, filters, sort, and marks that are compared, by keyboard", async () => {
  const p = await open();
  await p.go("sessions", ".page");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("g");
  await p.page.keyboard.press("x");
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 4 && document.querySelectorAll(".run-trends .run-trend > i").length >= 9);
  await p.flaws("the list");
  await p.page.selectOption("[aria-label=Dataset]", support.id);
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 3);
  await p.page.click(".table .head button:has-text('correctness')");
  await p.page.waitForFunction(() => document.querySelector(".table .row")?.textContent.includes("better"));
  await p.page.reload();
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 3 && document.querySelector(".table .row").textContent.includes("better"));
  await p.page.fill("#runs-name", "no such");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".empty:has-text('No experiment matches')");
  await p.page.click(".empty button");
  await p.page.waitForFunction(() => document.querySelectorAll(".table .row").length === 4);
  await p.page.locator("h1").click();
  await p.page.keyboard.press("d"); // nothing is marked
  for (const k of ["j", "x", "j", "x"]) await p.page.keyboard.press(k);
  await p.page.waitForFunction(() => document.querySelectorAll(".table input:checked").length === 2 && /2 marked/.test(document.querySelector(".page header").textContent));
  await p.check("the list");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".compared");
  assert.match(p.page.url(), /experiments\/compare\?runs=/);
  await p.page.goBack();
  await p.page.waitForFunction(() => document.querySelectorAll(".table input:checked").length === 2);
  // The palette leads from the id of a run to its page.
  await p.page.keyboard.press("Control+k");
  await p.page.fill(".palette input", better);
  await p.page.waitForSelector(".palette li:has-text('Experiment better')");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("h1:has-text('better')");
  await p.check("from the palette");
  await p.close();
});

test("the list shows runs before what they came to, and that ten at a time", async () => {
  const p = await open();
  let free;
  const held = new Promise((done) => { free = done; });
  const asked = [];
  await p.page.route(/v1\/runs\?.*aggregates=true/, async (r) => { asked.push(new URL(r.request().url()).searchParams.get("run_ids").split(",").length); await held; await r.continue(); });
  await p.go("experiments", ".table .row:has-text('better')");
  await soon.match(() => p.page.textContent(".table .row"), /…/);
  free();
  await p.page.waitForSelector(".run-score");
  await p.page.waitForFunction(() => !document.querySelector(".table").textContent.includes("…"));
  assert.ok(asked.every((n) => n <= 10), String(asked));
  await p.check("summed up");
  await p.close();
});

test("the list follows a run until it is finished, and shows the last score that there is", async () => {
  const id = uuid();
  await send("POST", "/v1/runs", { run_id: id, name: "going on", status: "running", dataset_id: support.id });
  const p = await open();
  const asked = [];
  p.page.on("request", (r) => { if (r.url().includes("aggregates=true")) asked.push(new URL(r.url()).searchParams.get("run_ids")); });
  await p.go(`experiments?dataset=${support.id}`, ".table .row:has-text('going on'):has-text('running')");
  await p.page.waitForSelector(".run-trends figure");
  const session = uuid();
  const event = (more) => send("POST", "/v1/events/batch", { events: [{ event_id: session, session_id: session, event_type: "session", event_name: "on", start_time: Date.now(), duration: 5, inputs: {}, outputs: {}, metadata: { run_id: id, datapoint_id: support.points[0] }, ...more }] });
  await event({});
  await p.page.waitForFunction(() => document.querySelectorAll(".run-trends figure:first-of-type .run-trend > i").length === 4);
  assert.ok((await p.page.locator(".run-trends figcaption b").allInnerTexts()).every((t) => t !== "–"));
  await send("PUT", `/v1/runs/${id}`, { status: "completed" });
  await p.page.waitForSelector(".table .row:has-text('going on'):has-text('completed')");
  const before = asked.length;
  await p.page.waitForTimeout(4000);
  assert.deepEqual(asked.slice(before), [], "runs that are finished are read again");
  await p.check("a run that goes on");
  await p.close();
  await send("DELETE", `/v1/runs/${id}`);
});

test("one run: datapoints, what passes, the session behind a row", async () => {
  const p = await open();
  await p.go(`experiments/${before}`, ".table .row");
  const text = await p.page.textContent(".run-totals");
  assert.match(text, new RegExp(`${questions.length} datapoints${questions.length * 3} sessions`));
  assert.ok((await p.page.textContent(".table .row")).includes(questions[0]), "the input is not shown as it is");
  await p.page.click(".row-counters button:has-text('Failed')");
  await p.page.waitForFunction(() => location.hash.includes("only=failed") && [...document.querySelectorAll(".table .row")].every((r) => r.textContent.includes("✕")));
  // Of repetitions it is said how many pass, and what passes is said of the column.
  await soon.match(() => p.page.locator(".table .row [title^='correctness']").first().getAttribute("title"), /^correctness 0\.41, 0\.4 to 0\.42, 0 of 3 pass, at least 0\.5$/);
  await soon.equal(() => p.page.locator(".table .head [role=columnheader]", { hasText: "correctness" }).getAttribute("title"), "passes: at least 0.5");
  await p.page.click(".row-counters button:has-text('With errors')");
  await p.page.waitForSelector(".empty button");
  await p.page.click(".empty button");
  await p.page.click(".table .head button:has-text('correctness')");
  await p.page.waitForFunction(() => location.hash.includes("sort=value") && /✕/.test(document.querySelector(".table .row")?.textContent));
  await p.page.locator("h1").click();
  await p.page.keyboard.press("j");
  await p.page.waitForSelector(".detail-row .text-diff ins, .detail-row .text-diff del");
  await p.page.waitForSelector(".detail-row .peek .step");
  await p.page.waitForSelector(".detail-scores li:has-text('said of')");
  const three = await p.page.locator(".row-turns button").count();
  assert.equal(three, 3, "repetitions");
  await p.page.click(".row-turns button:nth-child(2)");
  await p.page.waitForSelector(".row-turns button:nth-child(2)[aria-pressed=true]");
  await p.flaws("a run with a row open");
  await p.check("a run");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector(".tree-row");
  await p.page.goBack();
  await p.page.waitForSelector(".detail-row");
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector(".detail-row", { state: "detached" });
  await p.go("experiments/compare", ".table .row");
  await p.go(`experiments/${uuid()}`, ".empty[role=alert]");
  await p.check("no such run");
  await p.close();
});

test("runs compared: intervals, the sentence, counters that filter, differences by word", async () => {
  const answer = await send("POST", "/v1/runs/compare", { run_ids: [before, better, cheaper] });
  const metric = answer.metrics.find((m) => m.key === "correctness");
  const p = await open();
  await p.go(compared, ".compared");
  // What is drawn is what the server says: grey where the interval holds 0.
  const tones = await p.page.locator(".run-card[aria-label=correctness] .whisker").evaluateAll((all) => all.map((w) => w.getAttribute("class").trim().split(" ")[1]));
  assert.deepEqual(tones, metric.runs.slice(1).map((r) => ({ better: "good", worse: "bad", cannot_tell: "faint" })[r.verdict]));
  assert.deepEqual(tones, ["good", "faint"]);
  await p.page.click(".run-sentences p:has-text('better') button");
  const copied = await p.page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, `better: ${answer.runs[1].sentence}\n${base}/#/experiments/compare?runs=${encodeURIComponent([before, better, cheaper].join(","))}`);
  assert.deepEqual((await p.page.locator(".run-card").evaluateAll((all) => all.map((c) => c.getAttribute("aria-label")))).slice(3), ["duration", "cost", "tokens", "zeal"]);
  // Rates differ by points, and an arrow says whether a row became better.
  assert.match(await p.page.innerText(".run-card[aria-label=polite]"), new RegExp(`baseline [\\d.]+ % over ${questions.length * 3} values[^]*${questions.length} pairs[^]*0 pp`));
  const marks = await p.page.locator(".compared .marks > span > span:last-child").evaluateAll((all) => all.map((s) => [s.className, s.textContent.trim()]));
  assert.ok(marks.some(([tone, text]) => tone === "good" && text === "▲ −10"), "less latency is no improvement");
  for (const [tone, text] of marks) if (/[▲▼]/.test(text)) assert.equal(text.includes("▲"), tone === "good", `${tone}: ${text}`);
  const worse = metric.runs[2].degraded;
  await p.page.click(".run-card[aria-label=correctness] .run-against:last-child button.bad");
  await p.page.waitForFunction((n) => document.querySelector(".foot").textContent.startsWith(`${n} row`), worse);
  assert.match(p.page.url(), /metric=correctness.*only=degraded|only=degraded.*metric=correctness/);
  // j and k go through exactly these rows.
  await p.page.locator("h1").click();
  const ids = [];
  for (let i = 0; i < worse + 2; i++) {
    await p.page.keyboard.press("j");
    ids.push(await p.page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("s")));
  }
  const wanted = (await send("POST", "/v1/runs/compare", { run_ids: [before, better, cheaper], metric: "correctness", run_id: cheaper, only: "degraded", limit: 200 })).rows.map((r) => r.id);
  assert.deepEqual([...new Set(ids)], wanted);
  await p.page.waitForSelector(".detail-row .side:nth-child(4) .text-diff del");
  await p.flaws("a comparison with a row open");
  await p.page.keyboard.press("o");
  await p.page.waitForFunction(() => location.hash.includes("against=expected") && document.querySelectorAll(".detail-row .text-diff").length === 2);
  await p.page.reload();
  await p.page.waitForFunction(() => document.querySelectorAll(".detail-row .text-diff").length === 2 && /the same in both/.test(document.querySelector(".detail-row .side:nth-child(3)").textContent));
  await p.page.goBack(); // the filter was a step, and the row and the switch were none
  await p.page.waitForFunction((n) => document.querySelector(".foot").textContent.startsWith(`${n} row`), questions.length);
  await p.page.waitForSelector(".compared ins");
  await p.page.selectOption("[aria-label=Baseline]", better);
  await p.page.waitForSelector(".compared-head div:nth-child(3) .chip");
  await p.page.waitForFunction(() => /^better/.test(document.querySelector(".run-card .whisker title")?.textContent) === false);
  await p.check("a comparison");
  await p.close();
});

test("all runs have their sentence, a mark keeps its tone whatever has changed, and nine runs are too many in words", async () => {
  const more = [await experiment("slower", support, (i) => (i % 2 ? 0.45 : 0.4) + (i % 5) / 100), await experiment("last", support, () => 0.1)];
  const p = await open({ width: 1440 });
  await p.go(`${compared},${more.join(",")}`, ".compared");
  await soon.equal(() => p.page.locator(".run-sentences p").count(), 3);
  const shown = () => p.page.locator(".run-sentences").evaluate((box) => box.scrollHeight <= box.clientHeight);
  assert.ok(await shown(), "sentences are out of sight");
  await p.page.click("button:has-text('Show the sentences of 1 other run')");
  await soon.equal(() => p.page.locator(".run-sentences p").count(), 4);
  assert.ok(await shown(), "sentences are out of sight");
  // 0.45 of the one that is slower does not pass, and is better than 0.41.
  const score = p.page.locator(".compared .marks > span[title*='not passed'][title$='improved']").first();
  assert.match(await score.locator(".bad").textContent(), /^✕/);
  assert.match(await score.locator(".good").textContent(), /▲ \+/);
  await p.flaws("five runs");
  await p.go(`experiments/compare?runs=${Array.from({ length: 9 }, () => uuid()).join(",")}`, ".empty:has-text('8 runs are compared at most')");
  await p.page.click(".empty a");
  await p.page.waitForSelector("header:has-text('8 marked')");
  await p.check("five runs");
  await p.close();
  for (const id of more) await send("DELETE", `/v1/runs/${id}`);
});

test("marked rows go into a queue and into a dataset", async () => {
  const p = await open();
  await p.go(`${compared}&only=errors`, ".compared");
  await p.page.locator("h1").click();
  for (const k of ["j", "x"]) await p.page.keyboard.press(k);
  await p.page.click(".row-counters button:has-text('All')");
  await p.page.waitForFunction((n) => document.querySelector(".foot").textContent.startsWith(`${n} row`), questions.length);
  await p.page.locator("h1").click();
  for (const k of ["j", "x", "j", "x", "j", "x", "x"]) await p.page.keyboard.press(k);
  await p.page.waitForSelector(".foot b:has-text('3 marked')"); // the row with an error is marked still
  await p.page.keyboard.press("a");
  await p.page.fill("dialog input", "doubtful");
  await p.flaws("the dialog");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("dialog [role=status]:has-text('3 sessions added')");
  const queue = (await send("GET", "/v1/queues")).queues.find((q) => q.name === "doubtful");
  const items = (await send("GET", `/v1/queues/${queue.id}/items`)).items.map((i) => i.event_id).sort();
  assert.equal(items.length, 3);
  await p.page.keyboard.press("Escape");
  await p.page.waitForSelector("dialog", { state: "detached" });
  await p.page.keyboard.press("x");
  await p.page.waitForSelector(".foot b:has-text('1 marked')");
  await p.page.keyboard.press("s");
  await p.page.fill("dialog input", "regressions");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("dialog [role=status]:has-text('1 datapoint added')");
  const added = async () => (await send("GET", "/v1/datapoints?dataset_name=regressions")).datapoints;
  assert.deepEqual((await added()).map((d) => d.id), [support.points[2]]); // the datapoint itself
  await p.page.keyboard.press("Escape");
  await p.page.keyboard.press("x");
  await p.page.waitForSelector(".foot b:has-text('1 marked')");
  await p.page.keyboard.press("s");
  await p.page.selectOption("dialog select >> nth=0", "1");
  await p.page.selectOption("dialog select >> nth=1", { label: "regressions" });
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=status]:has-text('1 datapoint added')");
  assert.match(JSON.stringify((await added()).find((d) => d.id !== support.points[2]).ground_truth), /It takes 2 days, and is free of charge/);
  await p.check("marks");
  await p.close();
  // Who may only read sees why not.
  const me = await send("GET", "/v1/me");
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: "2099-01-01T00:00:00Z" });
  const r = await open({ signIn: false });
  assert.equal((await r.context.request.post(`${base}/v1/login`, { data: { key: made.data?.key_value ?? made.key_value } })).status(), 200);
  await r.go(`${compared}&s=${support.points[0]}`, ".compared");
  await r.page.locator("h1").click();
  await r.page.keyboard.press("x");
  await r.page.waitForSelector(".foot:has-text('a key that may only read cannot add them')");
  await r.page.keyboard.press("a");
  assert.equal(await r.page.locator("dialog, .foot button:has-text('To a')").count(), 0);
  await r.check("a key that reads");
  await r.close();
});

test("the pages of experiments at three widths, in both themes", async () => {
  for (const [width, scheme] of [[400, "light"], [1280, "dark"], [2560, "light"]]) {
    const p = await open({ width, height: width === 400 ? 800 : 900, scheme, reduced: width === 400 });
    for (const [name, route, sign] of [["list", "experiments", ".table .row"], ["run", `experiments/${before}?s=${support.points[0]}`, ".detail-row .text-diff"], ["compare", compared, ".compared"], ["compare-row", `${compared}&s=${support.points[17]}`, ".detail-row .text-diff"]]) {
      await p.go(route, sign);
      await p.page.waitForTimeout(150);
      await p.check(`${name} at ${width}`);
      if (shots) await p.page.screenshot({ path: `${shots}/experiments-${name}-${width}-${scheme}.png` });
      if (width === 400) await p.flaws(`${name} at 400`);
      const heads = await p.page.locator(".run-card:first-child .run-against.faint .delta").evaluateAll((all) => all.map((h) => [h.textContent, h.scrollWidth - h.clientWidth]).filter(([, over]) => over > 0));
      assert.deepEqual(heads, [], `headings of ${name} at ${width}`);
    }
    await p.close();
  }
});

const large = Number(process.env.SPANGROVE_WEB_DATAPOINTS ?? 500);

test("eight large runs open, and scroll", async () => {
  const began = Date.now();
  const set = await dataset("large", Array.from({ length: large }, (_, i) => `Question ${i}: how long does it take?`));
  const runs = [];
  for (let r = 0; r < 8; r++) runs.push(await experiment(`large ${r}`, set, (i) => ((i * 7 + r * 3) % 11) / 10, { calls: false, answer: (i) => `It takes ${i % (r + 2)} days, and is ${r % 2 ? "free of charge" : "not free"}.` }));
  figure(`8 runs of ${large} datapoints stored`, Date.now() - began, "ms");
  const opened = [];
  for (let i = 0; i < 3; i++) {
    const p = await open();
    await p.go("start", ".snippet");
    const asked = Date.now();
    await p.page.evaluate((list) => { location.hash = `#/experiments/compare?runs=${list}`; }, runs.join());
    await (await p.page.waitForSelector(".compared:nth-child(3) .cell:nth-child(9)")).dispose(); // or the page would hold the first grid, if it made another one
    opened.push(Date.now() - asked);
    if (i === 2) {
      await soon.match(() => p.page.textContent(".foot"), new RegExp(`${large.toLocaleString("en-US")} rows`));
      const client = await p.context.newCDPSession(p.page);
      const work = await frameWork(p.page, client, ".compared-grid");
      time("eight runs: work a frame while scrolling, on average, of the processor", work.mean, 12);
      time("eight runs: work a frame while scrolling, p95, of the processor", work.p95, 16);
      figure("eight runs: work a frame, p95, with whatever else the machine did", work.clock, "ms");
      // All rows are reached, page after page.
      await p.page.evaluate(() => { window.down = setInterval(() => { document.querySelector(".compared-grid").scrollTop = 1e9; }, 50); });
      await p.page.waitForFunction((n) => document.querySelector(`.compared[aria-rowindex="${n + 1}"]`) !== null, large, { timeout: 60_000 });
      await p.page.evaluate(() => clearInterval(window.down));
      await p.page.waitForTimeout(300);
      // Preact holds the rows that the grid had when its page was last drawn, which may be those of a moment ago: a mark draws it anew.
      for (const marked of [true, false]) await p.page.locator(".compared input[type=checkbox]").last().setChecked(marked);
      figure("eight runs: DOM nodes", (await held(client)).nodes, "", 4000);
      await p.check("eight runs");
      // The address of a row of the last page shows it.
      await p.go(`experiments/compare?runs=${runs.join()}&s=${set.points[large - 1]}`, ".detail-row .text-diff");
      await p.page.waitForSelector(`.compared.selected[aria-rowindex="${large + 1}"]`);
    }
    await p.close();
  }
  figure("eight runs: the first time", opened[0], "ms");
  time("eight runs: rows are shown", median(opened), 1500);
});

await run();
