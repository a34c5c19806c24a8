"""Experiment runs with PyPI `honeyhive` 1.7.0: evaluate() and all that is done with runs."""

import uuid

from honeyhive import HoneyHive
from honeyhive._generated.models import AddDatapointsToDatasetRequest, CreateDatasetRequest, CreateMetricRequest, DatapointMapping, PostExperimentRunRequest, PutExperimentRunRequest
from honeyhive._generated.services import Events_service, Experiments_service
from honeyhive.experiments import compare_runs, evaluate, get_run_metrics, get_run_result

from readback import KEY, URL, event, eventually, refused, session

ROWS = [{"inputs": {"n": n}, "ground_truth": {"square": n * n}} for n in (1, 2, 3)]


def client():
    return HoneyHive(api_key=KEY, base_url=URL)


def stored_dataset():
    """A dataset of the rows; gives its id and those of its datapoints."""
    api = client().datasets
    dataset = api.create(CreateDatasetRequest(name="python " + str(uuid.uuid4()))).result.insertedId
    data = [{**row["inputs"], **row["ground_truth"]} for row in ROWS]
    mapping = DatapointMapping(inputs=["n"], ground_truth=["square"], history=[])
    return dataset, api.add_datapoints(dataset, AddDatapointsToDatasetRequest(data=data, mapping=mapping)).datapoint_ids


def evaluated(square, **dataset):
    """Evaluates a function; gives what the client makes of the result."""

    def exact(outputs, inputs, ground_truth):
        return float(outputs["square"] == ground_truth["square"])

    def size(outputs, inputs, ground_truth):
        return {"score": outputs["square"], "explanation": "as it is"}

    def program(datapoint):
        return {"square": square(datapoint["inputs"]["n"])}

    name = "python " + str(uuid.uuid4())
    got = evaluate(program, evaluators=[exact, size], name=name, api_key=KEY, server_url=URL, print_results=False, **dataset)
    assert got.status == "completed" and got.success is True, got
    # Nothing says which scores are good enough, so nothing has passed or failed.
    assert (got.passed, got.failed, len(got.datapoints)) == ([], [], 3), got
    assert got.metrics.aggregation_function == "average", got.metrics
    assert {"exact", "size"} <= set(got.metrics.list_metrics()), got.metrics
    return got


def detail(result, name):
    """The aggregate and the sorted values of a metric."""
    found = next(m for m in result.metrics.details if m.metric_name == name)
    return found.aggregate, sorted(found.values)


def evaluate_in_code():
    got = evaluated(lambda n: n * n, dataset=ROWS)
    assert detail(got, "exact") == (1, [1, 1, 1]), got.metrics
    aggregate, values = detail(got, "size")
    assert values == [1, 4, 9] and abs(aggregate - 14 / 3) < 1e-9, got.metrics
    assert all(d.datapoint_id.startswith("EXT-") for d in got.datapoints), got.datapoints

    api = client()
    run = api.experiments.get_run(got.run_id).evaluation
    assert run.status == "completed" and run.metadata["offline_dataset_id"].startswith("EXT-"), run
    assert sorted(run.event_ids) == sorted(d.session_id for d in got.datapoints), run
    assert run.configuration["evaluators"] == ["exact", "size"], run
    for d in got.datapoints:
        events = session(d.session_id)
        one, root = events["session"], events["program"]
        assert one["metadata"]["run_id"] == got.run_id and one["metadata"]["datapoint_id"] == d.datapoint_id, one
        assert one["outputs"]["square"] == one["inputs"]["n"] ** 2 == one["feedback"]["ground_truth"]["square"], one
        assert root["event_type"] == "chain" and root["metrics"]["exact"] == 1, root
        assert root["metrics"]["size_explanation"] == "as it is", root


def evaluate_stored():
    dataset, points = stored_dataset()
    got = evaluated(lambda n: n * n, dataset_id=dataset)
    assert sorted(d.datapoint_id for d in got.datapoints) == sorted(points), got
    run = client().experiments.get_run(got.run_id).evaluation
    assert run.dataset_id == dataset, run
    assert [r.run_id for r in client().experiments.list_runs(dataset_id=dataset).evaluations] == [got.run_id]


def runs_compared():
    dataset, points = stored_dataset()
    old = evaluated(lambda n: n * n if n < 3 else 0, dataset_id=dataset)
    new = evaluated(lambda n: n * n if n > 1 else 7, dataset_id=dataset)
    api = client()
    got = compare_runs(api, new.run_id, old.run_id)
    assert (got.common_datapoints, got.new_only_datapoints, got.old_only_datapoints) == (3, 0, 0), got
    exact = got.metric_deltas["exact"]
    assert abs(exact["old_aggregate"] - 2 / 3) < 1e-9 and abs(exact["new_aggregate"] - 2 / 3) < 1e-9, exact
    assert (exact["found_count"], exact["improved"], exact["degraded"], exact["same"]) == (3, [points[2]], [points[0]], [points[1]]), exact
    assert (exact["improved_count"], exact["degraded_count"], exact["same_count"]) == (1, 1, 1), exact
    assert sorted(exact["old_values"]) == [0, 1, 1] == sorted(exact["new_values"]), exact
    assert "exact" in got.list_improved_metrics() and "exact" in got.list_degraded_metrics(), got

    plain = Experiments_service.getExperimentComparison(api._api_config, new_run_id=new.run_id, old_run_id=old.run_id, aggregate_function="sum")
    assert sorted(plain.commonDatapoints) == sorted(points), plain
    assert (plain.old_run.run_id, plain.new_run.run_id) == (old.run_id, new.run_id), plain
    sizes = next(m for m in plain.metrics if m.metric_name == "size")
    assert (sizes.old_aggregate, sizes.new_aggregate, sizes.difference) == (5, 20, 15), sizes
    assert abs(sizes.percentage_change - 300) < 1e-6, sizes

    pairs = api.experiments.compare_run_events(new.run_id, old.run_id, event_name="program", event_type="chain", limit=2)
    assert pairs.totalEvents == 3 and len(pairs.events) == 2, pairs
    pairs = Experiments_service.getExperimentCompareEvents(api._api_config, new_run_id=new.run_id, old_run_id=old.run_id, event_name="program")
    assert sorted(p.datapoint_id for p in pairs.events) == sorted(points), pairs
    for p in pairs.events:
        assert event(p.event_1["session_id"])["metadata"]["run_id"] == new.run_id, p
        assert event(p.event_2["session_id"])["metadata"]["run_id"] == old.run_id, p


def run_results():
    got = evaluated(lambda n: n + 1, dataset=ROWS)
    api = client()
    for function, want in (("average", 3), ("min", 2), ("max", 4), ("median", 3), ("p90", 3.8), ("p95", 3.9), ("p99", 3.98), ("sum", 9), ("count", 3)):
        aggregate, _ = detail(get_run_result(api, got.run_id, aggregate_function=function), "size")
        assert abs(aggregate - want) < 1e-9, (function, aggregate, want)
        summary = Experiments_service.getExperimentSummary(api._api_config, run_id=got.run_id, aggregate_function=function)
        assert summary.run_object.run_id == got.run_id and summary.metrics.aggregation_function == function, summary
    assert get_run_metrics(api, got.run_id)["run_object"]["run_id"] == got.run_id
    raw = Experiments_service.getExperimentRunMetrics(api._api_config, run_id=got.run_id)
    scored = [e for e in raw.events if "size" in e.metrics]
    assert sorted(e.metrics["size"] for e in scored) == [2, 3, 4] and raw.totalEvents >= 3, raw
    assert {e.session_id for e in scored} == {d.session_id for d in got.datapoints}, raw


def run_scored_by_the_server():
    """A metric that runs over new events shows in the result and the comparison of runs."""
    api = client()
    name = f"online {uuid.uuid4()}"
    made = api.metrics.create(
        CreateMetricRequest(
            name=name,
            type="EXPRESSION",
            criteria="number(outputs) > 2 ? 1 : 0",
            enabled_in_prod=True,
            sampling_percentage=100,
            filters={"filterArray": [{"field": "event_name", "operator": "is", "value": "program", "type": "string"}]},
        )
    )
    try:
        old, new = (evaluated(lambda n, by=by: n + by, dataset=ROWS) for by in (0, 1))

        def scored():
            details = [d for run in (old, new) for d in get_run_result(api, run.run_id).metrics.details]
            found = [d for d in details if d.metric_name == name]
            return found if [len(d.values or []) for d in found] == [3, 3] else None

        values = [sorted(d.values) for d in eventually(scored)]
        assert values == [[0, 0, 1], [0, 1, 1]], values
        delta = compare_runs(api, new.run_id, old.run_id).metric_deltas[name]
        assert (delta["found_count"], delta["improved_count"], delta["degraded_count"]) == (3, 1, 0), delta
    finally:
        assert api.metrics.delete(made.metric_id).deleted is True


def run_passing():
    """Ranges say which scores are good enough."""
    api = client()
    run = str(uuid.uuid4())
    api.experiments.create_run(PostExperimentRunRequest(run_id=run, name="ranges", passing_ranges={"score": {"min": 0.5}}))
    for point, score in (("EXT-good", 0.9), ("EXT-bad", 0.1)):
        api.sessions.start({"session": {"session_name": point, "metadata": {"run_id": run, "datapoint_id": point}, "metrics": {"score": score}}})
    got = get_run_result(api, run)
    assert (got.passed, got.failed, got.success) == (["EXT-good"], ["EXT-bad"], False), got
    [score] = [m for m in got.metrics.details if m.metric_name == "score"]
    assert score.datapoints.passed == ["EXT-good"] and score.datapoints.failed == ["EXT-bad"], score


def run_life():
    api = client()
    name = "python " + str(uuid.uuid4())
    run = str(uuid.uuid4())
    asked = PostExperimentRunRequest(run_id=run, name=name, status="pending", metadata={"a": 1}, configuration={"k": "v"}, event_ids=[])
    made = api.experiments.create_run(asked)
    assert made.run_id == made.evaluation.run_id == run, made
    assert api.experiments.create_run(asked).run_id == run, "a repeated create is the same run"
    got = api.experiments.get_run(run).evaluation
    assert (got.name, got.status, got.metadata, got.configuration, got.event_ids) == (name, "pending", {"a": 1}, {"k": "v"}, []), got
    assert got.is_active is True and got.created_at, got

    sid = api.sessions.start({"session": {"session_name": "of the run"}}).session_id
    change = PutExperimentRunRequest(status="running", metadata={"b": 2}, event_ids=[sid], results={"r": 1}, description="d")
    updated = api.experiments.update_run(run, change).evaluation
    assert (updated.name, updated.status, updated.metadata, updated.event_ids) == (name, "running", {"a": 1, "b": 2}, [sid]), updated
    assert (updated.results, updated.description) == ({"r": 1}, "d"), updated

    other = api.experiments.create_run(PostExperimentRunRequest(name=name)).run_id
    uuid.UUID(other)
    listed = api.experiments.list_runs(name=name, sort_by="created_at", sort_order="asc")
    assert [r.run_id for r in listed.evaluations] == [run, other], listed
    page = listed.pagination
    assert (page.page, page.total, page.total_pages, page.has_next, page.has_prev) == (1, 2, 1, False, False), page
    assert page.total_unfiltered >= 2 and page.limit == 20, page
    page = api.experiments.list_runs(name=name, page=2, limit=1)
    assert len(page.evaluations) == 1 and page.pagination.has_prev is True, page
    assert [r.run_id for r in api.experiments.list_runs(name=name, status="running").evaluations] == [run]
    assert [r.run_id for r in api.experiments.list_runs(name=name, dateRange="1h", limit=100).evaluations] == [other, run]
    # More ids than the client puts in one request.
    found = api.experiments.list_runs(run_ids=[run, other] + [str(uuid.uuid4()) for _ in range(120)])
    assert {r.run_id for r in found.evaluations} == {run, other}, found

    gone = api.experiments.delete_run(run)
    assert gone.deleted is True and gone.id, gone
    assert refused(lambda: api.experiments.get_run(run)).status_code == 404
    assert event(sid)["event_name"] == "of the run", "the events went with their run"


def schemas():
    got = evaluated(lambda n: n, dataset=ROWS)
    api = client()
    for schema in (
        Experiments_service.getRunSchema(api._api_config, run_id=got.run_id),
        Experiments_service.getRunsSchema(api._api_config),
        Experiments_service.getRunsSchema(api._api_config, dateRange="7d"),
        api.experiments.get_schema(),
        api.experiments.get_schema(evaluation_id=got.run_id),
        Events_service.getEventsSchemaLegacy(api._api_config, dateRange={"$gte": "2026-01-01T00:00:00Z"}),
    ):
        names = {(f.name, f.event_type) for f in schema.fields}
        assert ("metrics.size", "chain") in names, names


CASES = [evaluate_in_code, evaluate_stored, runs_compared, run_results, run_scored_by_the_server, run_passing, run_life, schemas]
