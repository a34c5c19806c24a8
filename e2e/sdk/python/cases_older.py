"""The API client of PyPI `honeyhive` 0.2.57, which checks the types of all answers."""

import uuid

from honeyhive import HoneyHive, HoneyHiveTracer, enrich_session, trace

from readback import KEY, URL, check, event, refused, session

PROJECT = "default"


def client():
    return HoneyHive(bearer_auth=KEY, server_url=URL)


def new_name():
    return "python 0.2 " + str(uuid.uuid4())


def start(**fields):
    asked = {"project": PROJECT, "session_name": "python 0.2", "source": "e2e", **fields}
    return client().session.start_session(request={"session": asked}).object.session_id


def step(sid, name, **fields):
    return {
        "project": PROJECT,
        "source": "e2e",
        "event_name": name,
        "event_type": "tool",
        "session_id": sid,
        "config": {"v": 1},
        "inputs": {"q": name},
        "duration": 12.5,
        **fields,
    }


def model_call(model):
    return {
        "project": PROJECT,
        "model": model,
        "provider": "acme",
        "messages": [{"role": "user", "content": "hi"}],
        "response": {"role": "assistant", "content": "hello"},
        "duration": 42,
        "usage": {"total_tokens": 7},
    }


def sessions():
    sid = start(inputs={"question": "why?"}, metadata={"tier": "gold"}, user_properties={"user_id": "u-1"})
    check(session(sid)["session"], event_name="python 0.2", inputs={"question": "why?"}, metadata__tier="gold")
    got = client().session.get_session(session_id=sid).event
    assert (got.event_id, got.event_name, got.event_type) == (sid, "python 0.2", "session"), got
    assert refused(lambda: client().session.get_session(session_id=str(uuid.uuid4()))).status_code == 404


def events():
    api, sid = client().events, start()
    made = api.create_event(request={"event": step(sid, "one", outputs={"hits": 3}, metadata={"n": 1})}).object
    assert made.success is True, made
    api.update_event(request={"event_id": made.event_id, "feedback": {"rating": 5}, "metrics": {"score": 0.5}, "metadata": {"m": 2}})
    check(event(made.event_id), event_name="one", parent_id=sid, outputs={"hits": 3}, feedback={"rating": 5})
    check(event(made.event_id), metadata__n=1, metadata__m=2, metrics__score=0.5)
    batch = api.create_event_batch(request={"events": [step(sid, f"b{n}", metadata={"n": n}) for n in (2, 3)]}).object
    assert batch.success is True and len(batch.event_ids) == 2, batch
    together = {
        "events": [{k: v for k, v in step("", f"c{n}").items() if k != "session_id"} for n in (1, 2)],
        "is_single_session": True,
        "session_properties": {"session_name": "together", "source": "e2e", "user_properties": {"user_id": "u-2"}},
    }
    got = api.create_event_batch(request=together).object
    named = session(event(got.event_ids[0])["session_id"])
    assert set(named) == {"session", "c1", "c2"}, sorted(named)
    check(named["session"], event_name="together", user_properties__user_id="u-2")

    filters = [
        {"field": "session_id", "operator": "is", "value": sid, "type": "id"},
        {"field": "metadata.n", "operator": "greater than", "value": "1", "type": "number"},
    ]
    got = api.get_events(request={"project": PROJECT, "filters": filters, "limit": 7500}).object
    assert got.total_events == 2 and {e.event_name for e in got.events} == {"b2", "b3"}, got


def model_events():
    api = client().events
    made = api.create_model_event(request={"model_event": model_call("m-large")}).object
    check(event(made.event_id), event_type="model", config__model="m-large", outputs__content="hello", metadata__total_tokens=7)
    batch = {"model_events": [model_call("m-small"), model_call("m-large")], "is_single_session": True, "session_properties": {"session_name": "two"}}
    got = api.create_model_event_batch(request=batch).object
    assert got.success is True and [event(i)["config"]["model"] for i in got.event_ids] == ["m-small", "m-large"], got


def metrics():
    api, name = client().metrics, new_name()
    asked = {"name": name, "task": PROJECT, "type": "custom", "description": "d", "return_type": "boolean"}
    api.create_metric(request={**asked, "code_snippet": "return True", "threshold": {"min": 1}, "pass_when": True})

    def find():
        return next((m for m in api.get_metrics(project_name=PROJECT).metrics if m.name == name), None)

    got = find()
    assert (got.type, got.return_type, got.code_snippet, got.threshold.min, got.pass_when) == ("custom", "boolean", "return True", 1, True), got
    api.update_metric(request={"metric_id": got.id, "description": "changed", "enabled_in_prod": True})
    assert (find().description, find().enabled_in_prod, find().code_snippet) == ("changed", True, "return True"), find()
    api.delete_metric(metric_id=got.id)
    assert find() is None
    assert refused(lambda: api.delete_metric(metric_id=got.id)).status_code == 404


def tools():
    api, name = client().tools, new_name()
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    asked = {"task": PROJECT, "name": name, "description": "d", "parameters": parameters, "type": "tool"}
    made = api.create_tool(request=asked).object.result.inserted_id

    def find():
        return next((t for t in api.get_tools().tools if t.id == made), None)

    got = find()
    assert (got.task, got.name, got.description, got.parameters, got.tool_type) == (PROJECT, name, "d", parameters, "tool"), got
    api.update_tool(request={"id": made, "name": name + " 2", "parameters": {"type": "object"}})
    assert (find().name, find().description, find().parameters) == (name + " 2", "d", {"type": "object"}), find()
    api.delete_tool(function_id=made)
    assert find() is None


def projects():
    api, name = client().projects, new_name()
    made = api.create_project(request={"name": name, "description": "d"}).project
    assert (made.name, made.description) == (name, "d") and made.id, made
    api.update_project(request={"project_id": made.id, "name": name + " 2", "description": "e"})
    assert api.get_projects(name=name).projects == []
    [got] = api.get_projects(name=name + " 2").projects
    assert (got.id, got.description) == (made.id, "e"), got
    api.delete_project(name=name + " 2")
    assert not any(p.id == made.id for p in api.get_projects().projects)


def configurations():
    api, name = client().configurations, new_name()
    parameters = {"call_type": "chat", "model": "m-large", "hyperparameters": {"temperature": 0.2}, "functionCallParams": "auto"}
    asked = {"project": PROJECT, "name": name, "provider": "acme", "parameters": parameters, "env": ["dev"], "user_properties": {"by": "u"}}
    api.create_configuration(request=asked)
    [got] = api.get_configurations(project=PROJECT, env="dev", name=name).configurations
    assert (got.project, got.provider, got.env, got.type, got.user_properties) == (PROJECT, "acme", ["dev"], "LLM", {"by": "u"}), got
    shown = got.parameters
    assert (shown.call_type, shown.model, shown.hyperparameters, shown.function_call_params) == ("chat", "m-large", {"temperature": 0.2}, "auto"), got
    api.update_configuration(id=got.id, put_configuration_request={**asked, "env": ["prod"], "type": "pipeline"})
    assert api.get_configurations(project=PROJECT, env="dev", name=name).configurations == []
    assert api.get_configurations(project=PROJECT, name=name).configurations[0].type == "pipeline"
    api.delete_configuration(id=got.id)
    assert api.get_configurations(project=PROJECT, name=name).configurations == []


def datasets():
    api, name = client().datasets, new_name()
    asked = {"project": PROJECT, "name": name, "description": "d", "type": "fine-tuning", "pipeline_type": "session", "metadata": {"a": 1}}
    made = api.create_dataset(request=asked).object
    assert made.inserted is True, made
    dataset = made.result.inserted_id

    def find():
        return api.get_datasets(project=PROJECT, dataset_id=dataset).object.testcases

    [got] = find()
    assert (got.name, got.description, got.type, got.pipeline_type, got.datapoints, got.num_points) == (name, "d", "fine-tuning", "session", [], 0), got
    rows = {"project": PROJECT, "data": [{"q": 1, "a": 2}], "mapping": {"inputs": ["q"], "ground_truth": ["a"], "history": []}}
    added = api.add_datapoints(dataset_id=dataset, request_body=rows).object
    assert added.inserted is True and find()[0].datapoints == added.datapoint_ids, added
    api.update_dataset(request={"dataset_id": dataset, "description": "changed", "datapoints": [], "linked_evals": ["e"]})
    [got] = find()
    assert (got.name, got.description, got.datapoints, got.linked_evals) == (name, "changed", [], ["e"]), got
    assert any(d.name == name for d in api.get_datasets(project=PROJECT, type_="fine-tuning").object.testcases)
    api.delete_dataset(dataset_id=dataset)
    assert find() == []


def datapoints():
    api = client()
    dataset = api.datasets.create_dataset(request={"project": PROJECT, "name": new_name()}).object.result.inserted_id
    asked = {"project": PROJECT, "inputs": {"q": "why?"}, "ground_truth": {"a": 1}, "history": [{"role": "user"}], "linked_datasets": [dataset]}
    made = api.datapoints.create_datapoint(request=asked).object.result.inserted_id
    api.datapoints.update_datapoint(id=made, update_datapoint_request={"metadata": {"m": 1}, "linked_evals": ["e"]})
    [got] = api.datapoints.get_datapoint(id=made).object.datapoint
    assert (got.id, got.inputs, got.ground_truth, got.history, got.metadata) == (made, {"q": "why?"}, {"a": 1}, [{"role": "user"}], {"m": 1}), got
    assert (got.linked_datasets, got.linked_evals, got.linked_event) == ([dataset], ["e"], None), got
    listed = api.datapoints.get_datapoints(project=PROJECT, datapoint_ids=[made, "0" * 24]).object.datapoints
    assert [d.id for d in listed] == [made], listed
    assert api.datapoints.delete_datapoint(id=made).object.deleted is True
    assert refused(lambda: api.datapoints.get_datapoint(id=made)).status_code == 404


def tracer():
    made = HoneyHiveTracer(api_key=KEY, project=PROJECT, source="e2e", session_name="tracer 0.2", server_url=URL, inputs={"question": "weather?"})
    sid = made.session_id

    @trace(event_type="tool", metadata={"tries": 2})
    def lookup(city):
        return {"city": city, "degrees": 21}

    @trace(event_type="chain")
    def agent(question):
        return lookup("Oslo")

    agent("weather?")
    HoneyHiveTracer.flush()
    enrich_session(metadata={"tier": "gold"}, feedback={"helpful": True}, metrics={"turns": 1})
    got = session(sid)
    assert set(got) == {"session", "agent", "lookup"}, sorted(got)
    check(got["session"], inputs={"question": "weather?"}, metadata__tier="gold", feedback__helpful=True, metrics__turns=1)
    check(got["agent"], event_type="chain", parent_id=sid, inputs__question="weather?")
    check(got["lookup"], event_type="tool", parent_id=got["agent"]["event_id"], inputs__city="Oslo", metadata__tries=2)
    check(got["lookup"], outputs__result={"city": "Oslo", "degrees": 21})


CASES = [sessions, events, model_events, metrics, tools, projects, configurations, datasets, datapoints, tracer]
