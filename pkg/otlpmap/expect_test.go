package otlpmap

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// doc is a decoded JSON object.
type doc = map[string]any

// expectation says what the events of one sample must hold.
type expectation struct {
	Sessions []struct {
		Key        *string  `json:"key"`
		TraceIDs   []string `json:"trace_ids"`
		UserID     string   `json:"user_id"`
		Properties doc      `json:"properties"`
	} `json:"sessions"`
	Events []doc          `json:"events"`
	Rollup map[string]int `json:"rollup_tokens"`
}

// checker collects what is wrong with a sample's events.
type checker struct {
	events []doc
	span   map[string]doc
	text   map[string]string // by span: all of its event, in order, as one searchable text
	bad    []string
}

func newChecker(t testing.TB, events []byte) *checker {
	c := &checker{span: map[string]doc{}, text: map[string]string{}}
	if err := json.Unmarshal(events, &c.events); err != nil {
		t.Fatal(err)
	}
	for i, raw := range rawjson.Array(events) {
		e := c.events[i]
		if id := str(get(e, "metadata", "span_id")); id != "" {
			c.span[str(get(e, "metadata", "trace_id"))+id] = e
			c.text[str(get(e, "metadata", "trace_id"))+id] = plain(string(spaced(nil, raw)))
		}
	}
	return c
}

func (c *checker) ok(cond bool, e doc, format string, args ...any) {
	if !cond {
		c.bad = append(c.bad, str(e["span_name"])+": "+fmt.Sprintf(format, args...))
	}
}

func (c *checker) find(e doc) doc { return c.span[str(e["trace_id"])+str(e["span_id"])] }

func get(v any, path ...string) any {
	for _, k := range path {
		o, ok := v.(doc)
		if !ok {
			return nil
		}
		v = o[k]
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func list(v any) []any { l, _ := v.([]any); return l }

func firstOf(vs ...any) any {
	for _, v := range vs {
		if v != nil {
			return v
		}
	}
	return nil
}

// plain undoes what quoting once or several times does to a text.
func plain(s string) string {
	for range 4 {
		s = strings.NewReplacer(`\\`, `\`).Replace(s)
		s = strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
	}
	return s
}

func dump(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return plain(b.String())
}

// spaced writes JSON with a space after each comma and colon, as the SDKs that encode values
// themselves do.
func spaced(dst, raw []byte) []byte {
	sep := ""
	switch jsonscan.Kind(raw) {
	case '{':
		dst = append(dst, '{')
		for c := jsonscan.Members(raw); c.Next(); sep = ", " {
			dst = append(append(append(append(dst, sep...), '"'), c.Key...), `": `...)
			dst = spaced(dst, c.Val)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for c := jsonscan.Elements(raw); c.Next(); sep = ", " {
			dst = spaced(append(dst, sep...), c.Val)
		}
		return append(dst, ']')
	}
	return append(dst, raw...)
}

// textIn returns the text of a message's content.
func textIn(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case doc:
		if t := str(v["text"]); t != "" {
			return t
		}
		return str(v["content"])
	case []any:
		var b strings.Builder
		for _, p := range v {
			if o, ok := p.(doc); ok {
				switch typ, given := o["type"]; {
				case given && typ != "text" && typ != "input_text" && typ != "output_text":
					continue
				}
			}
			b.WriteString(textIn(p))
		}
		return b.String()
	}
	return ""
}

func decoded(v any) any {
	if s, ok := v.(string); ok {
		var out any
		if json.Unmarshal([]byte(s), &out) == nil {
			return out
		}
	}
	return v
}

func near(a, b any) bool {
	x, okx := number(a)
	y, oky := number(b)
	if okx && oky {
		return math.Abs(x-y) <= 1e-6*math.Max(1e-9, math.Abs(y))
	}
	return dump(a) == dump(b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

func holds(v any, key string, want any) bool {
	switch v := decoded(v).(type) {
	case doc:
		if got, ok := v[key]; ok && (near(got, want) || fmt.Sprint(got) == fmt.Sprint(want)) {
			return true
		}
		for _, e := range v {
			if holds(e, key, want) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, key, want) })
	}
	return false
}

var tokenKeys = map[string]string{"prompt": "prompt_tokens", "completion": "completion_tokens", "total": "total_tokens", "cached": "cache_read_input_tokens", "reasoning": "reasoning_tokens"}

func finishOf(v any) string {
	switch f := str(v); f {
	case "tool_call", "tool-calls", "tool_use":
		return "tool_calls"
	case "end_turn":
		return "stop"
	default:
		return f
	}
}

// event holds one event against its expectation.
func (c *checker) event(e doc) {
	g := c.find(e)
	c.ok(g != nil, e, "event exists")
	if g == nil {
		return
	}
	types := list(e["event_type"])
	if types == nil {
		types = []any{e["event_type"]}
	}
	c.ok(slices.Contains(types, g["event_type"]), e, "event_type %v, want %v", g["event_type"], types)
	if parent := str(e["parent_span_id"]); parent != "" {
		p := c.span[str(e["trace_id"])+parent]
		c.ok(p != nil && g["parent_id"] == p["event_id"], e, "parent %v", g["parent_id"])
	} else {
		c.ok(g["parent_id"] == g["session_id"], e, "parent %v is not the session %v", g["parent_id"], g["session_id"])
	}
	for _, k := range []string{"duration", "start_time"} {
		got, _ := number(g[k])
		want, _ := number(e[k+"_ms"])
		c.ok(math.Abs(got-want) < 1.001, e, "%s %v, want %v", k, got, want)
	}
	c.content(e, g)
	c.facts(e, g)
}

func (c *checker) content(e, g doc) {
	in, out, cfg := g["inputs"], g["outputs"], g["config"]
	history := list(get(in, "chat_history"))
	if want, ok := e["last_user"]; ok {
		last := ""
		for _, m := range history {
			if get(m, "role") == "user" {
				last = textIn(get(m, "content"))
			}
		}
		c.ok(last == want, e, "last user message %q, want %q", last, want)
	}
	if want, ok := e["system"]; ok {
		c.ok(slices.ContainsFunc(history, func(m any) bool {
			r := get(m, "role")
			return (r == "system" || r == "developer") && strings.Contains(textIn(get(m, "content")), str(want))
		}), e, "system message %q", want)
	}
	if want, ok := number(e["n_messages"]); ok {
		c.ok(len(history) == int(want), e, "%d messages, want %v", len(history), want)
	}
	if want, ok := e["answer"]; ok {
		c.ok(textIn(get(out, "content")) == want, e, "answer %q, want %q", get(out, "content"), want)
	}
	if want, ok := e["tool_calls"]; ok {
		calls := []any{}
		for _, call := range list(get(out, "tool_calls")) {
			args, has := call.(doc)["arguments"]
			if !has {
				args = get(call, "function", "arguments")
			}
			calls = append(calls, doc{"name": firstOf(get(call, "name"), get(call, "function", "name")), "arguments": decoded(args)})
		}
		c.ok(dump(calls) == dump(want), e, "tool calls %s, want %s", dump(calls), dump(want))
	}
	if want, ok := e["finish"]; ok {
		got := get(out, "finish_reason")
		if reasons := list(get(g, "metadata", "finish_reasons")); got == nil && len(reasons) > 0 {
			got = reasons[0]
		}
		c.ok(finishOf(got) == want, e, "finish %v, want %v", got, want)
	}
	if e["has_media"] == true {
		c.ok(slices.ContainsFunc(history, func(m any) bool {
			return slices.ContainsFunc(list(get(m, "content")), func(p any) bool {
				typ := get(p, "type")
				return typ != nil && typ != "text" && typ != "input_text"
			})
		}), e, "media part kept")
	}
	if want := list(e["tool_definitions"]); want != nil {
		var names []any
		for _, d := range list(get(cfg, "tools")) {
			names = append(names, firstOf(get(d, "name"), get(d, "function", "name")))
		}
		for _, w := range want {
			c.ok(slices.Contains(names, w), e, "tools %v lack %v", names, w)
		}
	}
	if want, ok := e["prompt_template"]; ok {
		c.ok(strings.Contains(dump(get(cfg, "prompt_template")), str(want)), e, "prompt template")
	}
	if tool, ok := e["tool"].(doc); ok {
		c.ok(tool["name"] == g["event_name"] || tool["name"] == get(g, "metadata", "tool_name"), e, "tool name %v", g["event_name"])
		args, _ := tool["arguments"].(doc)
		for k, v := range args {
			c.ok(holds(in, k, v), e, "tool argument %s in %v", k, in)
		}
		c.ok(strings.Contains(dump(out), str(tool["result_contains"])), e, "tool result %v", out)
	}
	for _, v := range list(e["inputs_contain"]) {
		c.ok(strings.Contains(dump(in), str(v)), e, "inputs contain %q", v)
	}
	for _, v := range list(e["outputs_contain"]) {
		c.ok(strings.Contains(dump(out), plain(str(v))), e, "outputs contain %q", v)
	}
	for _, v := range list(e["docs"]) {
		c.ok(slices.ContainsFunc(list(get(out, "documents")), func(d any) bool { return get(d, "content") == v }), e, "document %q", v)
	}
}

func (c *checker) facts(e, g doc) {
	cfg, md := g["config"], g["metadata"]
	if want, ok := e["event_name"]; ok {
		c.ok(g["event_name"] == want, e, "event_name %v, want %v", g["event_name"], want)
	}
	if want, ok := e["model"]; ok {
		c.ok(strings.HasPrefix(str(get(cfg, "model")), str(want)), e, "model %v, want %v", get(cfg, "model"), want)
	}
	if want, ok := e["provider"]; ok {
		c.ok(strings.ToLower(str(get(cfg, "provider"))) == want, e, "provider %v", get(cfg, "provider"))
	}
	tokens, _ := e["tokens"].(doc)
	for k, v := range tokens {
		c.ok(get(md, tokenKeys[k]) == v, e, "%s %v, want %v", tokenKeys[k], get(md, tokenKeys[k]), v)
	}
	if want, ok := e["cost"]; ok {
		c.ok(near(get(md, "cost"), want), e, "cost %v", get(md, "cost"))
	}
	config, _ := e["config"].(doc)
	for k, v := range config {
		c.ok(near(get(cfg, k), v), e, "config.%s %v, want %v", k, get(cfg, k), v)
	}
	if want, ok := e["agent"]; ok {
		c.ok(want == get(md, "agent_name") || want == get(cfg, "agent_name"), e, "agent %v", get(md, "agent_name"))
	}
	if want, ok := e["error"]; ok {
		c.ok(strings.Contains(str(g["error"]), str(want)) && g["error"] != nil, e, "error %v", g["error"])
	}
	for _, section := range []string{"feedback", "user_properties", "metadata"} {
		want, _ := e[section].(doc)
		for k, v := range want {
			c.ok(near(get(g, section, k), v), e, "%s.%s %v, want %v", section, k, get(g, section, k), v)
		}
	}
	if want, ok := e["source"]; ok {
		c.ok(g["source"] == want, e, "source %v, want %v", g["source"], want)
	}
}

// metrics may stand on the span that was graded or on the one that graded.
func (c *checker) metrics(x *expectation) {
	for _, e := range x.Events {
		want, _ := e["metrics"].(doc)
		for k, v := range want {
			found := near(get(c.find(e), "metrics", k), v)
			if e["metrics_on"] != nil {
				for _, q := range x.Events {
					found = found || near(get(c.find(q), "metrics", k), v)
				}
			}
			c.ok(found, e, "metrics.%s", k)
		}
	}
}

func (c *checker) sessions(x *expectation) {
	of := map[string]map[string]bool{}
	for _, e := range x.Events {
		id := str(e["trace_id"])
		if of[id] == nil {
			of[id] = map[string]bool{}
		}
		of[id][str(c.find(e)["session_id"])] = true
	}
	taken := map[string]bool{}
	none := doc{"span_name": "session"}
	for _, s := range x.Sessions {
		ids := map[string]bool{}
		for _, t := range s.TraceIDs {
			for id := range of[t] {
				ids[id] = true
			}
		}
		c.ok(len(ids) == 1, none, "one session, not %v", ids)
		for id := range ids {
			c.ok(!taken[id], none, "groups are separate sessions")
			taken[id] = true
			c.session(none, id, s.Key, s.TraceIDs, s.UserID, s.Properties)
		}
	}
}

func (c *checker) session(none doc, id string, key *string, traces []string, user string, properties doc) {
	var root doc
	members := []any{}
	for _, e := range c.events {
		if e["event_type"] == "session" && e["session_id"] == id {
			root = e
		}
		if slices.Contains(traces, str(get(e, "metadata", "trace_id"))) {
			members = append(members, e)
		}
	}
	c.ok(root != nil && root["event_id"] == root["session_id"] && root["parent_id"] == nil, none, "session event %v", root)
	if key != nil {
		want, err := uuid.Parse(*key)
		if err != nil {
			want = uuid.NewSHA1(uuid.NameSpaceURL, []byte(*key))
		}
		c.ok(id == want.String(), none, "session id %s of key %s", id, *key)
	}
	if user != "" {
		c.ok(slices.ContainsFunc(members, func(m any) bool { return get(m, "user_properties", "user_id") == user }), none, "user %s", user)
	}
	for k, v := range properties {
		c.ok(slices.ContainsFunc(members, func(m any) bool {
			return near(get(m, "user_properties", k), v) || near(get(m, "metadata", k), v)
		}), none, "property %s", k)
	}
}

func (c *checker) rollup(x *expectation) {
	if x.Rollup == nil {
		return
	}
	sum := map[string]int{"prompt": 0, "completion": 0}
	for _, e := range x.Events {
		g := c.find(e)
		if g["event_type"] != "model" && e["event_type"] != "model" && !slices.Contains(list(e["event_type"]), any("model")) {
			continue
		}
		for k := range sum {
			n, _ := number(get(g, "metadata", tokenKeys[k]))
			sum[k] += int(n)
		}
	}
	for k, n := range x.Rollup {
		c.ok(sum[k] == n, doc{"span_name": "session"}, "sum of %s tokens %d, want %d", k, sum[k], n)
	}
}

// lossless returns the share of attributes all of whose texts and numbers are in their span's event.
func (c *checker) lossless(t testing.TB, sample string) float64 {
	raw, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	var req doc
	if err := json.Unmarshal(raw, &req); err != nil {
		t.Fatal(err)
	}
	have, total := 0, 0
	for _, rs := range list(req["resourceSpans"]) {
		for _, ss := range list(get(rs, "scopeSpans")) {
			for _, s := range list(get(ss, "spans")) {
				text := c.text[str(get(s, "traceId"))+str(get(s, "spanId"))]
				for _, a := range list(get(s, "attributes")) {
					for k, v := range get(a, "value").(doc) {
						if k != "stringValue" && k != "intValue" && k != "doubleValue" || v == "" || v == nil {
							continue
						}
						total++
						if inText(v, text, true) {
							have++
						} else {
							t.Logf("%s: lost %s", sample, dump(a))
						}
					}
				}
			}
		}
	}
	if total == 0 {
		return 1
	}
	return float64(have) / float64(total)
}

func inText(v any, text string, top bool) bool {
	switch v := v.(type) {
	case string:
		if top && v != "" && (v[0] == '[' || v[0] == '{') {
			return inText(decoded(v), text, false)
		}
		return strings.Contains(text, plain(v))
	case float64:
		// 3e-7 in one encoder's words is 3e-07 in another's.
		return strings.Contains(text, strings.TrimSpace(dump(v))) || strings.Contains(text, string(rawjson.AppendNumber(nil, v)))
	case doc:
		for _, e := range v {
			if !inText(e, text, false) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !inText(e, text, false) {
				return false
			}
		}
	}
	return true
}
