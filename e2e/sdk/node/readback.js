// Reads events back over plain HTTP, so that no SDK judges itself.
"use strict";
const assert = require("node:assert/strict");

const url = process.env.SPANGROVE_URL;
const key = process.env.SPANGROVE_API_KEY;
assert(url && key, "SPANGROVE_URL and SPANGROVE_API_KEY say where the server is");

// call gives the decoded answer of one request; any status but 200 throws.
async function call(method, path, body) {
  const resp = await fetch(url + path, {
    method,
    headers: { Authorization: "Bearer " + key, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  assert.equal(resp.status, 200, `${method} ${path}`);
  return resp.json();
}

// event gives one event by its id.
const event = async (id) => (await call("GET", "/v1/events/" + id)).event;

// session gives all events of a session by name, the session event under "session".
async function session(id) {
  const filters = [{ field: "session_id", operator: "is", value: id, type: "string" }];
  const got = await call("POST", "/v1/events/export", { filters, limit: 1000 });
  assert.equal(got.events.length, got.totalEvents);
  const named = {};
  for (const e of got.events) {
    const name = e.event_type === "session" ? "session" : e.event_name;
    assert(!(name in named), `two events named ${name}`);
    named[name] = e;
  }
  return named;
}

// check compares: each key of want is a dotted path into got.
function check(got, want) {
  assert(got, "the event is missing");
  for (const [path, value] of Object.entries(want)) {
    const at = path.split(".").reduce((o, k) => o?.[k], got);
    assert.deepEqual(at, value, `${path} of ${JSON.stringify(got).slice(0, 2000)}`);
  }
}

module.exports = { url, key, call, event, session, check };
