"""The API client of PyPI `honeyhive` 1.7.0."""

import time
import uuid

from honeyhive import HoneyHive
from honeyhive._generated.models import EventSearchFilter, LegacyExportEventsRequest, SearchEventsRequest, SearchEventsRequestDateRange
from honeyhive._generated.models import PostEventRequest as BareEvent
from honeyhive._generated.models import PostEventBatchRequest as StrictBatch
from honeyhive._generated.models import StartSessionRequest as BareSession
from honeyhive._generated.models import UpdateEventRequest as BareUpdate
from honeyhive._generated.services import Events_service, Sessions_service
from honeyhive.models import EventFilter, PostEventBatchRequest, PostEventRequest, StartSessionRequest, UpdateEventRequest

from readback import KEY, URL, call, check, event, refused, session


def client():
    return HoneyHive(api_key=KEY, base_url=URL)


def start(**fields):
    """Starts a session with an id of our own and gives the id."""
    sid = str(uuid.uuid4())
    got = client().sessions.start({"session": {"session_id": sid, "session_name": "python api", "source": "e2e", **fields}})
    assert got.session_id == got.event_id == sid, got
    return sid


def step(sid, name, **fields):
    """A tool event of a session as a dict."""
    return {
        "event_type": "tool",
        "event_name": name,
        "session_id": sid,
        "source": "e2e",
        "config": {"v": 1},
        "inputs": {"q": name},
        "duration": 12.5,
        **fields,
    }


def session_start():
    sid = str(uuid.uuid4())
    got = client().sessions.start(
        StartSessionRequest(
            session={
                "session_id": sid,
                "session_name": "first",
                "source": "e2e",
                "inputs": {"question": "why?"},
                "metadata": {"tier": "gold"},
                "user_properties": {"user_id": "u-1"},
            }
        )
    )
    assert got.session_id == got.event_id == sid
    assert got.org_id and got.workspace_id and got.project_id
    assert got.event_type == "session" and got.event_name == "first", got
    # Starting it again merges and gives what is stored.
    got = client().sessions.start({"session": {"session_id": sid, "metadata": {"turn": 2}}})
    assert got.event_name == "first", got
    check(session(sid)["session"], event_name="first", inputs={"question": "why?"}, source="e2e")
    check(event(sid), metadata__tier="gold", metadata__turn=2, user_properties__user_id="u-1")


def session_start_without_id():
    got = client().sessions.start({"session": {"session_name": "no id", "source": "e2e"}})
    uuid.UUID(got.session_id)
    check(event(got.session_id), event_name="no id", session_id=got.session_id)


def session_start_bare():
    api = client().sessions._ingestion_api_config
    got = Sessions_service.createSession(api, data=BareSession(session_name="bare", source="e2e", metadata={"a": {"b": [1, 2]}}))
    check(event(got.session_id), event_name="bare", metadata__a={"b": [1, 2]})


def event_create():
    sid = start()
    got = client().events.create(PostEventRequest(event=step(sid, "search", outputs={"hits": 3}, metadata={"cost": 0.25})))
    assert got.success is True and got.event_id, got
    check(event(got.event_id), event_name="search", event_type="tool", session_id=sid, parent_id=sid)
    check(event(got.event_id), inputs={"q": "search"}, outputs={"hits": 3}, metadata__cost=0.25, duration=12.5)


def event_create_bare():
    sid = start()
    api = client().events._ingestion_api_config
    got = Events_service.createEvent(api, data=BareEvent(**step(sid, "bare", event_id=str(uuid.uuid4()))))
    read = Events_service.getEvent(client().events._api_config, event_id=got.event_id)
    assert read.event is not None, read
    check(event(got.event_id), event_name="bare", session_id=sid)


def event_update():
    sid = start()
    api = client()
    eid = api.events.create(PostEventRequest(event=step(sid, "rate", metadata={"kept": 1, "changed": "old"}))).event_id
    api.events.update(
        UpdateEventRequest(
            event_id=eid,
            metadata={"changed": "new"},
            feedback={"rating": 5},
            metrics={"score": 0.5},
            outputs={"answer": "yes"},
            config={"model": "m"},
            user_properties={"plan": "pro"},
        )
    )
    check(event(eid), metadata__kept=1, metadata__changed="new", feedback__rating=5, metrics__score=0.5)
    check(event(eid), outputs={"answer": "yes"}, config__model="m", config__v=1, user_properties__plan="pro")
    Events_service.updateEvent(api.events._ingestion_api_config, event_id=eid, data=BareUpdate(feedback={"comment": "good"}))
    check(event(eid), feedback={"rating": 5, "comment": "good"})


def event_update_before_create():
    sid, eid = start(), str(uuid.uuid4())
    client().events.update(UpdateEventRequest(event_id=eid, feedback={"rating": 4}))
    client().events.create(PostEventRequest(event=step(sid, "late", event_id=eid)))
    check(event(eid), event_name="late", feedback={"rating": 4})


def event_batch():
    sid = start()
    events = [step(sid, f"step {i}", event_id=str(uuid.uuid4()), project="any") for i in range(25)]
    got = client().events.create_batch(PostEventBatchRequest(events=events))
    assert got.success is True and got.event_ids == [e["event_id"] for e in events], got
    named = session(sid)
    assert len(named) == 26, sorted(named)
    check(named["step 24"], inputs={"q": "step 24"}, parent_id=sid)


def event_batch_single_session():
    events = [{k: v for k, v in step("", f"step {i}").items() if k != "session_id"} for i in range(3)]
    got = client().events.create_batch(
        PostEventBatchRequest(
            events=events,
            is_single_session=True,
            session_properties={"session_name": "together", "user_properties": {"user_id": "u-2"}},
        )
    )
    named = session(got.session_id)
    assert len(named) == 4 and len(got.event_ids) == 3, (sorted(named), got)
    check(named["session"], event_name="together", user_properties__user_id="u-2")


def event_batch_strict():
    sid = start()
    api = client().events._ingestion_api_config
    got = Events_service.createEventBatch(api, data=StrictBatch(events=[step(sid, "strict")]))
    check(event(got.event_ids[0]), session_id=sid)
    surplus = StrictBatch(events=[step(sid, "a"), step(sid, "b", surplus=1)])
    assert refused(lambda: Events_service.createEventBatch(api, data=surplus)).status_code == 400
    assert set(session(sid)) == {"session", "strict"}, "a refused batch was stored in part"


def model_event():
    from honeyhive._generated.models import PostModelEventRequest

    api = client().events._ingestion_api_config
    got = Events_service.createModelEventLegacy(
        api,
        data=PostModelEventRequest(
            model_event={
                "model": "m-large",
                "provider": "acme",
                "messages": [{"role": "user", "content": "hi"}],
                "response": {"role": "assistant", "content": "hello"},
                "duration": 42.0,
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
                "cost": 0.001,
                "hyperparameters": {"temperature": 0.2},
            }
        ),
    )
    e = event(got.event_id)
    check(e, event_type="model", config__model="m-large", config__provider="acme", outputs__content="hello", duration=42)
    check(e, metadata__total_tokens=7, metadata__cost=0.001, inputs__chat_history=[{"role": "user", "content": "hi"}])


def model_events():
    from honeyhive._generated.models import PostModelEventBatchRequest

    calls = [
        {"model": m, "provider": "acme", "messages": [], "response": {"content": "hello"}, "duration": 1, "usage": {"total_tokens": 7}}
        for m in ("m-small", "m-large")
    ]
    got = Events_service.createModelEventBatchLegacy(
        client().events._ingestion_api_config,
        data=PostModelEventBatchRequest(model_events=calls, single_session=True, session_properties={"session_name": "two calls"}),
    )
    assert got.success is True and [event(i)["config"]["model"] for i in got.event_ids] == ["m-small", "m-large"], got
    check(event(got.session_id), event_name="two calls")


def export():
    sid = start()
    batch = [step(sid, f"n{i}", start_time=1790000000000 + i, metadata={"n": i, "even": i % 2 == 0}) for i in range(7)]
    client().events.create_batch(PostEventBatchRequest(events=batch))
    mine = EventFilter(field="session_id", operator="is", value=sid, type="string")
    tools = EventFilter(field="event_type", operator="is", value="tool", type="string")
    got = client().events.export(filters=[mine, tools], limit=5)
    assert got.total_events == 7 and [e.event_name for e in got.events] == ["n6", "n5", "n4", "n3", "n2"], got
    got = client().events.export(filters=[mine, tools], limit=5, page=2)
    assert got.total_events == 7 and [e.event_name for e in got.events] == ["n1", "n0"], got
    more = EventFilter(field="metadata.n", operator="greater than", value="4", type="number")
    got = client().events.export(filters=[mine, more])
    assert sorted(e.event_name for e in got.events) == ["n5", "n6"], got
    even = {"field": "metadata.even", "operator": "is", "value": "true", "type": "boolean"}
    got = client().events.export(filters=[mine, even], projections=["event_name", "metadata.n"])
    shown = [e.model_dump(exclude_none=True) for e in got.events]
    assert [(e["event_name"], e["metadata"]) for e in shown] == [(f"n{n}", {"n": n}) for n in (6, 4, 2, 0)], got
    assert all(set(e) == {"event_id", "event_name", "metadata"} for e in shown), got
    got = client().events.export(filters=[mine], date_range={"$gte": "2026-09-21T14:13:20Z", "$lte": "2026-09-21T14:13:20.002Z"})
    assert sorted(e.event_name for e in got.events) == ["n0", "n1", "n2"], got
    got = client().events.list({"filters": [mine.to_dict()], "limit": 1000})
    assert got.totalEvents == 8, got
    got = client().events.get_by_session_id(sid)
    assert len(got.events) == 8, got
    asked = LegacyExportEventsRequest(filters=[mine.to_dict()], limit=2, page=4)
    got = Events_service.exportEventsLegacy(client().events._api_config, data=asked)
    assert got.totalEvents == 8 and len(got.events) == 2, got


def search():
    sid = start()
    now = int(time.time() * 1000)
    batch = [step(sid, f"n{i}", start_time=now + i, metadata={"word": "alpha" if i < 2 else "beta"}) for i in range(4)]
    client().events.create_batch(PostEventBatchRequest(events=batch))
    api = client().events._api_config
    got = Events_service.searchEvents(
        api,
        data=SearchEventsRequest(
            filters=[
                EventSearchFilter(field="session_id", operator="is", value=sid, type="string"),
                EventSearchFilter(field="metadata.word", operator="contains", value="alph", type="string"),
            ],
            dateRange=SearchEventsRequestDateRange(start_time="2026-01-01T00:00:00Z", end_time="2100-01-01T00:00:00Z"),
            limit=10,
        ),
    )
    assert got.count == 2, got
    assert [e.event_name for e in got.events] == ["n1", "n0"], got


def session_events():
    from honeyhive._generated.models import AddSessionTracesRequest, SessionEventBatchRequest

    sid = start()
    api = client().events._ingestion_api_config

    def bare(name):
        return {k: v for k, v in step(sid, name).items() if k != "session_id"}

    got = Sessions_service.addSessionTracesLegacy(api, session_id=sid, data=AddSessionTracesRequest(logs=[bare("a"), bare("b")]))
    assert got.success is True, got
    Sessions_service.createSessionEventBatch(api, session_id=sid, data=SessionEventBatchRequest(events=[bare("c")]))
    assert set(session(sid)) == {"session", "a", "b", "c"}
    tree = call("GET", "/v1/sessions/" + sid)
    assert sorted(c["event_name"] for c in tree["children"]) == ["a", "b", "c"], tree
    assert tree["metadata"]["num_events"] == 3, tree["metadata"]


def wrong_key():
    bad = HoneyHive(api_key="not-the-key", base_url=URL)
    err = refused(lambda: bad.sessions.start({"session": {"session_name": "x"}}))
    assert (err.status_code, err.error_code) == (401, "UNAUTHORIZED"), vars(err)


CASES = [
    session_start,
    session_start_without_id,
    session_start_bare,
    event_create,
    event_create_bare,
    event_update,
    event_update_before_create,
    event_batch,
    event_batch_single_session,
    event_batch_strict,
    model_event,
    model_events,
    export,
    search,
    session_events,
    wrong_key,
]
