// Dashboards and charts: the boards that every project has, a copy that is arranged by keyboard and pointer, a chart that is built and saved,
// the table and files behind a chart, what a click and a drag do, hostile names, and how long twelve charts take.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { hostile, open, run, send, soon, test, time, uuid } from "../page.mjs";

// 6,000 events of 14 days in sessions of one model call and one tool call, every tenth with an error; in the older week half as many.
const now = Date.now();
const hour = 3_600_000;
// Of a server that has many events already, only the time of twelve charts is measured, for each of these ranges:
// SPANGROVE_WEB_RANGES=7d,30d node flows/dashboards.mjs "twelve charts"
const ranges = process.env.SPANGROVE_WEB_RANGES?.split(",");
if (!ranges) {
  const events = [];
  for (let i = 0; i < 2000; i++) {
    const session = uuid();
    const start = i % 3 === 0 ? now - 7 * 24 * hour - ((i * 7919) % (7 * 24 * 60)) * 60_000 : now - ((i * 7919) % (7 * 24 * 60)) * 60_000 - 5000;
    events.push(
      { event_id: session, session_id: session, event_type: "session", event_name: "chat", inputs: {}, start_time: start, end_time: start + 2000, duration: 2000 },
      { session_id: session, parent_id: session, event_type: "model", event_name: i % 5 === 0 ? hostile[i % hostile.length].slice(0, 300) : "answer", config: { model: i % 4 === 1 ? "small" : "large" }, inputs: {}, start_time: start + 10, duration: 100 + (i % 900),
        metadata: { cost: 0.01, prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }, metrics: { correct: i % 4 !== 0, polite: i % 8 !== 0, [hostile[1]]: 1 }, ...(i < 20 ? { feedback: { ground_truth: `Order ${i} was sent.`, stars: i % 5 } } : {}) },
      { session_id: session, parent_id: session, event_type: "tool", event_name: "search", inputs: {}, start_time: start + 20, duration: 30, ...(i % 10 === 0 ? { error: "timeout" } : {}) });
  }
  for (let i = 0; i < events.length; i += 600) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 600) });
  await send("POST", "/v1/metrics", { name: "correct", type: "HUMAN", criteria: "", return_type: "boolean" });
}

const tile = (page, name) => page.locator(".tile", { has: page.locator("h2", { hasText: name }) }).first();
const loaded = (page) => page.waitForFunction(() => document.querySelectorAll(".tile .uplot canvas").length > 3 && !document.querySelector(".page > .progress"));

test("the overview: numbers, the period before, a cursor over all charts", async () => {
  const { page, go, check, flaws, close } = await open();
  await go("dashboards", ".boards a");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /^Overview/ }).click();
  await loaded(page);
  await soon.match(() => tile(page, /^Model calls$/).locator(".big").innerText(), /^1,33\d \+100%$/, "two thirds of the calls are of the last week");
  await soon.match(() => tile(page, /^Cost$/).locator(".big").innerText(), /^\$13\.3\d/);
  const plot = tile(page, "Model calls by model").locator(".plot");
  await plot.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowRight");
  const at = await plot.getAttribute("aria-valuenow");
  assert.equal(at, "10");
  await soon.match(() => plot.getAttribute("aria-valuetext"), /^large \d+, small \d+$/);
  await soon.equal(() => tile(page, "Tokens").locator(".plot").getAttribute("aria-valuenow"), at, "the cursor is over all charts");
  const lines = await page.$$eval(".u-cursor-x", (all) => new Set(all.filter((l) => !l.closest(".tile.small")).map((l) => Math.round(new DOMMatrix(getComputedStyle(l).transform).e))).size);
  assert.ok(lines <= 2, `${lines} places of the cursor`);
  await flaws("the overview");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role=grid], table");
  const address = decodeURIComponent(page.url());
  assert.match(address, /#\/events\?q=type:model\+-source:evaluator&range=\d+\.\.\d+$/, "the events of a point");
  await page.goBack();
  await loaded(page);
  await check("the overview");
  await close();
});

test("the board of quality: rates in percent, also of what no metric describes, and no chart of texts", async () => {
  const { page, go, check, close } = await open();
  await go("dashboards/quality", ".tile");
  await loaded(page);
  for (const [name, rate] of [["correct", "75%"], ["polite", "87.5%"]]) await soon.equal(() => tile(page, `${name}, rate of true`).locator(".legend b, .legend .value").first().innerText(), rate);
  await soon.match(() => tile(page, "correct, rate of true").locator(".legend button span:last-child").innerText(), /^[+−]\d+(\.\d)? pp$/, "rates differ by points");
  const names = await page.locator(".tile h2").allInnerTexts();
  assert.ok(names.includes("Feedback: stars, average"), names.join());
  assert.ok(!names.some((n) => n.includes("ground_truth")), names.join());
  await check("quality");
  await close();
});

test("a drag is the range of all charts, and what stands behind a chart is a table, a CSV and a picture", async () => {
  const { page, go, check, flaws, close } = await open({ scheme: "dark" });
  await go("dashboards/cost", ".tile");
  await loaded(page);
  const box = await tile(page, "Cost by model").locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/range=\d+\.\.\d+/);
  const [, from, to] = /range=(\d+)\.\.(\d+)/.exec(page.url());
  assert.ok(Math.abs(to - from - 42 * hour) < 4 * hour, `${(to - from) / hour} hours`);
  await page.goBack();
  await page.waitForURL((u) => !u.href.includes("range="));
  await loaded(page);
  const cost = tile(page, "Cost by model");
  const menu = async (what) => { await cost.getByRole("button", { name: /^Menu/ }).click(); await page.getByRole("button", { name: what, exact: true }).click(); };
  await menu("Table");
  const rows = await page.locator(".chart-table tbody tr").count();
  assert.ok(rows > 50, `${rows} rows`);
  assert.deepEqual(await page.locator(".chart-table thead th").allInnerTexts(), ["Time", "large", "before", "small", "before"]);
  await flaws("the table");
  await page.keyboard.press("Escape");
  const csv = page.waitForEvent("download");
  await menu("CSV");
  const text = readFileSync(await (await csv).path(), "utf8").split("\r\n");
  assert.equal(text[0], 'time,large,"large, before",small,"small, before"');
  const sum = text.slice(1, -1).reduce((n, line) => n + Number(line.split(",")[1]) + Number(line.split(",")[3]), 0);
  assert.ok(Math.abs(sum - 13.33) < 0.1, `${sum} dollars`);
  const png = page.waitForEvent("download");
  await menu("Picture (PNG)");
  assert.equal(readFileSync(await (await png).path()).subarray(1, 4).toString(), "PNG");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await loaded(page);
  await check("what is behind a chart");
  await close();
});

test("a copy is arranged by keyboard alone, and by pointer, and steps are taken back", async () => {
  const { page, go, check, flaws, close } = await open();
  await go("dashboards/cost", ".tile");
  await page.getByRole("button", { name: "Copy" }).click();
  await page.waitForURL(/dashboards\/[0-9a-f]{24}\?arrange=1/);
  await loaded(page);
  const stands = (label) => page.waitForFunction((l) => [...document.querySelectorAll(".tile.arranged")].some((t) => t.ariaLabel === l), label, { timeout: 5000 });
  await stands("Tokens by model: column 1, row 11, 6 wide, 4 high");
  await page.locator(".tile.arranged").filter({ hasText: "Tokens by model" }).first().focus();
  for (const key of ["ArrowUp", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown"]) await page.keyboard.press(key);
  await stands("Tokens by model: column 2, row 7, 7 wide, 5 high");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Tokens by model/, "the focus stays");
  await page.keyboard.press("u");
  await stands("Tokens by model: column 2, row 7, 7 wide, 4 high");
  await page.locator(".tile.arranged").first().scrollIntoViewIfNeeded();
  const corner = await page.locator(".tile.arranged").first().locator(".corner").boundingBox();
  await page.mouse.move(corner.x + 8, corner.y + 8);
  await page.mouse.down();
  await page.mouse.move(corner.x + 8 + 280, corner.y + 8 + 75, { steps: 5 });
  await page.mouse.up();
  await stands("Cost: column 1, row 1, 6 wide, 3 high");
  const first = await page.locator(".tile.arranged").filter({ has: page.locator("h2", { hasText: /^Model calls$/ }) }).first().boundingBox();
  await page.mouse.move(first.x + 40, first.y + 14);
  await page.mouse.down();
  await page.mouse.move(first.x + 40, first.y + 14 + 500, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => [...document.querySelectorAll(".tile.arranged")].some((t) => /^Model calls: column 10, row ([6-9]|1\d),/.test(t.ariaLabel)), null, { timeout: 5000 });
  await page.getByLabel("Name of the dashboard").fill(hostile[1]);
  await flaws("arranging");
  await page.getByRole("button", { name: "Done" }).click();
  const kept = async () => (await send("GET", `/v1/dashboards/${new URL(page.url()).hash.match(/[0-9a-f]{24}/)[0]}`)).data;
  await soon.equal(async () => (await kept()).layout.some((t) => t.x === 9 && t.y >= 5), true, "what was arranged is stored");
  await soon.equal(async () => (await kept()).name, hostile[1]);
  await page.reload();
  await loaded(page);
  await soon.equal(() => page.locator("h1").innerText(), hostile[1]);
  assert.equal(await tile(page, /^Cost$/).evaluate((e) => e.style.gridColumn), "1 / span 6");
  const href = await tile(page, "Cost by model").locator("a", { hasText: "Alert on this" }).getAttribute("href");
  assert.match(href, /^#\/alerts\?chart=[0-9a-f]{24}$/);
  await page.keyboard.press("a");
  await page.locator(".tile.arranged").filter({ hasText: "Cost by step" }).first().focus();
  await page.keyboard.press("Delete");
  await page.waitForFunction(() => document.querySelectorAll(".tile").length === 9);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete the dashboard?" }).click();
  await page.waitForSelector(".boards");
  await check("arranging");
  await close();
});

test("of three rows the period before is not drawn, as it says, and a click on one draws it", async () => {
  const { page, go, check, close } = await open();
  const drawing = { name: "by type", display: "lines", series: [{ name: "", metric: "duration", aggregation: "count", groupBy: "event_type", filters: [] }] };
  await go(`charts/new?c=${encodeURIComponent(JSON.stringify(drawing))}`, ".legend");
  const note = page.locator(".legend", { hasText: "The period before is drawn of 2 rows at most" });
  await note.waitFor();
  await page.locator(".legend button").first().click();
  await note.waitFor({ state: "detached" });
  await check("three rows");
  await close();
});

test("a chart is built, saved to a dashboard, changed, and found by its filter again", async () => {
  const { data: board } = await send("POST", "/v1/dashboards", { name: "watched" });
  const { page, go, check, flaws, close } = await open();
  await go(`dashboards/${board.id}`, ".empty");
  await page.getByRole("link", { name: "Build a chart" }).click();
  await page.waitForSelector(".builder .uplot");
  await page.getByLabel("Name", { exact: true }).fill("How often it is right");
  await page.getByLabel("Summed up as").selectOption("average");
  const of = page.getByLabel("Of", { exact: true });
  await of.fill("metrics.correct");
  await page.waitForTimeout(600); // the average of the durations is drawn, and the field with it
  assert.equal(await of.inputValue(), "metrics.correct");
  await of.press("Tab");
  await page.getByRole("combobox", { name: /filter/i }).first().fill("type:model duration>150");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => /75(\.\d)?%|74\.\d%/.test(document.querySelector(".builder .legend")?.textContent ?? ""));
  await page.getByLabel("A row for each value of").fill("config.model");
  await page.getByLabel("A row for each value of").press("Tab");
  await page.waitForFunction(() => document.querySelectorAll(".builder .legend button").length === 2);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".builder .legend button").length === 2);
  await flaws("the builder");
  await page.getByRole("button", { name: "Save to the dashboard" }).click();
  await page.waitForURL(/dashboards/);
  await page.waitForSelector(".board .tile .uplot");
  const { data: read } = await send("GET", `/v1/dashboards/${board.id}`);
  assert.deepEqual(read.charts.map((c) => [c.name, c.metric, c.func, c.groupBy, c.bucketing]), [["How often it is right", "metrics.correct", "average", "config.model", "auto"]]);
  assert.deepEqual(read.charts[0].query, [{ field: "event_type", operator: "is", value: "model" }, { field: "duration", operator: "greater than", type: "number", value: 150 }]);
  await tile(page, "How often").getByRole("button", { name: /^Menu/ }).click();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.waitForSelector(".builder .uplot");
  await soon.equal(() => page.getByRole("combobox", { name: /filter/i }).first().inputValue(), "type:model duration>150");
  await page.getByRole("button", { name: "Add a series" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".builder .legend button").length === 4);
  await page.getByRole("button", { name: "Save to the dashboard" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".board .legend button").length === 4);
  await check("building");
  await close();
});

test("hostile names stay text, at every width, and a read key sees nothing that it may not do", async () => {
  const names = hostile.filter((h) => h.length < 300).slice(0, 8).map((h) => h.slice(0, 190));
  const charts = [];
  for (const name of names) charts.push((await send("POST", "/v1/charts", { name, metric: "metrics." + hostile[1], func: "average", series: [{ name, metric: "duration", groupBy: "event_name", aggregation: "count" }] })).data.id);
  const layout = charts.map((chart, i) => ({ chart, x: (i % 2) * 6, y: Math.floor(i / 2) * 4, width: 6, height: 4 }));
  const { data: board } = await send("POST", "/v1/dashboards", { name: names[0], layout: [...layout, { chart: "0".repeat(24), x: 0, y: 16, width: 4, height: 2 }] });
  for (const width of [400, 1280, 2560]) {
    const { page, go, check, flaws, close } = await open({ width, reduced: true });
    await go(`dashboards/${board.id}`, ".tile");
    await loaded(page);
    assert.deepEqual((await page.locator(".tile h2").allTextContents()).slice(0, names.length), names);
    await soon.match(() => page.locator(".tile").last().innerText(), /was deleted/);
    if (width === 400) await flaws("hostile names");
    await check(`hostile names at ${width}`);
    await go("charts/new", ".builder .uplot");
    await check(`the builder at ${width}`);
    await close();
  }
  const { data: { key_value: key } } = await send("POST", `/v1/projects/${(await send("GET", "/v1/me")).project.id}/fine_grained_api_keys`, { name: "reader", permissions: ["read"], expires_at: new Date(now + hour).toISOString() });
  const { page, context, go, check, close } = await open({ signIn: false });
  await context.request.post(`${process.env.SPANGROVE_URL}/v1/login`, { data: { key } });
  await go(`dashboards/${board.id}`, ".tile .uplot");
  assert.equal(await page.getByRole("button", { name: /^(Copy|Arrange)$/ }).count(), 0);
  assert.equal(await page.locator("a, button", { hasText: /Alert on|Edit|Take off/ }).count(), 0);
  await go("dashboards", ".boards a");
  assert.equal(await page.getByRole("button", { name: "Create" }).count(), 0);
  await check("a read key");
  await close();
});

test("a filter that finds nothing, and one that cannot be read, say so", async () => {
  const { page, go, check, close } = await open();
  await go("dashboards/overview?q=name:nobody", ".tile");
  await page.waitForFunction(() => [...document.querySelectorAll(".tile .told")].filter((t) => t.textContent.startsWith("No events match")).length === 12);
  await soon.equal(() => page.locator(".tile .told").first().innerText(), "No events match the filters in this range.");
  await go("dashboards/overview?range=1000..2000", ".tile");
  await page.waitForFunction(() => /^No events in this range/.test(document.querySelector(".tile .told")?.textContent ?? ""));
  await go("dashboards/000000000000000000000000", ".empty");
  await soon.match(() => page.locator(".empty").innerText(), /no dashboard/);
  await check("nothing");
  await close();
});

test("twelve charts", async () => {
  for (const range of ranges ?? ["7d"]) {
    const { page, go, check, close } = await open();
    await go("dashboards", ".boards a");
    const began = Date.now();
    await go(`dashboards/overview?range=${range}`, ".tile");
    await page.waitForFunction(() => document.querySelectorAll(".tile .uplot canvas").length === 12);
    time(`a dashboard of twelve charts, opened for ${range}`, Date.now() - began, 2000);
    const asked = await page.evaluate(() => performance.getEntriesByType("resource").filter((r) => r.name.endsWith("/v1/events/chart")).map((r) => r.duration));
    assert.equal(asked.length, 1, "all charts are one request");
    console.log(`figure of these, the request: ${Math.round(asked[0])} ms`);
    await check("twelve charts");
    await close();
  }
});

await run();
