"""Metrics, saved charts, annotation queues, projects and keys with PyPI `honeyhive` 1.7.0."""

import uuid

from honeyhive import HoneyHive
from honeyhive._generated.models import (
    AbsoluteDateRange,
    CreateAnnotationQueueRequest,
    CreateAnnotationQueueRequestFilters,
    CreateChartRequest,
    CreateDataPlaneApiKeyRequest,
    CreateIngestionApiKeyRequest,
    CreateMetricRequest,
    CreateMetricVersionRequest,
    MetricVersionContentRequest,
    QueryFilter,
    RelativeDateRange,
    RunMetricRequest,
    UpdateAnnotationQueueRequest,
    UpdateChartRequest,
    UpdateMetricRequest,
)
from honeyhive._generated.models import LegacyRunMetricRequest, LegacyUpdateMetricRequest
from honeyhive._generated.services import Data_Plane_Api_Keys_service, Ingestion_Api_Keys_service, Metrics_service, Queues_service

from readback import KEY, URL, call, check, event, refused


def client(key=KEY, **more):
    return HoneyHive(api_key=key, base_url=URL, **more)


def metric_life():
    api = client()
    name = "helpful " + str(uuid.uuid4())
    made = api.metrics.create(CreateMetricRequest(name=name, type="LLM", criteria="Rate {{ outputs.content }}", threshold={"min": 3}))
    assert made.inserted is True and made.metric_id, made
    [got] = api.metrics.get_metric(made.metric_id)
    assert (got.name, got.type, got.return_type) == (name, "LLM", "float"), got
    assert (got.enabled_in_prod, got.needs_ground_truth, got.sampling_percentage) == (False, False, 10), got
    assert got.id == made.metric_id and got.created_at and got.filters is not None, got
    assert any(m.id == made.metric_id for m in api.metrics.list(type="LLM"))
    assert not any(m.id == made.metric_id for m in api.metrics.list(type="HUMAN"))

    updated = api.metrics.update(LegacyUpdateMetricRequest(id=made.metric_id, description="by body", scale=5))
    assert updated.updated is True, updated
    updated = Metrics_service.updateMetric(api._api_config, metric_id=made.metric_id, data=UpdateMetricRequest(criteria="Rate again"))
    assert updated.updated is True, updated
    [got] = api.metrics.get_metric(made.metric_id)
    assert (got.description, got.scale, got.criteria, got.threshold["min"]) == ("by body", 5, "Rate again", 3), got

    assert api.metrics.delete(made.metric_id).deleted is True
    assert api.metrics.get_metric(made.metric_id) == []
    second = api.metrics.create(CreateMetricRequest(name=name, type="HUMAN", criteria=""))
    assert Metrics_service.deleteMetric(api._api_config, metric_id=second.metric_id).deleted is True


def metric_run():
    api = client()._api_config
    composite = {
        "name": "all",
        "type": "COMPOSITE",
        "criteria": "weighted mean",
        "threshold": {"min": 0.5},
        "child_metrics": [{"name": "a", "weight": 3}, {"name": "b", "weight": 1}],
    }
    of = {"inputs": {}, "outputs": {}, "metrics": {"a": 1, "b": 0}}
    got = Metrics_service.runMetric(api, data=RunMetricRequest(metric=composite, event=of))
    assert (got.success, got.loading, got.result) == (True, False, 0.75), got
    assert "passes the threshold" in got.explanation, got
    taste = {"name": "taste", "type": "HUMAN", "criteria": ""}
    got = Metrics_service.runMetricLegacy(api, data=LegacyRunMetricRequest(metric=taste, event={"inputs": {}}))
    assert (got.success, got.result) == (True, None), got


def metric_types():
    """A metric of each type runs, with each kind of score that it can give."""
    api = client()._api_config
    of = {
        "event_type": "model",
        "event_name": "chat",
        "inputs": {"question": "How many cats?"},
        "outputs": {"content": "There are 3 cats."},
        "feedback": {"ground_truth": "3 cats"},
        "metrics": {"taste": 4, "a": 1},
        "metadata": {"total_tokens": 12},
    }

    def run(kind, criteria, **rest):
        metric = {"name": rest.pop("name", "m"), "type": kind, "criteria": criteria, **rest}
        got = Metrics_service.runMetric(api, data=RunMetricRequest(metric=metric, event=of))
        assert got.loading is False and got.explanation, (metric, got)
        assert got.success is True, (metric, got)
        return got.result

    assert run("PYTHON", "def words(event):\n    return len(event['outputs']['content'].split())") == 4
    assert run("PYTHON", "import re\nresult = re.search(r'\\d+', outputs['content']).group() in feedback['ground_truth']", return_type="boolean") is True
    assert run("PYTHON", "def f(outputs, inputs, ground_truth):\n    return outputs['content'].upper()", return_type="string") == "THERE ARE 3 CATS."
    assert run("LLM", "Is it right? {{ outputs.content }}", return_type="boolean", model_provider="fake", model_name="gpt-4o-mini") is True
    assert run("LLM", "Rate it: {{ outputs.content }}", return_type="float", scale=5, model_provider="fake") == 1
    choice = [{"category": "good", "score": 1}, {"category": "bad", "score": 0}]
    assert run("LLM", "Which? {{ inputs.question }}", return_type="categorical", categories=choice, model_provider="fake") == "good"
    assert run("EXPRESSION", "metadata.total_tokens < 20 && answer contains expected", return_type="boolean") is True
    assert run("COMPOSITE", "weighted mean", child_metrics=[{"name": "a", "weight": 1}]) == 1
    assert run("HUMAN", "", name="taste", scale=5) == 4

    # What cannot be scored says so, in a whole answer.
    bad = {"name": "bad", "type": "PYTHON", "criteria": "def f(event):\n    raise ValueError('no')"}
    got = Metrics_service.runMetric(api, data=RunMetricRequest(metric=bad, event=of))
    assert (got.success, got.result) == (False, None) and "ValueError: no" in got.explanation, got


def metric_versions():
    api = client()
    made = api.metrics.create(CreateMetricRequest(name="v " + str(uuid.uuid4()), type="HUMAN", criteria="first"))
    content = MetricVersionContentRequest(name="v2", type="PYTHON", criteria="return 1")
    draft = api.metric_versions.create(made.metric_id, CreateMetricVersionRequest(message="try", content=content)).data
    assert (draft.message, draft.deployed, draft.content.criteria) == ("try", False, "return 1"), draft
    assert api.metrics.get_metric(made.metric_id)[0].criteria == "first"
    deployed = api.metric_versions.deploy(made.metric_id, draft.name).data
    assert deployed.deployed is True and deployed.full_sha == draft.full_sha, deployed
    assert api.metrics.get_metric(made.metric_id)[0].criteria == "return 1"
    listed = api.metric_versions.list(made.metric_id).data
    assert [(v.name, v.deployed) for v in listed] == [(draft.name, True), ("v1", False)], listed
    api.metrics.delete(made.metric_id)


MODELS = QueryFilter(field="event_type", operator="is", value="model", type="string")


def chart_of(name, **more):
    return CreateChartRequest(name=name, metric="duration", **more)


def saved_charts():
    """Charts of the key's project, as clients before 1.7 ask for them, too."""
    api = client().charts
    asked = chart_of("delay", func="p95", groupBy="config.model", bucketing="day", query=[MODELS], dateRange=RelativeDateRange(relative="7d"), owner_id="u-1")
    made = api.create(asked)
    assert made.success is True and made.data.is_active is True and made.data.created_at, made
    assert (made.data.func, made.data.groupBy, made.data.bucketing, made.data.owner_id) == ("p95", "config.model", "day", "u-1"), made
    assert made.data.dateRange == {"relative": "7d"} and made.data.query == [MODELS.model_dump()], made
    least = api.create(chart_of("least")).data
    assert (least.description, least.dateRange, least.query, least.updated_at) == (None, None, [], None), least
    assert api.get(made.data.id).data.model_dump() == made.data.model_dump()
    listed = {c.id: c for c in api.list().data}
    assert listed[made.data.id].model_dump() == made.data.model_dump() and least.id in listed, listed

    january = AbsoluteDateRange(**{"$gte": "2026-01-01", "$lte": 1769903999999})
    changed = api.update(made.data.id, UpdateChartRequest(func="max", dateRange=january)).data
    assert (changed.name, changed.func, changed.bucketing) == ("delay", "max", "day") and changed.updated_at, changed
    assert changed.dateRange == january.model_dump(), changed
    wrong = refused(lambda: api.update(made.data.id, UpdateChartRequest(func="most")))
    assert (wrong.status_code, wrong.error_code) == (400, "VALIDATION_ERROR") and "func" in wrong.server_message, vars(wrong)

    for chart in (made.data, least):
        gone = api.delete(chart.id)
        assert gone.success is True and chart.id in gone.message, gone
    assert refused(lambda: api.get(least.id)).status_code == 404


def saved_charts_of_a_project():
    """Charts of a project that the request names, with a key of that project."""
    project = call("POST", "/v1/projects", {"name": "charts " + str(uuid.uuid4())})["id"]
    wanted = CreateDataPlaneApiKeyRequest(name="all", permissions=["full"], expires_at="2100-01-01T00:00:00Z")
    key = Data_Plane_Api_Keys_service.createDataPlaneApiKey(client()._api_config, project_id=project, data=wanted).data.key_value
    api = client(data_plane_api_key=key).charts
    made = api.create(chart_of("delay", query=[MODELS]), project_id=project).data
    assert [c.id for c in api.list(project_id=project).data] == [made.id]
    assert api.get(made.id, project_id=project).data.model_dump() == made.model_dump()
    changed = api.update(made.id, UpdateChartRequest(description="of models", groupBy="event_name"), project_id=project).data
    assert (changed.description, changed.groupBy, changed.metric, changed.query) == ("of models", "event_name", "duration", made.query), changed
    # The other key's project has no such chart, and this key no other project.
    assert refused(lambda: api.get(made.id)).status_code == 404
    default = call("GET", "/v1/projects?name=default")[0]["id"]
    assert refused(lambda: api.list(project_id=default)).status_code == 404
    assert api.delete(made.id, project_id=project).success is True
    assert api.list(project_id=project).data == []
    call("DELETE", "/v1/projects?project_id=" + project)


def annotation_queues():
    """Events that people are to look at; what they say of them has no operation in this client."""
    api, session = client()._api_config, str(uuid.uuid4())
    first, second = ids = [str(uuid.uuid4()), str(uuid.uuid4())]
    call("POST", "/session/start", {"session": {"session_id": session, "session_name": "of two"}})
    judged = {"session_id": session, "event_type": "tool", "event_name": "to judge " + session, "inputs": {}}
    call("POST", "/v1/events/batch", {"events": [judged | {"event_id": i} for i in ids]})
    metric = call("POST", "/v1/metrics", {"name": "taste " + session, "type": "HUMAN", "criteria": ""})["metric_id"]

    filters = CreateAnnotationQueueRequestFilters(filterArray=[{"field": "event_name", "operator": "is", "value": "to judge " + session, "type": "string"}])
    wanted = CreateAnnotationQueueRequest(name="queue " + session, description="d", filters=filters, enabled=False, event_ids=[second])
    made = Queues_service.createQueue(api, data=wanted)
    queue = made.queue
    assert (queue.name, queue.description, queue.enabled, queue.is_active, queue.scope_type) == ("queue " + session, "d", False, True, "project"), queue
    assert queue.id in made.message and queue.scope_id and queue.created_at and queue.updated_at is None, made
    assert queue.filters.model_dump() == filters.model_dump(), queue
    least = Queues_service.createQueue(api, data=CreateAnnotationQueueRequest(name="least " + session)).queue
    assert (least.description, least.enabled, least.filters.model_dump()) == ("", True, {"filterArray": []}), least

    assert Queues_service.getQueue(api, queue_id=least.id).model_dump() == least.model_dump()
    listed = {enabled: {q.id for q in Queues_service.getQueues(api, enabled=enabled).queues} for enabled in (None, True, False)}
    assert {queue.id, least.id} <= listed[None], listed
    assert (queue.id in listed[True], queue.id in listed[False]) == (False, True), listed
    assert (least.id in listed[True], least.id in listed[False]) == (True, False), listed

    change = UpdateAnnotationQueueRequest(id=least.id, description="by hand", enabled=False, add_event_ids=ids, remove_event_ids=[second])
    changed = Queues_service.updateQueue(api, queue_id=least.id, data=change)
    assert (changed.queue.name, changed.queue.description, changed.queue.enabled) == (least.name, "by hand", False), changed
    assert changed.queue.updated_at is not None and changed.message, changed
    Queues_service.updateQueue(api, queue_id=least.id, data=UpdateAnnotationQueueRequest(id=least.id, remove_event_ids=[second]))
    items = call("GET", f"/v1/queues/{least.id}/items")["items"]
    assert [i["event_id"] for i in items] == [first], items
    items = call("GET", f"/v1/queues/{queue.id}/items")["items"]
    assert {i["event_id"] for i in items} == set(ids), items

    for annotator, score in (("ann", 4), ("bob", 5)):
        got = call("POST", f"/v1/queues/{least.id}/next", {"annotator": annotator})
        assert got["event"]["event_id"] == first, got
        call("POST", f"/v1/queues/{least.id}/items/{first}/annotations", {"annotator": annotator, "scores": {"taste " + session: score}})
    assert event(first)["metrics"] == {"taste " + session: 4.5}, event(first)

    for q in (queue, least):
        assert q.id in Queues_service.deleteQueue(api, queue_id=q.id).message
    gone = refused(lambda: Queues_service.getQueue(api, queue_id=queue.id))
    assert (gone.status_code, gone.error_code) == (404, "NOT_FOUND"), vars(gone)
    wrong = refused(lambda: Queues_service.createQueue(api, data=CreateAnnotationQueueRequest(name="")))
    assert (wrong.status_code, wrong.error_code) == (400, "VALIDATION_ERROR"), vars(wrong)
    client().metrics.delete(metric)


def keys_of_a_project():
    """A project's keys are of the form that this client asks for, and do what their scope says."""
    project = call("POST", "/v1/projects", {"name": "python " + str(uuid.uuid4())})
    api = client()._api_config
    made = Ingestion_Api_Keys_service.createIngestionApiKey(
        api, project_id=project["id"], data=CreateIngestionApiKeyRequest(name="writer", description="of a test")
    )
    assert made.success is True and made.data.root_scope_id == project["id"], made
    reader = Data_Plane_Api_Keys_service.createDataPlaneApiKey(
        api,
        project_id=project["id"],
        data=CreateDataPlaneApiKeyRequest(name="reader", permissions=["read"], expires_at="2100-01-01T00:00:00Z"),
    )
    assert reader.data.permissions == ["read"] and reader.data.expires_at.startswith("2100-01-01"), reader

    writing = client(reader.data.key_value, ingestion_api_key=made.data.key_value)
    sid = str(uuid.uuid4())
    started = writing.sessions.start({"session": {"session_id": sid, "session_name": "of the new project"}})
    assert started.project_id == project["id"], started
    try:
        event(sid)  # with the first project's key
    except Exception as err:
        assert getattr(err, "code", None) == 404, err
    else:
        raise AssertionError("another project's key reads the session")
    refused = None
    try:
        client(made.data.key_value).metrics.list()
    except Exception as err:
        refused = err
    assert getattr(refused, "status_code", None) == 403, refused
    assert client(reader.data.key_value).metrics.list() == []

    listed = call("GET", f"/v1/projects/{project['id']}/api_keys")["data"]
    assert {k["name"] for k in listed} == {"writer", "reader"}, listed
    check(call("DELETE", f"/v1/projects/{project['id']}/api_keys/{reader.data.key_id}"), success=True, data__in_force=False)
    refused = None
    try:
        client(reader.data.key_value).metrics.list()
    except Exception as err:
        refused = err
    assert getattr(refused, "status_code", None) == 401, refused
    call("DELETE", "/v1/projects?project_id=" + project["id"])


CASES = [metric_life, metric_run, metric_types, metric_versions, saved_charts, saved_charts_of_a_project, annotation_queues, keys_of_a_project]
