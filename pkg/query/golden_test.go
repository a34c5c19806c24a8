package query

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// shapes are filters whose SQL is pinned in testdata, one file a shape and database.
var shapes = []struct{ name, filters string }{
	{"boolean_is", `[{"field":"metadata.t","operator":"is","value":true,"type":"boolean"}]`},
	{"boolean_is_not", `[{"field":"metadata.t","operator":"is not","value":"false","type":"boolean"}]`},
	{"any_columns", `[{"any":[[{"field":"event_name","operator":"is","value":"x"},{"field":"duration","operator":"less than","value":5,"type":"number"}],[{"field":"event_type","operator":"is not","value":"model"}]]}]`},
	{"any_constants", `[{"any":[[{"field":"event_type","operator":"is","value":"none"},{"field":"metadata.a","operator":"is","value":"x"}],[{"field":"event_type","operator":"is not","value":"none"},{"field":"source","operator":"is","value":"y"}]]}]`},
	{"any_fields", `[{"field":"event_name","operator":"is","value":"x"},{"any":[[{"field":"metadata.run_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}],[{"field":"error","operator":"exists"},{"field":"metadata.b","operator":"is not","value":"y"}]]}]`},
	{"any_never", `[{"field":"event_name","operator":"is","value":"x"},{"any":[[{"field":"event_type","operator":"is","value":"none"}],[{"field":"duration","operator":"contains","value":"y"}]]}]`},
	{"any_payload", `[{"any":[[{"field":"event_type","operator":"is","value":"session"},{"field":"inputs.q","operator":"contains","value":"x"}],[{"field":"metadata.cost","operator":"is","value":"1"}]]}]`},
	{"any_sessions", `[{"any":[[{"field":"event_type","operator":"is","value":"model"}],[{"field":"event_type","operator":"is","value":"tool"}]]},{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]`},
	{"any_of_numbers", `[{"field":"metadata.n","operator":"is any of","value":[1,2.5],"type":"number"}]`},
	{"any_of_parents", `[{"field":"parent_id","operator":"is any of","value":["3f2504e0-4f89-41d3-9a0c-0305e82c3301","7d444840-9dc0-41d1-b245-5ffdce74fad2"]}]`},
	{"any_of_runs", `[{"field":"metadata.run_id","operator":"is any of","value":["run-1","3F2504E0-4F89-41D3-9A0C-0305E82C3301"]}]`},
	{"any_of_sessions", `[{"field":"session_id","operator":"is any of","value":["3f2504e0-4f89-41d3-9a0c-0305e82c3301","7d444840-9dc0-41d1-b245-5ffdce74fad2"]}]`},
	{"any_of_strings", `[{"field":"metadata.a.b","operator":"is any of","value":["x",5,true]}]`},
	{"any_of_texts", `[{"field":"metadata.model","operator":"is any of","value":["m-large","m-small"]}]`},
	{"any_of_types", `[{"field":"event_type","operator":"is any of","value":["model","tool"]}]`},
	{"bucket_contains", `[{"field":"metrics","operator":"contains","value":"slow"}]`},
	{"bucket_exists", `[{"field":"feedback","operator":"exists"}]`},
	{"bucket_not_exists_metadata", `[{"field":"metadata","operator":"not exists"}]`},
	{"constant_never", `[{"field":"metadata.a","operator":"is","value":"x"},{"field":"event_type","operator":"is","value":"none"}]`},
	{"constant_always", `[{"field":"event_type","operator":"is not","value":"none"}]`},
	{"datetime_column", `[{"field":"start_time","operator":"after","value":"2026-01-02","type":"datetime"}]`},
	{"datetime_path", `[{"field":"metadata.when","operator":"before","value":"2026-01-02","type":"datetime"}]`},
	{"error_exists", `[{"field":"error","operator":"exists"}]`},
	{"error_not_contains", `[{"field":"error","operator":"not contains","value":"timeout"}]`},
	{"event_id_is", `[{"field":"event_id","operator":"is","value":"3F2504E0-4F89-41D3-9A0C-0305E82C3301","type":"id"}]`},
	{"event_type_is", `[{"field":"event_type","operator":"is","value":"model"}]`},
	{"event_type_is_not", `[{"field":"event_type","operator":"is not","value":"model"}]`},
	{"id_other", `[{"field":"metadata.customer","operator":"is","value":"c-7","type":"id"}]`},
	{"id_uuid", `[{"field":"metadata.customer","operator":"is","value":"3F2504E0-4F89-41D3-9A0C-0305E82C3301","type":"id"}]`},
	{"mixed", `[{"field":"event_type","operator":"is","value":"model"},{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"},{"field":"error","operator":"is","value":"x"},{"field":"inputs.q","operator":"contains","value":"refund"}]`},
	{"name_contains", `[{"field":"event_name","operator":"contains","value":"50%"}]`},
	{"name_less", `[{"field":"event_name","operator":"less than","value":"m"}]`},
	{"nested_contains", `[{"field":"metadata.a.b","operator":"not contains","value":"x"}]`},
	{"nested_three", `[{"field":"metadata.a.b.c","operator":"is","value":"x"}]`},
	{"nested_four_exists", `[{"field":"metadata.a.b.c.d","operator":"exists"}]`},
	{"nested_five", `[{"field":"metadata.a.b.c.d.e","operator":"is","value":"x"}]`},
	{"nested_exists", `[{"field":"metadata.a.b","operator":"exists"}]`},
	{"nested_index", `[{"field":"metadata.list.0.name","operator":"is","value":"x"}]`},
	{"nested_is", `[{"field":"metadata.a.b","operator":"is","value":"x"}]`},
	{"nested_is_not", `[{"field":"metadata.a.b","operator":"is not","value":"x"}]`},
	{"nested_number", `[{"field":"metrics.judge.score","operator":"less than","value":"0.5","type":"number"}]`},
	{"number_column", `[{"field":"duration","operator":"greater than","value":100,"type":"number"}]`},
	{"number_is", `[{"field":"metadata.n","operator":"is","value":5,"type":"number"}]`},
	{"number_is_not", `[{"field":"metadata.n","operator":"is not","value":5,"type":"number"}]`},
	{"parent_id_contains", `[{"field":"parent_id","operator":"contains","value":"4f89"}]`},
	{"parent_id_exists", `[{"field":"parent_id","operator":"exists"}]`},
	{"parent_id_is", `[{"field":"parent_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]`},
	{"path_exotic", `[{"field":"metadata.quo\"te","operator":"is","value":"x"}]`},
	{"payload", `[{"field":"outputs.answer","operator":"contains","value":"x"}]`},
	{"promoted_run", `[{"field":"metadata.run_id","operator":"is","value":"run-1"}]`},
	{"promoted_run_uuid", `[{"field":"metadata.run_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]`},
	{"promoted_user", `[{"field":"user_properties.user_id","operator":"is","value":"u-1"}]`},
	{"promoted_user_is_not", `[{"field":"user_properties.user_id","operator":"is not","value":"u-1"}]`},
	{"rollup", `[{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]`},
	{"rollup_not_sessions", `[{"field":"event_type","operator":"is not","value":"session"},{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]`},
	{"text_contains", `[{"field":"source","operator":"is","value":"x"},{"field":"text","operator":"contains","value":"refund"}]`},
	{"session_id_is", `[{"field":"session_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]`},
	{"session_id_greater", `[{"field":"session_id","operator":"greater than","value":"8"}]`},
	{"string_contains", `[{"field":"metadata.note","operator":"contains","value":"x"}]`},
	{"string_greater", `[{"field":"metadata.note","operator":"greater than","value":"m"}]`},
	{"string_is", `[{"field":"metadata.model","operator":"is","value":"m-large"}]`},
	{"string_is_braces", `[{"field":"metadata.model","operator":"is","value":"{}"}]`},
	{"string_is_not", `[{"field":"metadata.model","operator":"is not","value":"m-large"}]`},
	{"string_is_number", `[{"field":"metadata.n","operator":"is","value":"5"}]`},
	{"string_is_true", `[{"field":"metadata.t","operator":"is","value":"true"}]`},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		name    string
		dialect Dialect
	}{{"sqlite", SQLite}, {"postgres", Postgres}} {
		check := func(name, head string, plan Plan, args []any) {
			t.Helper()
			compareGolden(t, filepath.Join("testdata", d.name, name+".sql"), head+planText(plan, args))
		}
		for _, s := range shapes {
			fs, err := ParseFilters(json.RawMessage(s.filters), "filters")
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			b := NewBuilder(d.dialect)
			plan := Compile(b, 7, fs)
			check(s.name, "-- "+s.filters+"\n", plan, b.Args())
		}
		from, to := 1000.0, 2000.5
		fs, err := ParseFilters(json.RawMessage(`[{"field":"metadata.cost","operator":"exists"}]`), "filters")
		if err != nil {
			t.Fatal(err)
		}
		b := NewBuilder(d.dialect)
		plan := CompileSearch(b, 7, &Search{Filters: fs, From: &from, To: &to, RunID: "run-1"})
		check("search", "-- a search of project 7, from 1000 to 2000.5, of run-1, with metadata.cost\n", plan, b.Args())
	}
}

// planText returns a plan as a person would read it.
func planText(p Plan, args []any) string {
	var s strings.Builder
	s.WriteString(p.Where + "\n")
	if p.Candidates != p.Where {
		s.WriteString("-- candidates\n" + p.Candidates + "\n")
	}
	for i, a := range args {
		fmt.Fprintf(&s, "-- %d: %T %v\n", i+1, a, a)
	}
	for _, f := range p.Residual {
		if f.Any != nil {
			fmt.Fprintf(&s, "-- left to Go: any of %d lists\n", len(f.Any))
			continue
		}
		fmt.Fprintf(&s, "-- left to Go: %s %s\n", f.Field, f.Operator)
	}
	if p.Reads != 0 {
		fmt.Fprintf(&s, "-- reads %b\n", p.Reads)
	}
	return s.String()
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}
