package query

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

func TestParseFilters(t *testing.T) {
	t.Parallel()
	one := Filter{Field: "metadata.cost", Operator: "is", Type: "string", Value: json.RawMessage(`"5"`)}
	exists := Filter{Field: "error", Operator: "exists", Type: "string"}
	for _, tt := range []struct {
		in   string
		want []Filter
	}{
		{``, nil},
		{`null`, nil},
		{`[]`, nil},
		{`{}`, nil},
		{`""`, nil},
		{`{"filterArray":[]}`, nil},
		{`{"filterArray":null}`, nil},
		{`[{"field":"metadata.cost","operator":"is","value":"5"}]`, []Filter{one}},
		{`[{"field":"metadata.cost","operator":"is","value":"5","type":"string"}]`, []Filter{one}},
		{`[{"field":"metadata.cost","operator":"is","value":"5","type":null,"id":7,"label":{}}]`, []Filter{one}},
		{` {"field":"metadata.cost","operator":"is","value":"5"} `, []Filter{one}},
		{`{"filterArray":[{"field":"error","operator":"exists","value":"x"},{"field":"metadata.cost","operator":"is","value":"5"}]}`, []Filter{exists, one}},
		{`"[{\"field\":\"error\",\"operator\":\"exists\"}]"`, []Filter{exists}},
		{`[{"field":"error","field":"metadata.cost","operator":"is","value":"5"}]`, []Filter{one}},
		{`[{"any":[[{"field":"error","operator":"exists"}],[{"field":"metadata.cost","operator":"is","value":"5"}]],"id":7,"field":null}]`,
			[]Filter{{Any: [][]Filter{{exists}, {one}}}}},
		{`{"any":[[{"field":"error","operator":"exists"}]]}`, []Filter{{Any: [][]Filter{{exists}}}}},
		{`[{"field":"metadata.n","operator":"greater than","value":0.50,"type":"number"}]`, []Filter{{Field: "metadata.n", Operator: "greater than", Type: "number", Value: json.RawMessage(`0.50`)}}},
	} {
		got, err := ParseFilters(json.RawMessage(tt.in), "filters")
		if err != nil {
			t.Errorf("ParseFilters(%s): %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Filter{})); diff != "" {
			t.Errorf("ParseFilters(%s) (-want +got)\n%s", tt.in, diff)
		}
	}
}

func TestParseFiltersErrors(t *testing.T) {
	t.Parallel()
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"field":"error","operator":"exists"},`, MaxFilters+1), ",") + "]"
	for _, tt := range []struct{ in, field, says string }{
		{`5`, "filters", "array"},
		{`true`, "filters", "array"},
		{`"error exists"`, "filters", "array"},
		{`[`, "filters", "not valid JSON"},
		{`[5]`, "filters[0]", "filter object"},
		{`[[]]`, "filters[0]", "filter object"},
		{`[{}]`, "filters[0].field", "required"},
		{`{"filterArray":{"field":"error"}}`, "filters.filterArray", "array"},
		{`{"filterArray":[{"field":"error"}]}`, "filters.filterArray[0].operator", "required"},
		{`{"operator":"is","value":"x"}`, "filters.field", "required"},
		{`[{"field":"error","operator":"exists"},{"field":"nope.x","operator":"exists"}]`, "filters[1].field", `"nope"`},
		{`[{"field":"event_name.x","operator":"exists"}]`, "filters[0].field", "no fields inside"},
		{`[{"field":"start_time.","operator":"exists"}]`, "filters[0].field", "no fields inside"},
		{`[{"field":"","operator":"exists"}]`, "filters[0].field", "empty"},
		{`[{"field":".metadata","operator":"exists"}]`, "filters[0].field", "unknown"},
		{`[{"field":"Metadata.x","operator":"exists"}]`, "filters[0].field", "unknown"},
		{`[{"field":5,"operator":"exists"}]`, "filters[0].field", "string"},
		{`[{"field":"metadata.` + strings.Repeat("x", MaxFieldBytes) + `","operator":"exists"}]`, "filters[0].field", "must be at most 2000 bytes"},
		{`[{"field":"error","operator":"like","value":"x"}]`, "filters[0].operator", "like"},
		{`[{"field":"error","operator":"IS","value":"x"}]`, "filters[0].operator", "unknown"},
		{`[{"field":"error","operator":null,"value":"x"}]`, "filters[0].operator", "required"},
		{`[{"field":"error","operator":["is"],"value":"x"}]`, "filters[0].operator", "string"},
		{`[{"field":"error","operator":"is","value":"x","type":"text"}]`, "filters[0].type", "text"},
		{`[{"field":"error","operator":"is","value":"x","type":""}]`, "filters[0].type", "empty"},
		{`[{"field":"error","operator":"is","value":"x","type":1}]`, "filters[0].type", "string"},
		{`[{"field":"metadata.n","operator":"contains","value":"5","type":"number"}]`, "filters[0].operator", "number"},
		{`[{"field":"metadata.n","operator":"after","value":"5","type":"number"}]`, "filters[0].operator", "number"},
		{`[{"field":"metadata.n","operator":"after","value":"5"}]`, "filters[0].operator", "string"},
		{`[{"field":"metadata.n","operator":"greater than","value":true,"type":"boolean"}]`, "filters[0].operator", "boolean"},
		{`[{"field":"metadata.n","operator":"contains","value":true,"type":"boolean"}]`, "filters[0].operator", "boolean"},
		{`[{"field":"metadata.n","operator":"contains","value":"x","type":"id"}]`, "filters[0].operator", "id"},
		{`[{"field":"event_id","operator":"exists","type":"id"}]`, "filters[0].operator", "id"},
		{`[{"field":"start_time","operator":"greater than","value":1,"type":"datetime"}]`, "filters[0].operator", "datetime"},
		{`[{"field":"metadata.n","operator":"is","value":"five","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"NaN","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"inf","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"0x10","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"1_000","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"1e999","type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":1e999,"type":"number"}]`, "filters", "double"},
		{`[{"field":"metadata.n","operator":"is","value":true,"type":"number"}]`, "filters[0].value", "number"},
		{`[{"field":"metadata.n","operator":"is","value":"yes","type":"boolean"}]`, "filters[0].value", "true or false"},
		{`[{"field":"metadata.n","operator":"is","value":1,"type":"boolean"}]`, "filters[0].value", "true or false"},
		{`[{"field":"start_time","operator":"after","value":"yesterday","type":"datetime"}]`, "filters[0].value", "ISO 8601"},
		{`[{"field":"start_time","operator":"after","value":"2026-13-01","type":"datetime"}]`, "filters[0].value", "ISO 8601"},
		{`[{"field":"start_time","operator":"after","value":true,"type":"datetime"}]`, "filters[0].value", "ISO 8601"},
		{`[{"field":"error","operator":"is"}]`, "filters[0].value", "required"},
		{`[{"field":"error","operator":"is","value":{}}]`, "filters[0].value", "must be"},
		{`[{"field":"error","operator":"is","value":["a"]}]`, "filters[0].value", "must be"},
		{`[{"field":"error","operator":"contains","value":null}]`, "filters[0].value", "needs a value"},
		{`[{"field":"metadata.n","operator":"greater than","value":null,"type":"number"}]`, "filters[0].value", "needs a value"},
		{`[{"field":"error","operator":"is any of","value":"a"}]`, "filters[0].value", "array of 1 to 100"},
		{`[{"field":"error","operator":"is any of"}]`, "filters[0].value", "array of 1 to 100"},
		{`[{"field":"error","operator":"is any of","value":null}]`, "filters[0].value", "array of 1 to 100"},
		{`[{"field":"error","operator":"is any of","value":[]}]`, "filters[0].value", "at least one"},
		{`[{"field":"error","operator":"is any of","value":["a",null]}]`, "filters[0].value[1]", "must be a string"},
		{`[{"field":"error","operator":"is any of","value":["a",["b"]]}]`, "filters[0].value[1]", "must be a string"},
		{`[{"field":"metadata.n","operator":"is any of","value":[1,"x"],"type":"number"}]`, "filters[0].value[1]", "number"},
		{`[{"field":"metadata.n","operator":"is any of","value":[true],"type":"boolean"}]`, "filters[0].operator", "boolean"},
		{`[{"field":"start_time","operator":"is any of","value":[1],"type":"datetime"}]`, "filters[0].operator", "datetime"},
		{`[{"field":"error","operator":"is any of","value":[` + manyValues(MaxValues+1) + `]}]`, "filters[0].value", "at most 100 values"},
		{"[" + strings.Repeat(`{"field":"error","operator":"is any of","value":[`+manyValues(MaxValues)+`]},`, 10) +
			`{"field":"error","operator":"is","value":"x"}]`, "filters", "at most 1000 values"},
		{many, "filters", "must have at most 100"},
		{`[{"any":` + "[" + many + "]}]", "filters", "must have at most 100 filters"},
		{`{"any":` + "[" + many + "]}", "filters", "must have at most 100 filters"},
		{`[{"any":[` + some(51) + `]},{"any":[` + some(25) + "," + some(25) + `]}]`, "filters", "must have at most 100 filters"},
		{`[{"any":5}]`, "filters[0].any", "array of 1 to 8 lists"},
		{`[{"any":"[]"}]`, "filters[0].any", "array of 1 to 8 lists"},
		{`[{"any":[]}]`, "filters[0].any", "at least one list"},
		{`[{"any":[[]]}]`, "filters[0].any[0]", "at least one filter"},
		{`[{"any":[` + some(1) + `,{"field":"error","operator":"exists"}]}]`, "filters[0].any[1]", "array of filters"},
		{`[{"any":[` + strings.TrimSuffix(strings.Repeat(some(1)+",", MaxLists+1), ",") + `]}]`, "filters[0].any", "at most 8 lists"},
		{`[{"any":[` + some(1) + `,[{"field":"error","operator":"is"}]]}]`, "filters[0].any[1][0].value", "required"},
		{`[{"any":[[{"any":[` + some(1) + `]}]]}]`, "filters[0].any[0][0].any", "must not stand within any"},
		{`[{"any":[` + some(1) + `],"field":"error"}]`, "filters[0].field", "together with any"},
		{`[{"field":"text","operator":"is","value":"x"}]`, "filters[0].operator", "does not go with the field text"},
		{`[{"field":"text","operator":"exists"}]`, "filters[0].operator", "does not go with the field text"},
		{`[{"field":"text","operator":"is any of","value":["x"]}]`, "filters[0].operator", "does not go with the field text"},
		{`[{"field":"text.x","operator":"contains","value":"x"}]`, "filters[0].field", "unknown"},
		{`[{"field":"text","operator":"contains"}]`, "filters[0].value", "required"},
		{`[{"field":"text","operator":"contains","value":"5","type":"number"}]`, "filters[0].operator", "number"},
		{`[{"field":"text","operator":"matches words","value":null}]`, "filters[0].value", "needs a value"},
		{`[{"field":"text","operator":"matches words","value":"?! _"}]`, "filters[0].value", "at least one word"},
		{`[{"field":"text","operator":"matches words","value":"` + strings.ReplaceAll(manyValues(MaxWords+1), ",", " ") + `"}]`, "filters[0].value", "at most 32 words"},
		{`[{"field":"inputs","operator":"matches words","value":"x"}]`, "filters[0].operator", "text alone"},
		{`{"any":[` + some(1) + `],"value":1}`, "filters.value", "together with any"},
	} {
		fs, err := ParseFilters(json.RawMessage(tt.in), "filters")
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid {
			t.Errorf("ParseFilters(%.80s) = %v, %v; want an Invalid", tt.in, fs, err)
			continue
		}
		if f.Field != tt.field || !strings.Contains(f.Msg, tt.says) {
			t.Errorf("ParseFilters(%.80s): %q: %q; want %q: …%s…", tt.in, f.Field, f.Msg, tt.field, tt.says)
		}
	}
}

// some returns a list of n filters.
func some(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`{"field":"error","operator":"exists"},`, n), ",") + "]"
}

// manyValues returns n different values of an array.
func manyValues(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return strings.Join(list, ",")
}

func TestInProject(t *testing.T) {
	t.Parallel()
	p := project.Project{ID: 1, PublicID: "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", OrgID: "org-1", WorkspaceID: "ws-1", Name: "Shop"}
	other := `{"field":"error","operator":"exists"}`
	for _, tt := range []struct {
		filter string
		holds  bool
	}{
		{`{"field":"project","operator":"is","value":"Shop"}`, true},
		{`{"field":"project","operator":"is","value":"shop"}`, false},
		{`{"field":"project","operator":"is","value":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}`, true},
		{`{"field":"project","operator":"is not","value":"Shop"}`, false},
		{`{"field":"project","operator":"is not","value":"Other"}`, true},
		{`{"field":"project","operator":"is any of","value":["Other","Shop"]}`, true},
		{`{"field":"project","operator":"is any of","value":["Other","shop"]}`, false},
		{`{"any":[[{"field":"project","operator":"is","value":"Other"}],[{"field":"project","operator":"is","value":"Shop"}]]}`, true},
		{`{"any":[[{"field":"project","operator":"is","value":"Other"}],[{"field":"tenant","operator":"is","value":"org-2"}]]}`, false},
		{`{"any":[[{"field":"project","operator":"is","value":"Shop"},{"field":"event_name","operator":"is","value":"x"}]]}`, false},
		{`{"any":[[{"field":"project","operator":"is","value":"Shop"},{"field":"error","operator":"is","value":"it broke"}]]}`, true},
		{`{"field":"project","operator":"contains","value":"ho"}`, true},
		{`{"field":"project","operator":"exists"}`, true},
		{`{"field":"project","operator":"is","value":null}`, false},
		{`{"field":"project_id","operator":"is","value":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","type":"id"}`, true},
		{`{"field":"project_id","operator":"is","value":"Shop"}`, false},
		{`{"field":"tenant","operator":"is","value":"org-1"}`, true},
		{`{"field":"org_id","operator":"is","value":"org-2"}`, false},
		{`{"field":"workspace_id","operator":"is","value":"ws-1","type":"id"}`, true},
		{`{"field":"workspace_id","operator":"greater than","value":1,"type":"number"}`, false},
	} {
		fs, err := ParseFilters(json.RawMessage("["+tt.filter+","+other+"]"), "filters")
		if err != nil {
			t.Fatal(err)
		}
		text := "it broke"
		e := event.Event{ID: uuid.New(), Error: &text}
		got := InProject(fs, p)
		if Match(&e, got) != tt.holds {
			t.Errorf("%s: %v, want %v", tt.filter, !tt.holds, tt.holds)
		}
		e.Error = nil
		if Match(&e, got) {
			t.Errorf("%s: the other filter was lost", tt.filter)
		}
	}
}

func TestNeedle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ filters, want string }{
		{`[]`, ""},
		{`[{"field":"inputs.q","operator":"contains","value":"refund please"}]`, "refund please"},
		{`[{"field":"inputs","operator":"is","value":"say \"hello there\" <b>"}]`, "hello there"},
		{`[{"field":"outputs.a","operator":"contains","value":"Größe über alles"}]`, "ber alles"},
		{`[{"field":"inputs","operator":"contains","value":"日本"}]`, ""},
		{`[{"field":"inputs","operator":"contains","value":""}]`, ""},
		{`[{"field":"inputs","operator":"contains","value":"a/b\\c"}]`, "a"},
		{`[{"field":"inputs.q","operator":"not contains","value":"refund"}]`, ""},
		{`[{"field":"inputs.q","operator":"is not","value":"refund"}]`, ""},
		{`[{"field":"inputs.q","operator":"is","value":"5"}]`, ""},
		{`[{"field":"inputs.q","operator":"is any of","value":["refund","policy"]}]`, ""},
		{`[{"field":"inputs.q","operator":"is any of","value":["refund"]}]`, "refund"},
		{`[{"field":"text","operator":"contains","value":"refund"}]`, ""},
		{`[{"any":[[{"field":"inputs.q","operator":"is","value":"refund"}],[{"field":"error","operator":"exists"}]]}]`, ""},
		{`[{"field":"inputs.q","operator":"contains","value":"5"}]`, "5"},
		{`[{"field":"inputs.q","operator":"is","value":"true"}]`, ""},
		{`[{"field":"inputs.q","operator":"is","value":"abc","type":"id"}]`, ""},
		{`[{"field":"inputs.q","operator":"greater than","value":"abc"}]`, ""},
		{`[{"field":"metadata.q","operator":"contains","value":"refund"}]`, ""},
		{`[{"field":"metadata","operator":"contains","value":"refund"}]`, ""},
		{`[{"field":"inputs.q","operator":"contains","value":"ab"},{"field":"config.m","operator":"is","value":"abc"}]`, "abc"},
	} {
		fs, err := ParseFilters(json.RawMessage(tt.filters), "filters")
		if err != nil {
			t.Fatal(err)
		}
		if got := Needle(fs); string(got) != tt.want {
			t.Errorf("Needle(%s) = %q, want %q", tt.filters, got, tt.want)
		}
	}
}

func TestNeedPayload(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{
		"inputs": true, "outputs.x": true, "config.model": true, "metadata": true, "metadata.attributes.x": true,
		"metadata.cost": false, "metadata.x.attributes": false, "metrics": false, "event_name": false, "children_ids.0": false,
	} {
		fs := []Filter{mustFilter("error", "exists", nil), mustFilter(field, "exists", nil)}
		if got := NeedPayload(fs); got != want {
			t.Errorf("NeedPayload(%s) = %v, want %v", field, got, want)
		}
	}
}

func TestTypeCodes(t *testing.T) {
	t.Parallel()
	for typ, code := range typeCodes {
		if TypeCode(typ) != code || TypeOf(code) != typ {
			t.Errorf("%s: %d, %s", typ, TypeCode(typ), TypeOf(code))
		}
	}
	if TypeCode("none") != 0 || TypeOf(0) != event.TypeGeneric {
		t.Error("an unknown type has a code")
	}
}

// Backfills keep their filters as json.Marshal writes them.
func TestFilterJSON(t *testing.T) {
	t.Parallel()
	fs, err := ParseFilters(json.RawMessage(`[{"field":"metadata.n","operator":"greater than","value":5,"type":"number"},{"field":"error","operator":"not exists"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fs)
	want := `[{"Field":"metadata.n","Operator":"greater than","Type":"number","Value":5},{"Field":"error","Operator":"not exists","Type":"string","Value":null}]`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v; want %s", text, err, want)
	}
	var read []Filter
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for metadata, want := range map[string]bool{`{"n":6}`: true, `{"n":5}`: false, `{}`: false} {
		e := &event.Event{Metadata: json.RawMessage(metadata)}
		if got := Match(e, read); got != want {
			t.Errorf("%s: %v, want %v", metadata, got, want)
		}
	}
	if err := json.Unmarshal([]byte(`[{"Field":"metadata.n","Operator":"like"}]`), &read); fault.Of(err) != fault.Invalid {
		t.Errorf("an unknown operator: %v", err)
	}
}
