// The tracer and the API client of npm `honeyhive` 1.0.42.
"use strict";
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { HoneyHive, HoneyHiveTracer, enrichSpan, enrichSession } = require("honeyhive");
const { url, key, event, session, check } = require("./readback.js");

const PROJECT = "default";
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const client = () => new HoneyHive({ bearerAuth: key, serverURL: url });
const newTracer = (more) =>
  HoneyHiveTracer.init({ apiKey: key, serverUrl: url, project: PROJECT, source: "e2e", sessionName: "node tracer", ...more });

async function start(more) {
  const got = await client().session.startSession({
    session: { project: PROJECT, sessionName: "node api", source: "e2e", ...more },
  });
  assert.match(got.sessionId, uuid);
  return got.sessionId;
}

const step = (sessionId, eventName, more) => ({
  project: PROJECT,
  source: "e2e",
  eventName,
  eventType: "tool",
  sessionId,
  config: { v: 1 },
  inputs: { q: eventName },
  duration: 12.5,
  ...more,
});

async function session_start() {
  const sid = await start({ inputs: { question: "why?" }, userProperties: { user_id: "u-1" }, metadata: { tier: "gold" } });
  check((await session(sid)).session, {
    event_name: "node api",
    source: "e2e",
    "inputs.question": "why?",
    "user_properties.user_id": "u-1",
    "metadata.tier": "gold",
  });
  const read = await client().session.getSession(sid);
  assert.equal(read.eventName, "node api");
}

async function event_create() {
  const sid = await start();
  const got = await client().events.createEvent({ event: step(sid, "search", { outputs: { hits: 3 }, metadata: { cost: 0.25 } }) });
  assert.equal(got.success, true);
  check(await event(got.eventId), {
    event_name: "search",
    session_id: sid,
    parent_id: sid,
    inputs: { q: "search" },
    outputs: { hits: 3 },
    "metadata.cost": 0.25,
    duration: 12.5,
  });
}

async function event_update() {
  const sid = await start();
  const { eventId } = await client().events.createEvent({ event: step(sid, "rate", { metadata: { kept: 1 } }) });
  await client().events.updateEvent({
    eventId,
    metadata: { added: 2 },
    feedback: { rating: 5 },
    metrics: { score: 0.5 },
    outputs: { answer: "yes" },
    config: { model: "m" },
    userProperties: { plan: "pro" },
  });
  check(await event(eventId), {
    "metadata.kept": 1,
    "metadata.added": 2,
    "feedback.rating": 5,
    "metrics.score": 0.5,
    outputs: { answer: "yes" },
    "config.v": 1,
    "config.model": "m",
    "user_properties.plan": "pro",
  });
}

async function event_batch() {
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const got = await client().events.createEventBatch({
    events: ids.map((eventId, i) => step(undefined, "step " + i, { eventId })),
    isSingleSession: true,
    sessionProperties: { sessionName: "together", userProperties: { user_id: "u-2" } },
  });
  assert.deepEqual(got.eventIds, ids);
  const named = await session(got.sessionId);
  assert.equal(Object.keys(named).length, 4);
  check(named.session, { event_name: "together", "user_properties.user_id": "u-2" });
}

async function model_event() {
  const got = await client().events.createModelEvent({
    modelEvent: {
      project: PROJECT,
      model: "m-large",
      provider: "acme",
      messages: [{ role: "user", content: "hi" }],
      response: { role: "assistant", content: "hello" },
      duration: 42,
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    },
  });
  check(await event(got.eventId), {
    event_type: "model",
    "config.model": "m-large",
    "outputs.content": "hello",
    "metadata.total_tokens": 7,
    "inputs.chat_history": [{ role: "user", content: "hi" }],
  });
}

async function model_events() {
  const call = (model) => ({
    project: PROJECT,
    model,
    provider: "acme",
    messages: [{ role: "user", content: "hi" }],
    response: { role: "assistant", content: "hello" },
    duration: 42,
    usage: { total_tokens: 7 },
  });
  const got = await client().events.createModelEventBatch({
    modelEvents: ["m-small", "m-large"].map(call),
    isSingleSession: true,
    sessionProperties: { sessionName: "two calls" },
  });
  assert.equal(got.success, true);
  const events = await Promise.all(got.eventIds.map(event));
  assert.deepEqual(events.map((e) => e.config.model), ["m-small", "m-large"]);
  check(await event(events[0].session_id), { event_name: "two calls" });
}

async function export_events() {
  const sid = await start();
  await client().events.createEventBatch({
    events: [0, 1, 2, 3].map((n) => step(sid, "n" + n, { startTime: 1790000000000 + n, metadata: { n } })),
  });
  const got = await client().events.getEvents({
    project: PROJECT,
    filters: [
      { field: "session_id", operator: "is", value: sid, type: "id" },
      { field: "metadata.n", operator: "greater than", value: "1", type: "number" },
    ],
  });
  assert.equal(got.totalEvents, 2);
  assert.deepEqual(got.events.map((e) => e.eventName), ["n3", "n2"]);
  assert.deepEqual(got.events[0].metadata, { n: 3 });
}

async function tracer() {
  const t = await newTracer({ inputs: { question: "weather?" } });
  const sid = t.sessionId;
  assert.match(sid, uuid);

  const lookup = t.traceTool(
    function lookup(city) {
      enrichSpan({ metadata: { tries: 2, cache: false }, metrics: { hits: 0.5 } });
      return { city, degrees: 21, tags: ["a", "b"] };
    },
    { eventName: "lookup" },
  );
  const answer = t.traceModel(
    async function answer(facts) {
      enrichSpan({ config: { model: "m-large", temperature: 0.2 }, feedback: { rating: 5 }, outputs: { role: "assistant", content: "21" } });
      return "21 degrees";
    },
    { eventName: "answer" },
  );
  const broken = t.traceTool(
    function broken() {
      throw new Error("expected");
    },
    { eventName: "broken" },
  );
  const agent = t.traceChain(
    async function agent(question) {
      const facts = lookup("Oslo");
      assert.throws(broken);
      return answer(facts);
    },
    { eventName: "agent" },
  );
  assert.equal(await agent("weather?"), "21 degrees");
  await t.flush();
  await t.enrichSession({ metadata: { tier: "gold" }, feedback: { helpful: true }, metrics: { turns: 1 }, outputs: { final: "21" }, userProperties: { user_id: "u-3" } });

  const got = await session(sid);
  assert.deepEqual(Object.keys(got).sort(), ["agent", "answer", "broken", "lookup", "session"]);
  check(got.session, {
    event_name: "node tracer",
    source: "e2e",
    "inputs.question": "weather?",
    "metadata.tier": "gold",
    "feedback.helpful": true,
    "metrics.turns": 1,
    outputs: { final: "21" },
    "user_properties.user_id": "u-3",
  });
  const top = got.agent.event_id;
  check(got.agent, { event_type: "chain", parent_id: sid, "inputs.question": "weather?", "outputs.result": "21 degrees" });
  check(got.lookup, {
    event_type: "tool",
    parent_id: top,
    "inputs.city": "Oslo",
    "outputs.result": { city: "Oslo", degrees: 21, tags: ["a", "b"] },
    "metadata.tries": 2,
    "metadata.cache": false,
    "metrics.hits": 0.5,
  });
  check(got.answer, { event_type: "model", parent_id: top, "config.model": "m-large", "config.temperature": 0.2, "feedback.rating": 5, "outputs.content": "21" });
  check(got.broken, { event_type: "tool", parent_id: top });
  assert.match(got.broken.error, /expected/);

  // The client checks the types of what it reads; spans have times between milliseconds.
  const filters = [{ field: "session_id", operator: "is", value: sid, type: "id" }];
  assert.equal((await client().events.getEvents({ project: PROJECT, filters })).totalEvents, 5);
  assert.equal((await client().session.getSession(sid)).eventName, "node tracer");
}

async function tracer_given_session() {
  const sid = await start({ metadata: { kept: true } });
  const t = await newTracer({ sessionId: sid, disableBatch: true });
  assert.equal(t.sessionId, sid);
  await t.traceTool(async function one(n) {
    return n + 1;
  })(7);
  await t.flush();
  await enrichSession({ sessionId: sid, feedback: { rating: 3 } });
  const got = await session(sid);
  check(got.one, { parent_id: sid, "inputs.n": 7, "outputs.result": 8 });
  check(got.session, { event_name: "node api", "metadata.kept": true, "feedback.rating": 3 });
}

async function metrics() {
  const api = client();
  const name = "node " + randomUUID();
  await api.metrics.createMetric({
    name,
    task: PROJECT,
    type: "custom",
    description: "d",
    returnType: "boolean",
    codeSnippet: "return True",
    threshold: { min: 1 },
    passWhen: true,
    eventName: "chat",
    eventType: "model",
  });
  await api.metrics.createMetric({ name: name + " 2", task: PROJECT, type: "human", description: "", returnType: "float" });
  // The client checks every metric that is listed, whoever made it.
  const find = async () => (await api.metrics.getMetrics(PROJECT)).find((m) => m.name === name);
  let got = await find();
  assert.deepEqual(
    [got.type, got.returnType, got.codeSnippet, got.threshold, got.passWhen, got.eventName, got.eventType, got.task, got.description],
    ["custom", "boolean", "return True", { min: 1 }, true, "chat", "model", PROJECT, "d"],
  );
  assert.ok(got.id);
  await api.metrics.updateMetric({ metricId: got.id, description: "changed", threshold: { max: 2 }, enabledInProd: true });
  got = await find();
  assert.deepEqual([got.description, got.threshold, got.passWhen, got.enabledInProd], ["changed", { min: 1, max: 2 }, true, true]);
  await api.metrics.deleteMetric(got.id);
  assert.equal(await find(), undefined);
}

async function projects() {
  const api = client();
  const name = "node " + randomUUID();
  const made = await api.projects.createProject({ name, description: "d" });
  assert.equal(made.name, name);
  assert.ok(made.id);
  assert.deepEqual(await api.projects.getProjects(name), [{ id: made.id, name, description: "d" }]);
  await api.projects.updateProject({ projectId: made.id, name: name + " 2", description: "e" });
  assert.deepEqual(await api.projects.getProjects(name), []);
  assert.deepEqual(await api.projects.getProjects(name + " 2"), [{ id: made.id, name: name + " 2", description: "e" }]);
  await api.projects.deleteProject(name + " 2");
  assert.equal((await api.projects.getProjects()).some((p) => p.id === made.id), false);
  await assert.rejects(api.projects.deleteProject(name + " 2"), (err) => err.statusCode === 404);
}

async function wrong_key() {
  const bad = new HoneyHive({ bearerAuth: "not-the-key", serverURL: url });
  await assert.rejects(bad.session.startSession({ session: { project: PROJECT, sessionName: "x", source: "e2e" } }), (err) => err.statusCode === 401);
}

module.exports = { session_start, event_create, event_update, event_batch, model_event, model_events, export_events, tracer, tracer_given_session, metrics, projects, wrong_key };
