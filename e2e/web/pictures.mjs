// Takes the pictures of README.md and docs/ui.md anew: starts a server with demo data in a temporary folder, opens three pages, and writes
// session.png, compare.png and dashboard.png. "make pictures" runs it.
//
//	node pictures.mjs FOLDER
//
// The data comes from a fixed seed, so that new pictures differ from the old ones by what the pages have changed, and by dates.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = process.argv[2];
const most = 200_000; // bytes of a picture

async function freeAddress() {
  const s = createServer().listen(0, "127.0.0.1");
  await once(s, "listening");
  const { port } = s.address();
  s.close();
  await once(s, "close");
  return `127.0.0.1:${port}`;
}

const data = mkdtempSync(join(tmpdir(), "spangrove-pictures-"));
const address = await freeAddress();
process.env.SPANGROVE_URL = `http://${address}`;
process.env.SPANGROVE_API_KEY = "sg_pictures_0123456789abcdef0123456789";
const server = spawn(process.env.SPANGROVE_E2E_BINARY, [], { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, SPANGROVE_ADDR: address, SPANGROVE_OTLP_GRPC_ADDR: await freeAddress(), SPANGROVE_OTLP_HTTP_ADDR: await freeAddress(), SPANGROVE_DATA_DIR: data } });
const { open, send, uuid } = await import("./page.mjs");

// ---- Demo data ----

let seed = 7;
/** A random number below 1, the same ones each time (mulberry32). */
function random() {
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
/** A random time, most of them near the middle and some far above. */
const around = (middle, spread = 0.5) => middle * Math.exp(spread * (random() + random() + random() - 1.5) * 2);

const hour = 3_600_000;
const models = [["gpt-4o-mini", 0.55, 900, 0.002], ["gpt-4o", 0.3, 2100, 0.03], ["claude-sonnet-4", 0.15, 2600, 0.05]];
const tools = [["find_order", 350], ["search_manual", 620], ["change_address", 480]];

/** Two weeks of a shop's assistant: more by day than by night, more in the second week, an hour of errors, and a model that became slower. */
async function weeks(now) {
  const events = [];
  for (let i = 0; i < 2600; i++) {
    const ago = random() ** 1.25 * 14 * 24 * hour;
    const clock = new Date(now - ago).getUTCHours();
    if (random() > 0.25 + 0.75 * Math.sin(Math.PI * clock / 24) ** 2) continue;
    const [session, start] = [uuid(), now - ago - 60_000];
    let pick = random();
    const [model, , speed, price] = models.find(([, share]) => (pick -= share) < 0) ?? models[0];
    const bad = ago > 44 * hour && ago < 49 * hour ? 0.4 : 0.02;
    const took = around(speed * (model === "gpt-4o" && ago < 60 * hour ? 1.5 : 1));
    const [tool, pace] = tools[Math.floor(random() * tools.length)];
    const [asked, said] = [Math.round(around(600, 0.4)), Math.round(around(120, 0.6))];
    const failed = random() < bad;
    events.push(
      { event_id: session, session_id: session, event_type: "session", event_name: "support chat", source: "shop", start_time: start, duration: took + pace, inputs: { question: "Where is my order?" }, outputs: {} },
      { session_id: session, parent_id: session, event_type: "model", event_name: "answer", source: "shop", start_time: start + 5, duration: took, config: { model, provider: "openai" }, inputs: {}, outputs: { content: "It is on its way." },
        metadata: { prompt_tokens: asked, completion_tokens: said, total_tokens: asked + said, cost: price * (asked + said) / 700 }, metrics: { helpful: random() < 0.9 } },
      { session_id: session, parent_id: session, event_type: "tool", event_name: tool, source: "shop", start_time: start + took, duration: around(pace), inputs: {}, outputs: {}, ...(failed ? { error: "TimeoutError: no answer within 5 s" } : {}) });
  }
  for (let i = 0; i < events.length; i += 900) await send("POST", "/v1/events/batch", { events: events.slice(i, i + 900) });
}

const things = ["a jacket", "a pair of shoes", "a lamp", "a book", "a gift card", "a bicycle", "a phone", "a mattress"];
const asks = [
  ["How long do I have to return THING?", "Within 30 days of delivery, free of charge.", "You have 30 days from the day it was delivered, and returning it is free.", "You can return it within 30 days."],
  ["When do I get my money back for THING?", "Within 5 working days after it has arrived at the warehouse.", "Five working days after it reaches our warehouse.", "Soon after it has arrived."],
  ["Can I change THING for another size?", "Yes, in the account under Orders, until it has been sent.", "Yes: open Orders in your account and choose another size before it is sent.", "Yes, you can change it in your account."],
  ["THING arrived damaged. What now?", "Send a photo within 14 days; a new one is sent at once.", "I am sorry about that. Send us a photo within 14 days, and a new one leaves at once.", "Please send it back, and you get a refund."],
  ["Does THING come with a warranty?", "Two years, by law.", "Yes, two years.", "It comes with a warranty of one year."],
];

/** Two prompts and a smaller model over the same questions. */
async function experiments(now) {
  const id = (await send("POST", "/v1/datasets", { name: "support questions" })).result.insertedId;
  const rows = things.flatMap((thing) => asks.map(([question, answer, good, poor]) => ({ question: question.replace("THING", thing).replace(/^a/, "A"), answer, good, poor })));
  const { datapoint_ids: points } = await send("POST", `/v1/datasets/${id}/datapoints`, { data: rows.map(({ question, answer }) => ({ question, answer })), mapping: { inputs: ["question"], ground_truth: ["answer"] } });
  const runs = [];
  const hard = rows.map(() => random());
  for (const [name, right, pace, price] of [["prompt v3", 0.6, 1900, 0.0042], ["prompt v4", 0.9, 1950, 0.0044], ["v4, small model", 0.65, 800, 0.0004]]) {
    const run = uuid();
    runs.push(run);
    await send("POST", "/v1/runs", { run_id: run, name, status: "completed", dataset_id: id, passing_ranges: { correctness: { min: 0.5 } } });
    const events = rows.flatMap((r, i) => {
      const [session, good, took] = [uuid(), (random() < 0.85 ? hard[i] : random()) < right, around(pace, 0.3)];
      const said = good ? r.good : r.poor;
      const base = { session_id: session, start_time: now - 20 * 60_000 + i * 1000, inputs: { question: r.question }, outputs: { answer: said } };
      return [
        { ...base, event_id: session, event_type: "session", event_name: name, duration: took + 12, metadata: { run_id: run, datapoint_id: points[i] }, metrics: { correctness: good ? (random() < 0.8 ? 1 : 0.75) : (random() < 0.7 ? 0 : 0.25), polite: random() < 0.95 } },
        { ...base, event_id: uuid(), parent_id: session, event_type: "model", event_name: "answer", duration: took, config: { model: name.includes("small") ? "gpt-4o-mini" : "gpt-4o" }, outputs: { content: said }, metadata: { prompt_tokens: 640, completion_tokens: 30, total_tokens: 670, cost: around(price, 0.1) } },
      ];
    });
    await send("POST", "/v1/events/batch", { events });
  }
  return runs;
}

// ---- Pictures ----

async function ready() {
  for (let i = 0; i < 300; i++) {
    if (server.exitCode !== null) throw new Error("the server has ended");
    try {
      return await send("GET", "/v1/me");
    } catch {
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  throw new Error("the server does not answer");
}

/** Writes what a page shows, once nothing moves any more. */
async function picture(name, route, sign, before = async () => {}) {
  const { page, go, close } = await open({ width: 1240, height: 760, reduced: true });
  await go(route, sign);
  await before(page);
  await page.waitForFunction(() => !document.querySelector(".progress"));
  await page.mouse.move(700, 790);
  await page.waitForTimeout(500);
  const png = await page.screenshot();
  if (png.length > most) throw new Error(`${name}.png has ${png.length} bytes, more than ${most}`);
  writeFileSync(join(folder, `${name}.png`), png);
  console.log(`${name}.png ${png.length} bytes`);
  await close();
}

let failed;
try {
  await ready();
  const now = Date.now();
  await weeks(now);
  await picture("dashboard", "dashboards/overview", ".tile", (page) => page.waitForFunction(() => document.querySelectorAll(".tile .uplot canvas").length > 3));
  const runs = await experiments(now);
  const { sessions: [parcel] } = await send("POST", "/v1/samples");
  const { events } = await send("POST", "/v1/events/export", { filters: [{ field: "session_id", operator: "is", value: parcel }, { field: "event_type", operator: "is", value: "model" }], limit: 10 });
  const [first] = events.sort((a, b) => a.start_time - b.start_time).slice(1);
  await picture("session", `session/${parcel}?e=${first.event_id}`, ".tree-row", (page) => page.waitForSelector(".detail .message, .detail .section, .detail .event"));
  await picture("compare", `experiments/compare?runs=${runs.join(",")}&only=differing`, ".compared");
} catch (e) {
  failed = e;
}
server.kill();
await once(server, "exit");
rmSync(data, { recursive: true });
if (failed) console.error(failed.message);
process.exit(failed ? 1 : 0);
