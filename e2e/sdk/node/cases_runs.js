// Experiment runs with npm `honeyhive` 1.0.42: evaluate() and all that is done with runs.
"use strict";
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { HoneyHive, ServerList, evaluate } = require("honeyhive");
const { url, key, session, check } = require("./readback.js");

const PROJECT = "default";
const rows = [1, 2, 3].map((n) => ({ inputs: { n }, groundTruth: { square: n * n } }));
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const client = () => new HoneyHive({ bearerAuth: key, serverURL: url });

// A dataset of the rows; gives its id and those of its datapoints.
async function storedDataset() {
  const api = client().datasets;
  const id = (await api.createDataset({ project: PROJECT, name: "node " + randomUUID() })).result.insertedId;
  const mapping = { inputs: ["n"], groundTruth: ["square"], history: [] };
  const { datapointIds } = await api.addDatapoints({ project: PROJECT, data: rows.map((r) => ({ ...r.inputs, ...r.groundTruth })), mapping }, id);
  return { id, points: datapointIds };
}

// Evaluates a function over a dataset; gives the id of the run and of its sessions.
async function evaluated(square, more) {
  // This version's evaluate() does not tell its client of runs where the server is.
  ServerList[0] = url;
  const exact = (output, inputs, truths) => (truths.square === undefined ? null : Number(output.square === truths.square));
  const size = (output) => output.square;
  const got = await evaluate({
    function: async (inputs) => ({ square: square(inputs.n) }),
    evaluators: [exact, size],
    name: "node " + randomUUID(),
    apiKey: key,
    project: PROJECT,
    serverUrl: url,
    ...more,
  });
  assert.match(got.runId, uuid);
  assert.equal(got.status, "completed");
  assert.equal(got.sessionIds.length, rows.length);
  return got;
}

async function evaluate_in_code() {
  // Its datasets in code have the answers under another name than stored ones.
  const got = await evaluated((n) => n * n, { dataset: rows.map((r) => ({ inputs: r.inputs, ground_truths: r.groundTruth })) });
  assert.match(got.datasetId, /^EXT-[0-9a-f]{24}$/);
  const { evaluation } = await client().experiments.getRun(got.runId);
  assert.equal(evaluation.status, "completed");
  assert.equal(evaluation.datasetId, got.datasetId);
  assert.deepEqual([...evaluation.eventIds].sort(), [...got.sessionIds].sort());
  for (const id of got.sessionIds) {
    const one = (await session(id)).session;
    const n = one.inputs.inputs.n;
    check(one, { "metadata.run_id": got.runId, "metadata.dataset_id": got.datasetId, outputs: { square: n * n }, metrics: { exact: 1, size: n * n } });
    assert.match(one.metadata.datapoint_id, /^EXT-/);
  }
}

async function evaluate_stored() {
  const { id, points } = await storedDataset();
  const got = await evaluated((n) => n * n, { datasetId: id });
  const result = await client().experiments.getExperimentResult(got.runId, PROJECT, "sum");
  assert.equal(result.status, "completed");
  assert.equal(result.metrics.aggregationFunction, "sum");
  const of = (name) => result.metrics.details.find((m) => m.metricName === name);
  assert.equal(of("size").aggregate, 14);
  assert.deepEqual([...of("size").values].sort(), [1, 4, 9]);
  assert.equal(of("exact").aggregate, 3);
  assert.deepEqual(result.datapoints.map((d) => d.datapointId).sort(), [...points].sort());
  assert.deepEqual(result.datapoints.map((d) => d.sessionId).sort(), [...got.sessionIds].sort());
}

async function runs_compared() {
  const { id, points } = await storedDataset();
  const old = await evaluated((n) => (n < 3 ? n * n : 0), { datasetId: id });
  const now = await evaluated((n) => (n > 1 ? n * n : 7), { datasetId: id });
  const got = await client().experiments.getExperimentComparison(now.runId, old.runId, PROJECT, "sum");
  assert.deepEqual([...got.commonDatapoints].sort(), [...points].sort());
  const exact = got.metrics.find((m) => m.metricName === "exact");
  assert.deepEqual([exact.improved, exact.degraded, exact.same], [[points[2]], [points[0]], [points[1]]]);
  assert.deepEqual([exact.foundCount, exact.improvedCount, exact.degradedCount, exact.sameCount], [3, 1, 1, 1]);
  const size = got.metrics.find((m) => m.metricName === "size");
  assert.deepEqual([size.oldAggregate, size.newAggregate], [5, 20]);
  assert.deepEqual([got.oldRun.runId, got.newRun.runId, got.newRun.datasetId], [old.runId, now.runId, id]);
  // What one of the runs lacks is left out: this client takes no null.
  const short = await evaluated((n) => n * n, { datasetId: id, evaluators: [(output) => output.square] });
  const lacking = await client().experiments.getExperimentComparison(short.runId, now.runId, PROJECT, "sum");
  const gone = lacking.metrics.find((m) => m.metricName === "exact");
  assert.deepEqual([gone.oldAggregate, gone.newAggregate, gone.foundCount, gone.newValues], [2, undefined, 0, []]);
}

async function runs() {
  const api = client().experiments;
  const name = "node " + randomUUID();
  const made = await api.createRun({ project: PROJECT, name, eventIds: [], status: "pending", metadata: { a: 1 }, configuration: { k: "v" } });
  assert.match(made.runId, uuid);
  const { sessionId } = await client().session.startSession({ session: { project: PROJECT, sessionName: "of the run", source: "e2e" } });
  const changed = await api.updateRun({ eventIds: [sessionId], status: "completed", metadata: { b: 2 } }, made.runId);
  assert.equal(changed.evaluation.status, "completed");
  const { evaluation } = await api.getRun(made.runId);
  assert.deepEqual(
    [evaluation.name, evaluation.project, evaluation.status, evaluation.eventIds, evaluation.metadata, evaluation.configuration],
    [name, PROJECT, "completed", [sessionId], { a: 1, b: 2 }, { k: "v" }],
  );
  assert.ok(evaluation.createdAt instanceof Date);
  // The session is about no datapoint.
  const { datapoints } = await api.getExperimentResult(made.runId, PROJECT, "average");
  assert.deepEqual(datapoints.map((d) => [d.sessionId, d.datapointId]), [[sessionId, undefined]]);
  assert.ok((await api.getRuns(PROJECT)).evaluations.some((r) => r.runId === made.runId));
  assert.equal((await api.deleteRun(made.runId)).deleted, true);
  await assert.rejects(api.getRun(made.runId), (err) => err.statusCode === 404);
}

module.exports = { evaluate_in_code, evaluate_stored, runs_compared, runs };
