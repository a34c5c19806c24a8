"""Datasets, datapoints and configurations of the API client of PyPI `honeyhive` 1.7.0."""

import uuid

from honeyhive._generated.models import (
    AddDatapointsToDatasetRequest,
    BatchCreateDatapointsRequest,
    BatchDateRange,
    ConfigurationParameters,
    CreateConfigurationRequest,
    CreateDatapointRequest,
    CreateDatasetRequest,
    DatapointMapping,
    LegacyUpdateDatasetRequest,
    UpdateConfigurationRequest,
    UpdateDatapointRequest,
    UpdateDatasetRequest,
)
from honeyhive._generated.services import Datapoints_service, Datasets_service

from cases_api import client, start, step
from honeyhive.models import PostEventBatchRequest


def datasets():
    hh, name = client(), "python " + uuid.uuid4().hex
    made = hh.datasets.create(CreateDatasetRequest(name=name, description="d"))
    assert made.inserted is True
    ds = made.result.insertedId
    rows = [
        {"question": "q1", "answer": "a1", "chat": [{"role": "user", "content": "hi"}], "note": 1},
        {"question": "q2", "answer": "a2"},
    ]
    mapping = DatapointMapping(inputs=["question"], ground_truth=["answer"], history=["chat"])
    added = hh.datasets.add_datapoints(ds, AddDatapointsToDatasetRequest(data=rows, mapping=mapping))
    assert added.inserted is True and len(added.datapoint_ids) == 2, added
    got = hh.datasets.list(dataset_id=ds).datasets
    assert len(got) == 1 and got[0].id == ds and got[0].name == name and got[0].description == "d", got
    assert got[0].datapoints == added.datapoint_ids, got
    assert [d.id for d in hh.datasets.list(name=name).datasets] == [ds]
    first = hh.datapoints.get(added.datapoint_ids[0]).datapoint[0]
    assert first.inputs == {"question": "q1"} and first.ground_truth == {"answer": "a1"}, first
    assert first.history == [{"role": "user", "content": "hi"}] and first.metadata == {"note": 1}, first
    assert first.linked_datasets == [ds] and first.linked_event is None, first

    updated = hh.datasets.update(LegacyUpdateDatasetRequest(dataset_id=ds, name=name + " 2"))
    assert updated.result.name == name + " 2" and updated.result.datapoints == added.datapoint_ids, updated
    api = hh.datasets._api_config
    back = list(reversed(added.datapoint_ids))
    updated = Datasets_service.updateDataset(api, dataset_id=ds, data=UpdateDatasetRequest(datapoints=back))
    assert updated.result.datapoints == back, updated
    removed = hh.datasets.remove_datapoint(ds, back[0])
    assert removed.dereferenced is True and removed.message, removed
    removed = Datasets_service.removeDatapoint(api, dataset_id=ds, datapoint_id=back[1])
    assert removed.dereferenced is True
    assert hh.datasets.list(dataset_id=ds).datasets[0].datapoints == []

    other = hh.datasets.create(CreateDatasetRequest(name=name, datapoints=back)).result.insertedId
    assert hh.datasets.delete(ds).result.id == ds
    assert hh.datasets.list(dataset_id=ds).datasets == []
    assert Datasets_service.deleteDataset(api, dataset_id=other).result.id == other


def datapoints():
    hh, name = client(), "python " + uuid.uuid4().hex
    ds = hh.datasets.create(CreateDatasetRequest(name=name)).result.insertedId
    made = hh.datapoints.create(
        CreateDatapointRequest(
            inputs={"q": "why?"},
            history=[{"role": "user", "content": "hi"}],
            ground_truth={"a": "because"},
            metadata={"m": 1},
            linked_event="an event",
            linked_datasets=[ds],
        )
    )
    assert made.inserted is True
    dp = made.result.insertedIds[0]
    least = hh.datapoints.create(CreateDatapointRequest()).result.insertedIds[0]
    got = hh.datapoints.get(dp).datapoint[0]
    assert (got.id, got.inputs, got.ground_truth, got.metadata) == (dp, {"q": "why?"}, {"a": "because"}, {"m": 1}), got
    assert got.linked_event == "an event" and got.linked_datasets == [ds] and got.created_at, got
    assert [d.id for d in hh.datapoints.list(datapoint_ids=[least, dp]).datapoints] == [dp, least]
    assert [d.id for d in hh.datapoints.list(dataset_name=name).datapoints] == [dp]
    # The client asks for more than 100 ids in several requests.
    assert len(hh.datapoints.list(datapoint_ids=["0" * 23 + str(n % 10) for n in range(150)] + [dp]).datapoints) == 1
    changed = hh.datapoints.update(dp, UpdateDatapointRequest(inputs={"q": "how?"}, linked_datasets=[]))
    assert changed.updated is True and changed.result.modifiedCount == 1, changed
    got = hh.datapoints.get(dp).datapoint[0]
    assert got.inputs == {"q": "how?"} and got.ground_truth == {"a": "because"} and got.linked_datasets == [], got
    for one in (dp, least):
        assert hh.datapoints.delete(one).deleted is True
    gone = None
    try:
        hh.datapoints.get(dp)
    except Exception as err:
        gone = err
    assert getattr(gone, "status_code", None) == 404, gone


def datapoints_of_events():
    hh, sid = client(), start()
    events = [step(sid, f"n{i}", start_time=1790000000000 + i, outputs={"hits": i}) for i in range(3)]
    ids = hh.events.create_batch(PostEventBatchRequest(events=events)).event_ids
    ds = hh.datasets.create(CreateDatasetRequest(name="of events")).result.insertedId
    api = hh.datapoints._api_config
    mapping = DatapointMapping(inputs=["inputs.q"], ground_truth=["outputs.hits"])
    made = Datapoints_service.batchCreateDatapoints(
        api, data=BatchCreateDatapointsRequest(events=ids[:2], mapping=mapping, dataset_id=ds)
    )
    assert made.inserted is True and len(made.insertedIds) == 2, made
    got = hh.datapoints.get(made.insertedIds[1]).datapoint[0]
    assert (got.inputs, got.ground_truth, got.linked_event) == ({"q": "n1"}, {"hits": 1}, ids[1]), got
    everything = BatchCreateDatapointsRequest(
        selectAll=True,
        filters=[
            {"field": "session_id", "operator": "is", "value": sid, "type": "string"},
            {"field": "event_type", "operator": "is", "value": "tool", "type": "string"},
        ],
        dateRange=BatchDateRange(**{"$gte": "2026-09-21T14:13:20.001Z", "$lte": "2026-09-21T14:13:21Z"}),
        mapping=mapping,
        dataset_id=ds,
    )
    made = Datapoints_service.batchCreateDatapoints(api, data=everything)
    assert [hh.datapoints.get(i).datapoint[0].linked_event for i in made.insertedIds] == [ids[2], ids[1]], made
    assert len(hh.datasets.list(dataset_id=ds).datasets[0].datapoints) == 4


def configurations():
    hh, name = client(), "python " + uuid.uuid4().hex
    parameters = {
        "call_type": "chat",
        "model": "m-large",
        "hyperparameters": {"temperature": 0.5},
        "responseFormat": {"type": "json_object"},
        "selectedFunctions": [{"id": "1", "name": "f", "description": "d", "parameters": {}}],
        "functionCallParams": "auto",
        "template": [{"role": "user", "content": "hi {{name}}"}],
        "mine": {"kept": True},
    }
    request = CreateConfigurationRequest(
        name=name,
        provider="acme",
        parameters=ConfigurationParameters(**parameters),
        env=["dev", "prod"],
        tags=["t"],
        user_properties={"user": "u"},
    )
    made = hh.configurations.create(request)
    assert made.acknowledged is True
    got = [c for c in hh.configurations.list() if c.id == made.insertedId][0]
    assert (got.name, got.type, got.provider, got.env, got.tags) == (name, "LLM", "acme", ["dev", "prod"], ["t"]), got
    assert got.parameters.model_dump(exclude_none=True) == parameters, got
    changed = hh.configurations.update(made.insertedId, UpdateConfigurationRequest(name=name + " 2", env=[]))
    assert (changed.acknowledged, changed.modifiedCount, changed.matchedCount) == (True, 1, 1), changed
    got = [c for c in hh.configurations.list() if c.id == made.insertedId][0]
    assert (got.name, got.env, got.parameters.model) == (name + " 2", [], "m-large"), got
    gone = hh.configurations.delete(made.insertedId)
    assert (gone.acknowledged, gone.deletedCount) == (True, 1), gone
    assert not [c for c in hh.configurations.list() if c.id == made.insertedId]


CASES = [datasets, datapoints, datapoints_of_events, configurations]
