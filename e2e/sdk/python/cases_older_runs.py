"""Experiment runs with PyPI `honeyhive` 0.2.57: evaluate() and all that is done with runs."""

import uuid

from honeyhive import evaluate

from cases_older import PROJECT, client, new_name, start
from readback import KEY, URL, check, refused, session

ROWS = [{"inputs": {"n": n}, "ground_truth": {"square": n * n}} for n in (1, 2, 3)]


def stored_dataset():
    """A dataset of the rows; gives its id and those of its datapoints."""
    api = client().datasets
    dataset = api.create_dataset(request={"project": PROJECT, "name": new_name()}).object.result.inserted_id
    mapping = {"inputs": ["n"], "ground_truth": ["square"], "history": []}
    rows = {"project": PROJECT, "data": [{**row["inputs"], **row["ground_truth"]} for row in ROWS], "mapping": mapping}
    return dataset, api.add_datapoints(dataset_id=dataset, request_body=rows).object.datapoint_ids


def evaluated(square, **dataset):
    def exact(outputs, inputs, ground_truth):
        return float(outputs["square"] == ground_truth["square"])

    def size(outputs, inputs, ground_truth):
        return outputs["square"]

    def program(inputs, ground_truth):
        return {"square": square(inputs["n"])}

    got = evaluate(
        function=program, evaluators=[exact, size], name=new_name(), project=PROJECT, server_url=URL, print_results=False, api_key=KEY, **dataset
    )
    uuid.UUID(got.run_id)
    assert got.status == "completed" and len(got.session_ids) == len(ROWS), got
    return got


def evaluate_in_code():
    # Its datasets in code have the answers under another name than stored ones.
    got = evaluated(lambda n: n * n, dataset=[{"inputs": row["inputs"], "ground_truths": row["ground_truth"]} for row in ROWS])
    run = client().experiments.get_run(run_id=got.run_id).get_run_response.evaluation
    assert run.status == "completed" and run.dataset_id == got.dataset_id and got.dataset_id.startswith("EXT-"), run
    assert sorted(map(str, run.event_ids)) == sorted(got.session_ids), run
    for sid in got.session_ids:
        one = session(sid)["session"]
        n = one["inputs"]["inputs"]["n"]
        check(one, outputs={"square": n * n}, metrics={"exact": 1, "size": n * n}, metadata__run_id=got.run_id)
        assert one["metadata"]["datapoint_id"].startswith("EXT-"), one


def evaluate_stored():
    dataset, points = stored_dataset()
    got = evaluated(lambda n: n * n, dataset_id=dataset)
    api = client().experiments
    result = api.get_experiment_result(run_id=got.run_id, project_id=PROJECT, aggregate_function="sum").experiment_result_response
    assert result.status == "completed" and result.metrics.aggregation_function == "sum", result
    sizes = next(m for m in result.metrics.details if m.metric_name == "size")
    assert sizes.aggregate == 14 and sorted(sizes.values) == [1, 4, 9], sizes
    assert sorted(d.datapoint_id for d in result.datapoints) == sorted(points), result
    assert sorted(d.session_id for d in result.datapoints) == sorted(got.session_ids), result


def runs_compared():
    dataset, points = stored_dataset()
    old = evaluated(lambda n: n * n if n < 3 else 0, dataset_id=dataset)
    new = evaluated(lambda n: n * n if n > 1 else 7, dataset_id=dataset)
    got = client().experiments.get_experiment_comparison(run_id_1=new.run_id, run_id_2=old.run_id, project_id=PROJECT)
    got = got.experiment_comparison_response
    assert sorted(got.common_datapoints) == sorted(points), got
    exact = next(m for m in got.metrics if m.metric_name == "exact")
    assert (exact.improved, exact.degraded, exact.same) == ([points[2]], [points[0]], [points[1]]), exact
    assert (exact.found_count, exact.improved_count, exact.degraded_count, exact.same_count) == (3, 1, 1, 1), exact
    assert (got.old_run.run_id, got.new_run.run_id, got.new_run.dataset_id) == (old.run_id, new.run_id, dataset), got


def runs():
    api, name = client().experiments, new_name()
    asked = {"project": PROJECT, "name": name, "event_ids": [], "status": "pending", "metadata": {"a": 1}, "configuration": {"k": "v"}}
    run = str(api.create_run(request=asked).create_run_response.run_id)
    sid = start()
    changed = api.update_run(run_id=run, update_run_request={"event_ids": [sid], "status": "completed", "metadata": {"b": 2}})
    assert changed.update_run_response.evaluation["status"] == "completed", changed
    got = api.get_run(run_id=run).get_run_response.evaluation
    assert (got.name, got.project, got.status, got.metadata, got.configuration) == (name, PROJECT, "completed", {"a": 1, "b": 2}, {"k": "v"}), got
    assert [str(i) for i in got.event_ids] == [sid] and got.created_at, got
    assert any(str(r.run_id) == run for r in api.get_runs(project=PROJECT).get_runs_response.evaluations)
    assert api.delete_run(run_id=run).delete_run_response.deleted is True
    assert refused(lambda: api.get_run(run_id=run)).status_code == 404


CASES = [evaluate_in_code, evaluate_stored, runs_compared, runs]
