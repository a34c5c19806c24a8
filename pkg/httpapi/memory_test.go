//go:build !race

// The race detector makes many things allocate that do not otherwise.

package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// What docs/reliability.md promises: a request allocates at most this many bytes for each byte of its
// body, beside a constant.
const (
	memoryFactor   = 16
	memoryConstant = 2 << 20
)

// schemas are those of openapi.yaml.
type schemas struct {
	doc map[string]any
}

// resolved follows references.
func (s schemas) resolved(node any) map[string]any {
	for range 10 {
		m, _ := node.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		node = any(s.doc)
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			node = node.(map[string]any)[step]
		}
	}
	return nil
}

// fields returns the paths of the properties of a schema that are lists, objects or anything, nested at most
// depth deep, with which of them it is.
func (s schemas) fields(node any, depth int) map[string]string {
	schema, found := s.resolved(node), map[string]string{}
	if depth == 0 || schema == nil {
		return found
	}
	for _, also := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := schema[also].([]any)
		for _, part := range parts {
			maps.Copy(found, s.fields(part, depth))
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		switch kind := fmt.Sprint(s.resolved(p)["type"]); {
		case strings.Contains(kind, "array"):
			found[name] = "array"
		case strings.Contains(kind, "object"), s.resolved(p)["type"] == nil && s.resolved(p)["enum"] == nil && s.resolved(p)["const"] == nil:
			found[name] = "object"
		}
		for below, kind := range s.fields(p, depth-1) {
			found[name+"."+below] = kind
		}
	}
	return found
}

// operationFields returns the fields of the bodies of each operation, by method and path.
func operationFields(t *testing.T) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var s schemas
	if err := yaml.Unmarshal(raw, &s.doc); err != nil {
		t.Fatal(err)
	}
	found, seen := map[string]map[string]string{}, map[string]bool{}
	for at, item := range s.doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			o, ok := op.(map[string]any)
			if !ok || o["requestBody"] == nil {
				continue
			}
			content, _ := s.resolved(o["requestBody"])["content"].(map[string]any)
			kind, _ := content["application/json"].(map[string]any)
			if kind == nil {
				continue
			}
			fields := s.fields(kind["schema"], 3)
			fields[""] = "object" // the body itself
			if op := fmt.Sprint(o["operationId"]); !seen[op] {
				seen[op] = true
				found[strings.ToUpper(method)+" "+at] = fields
			}
		}
	}
	return found
}

// listings are lists and objects of n small elements.
func listings(n int) (lists, objects []string) {
	list := func(element string) string { return "[" + element + strings.Repeat(","+element, n-1) + "]" }
	members := func(begin, format string) string {
		b := []byte(begin)
		for i := range n {
			b = fmt.Appendf(b, format, i)
			b = append(b, ',')
		}
		b[len(b)-1] = '}'
		return string(b)
	}
	lists = []string{
		list(`{}`), list(`""`), list(`{"id":"x","name":"x"}`), list(`"33333333-3333-4333-8333-333333333333"`),
		list(`{"event_type":"tool","inputs":{}}`),
	}
	return lists, []string{members("{", `"%d":0`), members(`{"0":0,`, `"%d":"\\u0000"`)} // names twice and NUL must be rewritten
}

// What a request costs is in proportion to its body, whatever the body is made of: every field of
// every body is a list of many small elements here.
func TestMemoryOfLists(t *testing.T) {
	const n = 30_000
	now := time.UnixMilli(1_800_000_000_000)
	const id = "33333333-3333-4333-8333-333333333333"
	one := func(decode func([]byte, time.Time) (event.Incoming, error)) func([]byte) {
		return func(body []byte) { _, _ = decode(body, now) }
	}
	batch := func(policy wire.Policy) func([]byte) {
		return func(body []byte) { _, _ = wire.DecodeBatch(body, policy, now) }
	}
	// What the receiver serves.
	send := map[string]func([]byte){
		"POST /session/start": one(wire.DecodeSessionStart),
		"POST /events":        one(wire.DecodeEvent), "POST /events/model": one(wire.DecodeModelEvent),
		"POST /events/batch": batch(wire.Lenient), "POST /v1/events/batch": batch(wire.Strict),
		"POST /events/model/batch":         func(body []byte) { _, _ = wire.DecodeModelBatch(body, now) },
		"POST /session/{id}/traces":        func(body []byte) { _, _ = wire.DecodeSessionTraces(body, id, now) },
		"POST /sessions/{id}/events/batch": func(body []byte) { _, _ = wire.DecodeSessionEvents(body, id, now) },
	}
	var body []byte
	server := httpapi.New(func() httpapi.Deps {
		s := &fake{}
		return httpapi.Deps{
			Store: s, Providers: s, Now: func() time.Time { return now },
			// Reading a body is another's business.
			ReadBody: func(*http.Request, string) ([]byte, func(), error) { return body, func() {}, nil },
		}
	}())
	for _, r := range server.Routes() {
		send[r.Method+" "+r.Path] = func(b []byte) {
			defer func() { _ = recover() }() // what the fake store lacks
			body = b
			ctx := project.WithIdentity(t.Context(), project.Identity{Project: shop, Scope: project.ScopeAdmin})
			r.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, r.Method, path(r), nil))
		}
	}
	lists, objects := listings(n)
	worst, of, asked := 0.0, "", 0
	for pattern, fields := range operationFields(t) {
		do := send[pattern]
		if do == nil {
			continue // OTLP, which the receiver counts
		}
		for field, kind := range fields {
			values := objects
			if kind == "array" {
				values = lists
			}
			for _, value := range values {
				request := nested(field, value)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				do([]byte(request))
				runtime.ReadMemStats(&after)
				asked++
				took := after.TotalAlloc - before.TotalAlloc
				what := fmt.Sprintf("%s: %q of %.40s…", pattern, field, value)
				if took > uint64(memoryFactor*len(request)+memoryConstant) {
					t.Errorf("%s took %d KiB for %d", what, took>>10, len(request)>>10)
				}
				if factor := float64(took) / float64(len(request)); factor > worst {
					worst, of = factor, what
				}
			}
		}
	}
	t.Logf("%d requests; the most that one took is %.1f times its body: %s", asked, worst, of)
	if asked < 500 {
		t.Errorf("only %d requests were made", asked)
	}
}

// nested returns a body with the value at the path and, beside its first member, all that operations need.
func nested(path, value string) string {
	if path == "" {
		return value
	}
	first, rest, _ := strings.Cut(path, ".")
	steps := strings.Split(rest, ".")
	if rest == "" {
		steps = nil
	}
	for _, step := range slices.Backward(steps) {
		value = `{"` + step + `":` + value + `}`
	}
	return `{"` + first + `":` + value + `,` + strings.ReplaceAll(valid[1:], `"`+first+`":`, `"_":`)
}
