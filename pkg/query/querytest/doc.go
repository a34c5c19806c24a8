// Package querytest is the definition of what filters mean: documents, filters, and whether
// they match. The Go matcher, the compiled SQL and every store are held to the same table, so a
// change of meaning is a change of a row in rows.go.
package querytest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// Case is one filter on one event. Events are complete, and no two cases share an event or a
// session id, except that the events of cases on the same document have equal content.
type Case struct {
	Name   string
	Event  event.Event     // as a store is given it: ColdMetadata stands apart from Metadata
	Filter json.RawMessage // one filter object
	Want   bool
}

// namespace makes the ids of the cases.
var namespace = uuid.MustParse("6a1c1b1e-9d0f-4c0e-8f6b-2b7f5f0c9a10")

// Fixed ids for filters on ids. A case whose document is one of these has them as they are.
const (
	eventID   = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
	sessionID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
	parentID  = "16fd2706-8baf-433b-82eb-8c7fada847da"
	otherID   = "886313e1-3b8a-4372-9b90-0c9aee199e5d"
)

// longID is an id that a promoted column does not hold.
var longID = strings.Repeat("long-", 300)

// row is one line of the tables: a document (see document), the filter's parts (value is JSON text, empty for
// none) and the answer. {"rich", "metadata.n", "is", "", `"5"`, true} reads: the document "rich", whose
// metadata.n is the number 5, matches the filter that it is the string "5".
type row struct {
	doc, field, operator, typ, value string
	want                             bool
}

// Cases returns all cases, each with its own event.
func Cases() []Case {
	var out []Case
	for _, table := range [][]row{
		columnRows, stringRows, numberRows, booleanRows, existsRows,
		pathRows, containsRows, datetimeRows, idRows, payloadRows, anyOfRows, textRows,
	} {
		for _, r := range table {
			filter := map[string]any{"field": r.field, "operator": r.operator}
			if r.typ != "" {
				filter["type"] = r.typ
			}
			if r.value != "" {
				filter["value"] = json.RawMessage(r.value)
			}
			raw, err := json.Marshal(filter)
			if err != nil {
				raw = []byte(err.Error()) // no filter: the case's parse fails and names it
			}
			name := fmt.Sprintf("%03d %s: %s %s %s %s", len(out), r.doc, r.field, r.operator, r.typ, r.value)
			out = append(out, Case{Name: name, Event: document(r.doc, len(out)), Filter: raw, Want: r.want})
		}
	}
	return out
}

func text(s string) *string { return &s }

// document builds a document by its name. The ids documents keep theirs.
func document(name string, n int) event.Event {
	fresh := func(what string) uuid.UUID {
		return uuid.NewSHA1(namespace, []byte(fmt.Sprintf("%s %d", what, n)))
	}
	e := event.Event{
		ID: fresh("event"), SessionID: fresh("session"), ParentID: fresh("parent"),
		Type: event.TypeModel, Name: "chat", Source: "prod",
		Start: 1767323045678.25, End: 1767323046912.75, Duration: 1234.5,
	}
	switch name {
	// Only the columns; no JSON field at all.
	case "bare":
	case "error":
		e.Error = text("Timeout: Größe \"12\" überschritten")
		e.Name = "Über 5"
		e.Source = "2026-01-02T03:04:05.678Z"
		e.Type = event.TypeTool
	case "empty error":
		e.Error = text("")
	case "ids":
		e.ParentID = uuid.MustParse(parentID)
	// Directly below the session, whose id is not stored as the parent's.
	case "top":
		e.ParentID = e.SessionID
	case "session":
		e.ID, e.ParentID, e.Type = e.SessionID, uuid.Nil, event.TypeSession
	case "rich":
		e.Metadata = json.RawMessage(rich)
		e.Metrics = json.RawMessage(`{"score":0.75,"passed":true,"note":"fine work",` +
			`"judge":{"score":"0.75","reasons":["too long","off topic"]}}`)
		e.Feedback = json.RawMessage(`{"rating":5,"ground_truth":"Paris"}`)
		e.UserProperties = json.RawMessage(`{"user_id":"u-42","plan":"pro","tags":["beta","eu"]}`)
		e.ChildrenIDs = json.RawMessage(`["` + parentID + `","` + otherID + `"]`)
	// What a promoted column holds, as other values than texts: see promoted in package query.
	case "number user":
		e.UserProperties = json.RawMessage(`{"user_id":42}`)
		e.Metadata = json.RawMessage(`{"run_id":7}`)
	case "digit user":
		e.UserProperties = json.RawMessage(`{"user_id":"42"}`)
		e.Metadata = json.RawMessage(`{"run_id":"run-1"}`)
	case "long user":
		e.UserProperties = json.RawMessage(`{"user_id":"` + longID + `"}`)
		e.Metadata = json.RawMessage(`{"run_id":"` + longID + `"}`)
	case "payload":
		e.Inputs = json.RawMessage(`{"question":"What about the refund?","n":5,"chat_history":[` +
			`{"role":"system","content":"be \u201cterse\u201d"},{"role":"user","content":"a < b && c/d"}],"a.b":"literal"}`)
		e.Outputs = json.RawMessage(`{"answer":{"text":"Geld zur\u00fcck"},"ok":true,"when":"2026-01-02"}`)
		e.Config = json.RawMessage(`{"model":"m-large","temperature":0.50,"tools":[]}`)
	case "text output":
		e.Outputs = json.RawMessage(`"just text"`)
	case "number output":
		e.Outputs = json.RawMessage(`3.0`)
	case "list output":
		e.Outputs = json.RawMessage(`["one",{"two":"three"}]`)
	case "empty user":
		e.UserProperties = json.RawMessage(`{"user_id":""}`)
		e.Metadata = json.RawMessage(`{"run_id":""}`)
	case "upper run":
		e.UserProperties = json.RawMessage(`{"user_id":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"}`)
		e.Metadata = json.RawMessage(`{"run_id":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"}`)
	// Empty objects, which count as absent.
	case "empty":
		e.Metadata, e.Metrics, e.Feedback = json.RawMessage(`{ }`), json.RawMessage(`{}`), json.RawMessage("{\n}")
		e.UserProperties, e.ChildrenIDs = json.RawMessage(`{}`), json.RawMessage(`[]`)
		e.Inputs, e.Outputs, e.Config = json.RawMessage(`{}`), json.RawMessage(`{}`), json.RawMessage(`{}`)
	case "dotted":
		e.Metadata = json.RawMessage(dotted)
		e.ColdMetadata = json.RawMessage(`{"attributes":{"agno.agent.name":"James Bond"}}`)
		e.Metrics = json.RawMessage(`{"judge.v2":{"score":0.5},"judge":{"v2.passed":true}}`)
		e.UserProperties = json.RawMessage(`{"org.unit":{"id":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}`)
		e.Inputs = json.RawMessage(`{"o":{"x.y":"z"}}`)
	// Metadata in both halves, and in the cold one alone.
	case "cold":
		e.Metadata = json.RawMessage(`{"warm":"near"}`)
		e.ColdMetadata = json.RawMessage(`{"attributes":{"http.status":200,"peer":"far"},"span_name":"GET /"}`)
	case "only cold":
		e.ColdMetadata = json.RawMessage(`{"attributes":{"peer":"far"}}`)
	}
	return e
}

// rich has values of every kind and their edges: numbers beyond a double's digits, texts that look like other values,
// keys that need escapes, arrays in arrays.
const rich = `{
 "model":"gpt-Größe","n":5,"nstr":"5","f":0.5,"fexp":1.5e3,"neg":-2,"zero":0,"negzero":-0,
 "big":9007199254740993,"bigger":123456789012345678901234567890,"huge":1e308,"tiny":5e-324,"third":0.1,
 "t":true,"no":false,"tstr":"true","null":null,"empty":"","expstr":"1e3",
 "obj":{"a":{"b":"deep"},"k":"needle here","n":77},"emptyobj":{},"emptyarr":[],
 "arr":["x","y",{"z":"w"},[1,"inner"]],"nums":[10,20],"mixed":[1,true,null],
 "a":{"b":"nested"},"a.b":"literal","c.d":"only literal","e":{"f":null},"e.f":"after null",
 "g":{"h.i":"in g"},"digits":{"0":"key zero","1":{"0":"key one zero"}},"01":"padded","-1":"minus","x":{"01":"padded in"},
 "grid":[[1,2],[3,4]],"long":[0,1,2,3,4,5,6,7,8,9,"ten"],"p.0":"literal index","three":[[["cube"]]],
 "quote\"d":"q","back\\slash":"b","spaced key":"s","$dollar":"d","br[0]":"br","hash#":"h","it's":"apostrophe","q?1":"mark",
 "dash-ed":"da","":"nameless",
 "größe":"umlaut","gr\u00fcn":"escaped umlaut","\ud83d\ude00":"escaped emoji","🌳":{"é":"tree"},"e\u0301":"combining",
 "esc\u0061ped":"plain","tab\there":"tab",
 "esc":"line\nbreak \u00e9 \"quoted\" \\ \/ \ud83d\ude00","upper":"ABC","lower":"abc","z":"z","emoji":"😀","bmp":"\uffee",
 "date":"2026-01-02T03:04:05.678Z","offset":"2026-01-02T05:04:05.678+02:00","day":"2026-01-02","ms":1767323045678,"notdate":"yesterday",
 "uuid":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11","id":"user-Ab1","braces":"{\"a\":1}","objlike":{"a":1},"listlike":"[1]","listed":[1],
 "run_id":"run-1","words":"nothing to see"
}`

// dotted has keys with dots at all levels.
const dotted = `{
 "test.unique_id":"u1","gen_ai.request.foo.bar":"four","a.b.c.d.e":"five","a.b":{"c.d":{"x":"x of d"}},
 "resource":{"telemetry.sdk.language":"go"},"deep":[{"x.y":5},{"x.y":7}],
 "order":{"p":{"q.r":"below order"},"p.q.r":"literal","p.q":{"r":"mixed"}},"order.p.q.r":"at the top",
 "null":{"p":{"q":null},"p.q":null},"null.p.q":"after nulls",
 "all.p.q":"all in one","all.p":{"q":"not asked"},"part.p":{"q":"below a part"},"part":{"p":["first"]},"part.p.1":{"z":true},
 "when.it":{"was":"2026-01-02"}
}`
