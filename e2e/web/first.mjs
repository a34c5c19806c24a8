// A person's path from nothing, in Debian's Chromium: the link that a new server printed, a key made in the page, a program with an
// OpenTelemetry SDK that is told what the page says, its trace on screen, a filter by one of its values, and a datapoint of it.
// SPANGROVE_WEB_LINK is the link, SPANGROVE_WEB_PROGRAM the command of the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

const { chromium } = await import(process.env.SPANGROVE_WEB_PLAYWRIGHT);
const link = process.env.SPANGROVE_WEB_LINK;
const program = process.env.SPANGROVE_WEB_PROGRAM;
const figure = (name, value) => console.log(`figure ${name}: ${value}`);

/** Runs the program with the lines of a shell before it. */
function send(lines) {
  const { status, stdout, stderr } = spawnSync("bash", ["-euc", `${lines}\n${program}`], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext()).newPage();
const problems = [];
page.on("pageerror", (e) => problems.push(e.message));
page.on("console", (m) => { if (m.type() === "error" && !/status of 401/.test(m.text())) problems.push(m.text()); });

const began = Date.now();
await page.goto(link);
await page.waitForSelector("h1:has-text('Send your first trace')"); // a server without sessions shows how to send one
assert.ok(!page.url().includes("/in/"), "the code is not left in the address");
await page.click("text=Make a key and put it in");
await page.waitForSelector(`.addresses:has-text("http://${process.env.SPANGROVE_WEB_GRPC}")`); // where the server really listens
await page.click("[role=tab]:has-text('gRPC variables')");
assert.match(await page.textContent("pre"), new RegExp(`ENDPOINT="http://${process.env.SPANGROVE_WEB_GRPC}"`));
await page.click("[role=tab]:has-text('OTLP variables')");
await page.waitForFunction(() => /Authorization=Bearer%20hh_ingst_/.test(document.querySelector("pre").textContent));
const lines = await page.textContent("pre");

// A wrong key is shown, with what helps.
send(lines.replace(/Bearer%20[^"]+/, "Bearer%20sg_wrong23wrong23wrong23wrong23wrong23"));
await page.waitForSelector(".refusals:has-text('401')", { timeout: 15_000 });
await page.waitForSelector(".refusals:has-text('sg_wron')");

send(lines);
const sent = Date.now();
await page.waitForSelector("text=has arrived", { timeout: 20_000 });
figure("shown after the program ended", `${Date.now() - sent} ms`);
await page.waitForSelector(".tree-row:has-text('chat m-small')", { timeout: 20_000 });
figure("from the link to the first own trace", `${Date.now() - began} ms`);

// Its values are filters.
await page.click(".tree-row:has-text('chat m-small')");
await page.click(".detail .facts button:has-text('m-small')");
await page.waitForFunction(() => document.querySelector("#filter-bar")?.value === "model:m-small");
await page.waitForSelector(".table .row:has-text('chat m-small')");

// It becomes a datapoint.
await page.click(".table .row");
await page.waitForSelector(".peek .event");
await page.click("text=Add to dataset");
await page.fill("dialog input[required]", "first");
await page.click("dialog button[type=submit]");
await page.waitForSelector("dialog:has-text('The datapoint was added')");

// The link works once.
const other = await (await browser.newContext()).newPage();
await other.goto(link);
await other.waitForSelector("#key");
assert.deepEqual(problems, []);
await browser.close();
console.log("ok");
