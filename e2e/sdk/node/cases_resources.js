// Datasets, datapoints, configurations and tools of npm `honeyhive` 1.0.42, which checks the
// types of every answer.
"use strict";
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { HoneyHive } = require("honeyhive");
const { url, key } = require("./readback.js");

const project = "default";
const client = () => new HoneyHive({ bearerAuth: key, serverURL: url });

async function datasets() {
  const hh = client();
  const name = "node " + randomUUID();
  const { inserted, result } = await hh.datasets.createDataset({ project, name, type: "evaluation", metadata: { m: 1 } });
  assert.equal(inserted, true);
  const ds = result.insertedId;
  const data = [
    { question: "q1", answer: "a1", chat: [{ role: "user", content: "hi" }], note: 1 },
    { question: "q2", answer: "a2" },
  ];
  const mapping = { inputs: ["question"], groundTruth: ["answer"], history: ["chat"] };
  const { datapointIds } = await hh.datasets.addDatapoints({ project, data, mapping }, ds);
  assert.equal(datapointIds.length, 2);
  const found = (await hh.datasets.getDatasets(project, undefined, ds)).testcases;
  assert.equal(found.length, 1);
  assert.equal(found[0].name, name);
  assert.deepEqual(found[0].datapoints, datapointIds);
  assert.equal(found[0].numPoints, 2);
  const { datapoint } = await hh.datapoints.getDatapoint(found[0].datapoints[0]);
  assert.equal(datapoint[0].id, datapointIds[0]);
  assert.deepEqual(datapoint[0].inputs, { question: "q1" });
  assert.deepEqual(datapoint[0].groundTruth, { answer: "a1" });
  assert.deepEqual(datapoint[0].history, [{ role: "user", content: "hi" }]);
  assert.deepEqual(datapoint[0].metadata, { note: 1 });
  await hh.datasets.updateDataset({ datasetId: ds, name: name + " 2", datapoints: [datapointIds[1]], linkedEvals: ["run"] });
  const [changed] = (await hh.datasets.getDatasets(project, undefined, ds)).testcases;
  assert.equal(changed.name, name + " 2");
  assert.deepEqual(changed.datapoints, [datapointIds[1]]);
  assert.deepEqual(changed.linkedEvals, ["run"]);
  await hh.datasets.deleteDataset(ds);
  assert.deepEqual((await hh.datasets.getDatasets(project, undefined, ds)).testcases, []);
}

async function datapoints() {
  const hh = client();
  const { result } = await hh.datapoints.createDatapoint({
    project,
    inputs: { q: "why?" },
    history: [{ role: "user" }],
    groundTruth: { a: 1 },
    metadata: { m: 1 },
    linkedEvent: "an event",
  });
  const id = result.insertedId;
  const bare = (await hh.datapoints.createDatapoint({ project, inputs: {} })).result.insertedId;
  const listed = (await hh.datapoints.getDatapoints(project, [id, bare])).datapoints;
  assert.deepEqual(listed.map((d) => d.id), [id, bare]);
  assert.equal(listed[0].linkedEvent, "an event");
  await hh.datapoints.updateDatapoint({ inputs: { q: "how?" }, linkedEvals: ["run"] }, id);
  const [changed] = (await hh.datapoints.getDatapoint(id)).datapoint;
  assert.deepEqual(changed.inputs, { q: "how?" });
  assert.deepEqual(changed.groundTruth, { a: 1 });
  assert.deepEqual(changed.linkedEvals, ["run"]);
  for (const one of [id, bare]) assert.equal((await hh.datapoints.deleteDatapoint(one)).deleted, true);
  await assert.rejects(hh.datapoints.getDatapoint(id), (err) => err.statusCode === 404);
}

async function configurations() {
  const hh = client();
  const name = "node " + randomUUID();
  const parameters = {
    callType: "chat",
    model: "m",
    hyperparameters: { temperature: 0.5 },
    responseFormat: { type: "text" },
    functionCallParams: "none",
    additionalProperties: { template: "hi", mine: [1] },
  };
  await hh.configurations.createConfiguration({ project, name, provider: "acme", parameters, env: ["dev"], type: "LLM" });
  const [made] = await hh.configurations.getConfigurations(project, "dev", name);
  assert.equal(made.provider, "acme");
  assert.equal(made.project, project);
  assert.deepEqual(made.parameters.hyperparameters, { temperature: 0.5 });
  assert.deepEqual(made.parameters.additionalProperties, { template: "hi", mine: [1] });
  await hh.configurations.updateConfiguration({ project, name, provider: "other", parameters, env: ["prod"] }, made.id);
  assert.deepEqual(await hh.configurations.getConfigurations(project, "dev", name), []);
  const [changed] = await hh.configurations.getConfigurations(project, undefined, name);
  assert.equal(changed.provider, "other");
  assert.equal(changed.type, "LLM");
  await hh.configurations.deleteConfiguration(made.id);
  assert.deepEqual(await hh.configurations.getConfigurations(project, undefined, name), []);
}

async function tools() {
  const hh = client();
  const name = "node " + randomUUID();
  const { result } = await hh.tools.createTool({ task: project, name, description: "d", parameters: { type: "object" }, type: "function" });
  const mine = async () => (await hh.tools.getTools()).filter((t) => t.id === result.insertedId);
  const [made] = await mine();
  assert.equal(made.name, name);
  assert.equal(made.toolType, "function");
  assert.deepEqual(made.parameters, { type: "object" });
  await hh.tools.updateTool({ id: made.id, name: name + " 2", parameters: { type: "string" } });
  const [changed] = await mine();
  assert.equal(changed.name, name + " 2");
  assert.equal(changed.description, "d");
  await hh.tools.deleteTool(made.id);
  assert.deepEqual(await mine(), []);
}

module.exports = { datasets, datapoints, configurations, tools };
