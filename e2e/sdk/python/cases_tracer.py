"""The tracer of PyPI `honeyhive` 1.7.0, with its JSON and its protobuf exporter."""

import os
import uuid

from honeyhive import HoneyHiveTracer, enrich_span, trace

from readback import KEY, URL, check, event, session


def new_tracer(protocol, **fields):
    os.environ["HH_OTLP_PROTOCOL"] = protocol
    return HoneyHiveTracer(api_key=KEY, server_url=URL, source="e2e", session_name="python tracer", **fields)


def agent_run(protocol):
    """A traced agent with a tool, a model call and a failing step; every bucket enriched."""
    tracer = new_tracer(protocol, inputs={"question": "weather?"})
    sid = tracer.session_id
    uuid.UUID(sid)

    @trace(tracer=tracer, event_type="tool", event_name="lookup")
    def lookup(city):
        tracer.enrich_span(metadata={"cache": False, "tries": 2}, metrics={"hits": 0.5})
        return {"city": city, "degrees": 21}

    @trace(tracer=tracer, event_type="model", event_name="answer")
    def answer(facts):
        enrich_span(
            config={"model": "m-large", "temperature": 0.2},
            metadata={"total_tokens": 7},
            feedback={"rating": 5},
            user_properties={"user_id": "u-3"},
            outputs={"role": "assistant", "content": "21 degrees"},
        )
        return "21 degrees"

    @trace(tracer=tracer, event_type="tool", event_name="broken")
    def broken():
        raise ValueError("expected")

    @trace(tracer=tracer, event_type="chain", event_name="agent")
    def agent(question):
        facts = lookup("Oslo")
        try:
            broken()
        except ValueError:
            pass
        return answer(facts)

    assert agent("weather?") == "21 degrees"
    assert tracer.force_flush() is not False
    tracer.enrich_session(
        metadata={"tier": "gold"},
        feedback={"helpful": True},
        metrics={"turns": 1},
        outputs={"final": "21 degrees"},
        user_properties={"user_id": "u-3"},
    )

    got = session(sid)
    assert set(got) == {"session", "agent", "lookup", "answer", "broken", "broken_error"}, sorted(got)
    check(got["session"], event_name="python tracer", source="e2e", inputs={"question": "weather?"})
    check(got["session"], metadata__tier="gold", feedback__helpful=True, metrics__turns=1)
    check(got["session"], outputs={"final": "21 degrees"}, user_properties__user_id="u-3")
    top = got["agent"]
    check(top, event_type="chain", parent_id=sid, session_id=sid, inputs__question="weather?", outputs__result="21 degrees")
    check(got["lookup"], event_type="tool", parent_id=top["event_id"], inputs__city="Oslo")
    check(got["lookup"], outputs__result={"city": "Oslo", "degrees": 21}, metadata__cache=False, metadata__tries=2, metrics__hits=0.5)
    check(got["answer"], event_type="model", parent_id=top["event_id"], config__model="m-large", config__temperature=0.2)
    check(got["answer"], metadata__total_tokens=7, feedback__rating=5, user_properties__user_id="u-3", outputs__content="21 degrees")
    assert "expected" in got["broken"]["error"], got["broken"]
    check(got["broken_error"], error="expected", metadata__error_type="ValueError")
    for e in got.values():
        assert e["duration"] >= 0 and e["end_time"] >= e["start_time"] > 1.7e12, e


def tracer_json():
    agent_run("http/json")


def tracer_protobuf():
    agent_run("http/protobuf")


def tracer_given_session():
    sid = str(uuid.uuid4())
    tracer = new_tracer("http/json", session_id=sid)
    assert tracer.session_id == sid

    @trace(tracer=tracer, event_type="tool", event_name="one")
    def one(n):
        return [n, {"deep": [1, 2, {"x": "y"}]}]

    one(7)
    tracer.force_flush()
    check(session(sid)["one"], inputs__n=7, outputs__result=[7, {"deep": [1, 2, {"x": "y"}]}])


def tracer_create_event():
    tracer = new_tracer("http/json")
    eid = tracer.create_event("direct", event_type="tool", inputs={"a": 1}, outputs={"b": 2}, metadata={"c": 3})
    assert eid, "create_event gave no id"
    check(event(eid), event_name="direct", session_id=tracer.session_id, inputs={"a": 1}, outputs={"b": 2}, metadata__c=3)
    assert tracer.enrich_span(event_id=eid, feedback={"rating": 1}, metadata={"d": 4})
    check(event(eid), feedback__rating=1, metadata__c=3, metadata__d=4)


def tracer_spans_by_hand():
    tracer = new_tracer("http/protobuf")
    with tracer.start_span("outer") as outer:
        outer.set_attribute("honeyhive_event_type", "chain")
        with tracer.start_span("inner", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-small"}) as inner:
            inner.set_attribute("gen_ai.usage.input_tokens", 11)
            inner.set_attribute("gen_ai.usage.output_tokens", 5)
    tracer.force_flush()
    got = session(tracer.session_id)
    check(got["outer"], event_type="chain", parent_id=tracer.session_id)
    check(got["inner"], event_type="model", parent_id=got["outer"]["event_id"], config__model="m-small")
    check(got["inner"], metadata__prompt_tokens=11, metadata__completion_tokens=5, metadata__total_tokens=16)


CASES = [tracer_json, tracer_protobuf, tracer_given_session, tracer_create_event, tracer_spans_by_hand]
