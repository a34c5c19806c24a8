package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// TestMetricsInBothDialects decodes a metric and shows it in either dialect.
func TestMetricsInBothDialects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body  string
		dialect     wire.Dialect
		newer, back string // as newer and as older clients read it, behind the common fields
	}{
		{"bare", `{"name":"n","type":"HUMAN","criteria":"c"}`, wire.V1,
			`{"id":"1","name":"n","type":"HUMAN","criteria":"c","description":"","return_type":"float","enabled_in_prod":false,"needs_ground_truth":false,"sampling_percentage":10,` +
				`"model_provider":null,"model_name":null,"scale":null,"threshold":null,"categories":null,"child_metrics":null,"filters":{"filterArray":[]},"version":"v3",` +
				`"created_at":"1970-01-01T00:00:00.001Z","updated_at":null}`,
			`{"_id":"1","id":"1","task":"shop","name":"n","type":"human","criteria":"c","description":"","return_type":"float","enabled_in_prod":false,"needs_ground_truth":false,` +
				`"sampling_percentage":10,"filters":{"filterArray":[]},"version":"v3","created_at":"1970-01-01T00:00:00.001Z"}`},
		{"of an older client", `{"name":"n","task":"x","type":"model","prompt":"p","code_snippet":null,"return_type":"string","threshold":{"min":1.0},"pass_when":0.5,"event_name":"e"}`, wire.V0,
			`{"id":"1","name":"n","type":"LLM","criteria":"p","description":"","return_type":"string","enabled_in_prod":false,"needs_ground_truth":false,"sampling_percentage":100,` +
				`"model_provider":null,"model_name":null,"scale":null,"threshold":{"min":1.0,"pass_when":0.5},"categories":null,"child_metrics":null,"filters":{"filterArray":[]},"event_name":"e",` +
				`"version":"v3","created_at":"1970-01-01T00:00:00.001Z","updated_at":null}`,
			`{"_id":"1","id":"1","task":"shop","name":"n","type":"model","criteria":"p","description":"","return_type":"string","enabled_in_prod":false,"needs_ground_truth":false,` +
				`"sampling_percentage":100,"threshold":{"min":1.0,"pass_when":0.5},"filters":{"filterArray":[]},"event_name":"e","prompt":"p","version":"v3","created_at":"1970-01-01T00:00:00.001Z"}`},
		{"names go before one another", `{"name":"n","type":"PYTHON","criteria":"a","code_snippet":"b","prompt":"c","return_type":"categorical","threshold":{"max":null,"pass_when":true}}`, wire.V1,
			`{"id":"1","name":"n","type":"PYTHON","criteria":"a","description":"","return_type":"categorical","enabled_in_prod":false,"needs_ground_truth":false,"sampling_percentage":10,` +
				`"model_provider":null,"model_name":null,"scale":null,"threshold":{"max":null,"pass_when":true},"categories":null,"child_metrics":null,"filters":{"filterArray":[]},"version":"v3",` +
				`"created_at":"1970-01-01T00:00:00.001Z","updated_at":null}`,
			`{"_id":"1","id":"1","task":"shop","name":"n","type":"custom","criteria":"a","description":"","return_type":"string","enabled_in_prod":false,"needs_ground_truth":false,` +
				`"sampling_percentage":10,"threshold":{"pass_when":true},"filters":{"filterArray":[]},"code_snippet":"a","pass_when":true,"version":"v3","created_at":"1970-01-01T00:00:00.001Z"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := wire.DecodeMetric([]byte(tt.body), tt.dialect)
			if err != nil {
				t.Fatal(err)
			}
			m := metric.Metric{Definition: d, ID: "1", Created: 1, Deployed: 3}
			if diff := cmp.Diff(tt.newer, string(wire.AppendMetric(nil, &m, "shop", wire.V1))); diff != "" {
				t.Errorf("under v1 (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.back, string(wire.AppendMetric(nil, &m, "shop", wire.V0))); diff != "" {
				t.Errorf("for older clients (-want +got)\n%s", diff)
			}
		})
	}
}

// The Python client refuses an answer with a filter that lacks its value or its type.
func TestShownFiltersAreComplete(t *testing.T) {
	t.Parallel()
	const whole = `{"field":"metadata.n","operator":"is","value":1.50,"type":"number","own":1.0}`
	for _, tt := range []struct{ sent, shown string }{
		{`{"filterArray":[` + whole + `],"own":1.0}`, `{"filterArray":[` + whole + `],"own":1.0}`},
		{`{"filterArray":[` + whole + `,{"field":"event_type","operator":"is","value":"model"}],"own":1.0}`,
			`{"filterArray":[` + whole + `,{"field":"event_type","operator":"is","value":"model","type":"string"}],"own":1.0}`},
		{`[{"field":"error","operator":"exists","type":null}]`, `{"filterArray":[{"field":"error","operator":"exists","type":"string","value":null}]}`},
		{`[{"field":"metadata.n","operator":"exists","type":"number"}]`, `{"filterArray":[{"field":"metadata.n","operator":"exists","type":"number","value":null}]}`},
		{`[{"any":[[` + whole + `]]}]`, `{"filterArray":[{"any":[[` + whole + `]]}]}`},
	} {
		body := []byte(`{"name":"n","type":"HUMAN","criteria":"","filters":` + tt.sent + `}`)
		d, err := wire.DecodeMetric(body, wire.V1)
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]json.RawMessage{
			"metric":  wire.AppendMetric(nil, &metric.Metric{Definition: d}, "shop", wire.V1),
			"version": wire.MetricDefinition(&d, wire.V1),
			"queue":   wire.AppendQueue(nil, &queue.Queue{Filters: d.Filters}, &project.Project{}, wire.V1),
		} {
			if diff := cmp.Diff(tt.shown, string(rawjson.Get(got, "filters"))); diff != "" {
				t.Errorf("%s with %s (-want +got)\n%s", what, tt.sent, diff)
			}
		}
	}
}

// The Python client's models hold no alternatives and no values that are arrays.
func TestPlainFilters(t *testing.T) {
	t.Parallel()
	const one = `{"field":"source","operator":"is","value":"b","type":"string"}`
	for _, tt := range []struct{ stored, plain string }{
		{`{"filterArray":[` + one + `],"own":1.0}`, `{"filterArray":[` + one + `],"own":1.0}`},
		{`{"filterArray":[]}`, `{"filterArray":[]}`},
		{`{"filterArray":[{"field":"event_name","operator":"is any of","value":["b", 1.50],"type":"string"},` + one + `]}`,
			`{"filterArray":[{"field":"event_name","operator":"is any of","value":"[\"b\", 1.50]","type":"string"},` + one + `]}`},
		{`{"filterArray":[{"any":[[{"field":"error","operator":"exists"}]]}]}`,
			`{"filterArray":[{"any":[[{"field":"error","operator":"exists"}]],"field":"","operator":"","value":null,"type":""}]}`},
	} {
		plain := wire.PlainFilters(json.RawMessage(tt.stored))
		if diff := cmp.Diff(tt.plain, string(plain)); diff != "" {
			t.Errorf("%s as Python's models hold it (-want +got)\n%s", tt.stored, diff)
		}
		back, err := wire.DecodeQueue([]byte(`{"name":"n","filters":` + string(plain) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.stored, string(back.Filters)); diff != "" {
			t.Errorf("sent back (-want +got)\n%s", diff)
		}
	}
}

func TestMetricFilters(t *testing.T) {
	t.Parallel()
	const one = `{"field":"event_type","operator":"is","value":"model"}`
	for _, tt := range []struct{ filters, want, err string }{
		{`{}`, `{"filterArray":[]}`, ""},
		{`[]`, `{"filterArray":[]}`, ""},
		{`null`, `{"filterArray":[]}`, ""},
		{`{"filterArray":null}`, `{"filterArray":[]}`, ""},
		{`{"filterArray":[` + one + `],"own":1.0}`, `{"filterArray":[` + one + `],"own":1.0}`, ""},
		{`[` + one + `]`, `{"filterArray":[` + one + `]}`, ""},
		{one, `{"filterArray":[` + one + `]}`, ""},
		{`"all"`, "", "filters: must be an object with filterArray, not a string"},
		{`{"filterArray":{}}`, "", "filters.filterArray: must be an array of filters, not an object"},
		{`{"filterArray":[` + one + `,1]}`, "", "filters.filterArray[1]: must be a filter object"},
		{`[{"field":"event_type"}]`, "", "filters[0].operator: is required"},
	} {
		d, err := wire.DecodeMetric([]byte(`{"name":"n","type":"HUMAN","criteria":"","filters":`+tt.filters+`}`), wire.V1)
		switch {
		case tt.err == "" && err != nil, tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s: %v, want %q", tt.filters, err, tt.err)
		case tt.err == "" && string(d.Filters) != tt.want:
			t.Errorf("%s: %s, want %s", tt.filters, d.Filters, tt.want)
		}
	}
}

func TestProjectUpdatesHaveTwoForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		ref  wire.ProjectRef
		name string // the new one; "-" for none
		err  string
	}{
		{`{"project_id":"p","name":"n"}`, wire.ProjectRef{ID: "p"}, "n", ""},
		{`{"name":"n","project_id":"p","new_name":"m"}`, wire.ProjectRef{ID: "p"}, "m", ""},
		{`{"new_name":"m","name":"n","project_id":"p"}`, wire.ProjectRef{ID: "p"}, "m", ""},
		{`{"name":"n","new_name":"m"}`, wire.ProjectRef{Name: "n"}, "m", ""},
		{`{"name":"n"}`, wire.ProjectRef{Name: "n"}, "-", ""},
		{`{"name":"n","project_id":null,"new_name":null}`, wire.ProjectRef{Name: "n"}, "-", ""},
		{`{}`, wire.ProjectRef{}, "-", "name: is required, or project_id"},
		{`{"project_id":7}`, wire.ProjectRef{}, "-", "project_id: must be a string, not a number"},
		{`{"project_id":"p","name":""}`, wire.ProjectRef{}, "-", "name: must not be empty"},
		{`{"name":"n","new_name":"a\u0007"}`, wire.ProjectRef{}, "-", "new_name: must not hold control characters"},
		{`{"name":"n","description":[]}`, wire.ProjectRef{}, "-", "description: must be a string, not an array"},
	} {
		ref, c, err := wire.DecodeProjectUpdate([]byte(tt.body))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: %v, want %s", tt.body, err, tt.err)
			}
			continue
		}
		name := "-"
		if c.Name != nil {
			name = *c.Name
		}
		if err != nil || ref != tt.ref || name != tt.name {
			t.Errorf("%s: %+v %s %v", tt.body, ref, name, err)
		}
	}
}

// FuzzDecodeResources holds for the decoders of metrics, projects and keys: no panic, errors are
// the sender's fault, and what is accepted is valid and shown as valid JSON.
func FuzzDecodeResources(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"name":"n","type":"HUMAN","criteria":"","threshold":{"min":1,"passing_categories":["a"]},"categories":[{"category":"a"}]}`,
		`{"name":"n","type":"composite","child_metrics":[{"name":"a","weight":1e3,"scale":"x"}],"pass_when":true,"filters":[{"field":"a","operator":"is"}]}`,
		`{"metric":{"name":"n","type":"custom","code_snippet":"c\u0000"},"event":{"metrics":{"n":1}}}`,
		`{"message":"m","content":{"name":"n","type":"LLM","prompt":"p","scale":"5.0","sampling_percentage":"1e1"},"deploy_immediately":"true"}`,
		`{"project_id":"p","name":"n","new_name":"m","description":"d","type":"evaluation"}`,
		`{"name":"n","permissions":["read","full"],"expires_at":"2900-01-01"}`, `{"name":"n","permissions":["read"],"expires_at":1e13}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.UnixMilli(1_790_000_000_000)
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(err error, valid error, shown []byte) {
			t.Helper()
			switch kind := fault.Of(err); {
			case err != nil && kind != fault.Invalid && kind != fault.TooLarge:
				t.Fatalf("not the sender's fault: %v", err)
			case err == nil && valid != nil:
				t.Fatal(valid)
			case err == nil && !json.Valid(shown):
				t.Fatalf("not JSON: %s", shown)
			}
		}
		for _, dialect := range []wire.Dialect{wire.V1, wire.V0} {
			d, err := wire.DecodeMetric(body, dialect)
			check(err, d.Validate(), wire.AppendMetric(nil, &metric.Metric{Definition: d}, "p", dialect))
			run, err := wire.DecodeMetricRun(body, dialect, now)
			check(err, run.Metric.Validate(), run.Metric.Doc())
			r, err := wire.DecodeMetricVersion(body, dialect)
			check(err, r.Content.Validate(), wire.AppendMetricVersion(nil, &metric.Version{Definition: r.Content, Message: r.Message}, dialect))
			p, _, err := wire.DecodeMetricPatch(body, dialect)
			d = metric.Definition{}
			d.Apply(&p)
			check(err, nil, d.Doc())
		}
		p, err := wire.DecodeProject(body)
		check(err, p.Validate(), wire.ProjectAnswer(&p))
		_, _, err = wire.DecodeProjectUpdate(body)
		check(err, nil, []byte("{}"))
		k, err := wire.DecodeIngestionKey(body, now)
		check(err, k.Validate(now), wire.KeyAnswer(&k, &p, now))
		k, permissions, err := wire.DecodeDataPlaneKey(body, now)
		if err == nil {
			check(nil, k.Validate(now), wire.DataPlaneKeyAnswer(&k, "s", permissions, &project.Project{}))
		}
		check(err, nil, []byte("{}"))
	})
}

// TestDryRunPrompts shows what a judge was sent and cost, and leaves out prompts past the bound.
func TestDryRunPrompts(t *testing.T) {
	t.Parallel()
	prompt := func(bytes int) json.RawMessage { return json.RawMessage(`["` + strings.Repeat("x", bytes) + `"]`) }
	e := &event.Event{Name: "e"}
	answer := wire.DryRunAnswer([]wire.DryResult{
		{Event: e, Result: evaluation.Result{Success: true, Score: json.RawMessage("1"), Cost: 0.25, Prompt: prompt(1 << 20)}},
		{Event: e, Result: evaluation.Result{Prompt: prompt(7 << 20)}},
		{Event: e, Result: evaluation.Result{Prompt: prompt(1)}},
	}, 3, 0)
	dry := rawjson.Get(answer, "dry_run")
	has := func(i string) bool { return rawjson.Path(dry, "results", i, "prompt") != nil }
	if !has("0") || has("1") || has("2") || string(rawjson.Get(dry, "prompts_omitted")) != "2" {
		t.Errorf("prompts %v %v %v, omitted %s", has("0"), has("1"), has("2"), rawjson.Get(dry, "prompts_omitted"))
	}
	if cost := rawjson.Path(dry, "results", "0", "cost"); string(cost) != "0.25" || rawjson.Path(dry, "results", "1", "cost") != nil {
		t.Errorf("cost %s", cost)
	}
}
