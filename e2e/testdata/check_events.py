#!/usr/bin/env python3
"""Checks mapped events against <case>.expect.json (format 1).

usage: check_events.py EXPECT.json EVENTS.json [--otlp SAMPLE.json] [-v]
EVENTS.json: a JSON array of flat events (session events too), or {"events": [...]}.
An event is joined to its span by metadata.span_id + metadata.trace_id (or metadata.otel.*), or, failing that,
by event_id = UUIDv5(UUID(trace_id), span_id). Exit status 0 = every check passed.
Prints one JSON line: {"case","passed","failed","score","lossless"} and with -v each failure.
"""
import json, sys, uuid

def eid(trace, span): return str(uuid.uuid5(uuid.UUID(trace), span))
def load(p):
    with open(p, encoding="utf-8") as f: return json.load(f)
def flat(t):
    for _ in range(4): t = t.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n").replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")
    return t
def dump(o): return flat(json.dumps(o, ensure_ascii=False))
def get(o, *path):
    for k in path:
        if not isinstance(o, dict): return None
        o = o.get(k)
    return o
def text(c):
    if c is None: return ""
    if isinstance(c, str): return c
    if isinstance(c, dict): return c.get("text") or c.get("content") or ""
    return "".join(text(p) for p in c if isinstance(p, (str, dict)) and (isinstance(p, str) or p.get("type", "text") in ("text", "input_text", "output_text")))
def obj(v):
    if isinstance(v, str):
        try: return json.loads(v)
        except ValueError: return v
    return v
def close(a, b):
    try: return abs(float(a) - float(b)) <= 1e-6 * max(1e-9, abs(float(b)))
    except (TypeError, ValueError): return a == b
FIN = {"tool_call": "tool_calls", "tool-calls": "tool_calls", "tool_use": "tool_calls", "end_turn": "stop"}
def haskv(o, k, v):
    o = obj(o)
    if isinstance(o, dict):
        if k in o and (close(o[k], v) or o[k] == v or str(o[k]) == str(v)): return True
        return any(haskv(x, k, v) for x in o.values())
    if isinstance(o, list): return any(haskv(x, k, v) for x in o)
    return False
TOK = {"prompt": "prompt_tokens", "completion": "completion_tokens", "total": "total_tokens", "cached": "cache_read_input_tokens", "reasoning": "reasoning_tokens"}

def main(argv):
    verbose = "-v" in argv
    otlp = argv[argv.index("--otlp") + 1] if "--otlp" in argv else None
    pos = [a for i, a in enumerate(argv) if not a.startswith("-") and (i == 0 or argv[i - 1] != "--otlp")]
    x, evs = load(pos[0]), load(pos[1])
    if isinstance(evs, dict): evs = evs["events"]
    by_id, by_span = {e.get("event_id"): e for e in evs}, {}
    for e in evs:
        for o in (get(e, "metadata"), get(e, "metadata", "otel")):
            if isinstance(o, dict) and o.get("span_id"): by_span[(o.get("trace_id"), o["span_id"])] = e
    def find(trace, span): return by_span.get((trace, span)) or by_id.get(eid(trace, span))
    ok, bad = [0], []
    def chk(cond, e, what, want=None, got=None):
        if cond: ok[0] += 1
        else: bad.append((e.get("span_name", "-"), what, want, got))
    sess_of_trace = {}
    for e in x["events"]:
        g = find(e["trace_id"], e["span_id"])
        chk(g is not None, e, "event exists")
        if g is None: continue
        sess_of_trace.setdefault(e["trace_id"], set()).add(g.get("session_id"))
        ty = e["event_type"]; ty = ty if isinstance(ty, list) else [ty]
        chk(g.get("event_type") in ty, e, "event_type", ty, g.get("event_type"))
        if e["parent_span_id"]:
            p = find(e["trace_id"], e["parent_span_id"])
            chk(p is not None and g.get("parent_id") == p.get("event_id"), e, "parent", e["parent_span_id"], g.get("parent_id"))
        else:
            chk(g.get("parent_id") == g.get("session_id"), e, "parent is the session", g.get("session_id"), g.get("parent_id"))
        chk(isinstance(g.get("duration"), (int, float)) and abs(g["duration"] - e["duration_ms"]) < 1.001, e, "duration", e["duration_ms"], g.get("duration"))
        chk(isinstance(g.get("start_time"), (int, float)) and abs(g["start_time"] - e["start_time_ms"]) < 1.001, e, "start_time", e["start_time_ms"], g.get("start_time"))
        inp, out, cfg, md = g.get("inputs") or {}, g.get("outputs"), g.get("config") or {}, g.get("metadata") or {}
        hist = get(inp, "chat_history") or []
        if "event_name" in e: chk(g.get("event_name") == e["event_name"], e, "event_name", e["event_name"], g.get("event_name"))
        if "model" in e: chk(str(cfg.get("model", "")).startswith(e["model"]), e, "config.model", e["model"], cfg.get("model"))
        if "provider" in e: chk(str(cfg.get("provider", "")).lower() == e["provider"], e, "config.provider", e["provider"], cfg.get("provider"))
        if "last_user" in e:
            us = [text(m.get("content")) for m in hist if isinstance(m, dict) and m.get("role") == "user"]
            chk(bool(us) and us[-1] == e["last_user"], e, "last user message", e["last_user"], us[-1:])
        if "system" in e: chk(any(isinstance(m, dict) and m.get("role") in ("system", "developer") and e["system"] in text(m.get("content")) for m in hist), e, "system message", e["system"])
        if "n_messages" in e: chk(len(hist) == e["n_messages"], e, "chat_history length", e["n_messages"], len(hist))
        if "answer" in e: chk(text(get(out, "content")) == e["answer"], e, "outputs.content", e["answer"], get(out, "content"))
        if "tool_calls" in e:
            tc = [{"name": c.get("name") or get(c, "function", "name"), "arguments": obj(c.get("arguments", get(c, "function", "arguments")))} for c in (get(out, "tool_calls") or []) if isinstance(c, dict)]
            chk(tc == e["tool_calls"], e, "outputs.tool_calls", e["tool_calls"], tc)
        if "finish" in e:
            f = get(out, "finish_reason") or (md.get("finish_reasons") or [None])[0]
            chk(FIN.get(f, f) == e["finish"], e, "finish_reason", e["finish"], f)
        if e.get("has_media"):
            chk(any(isinstance(m, dict) and isinstance(m.get("content"), list) and any(isinstance(p, dict) and p.get("type") not in ("text", "input_text", None) for p in m["content"]) for m in hist), e, "media part kept")
        for k, v in (e.get("tokens") or {}).items(): chk(md.get(TOK[k]) == v, e, "metadata." + TOK[k], v, md.get(TOK[k]))
        if "cost" in e: chk(close(md.get("cost"), e["cost"]), e, "metadata.cost", e["cost"], md.get("cost"))
        for k, v in (e.get("config") or {}).items(): chk(close(cfg.get(k), v), e, "config." + k, v, cfg.get(k))
        if "tool_definitions" in e:
            names = [t.get("name") or get(t, "function", "name") for t in cfg.get("tools") or [] if isinstance(t, dict)]
            chk(set(e["tool_definitions"]) <= set(names), e, "config.tools", e["tool_definitions"], names)
        if "prompt_template" in e: chk(e["prompt_template"] in dump(cfg.get("prompt_template")), e, "config.prompt_template", e["prompt_template"], cfg.get("prompt_template"))
        if "tool" in e:
            t = e["tool"]
            chk(t["name"] in (g.get("event_name"), md.get("tool_name")), e, "tool name", t["name"], g.get("event_name"))
            for k, v in t.get("arguments", {}).items(): chk(haskv(inp, k, v), e, "tool argument " + k, v, inp)
            if t.get("result_contains"): chk(t["result_contains"] in dump(out), e, "tool result", t["result_contains"], out)
        for v in e.get("inputs_contain", []): chk(v in dump(inp), e, "inputs contain", v)
        for v in e.get("outputs_contain", []): chk(flat(v) in dump(out), e, "outputs contain", v)
        for v in e.get("docs", []): chk(any(isinstance(d, dict) and v == d.get("content") for d in get(out, "documents") or []), e, "outputs.documents", v)
        if "agent" in e: chk(e["agent"] in (md.get("agent_name"), cfg.get("agent_name")), e, "agent name", e["agent"], md.get("agent_name"))
        if "error" in e: chk(isinstance(g.get("error"), str) and e["error"] in g["error"], e, "error", e["error"], g.get("error"))
        for sec in ("feedback", "user_properties", "metadata"):
            for k, v in (e.get(sec) or {}).items(): chk(close(get(g, sec, k), v), e, sec + "." + k, v, get(g, sec, k))
        if "source" in e: chk(g.get("source") == e["source"], e, "source", e["source"], g.get("source"))
        for k, v in (e.get("metrics") or {}).items():
            pool = [g] + ([find(q["trace_id"], q["span_id"]) or {} for q in x["events"]] if e.get("metrics_on") else [])
            chk(any(close(get(p, "metrics", k), v) for p in pool), e, "metrics." + k, v)
    groups = []
    for q in x["sessions"]:
        ids = set().union(*[sess_of_trace.get(t, set()) for t in q["trace_ids"]]) if q["trace_ids"] else set()
        chk(len(ids) == 1 and None not in ids, {"span_name": "session"}, "one session for the group", q.get("key"), sorted(map(str, ids)))
        groups.append(frozenset(ids))
        s = next((e for e in evs if e.get("event_type") == "session" and e.get("session_id") in ids), None)
        chk(s is not None and s.get("event_id") == s.get("session_id") and not s.get("parent_id"), {"span_name": "session"}, "session root event", q.get("key"))
        members = [find(e["trace_id"], e["span_id"]) or {} for e in x["events"] if e["trace_id"] in q["trace_ids"]] + [s or {}]
        if q.get("key") and s:
            try: want = str(uuid.UUID(q["key"]))
            except ValueError: want = str(uuid.uuid5(uuid.NAMESPACE_URL, q["key"]))
            chk(s["session_id"] == want, {"span_name": "session"}, "session id rule", want, s["session_id"])
        if q.get("user_id"): chk(any(get(m, "user_properties", "user_id") == q["user_id"] for m in members), {"span_name": "session"}, "user id", q["user_id"])
        for k, v in (q.get("properties") or {}).items(): chk(any(v == get(m, "user_properties", k) or v == get(m, "metadata", k) for m in members), {"span_name": "session"}, "property " + k, v)
    chk(len(set(groups)) == len(groups), {"span_name": "session"}, "groups are separate sessions")
    if "rollup_tokens" in x:
        tot = {"prompt": 0, "completion": 0}
        for e in x["events"]:
            g = find(e["trace_id"], e["span_id"]) or {}
            ty = e["event_type"] if isinstance(e["event_type"], list) else [e["event_type"]]
            if g.get("event_type") == "model" or "model" in ty:
                for k in tot: tot[k] += (g.get("metadata") or {}).get(TOK[k]) or 0
        chk(tot == x["rollup_tokens"], {"span_name": "session"}, "token sum over model events", x["rollup_tokens"], tot)
    lossless = None
    if otlp:
        have = tot_ = 0
        for rs in load(otlp).get("resourceSpans", []):
            for ss in rs.get("scopeSpans", []):
                for s in ss.get("spans", []):
                    g = find(s["traceId"], s["spanId"]); t = dump(g) if g else ""
                    for a in s.get("attributes") or []:
                        v = a.get("value") or {}
                        for kind, y in v.items():
                            if kind in ("stringValue", "intValue", "doubleValue") and y not in ("", None):
                                tot_ += 1; y = obj(y) if isinstance(y, str) and y[:1] in "[{" else y
                                leaves = []
                                def walk(o):
                                    if isinstance(o, dict): [walk(z) for z in o.values()]
                                    elif isinstance(o, list): [walk(z) for z in o]
                                    elif isinstance(o, str) and o: leaves.append(flat(o))
                                    elif isinstance(o, (int, float)) and not isinstance(o, bool): leaves.append(json.dumps(o))
                                walk(y); have += all(z in t for z in leaves)
        lossless = round(have / tot_, 4) if tot_ else 1.0
    n = ok[0] + len(bad)
    print(json.dumps({"case": x["convention"] + "/" + x["case"], "passed": ok[0], "failed": len(bad), "score": round(ok[0] / n, 4), "lossless": lossless}))
    if verbose:
        for b in bad: print("  FAIL", *(repr(z)[:160] for z in b))
    return 1 if bad else 0
if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
