// What the pages hold while something is under way: presses that come twice, answers that come late, events that change while they are open, a
// list that was not looked at while many came, and what is left when somebody else signs in.
import assert from "node:assert/strict";
import { open, run, send, soon, test, uuid } from "../page.mjs";

const tag = uuid().slice(0, 8);

/** Stores a session with one model call, and returns the ids of both. */
async function stored(fields = {}) {
  const [session, event] = [uuid(), uuid()];
  await send("POST", "/v1/session/start", { session: { session_id: session, session_name: `asked ${tag}` } });
  await send("POST", "/v1/events", { event: { event_id: event, session_id: session, event_type: "model", event_name: `answer ${tag}`, start_time: Date.now(), inputs: { chat_history: [{ role: "user", content: "Are you there?" }] }, ...fields } });
  return { session, event };
}

/** Has what changes something wait a little, as far away servers do. */
const slowly = (page) => page.route("**/v1/**", async (r) => {
  if (r.request().method() !== "GET") await new Promise((done) => setTimeout(done, 300));
  await r.continue();
});

test("texts are copied on plain HTTP, too", async () => {
  const { session, event } = await stored();
  const { page, check, go, close } = await open();
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined })); // as browsers have it there
  await go(`session/${session}?e=${event}`, ".detail .event");
  await page.locator(".summary [aria-label=\"Copy the session's id\"]").click();
  await page.waitForSelector(".summary .glyph.good");
  await page.focus("#find-in-session");
  await page.keyboard.press("Control+v");
  await soon.equal(() => page.inputValue("#find-in-session"), session);
  await check("copying");
  await close();
});

await run();
