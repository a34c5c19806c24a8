// The playground, configurations and tools: a model event is asked again in variants, a tool's result is typed, a dataset becomes an experiment,
// what is good becomes a version, and a tool's schema is told what is wrong with it. SPANGROVE_FAKE_MODELS is an API of models that are none.
import assert from "node:assert/strict";
import { base, hostile, key, open, run, send, shots, soon, test, uuid } from "../page.mjs";

await send("PUT", "/v1/providers/openai", { type: "openai", base_url: process.env.SPANGROVE_FAKE_MODELS, api_key: "models-key" });

const chat = (extra = {}) => ({
  event_type: "model", event_name: "answer", source: "test", duration: 800,
  config: { provider: "openai", model: "gpt-4o-mini", temperature: 0.5 },
  inputs: { chat_history: [{ role: "system", content: "Be brief." }, { role: "user", content: "Count to three." }] },
  outputs: { role: "assistant", content: "One, two, four." }, metadata: {}, ...extra,
});
async function makeEvent(extra) {
  const { session_id } = await send("POST", "/v1/session/start", { session: { session_name: "asked" } });
  const { event_id } = await send("POST", "/v1/events", { event: { session_id, ...chat(extra) } });
  return { session_id, event_id };
}
const done = (p, letter) => p.page.waitForSelector(`[aria-label="Variant ${letter}"] .answer[aria-busy=false] .answer-foot .secondary`, { timeout: 15_000 });

test("an event is asked again by keyboard alone: three variants, streamed, with tokens, cost, time and words that differ", async () => {
  const { session_id, event_id } = await makeEvent();
  const p = await open();
  await p.go(`session/${session_id}?e=${event_id}`, ".actions");
  await p.page.keyboard.press("p");
  await p.page.waitForSelector(".variant");
  assert.match(p.page.url(), new RegExp(`playground\\?event=${event_id}`));
  await p.page.waitForFunction(() => document.querySelectorAll(".prompt-text")[1]?.value === "Count to three.");
  await soon.equal(() => p.page.inputValue("[aria-label='Model of A']"), "gpt-4o-mini");
  await soon.equal(() => p.page.inputValue(".settings-row input"), "0.5");
  await p.page.keyboard.press("v");
  await p.page.keyboard.press("v");
  await p.page.keyboard.press("v"); // three at most
  await soon.equal(() => p.page.locator(".variant").count(), 3);
  await p.page.locator("[aria-label='Variant B'] .prompt-text").nth(1).fill("What is the capital of {{country}}?");
  await p.page.fill(".variables textarea", "Portugal");
  await p.page.locator("[aria-label='Variant C'] [aria-label='Model of C']").fill("broken");
  await p.page.keyboard.press("Control+Enter");
  for (const letter of ["A", "B"]) await done(p, letter);
  await soon.match(() => p.page.textContent("[aria-label='Variant A'] .answer"), /One, two, three\..*11 \+ 3 tokens · \$0\.0+\d+.*first/s);
  await soon.match(() => p.page.textContent("[aria-label='Variant B'] .answer"), /Lisbon\./);
  await p.page.waitForSelector("[aria-label='Variant C'] [role=alert]:has-text('answered 429')");
  await p.page.keyboard.press("Escape");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("d");
  await soon.equal(() => p.page.textContent("[aria-label='Variant A'] .answer del"), "four", "against the event's answer");
  await soon.match(() => p.page.textContent("[aria-label='Variant B'] .answer ins"), /Lisbon/);
  await p.flaws("three variants");
  if (shots) await p.page.screenshot({ path: `${shots}/playground-1280.png` });
  // Reload and Back give the same view.
  await p.page.reload();
  await p.page.waitForSelector("[aria-label='Variant B'] .answer ins");
  await soon.equal(() => p.page.locator(".variant").count(), 3);
  await soon.equal(() => p.page.inputValue(".variables textarea"), "Portugal");
  for (const width of [400, 2560]) {
    await p.page.setViewportSize({ width, height: 800 });
    await p.check(`playground at ${width}`);
    if (shots) await p.page.screenshot({ path: `${shots}/playground-${width}.png` });
  }
  await p.close();
});

test("a tool is called, its result is typed, and the model goes on; a run can be stopped", async () => {
  const tools = [{ name: "weather", description: "Tells it.", parameters: { type: "object", required: ["city"] } }];
  const { event_id } = await makeEvent({ config: { provider: "openai", model: "gpt-4o-mini", tools }, inputs: { chat_history: [{ role: "user", content: "What is the weather in Oslo?" }] } });
  const p = await open();
  await p.go(`playground?event=${event_id}`, ".prompt-text");
  await p.page.keyboard.press("r");
  await p.page.waitForSelector(".answer .call pre");
  await soon.equal(() => p.page.textContent(".answer .call pre"), '{"city":"Oslo"}');
  await p.page.fill(".answer .call textarea", "rain, <b>heavy</b>");
  await p.page.click("button:has-text('Go on with the results')");
  await p.page.waitForSelector(".answer .prose:has-text('The tool says: rain, <b>heavy</b>')");
  await soon.equal(() => p.page.locator(".prompt .message").count(), 3);
  await p.page.click("button:has-text('Reply')");
  await soon.equal(() => p.page.locator(".prompt .message").count(), 5);
  await p.check("tools");
  await p.close();
});

test("a variant that is deleted while all run takes no other's answer with it", async () => {
  const { event_id } = await makeEvent();
  const p = await open();
  await p.go(`playground?event=${event_id}`, ".prompt-text");
  await p.page.keyboard.press("v");
  await p.page.locator("[aria-label='Variant B'] .prompt-text").nth(1).fill("What is the capital of Portugal?");
  // A says something and goes on, B has not begun.
  await p.page.evaluate(() => {
    const real = window.fetch;
    window.fetch = (url, init) => {
      if (!String(url).endsWith("/playground/run")) return real(url, init);
      const first = JSON.parse(init.body).messages.at(-1).content.includes("three");
      return Promise.resolve(new Response(new ReadableStream({
        start(c) {
          if (first) c.enqueue(new TextEncoder().encode('event: delta\ndata: {"text":"of the first"}\n\n'));
          init.signal.addEventListener("abort", () => c.error(init.signal.reason));
        },
      })));
    };
  });
  await p.page.click("button:has-text('Run'):not(:has-text('dataset'))");
  await p.page.waitForSelector("[aria-label='Variant A'] .answer:has-text('of the first')");
  await p.page.waitForSelector("[aria-label='Variant B'] .answer[aria-busy=true]");
  await p.page.click("[aria-label='Delete A']");
  await soon.equal(() => p.page.locator(".variant").count(), 1);
  await p.page.waitForSelector(".answer[aria-busy=false]");
  await p.page.waitForTimeout(200);
  assert.match(await p.page.inputValue(".prompt-text >> nth=1"), /Portugal/);
  assert.match(await p.page.textContent(".answer"), /^\s*Stopped\.\s*$/);
  await p.check("a variant that is deleted");
  await p.close();
});

test("hostile texts stay texts, and what is wrong is said in place", async () => {
  const { event_id } = await makeEvent({ inputs: { chat_history: hostile.map((content) => ({ role: "user", content })) }, outputs: hostile[0] });
  const p = await open();
  await p.go(`playground?event=${event_id}`, ".prompt-text");
  await p.page.waitForFunction((n) => document.querySelectorAll(".prompt-text").length === n, hostile.length);
  await soon.equal(() => p.page.locator(".prompt-text").first().inputValue(), hostile[0]);
  await p.page.keyboard.press("r");
  await done(p, "A");
  await p.page.keyboard.press("d");
  await p.page.click("summary");
  await p.page.fill("[aria-label='Variant A'] .stacked textarea", "[{");
  await p.page.click("[aria-label='Run A']");
  await p.page.waitForSelector("[role=alert]:has-text('tools: ')");
  await p.flaws("hostile prompts");
  await p.check("hostile prompts");
  await p.close();
});

test("two variants run over chosen datapoints make two experiments, which metrics score", async () => {
  const is = (value) => ({ filterArray: [{ field: "event_type", operator: "is", value, type: "string" }] });
  for (const [name, value] of [["short", "model"], ["quick", "model"], ["safe", "tool"]]) await send("POST", "/v1/metrics", { name, type: "EXPRESSION", criteria: "duration < 60000", return_type: "boolean", filters: is(value) });
  const { result } = await send("POST", "/v1/datasets", { name: "capitals" });
  await send("POST", `/v1/datasets/${result.insertedId}/datapoints`, { data: ["Portugal", "Norway", "nowhere"].map((country) => ({ country, capital: "?" })), mapping: { inputs: ["country"], ground_truth: ["capital"], history: [] } });
  const p = await open();
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.locator(".prompt-text").nth(0).fill("Be brief.");
  await p.page.locator(".prompt-text").nth(1).fill("What is the capital of {{country}}?");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("v");
  await p.page.keyboard.press("o");
  await p.page.selectOption("dialog select", { label: "capitals (3)" });
  await p.page.locator("dialog [aria-label=Datapoints] input").nth(2).uncheck();
  for (const name of ["short", "safe"]) await p.page.check(`dialog [aria-label=Metrics] label:has-text('${name}') input`);
  await p.flaws("over a dataset");
  if (shots) await p.page.screenshot({ path: `${shots}/over-dataset.png` });
  await p.page.click("dialog button:has-text('Run 4 questions')");
  await p.page.waitForFunction(() => document.querySelectorAll(".experiment a").length === 2, null, { timeout: 20_000 });
  await soon.match(() => p.page.textContent(".experiment"), /capitals in the playground A.*completed: 2 of 2.*safe is for none of its events/s);
  assert.match(await p.page.textContent(".experiment"), /short scores 2 events/);
  const id = (await p.page.getAttribute(".experiment a", "href")).split("/").pop();
  const { evaluation } = await send("GET", `/v1/runs/${id}`);
  assert.equal(evaluation.status, "completed");
  assert.equal(evaluation.dataset_id, result.insertedId);
  assert.equal(evaluation.event_ids.length, 2);
  const trees = await Promise.all(evaluation.event_ids.map((s) => send("GET", `/v1/sessions/${s}`)));
  assert.deepEqual(trees.map((t) => t.outputs.content).sort(), ["Lisbon.", "You said: What is the capital of Norway?"]);
  assert.ok(trees.every((t) => t.children[0].event_type === "model" && t.metadata.run_id === id && t.metadata.total_tokens > 0 && t.feedback.ground_truth.capital === "?"));
  await p.check("experiments");
  // Another metric scores the run from its page.
  await p.page.click(".experiment a");
  await p.page.click("button:has-text('Score…')");
  await p.page.check("dialog label:has-text('quick') input");
  await p.flaws("score the run");
  if (shots) await p.page.screenshot({ path: `${shots}/score-run.png` });
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("dialog [role=status]:has-text('quick scores 2 events.')");
  await soon.equal(async () => (await send("GET", `/v1/runs/${id}/result`)).metrics.details?.map((m) => m.metric_name).filter((name) => /short|quick|safe/.test(name)).sort().join(), "quick,short");
  await p.page.click("dialog button:text-is('Close')");
  await p.page.waitForSelector(".run-totals:has-text('quick')");
  await p.close();
});

test("a datapoint is asked about and stored with all its digits", async () => {
  const { dataset_id } = await send("POST", "/v1/datasets/import", { name: "orders", format: "jsonl", text: '{"inputs": {"order": 9007199254740993, "price": 1.50}, "ground_truth": {"id": 9007199254740995}}' });
  const p = await open();
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.locator(".prompt-text").nth(1).fill("Where is {{order}}, of {{ground_truth.id}}?");
  await p.page.click("button:has-text('From a datapoint')");
  await p.page.selectOption("dialog select", { label: "orders (1)" });
  await p.page.waitForSelector("dialog .secondary:has-text('order: 9007199254740993')");
  await p.page.keyboard.press("Escape");
  await p.page.click("button:has-text('Run over a dataset')");
  await p.page.selectOption("dialog select", { label: "orders (1)" });
  await p.page.waitForSelector("dialog label:has-text('9007199254740993')");
  await p.page.click("dialog button:has-text('Run 1 question')");
  await p.page.waitForSelector(".experiment a", { timeout: 20_000 });
  const id = (await p.page.getAttribute(".experiment a", "href")).split("/").pop();
  const { evaluation } = await send("GET", `/v1/runs/${id}`);
  const stored = (await (await fetch(`${base}/v1/sessions/${evaluation.event_ids[0]}`, { headers: { Authorization: `Bearer ${key}` } })).text()).replace(/\s/g, "");
  for (const part of ['"inputs":{"order":9007199254740993,"price":1.50}', '"ground_truth":{"id":9007199254740995}', "Whereis9007199254740993,of9007199254740995?", `"datapoint_id":"${evaluation.datapoint_ids[0]}"`]) assert.ok(stored.includes(part), `${part} in ${stored.slice(0, 1000)}`);
  assert.equal(dataset_id, evaluation.dataset_id);
  // And so it is shown.
  await p.page.click(".experiment a");
  await p.page.locator(".table .row, .compared").first().click();
  await soon.match(() => p.page.textContent(".detail-row"), /9007199254740993[^]*9007199254740995/);
  await p.check("digits");
  await p.close();
});

test("an experiment that fails asks nothing more", async () => {
  const { result } = await send("POST", "/v1/datasets", { name: "lakes" });
  await send("POST", `/v1/datasets/${result.insertedId}/datapoints`, { data: Array.from({ length: 12 }, (_, i) => ({ country: `land ${i}` })), mapping: { inputs: ["country"], ground_truth: [], history: [] } });
  const p = await open(); // not checked: the browser itself writes of a request that failed to its console
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.locator(".prompt-text").nth(1).fill("What is the largest lake of {{country}}?");
  await p.page.click("button:has-text('Run over a dataset')");
  await p.page.selectOption("dialog select", { label: "lakes (12)" });
  let begun = 0;
  await p.page.route("**/v1/session/start", (r) => (begun++ === 0 ? r.abort() : r.continue()));
  await p.page.click("dialog button:has-text('Run 12 questions')");
  await p.page.waitForSelector(".experiment:has-text('failed')", { timeout: 20_000 });
  const then = begun;
  await p.page.waitForTimeout(1500);
  assert.deepEqual([begun, begun <= 4], [then, true], "datapoints are asked after the end");
  assert.match(await p.page.textContent(".experiment"), /cannot be reached/);
  await p.close();
});

test("an experiment is made from a page on plain HTTP", async () => {
  const { result } = await send("POST", "/v1/datasets", { name: "hills" });
  await send("POST", `/v1/datasets/${result.insertedId}/datapoints`, { data: [{ country: "Portugal" }], mapping: { inputs: ["country"], ground_truth: [], history: [] } });
  const p = await open();
  await p.page.addInitScript(() => { crypto.randomUUID = undefined; }); // as browsers have it there
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.locator(".prompt-text").nth(1).fill("What is the capital of {{country}}?");
  await p.page.click("button:has-text('Run over a dataset')");
  await p.page.selectOption("dialog select", { label: "hills (1)" });
  await p.page.click("dialog button:has-text('Run 1 question')");
  await p.page.waitForSelector(".experiment a", { timeout: 20_000 });
  const id = (await p.page.getAttribute(".experiment a", "href")).split("/").pop();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal((await send("GET", `/v1/runs/${id}`)).evaluation.status, "completed");
  await p.check("plain HTTP");
  await p.close();
});

test("what says nothing is not sent, and what is missing is said before anything is made", async () => {
  const { result } = await send("POST", "/v1/datasets", { name: "rivers" });
  await send("POST", `/v1/datasets/${result.insertedId}/datapoints`, { data: ["Portugal", "Norway"].map((country) => ({ country })), mapping: { inputs: ["country"], ground_truth: [], history: [] } });
  const p = await open();
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.click("button:has-text('Run over a dataset')");
  await soon.match(() => p.page.textContent("dialog form"), /Variant A cannot be asked: no message has a text\..*Missing: a dataset\./s);
  await p.page.selectOption("dialog select", { label: "rivers (2)" });
  await p.page.waitForSelector("dialog button:has-text('Run 2 questions')");
  assert.ok(await p.page.isDisabled("dialog button[type=submit]"));
  await p.page.click("dialog button:text-is('None')");
  await soon.equal(() => p.page.textContent("dialog button[type=submit]"), "Run");
  await soon.match(() => p.page.textContent("dialog form"), /Missing: a datapoint\./);
  await p.flaws("what is missing");
  await p.page.click("dialog button:text-is('Cancel')");
  await p.page.click("[aria-label='Run A']");
  await p.page.waitForSelector("[role=alert]:has-text('Nothing was asked: no message has a text.')");
  await p.page.locator(".prompt-text").nth(1).fill("What is the capital of {{country}}?"); // the first, of the system, stays empty
  await p.page.click("button:has-text('Run over a dataset')");
  await p.page.selectOption("dialog select", { label: "rivers (2)" });
  await p.page.click("dialog button:has-text('Run 2 questions')");
  await p.page.waitForFunction(() => document.querySelectorAll(".experiment a").length === 1, null, { timeout: 20_000 });
  await soon.match(() => p.page.textContent(".experiment"), /completed: 2 of 2/);
  assert.ok(!(await p.page.textContent(".experiment")).includes("failed"));
  await p.check("what is missing");
  await p.close();
});

test("a configuration: saved from the playground, changed, compared, brought back, deployed", async () => {
  const p = await open();
  await p.go("playground", ".prompt-text");
  await p.page.fill("[aria-label='Model of A']", "gpt-4o-mini");
  await p.page.locator(".prompt-text").nth(1).fill("Hello {{name}}, twice {{name}}");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("s");
  await p.page.fill("dialog input", hostile[1]);
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector(".configuration");
  await soon.match(() => p.page.textContent(".configuration"), /1 variable: name/);
  await p.page.locator(".prompt-text").nth(1).fill("Good day {{name}}");
  await p.page.click("button:has-text('Save as version 2')");
  await p.page.waitForSelector("li:has-text('Version 2'):has-text('current')");
  const deploy = (env, what) => p.page.locator("aside label", { hasText: env }).locator("select").selectOption({ label: what });
  await p.page.locator(".prompt-text").nth(1).fill("Being written");
  await deploy("prod", "version 1");
  await p.page.waitForSelector("h1 + .chip:has-text('prod 1')");
  await p.page.waitForSelector("li:has-text('Version 1') .chip:has-text('prod')");
  await deploy("dev", "always the current, 2");
  await p.page.waitForSelector("li:has-text('Version 2') .chip:has-text('dev')");
  assert.equal(await p.page.locator(".prompt-text").nth(1).inputValue(), "Being written", "what is written stays");
  await p.page.waitForSelector(".inline:has-text('Programs of dev get it at once')");
  await p.page.click("nav a:has-text('Tools')");
  await p.page.waitForSelector("h1:has-text('Tools')");
  await p.page.goBack();
  await soon.equal(() => p.page.locator(".prompt-text").nth(1).inputValue(), "Being written");
  await p.page.reload();
  await soon.equal(() => p.page.locator(".prompt-text").nth(1).inputValue(), "Being written");
  await p.page.click("button:has-text('Undo')");
  const [{ id }] = (await send("GET", "/v1/configurations")).configurations;
  for (const [env, version, text] of [["prod", 1, "Hello {{name}}, twice {{name}}"], ["dev", 2, "Good day {{name}}"]]) {
    const { configuration } = await send("GET", `/v1/configurations/${id}?env=${env}`);
    assert.deepEqual([configuration.version, configuration.parameters.template[1].content], [version, text]);
  }
  if (shots) await p.page.screenshot({ path: `${shots}/configuration.png` });
  await p.page.click("a:has-text('Version 1')");
  await p.page.waitForSelector(".text-diff ins");
  await soon.match(() => p.page.textContent(".text-diff"), /Hello.*Good.*day/s);
  await p.flaws("a configuration");
  if (shots) await p.page.screenshot({ path: `${shots}/configuration-version.png` });
  await p.page.click("button:has-text('Make it the current one')");
  await p.page.waitForSelector("li:has-text('Version 3'):has-text('current')");
  await p.page.waitForSelector("li:has-text('Version 3') .chip:has-text('dev')");
  await p.page.waitForSelector("li:has-text('Version 1') .chip:has-text('prod')");
  await deploy("dev", "not deployed");
  await p.page.waitForFunction(() => !document.querySelector("h1 ~ .chip:not(.running)"));
  await soon.equal(() => p.page.locator(".prompt-text").nth(1).inputValue(), "Hello {{name}}, twice {{name}}");
  await p.page.locator("h1").click();
  await p.page.keyboard.press("p");
  await p.page.waitForSelector(".variables");
  await soon.match(() => p.page.textContent("header"), /from .*version 3/s);
  await p.page.keyboard.press("g");
  await p.page.keyboard.press("f");
  await p.page.waitForSelector("tbody tr");
  await soon.equal(() => p.page.locator("tbody tr").count(), 1);
  await p.page.fill("input[type=search]", "none of this");
  await p.page.waitForSelector("h2:has-text('None has')");
  await p.page.click("button:has-text('Show all 1')");
  for (const width of [400, 2560]) {
    await p.page.setViewportSize({ width, height: 800 });
    await p.check(`configurations at ${width}`);
    if (shots) await p.page.screenshot({ path: `${shots}/configurations-${width}.png` });
  }
  await p.close();
});

test("a tool: its schema is told what is wrong, who uses it is seen", async () => {
  const p = await open();
  await p.go("tools", "h2:has-text('No tools yet')");
  await p.page.click("button:has-text('New')");
  await p.page.waitForSelector("#flaws .good");
  await p.page.fill("form input", "weather");
  await p.page.fill("form textarea.mono", "{");
  await p.page.waitForSelector("#flaws .bad");
  assert.ok(await p.page.isDisabled("button[type=submit]"));
  await p.page.fill("form textarea.mono", '{"type": "object", "properties": {"city": {"type": "strin"}}, "required": ["town"]}');
  await soon.match(() => p.page.textContent("#flaws"), /"town" is not among the properties.*"strin" is not a type/s);
  await p.flaws("a tool");
  if (shots) await p.page.screenshot({ path: `${shots}/tool.png` });
  await p.page.fill("form textarea.mono", '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}');
  await p.page.keyboard.press("Tab");
  await p.page.keyboard.press("Enter");
  await p.page.waitForSelector("tbody tr:has-text('weather')");
  const { tools } = await send("GET", "/v1/tools");
  await send("POST", "/v1/configurations", { name: "with a tool", provider: "openai", parameters: { call_type: "chat", model: "m", selectedFunctions: [{ id: tools[0].id, name: "weather" }] } });
  await p.page.reload();
  await p.page.click("a:has-text('weather')");
  // A schema is stored digit for digit, and saved again as it is.
  const long = '"maximum":9223372036854775807';
  await p.page.fill("form textarea.mono", `{"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer", ${long}}}}`);
  const stored = async () => (await (await fetch(`${base}/v1/tools`, { headers: { Authorization: `Bearer ${key}` } })).text()).replace(/\s/g, "");
  await p.page.click("button[type=submit]");
  await p.page.click("a:has-text('weather')");
  await soon.match(() => p.page.inputValue("form textarea.mono"), /"maximum": 9223372036854775807\n/);
  assert.ok((await stored()).includes(long));
  await p.page.locator("form textarea").first().fill("says how it is");
  await p.page.click("button[type=submit]");
  await p.page.waitForSelector("tbody tr:has-text('says how it is')");
  assert.ok((await stored()).includes(long), "digits are lost when something else is changed");
  await p.page.click("a:has-text('weather')");
  await p.page.waitForSelector("aside a:has-text('with a tool')");
  for (const width of [400, 2560]) {
    await p.page.setViewportSize({ width, height: 800 });
    await p.check(`tools at ${width}`);
    if (shots) await p.page.screenshot({ path: `${shots}/tools-${width}.png` });
  }
  await p.page.click("button:has-text('Delete')");
  await p.page.click("dialog button[type=submit]");
  await p.page.waitForSelector("h2:has-text('No tools yet')");
  await p.close();
});

test("who may only read sees prompts, and why nothing can be asked", async () => {
  const me = await send("GET", "/v1/me");
  const made = await send("POST", `/v1/projects/${me.project.id}/fine_grained_api_keys`, { name: `reader ${uuid()}`, permissions: ["read"], expires_at: new Date(Date.now() + 3_600_000).toISOString() });
  const p = await open({ signIn: false });
  assert.equal((await p.context.request.post(`${base}/v1/login`, { data: { key: made.data.key_value } })).status(), 200);
  await p.go("playground", ".notice:has-text('scope full')");
  assert.equal(await p.page.locator("button:has-text('Run')").count(), 0);
  for (const place of ["configurations", "tools"]) {
    await p.go(place, "h1");
    assert.equal(await p.page.locator("button:has-text('New')").count(), 0);
  }
  await p.check("reading");
  await p.close();
});

assert.ok(key);
await run();
