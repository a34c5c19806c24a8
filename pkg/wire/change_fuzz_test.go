package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/wire"
)

var fuzzTime = time.UnixMilli(1_790_000_000_000)

// theirFault fails where an error is not the sender's.
func theirFault(t *testing.T, what string, err error) {
	t.Helper()
	if kind := fault.Of(err); err != nil && kind != fault.Invalid && kind != fault.TooLarge {
		t.Fatalf("%s: not the sender's fault: %v", what, err)
	}
}

// FuzzQueues holds for the bodies of annotation queues: no panic, errors are the sender's fault,
// and what is accepted is kept whole and shown as valid JSON.
func FuzzQueues(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"name":"q","filters":{"filterArray":[{"field":"event_type","operator":"is","value":"model"}]},"enabled":"true","metrics":["m","\ud800"]}`,
		`{"name":null,"annotators_per_item":1e1,"lease_seconds":"60","event_ids":["22222222-2222-4222-8222-222222222222"],"remove_event_ids":[]}`,
		`{"annotator":"ann","skip":true}`, `{"annotator":"\u0000","scores":{"m":1.50,"m":true},"comment":"c"}`, `{"annotator":"ann","scores":{"m":"text","n":-0}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		change, err := wire.DecodeQueue(body)
		theirFault(t, "queue", err)
		if q := queue.New(&change.Update, 1); err == nil && q.Validate() == nil {
			kept := queue.FromDoc(q.Doc())
			if diff := cmp.Diff(q.Doc(), kept.Doc()); diff != "" {
				t.Errorf("kept as another queue (-want +got):\n%s", diff)
			}
			if shown := wire.AppendQueue(nil, &kept, &project.Project{}, wire.V1); !json.Valid(shown) {
				t.Errorf("not JSON: %s", shown)
			}
		}
		name, _, err := wire.DecodeAnnotator(body)
		theirFault(t, "annotator", err)
		if err == nil && queue.CheckAnnotator(name) != nil {
			t.Errorf("annotator %q", name)
		}
		a, err := wire.DecodeAnnotation(body)
		theirFault(t, "annotation", err)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Error(err)
		}
		it := queue.Item{EventID: uuid.Nil, State: queue.Waiting, Needed: 1, Slots: 1}
		patch, err := it.Annotate(a, 1)
		if shown := wire.AppendQueueItem(nil, &it, false); err != nil || !json.Valid(patch) || !json.Valid(shown) {
			t.Errorf("%v: %s, shown as %s", err, patch, shown)
		}
	})
}

// FuzzChanges holds for the bodies that change what is stored or have something done: no panic,
// errors are the sender's fault, and what is accepted is written down as valid JSON.
func FuzzChanges(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"metadata":{"a":1},"outputs":[1],"duration":"5","end_time":1e3,"children_ids":["x"]}`,
		`{"name":"r","event_ids":["a"],"passing_ranges":{"m":{"min":1}},"status":"running","dataset_id":null}`,
		`{"name":"c","metric":"duration","func":"avg","bucketing":"hour","dateRange":{"relative":"7d"},"query":[{"field":"metadata.a","operator":"exists"}]}`,
		`{"type":"openai","base_url":"http://127.0.0.1/v1","api_key":"k","daily_budget_usd":1.5}`,
		`{"limit":"10","filters":[{"field":"duration","operator":"greater than","value":1,"type":"number"}],"dateRange":"7d","evaluation_id":"r"}`,
		`{"state":"dead","event_id":"22222222-2222-4222-8222-222222222222","failure":"unfit"}`,
		`{"name":"n","provider":"p","parameters":{"call_type":"chat"},"env":["dev"]}`, `{"history":[{"role":"user"}],"linked_datasets":["x"],"inputs":{}}`,
	} {
		f.Add([]byte(seed))
	}
	point, err := wire.DecodeDatapoint([]byte("{}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := func(what string, err error, doc func() []byte) {
			t.Helper()
			theirFault(t, what, err)
			if err == nil && doc != nil {
				if written := doc(); !json.Valid(written) {
					t.Errorf("%s: not JSON: %s", what, written)
				}
			}
		}
		_, err := wire.DecodeUpdate(body, uuid.Nil)
		valid("event", err, nil)
		u, err := wire.DecodeRun(body, "")
		valid("run", err, func() []byte { var r run.Run; r.Apply(&u); return r.Doc() })
		c, err := wire.DecodeSavedChart(body, fuzzTime)
		valid("chart", err, func() []byte { return c.Doc() })
		cu, err := wire.DecodeSavedChartUpdate(body, "1", fuzzTime)
		valid("change of a chart", err, func() []byte { c.Apply(&cu); return c.Doc() })
		db, err := wire.DecodeDashboard(body)
		valid("dashboard", err, func() []byte { return db.Doc() })
		dbu, err := wire.DecodeDashboardUpdate(body, "1")
		valid("change of a dashboard", err, func() []byte { db.Apply(&dbu); return db.Doc() })
		if in, err := wire.DecodeCharts(body, fuzzTime); err == nil && len(in.Names) != len(in.Set.Series) {
			t.Errorf("%d names of %d charts: %q", len(in.Names), len(in.Set.Series), body)
		}
		al, err := wire.DecodeAlert(body)
		valid("change of an alert", err, func() []byte { a := alert.New(); a.Apply(&al); return a.Doc() })
		vw, err := wire.DecodeView(body)
		valid("view", err, func() []byte { return vw.Doc() })
		vu, err := wire.DecodeViewUpdate(body, "1")
		valid("change of a view", err, func() []byte { vw.Apply(&vu); return vw.Doc() })
		cm, err := wire.DecodeComment(body)
		valid("comment", err, func() []byte { return cm.Doc() })
		ct, err := wire.DecodeCommentUpdate(body)
		valid("change of a comment", err, func() []byte { cm.Text = ct; return cm.Doc() })
		pu, err := wire.DecodeProvider(body, "openai")
		valid("provider", err, func() []byte { var p provider.Provider; p.Apply(&pu); return p.Doc() })
		r, err := wire.DecodeBackfill(body, &metric.Definition{}, fuzzTime)
		valid("backfill", err, func() []byte {
			b, err := r.Backfill("m", 1, 1)
			theirFault(t, "backfill", err)
			return wire.AppendBackfill(nil, &b)
		})
		_, err = wire.DecodeEvaluationRetry(body)
		valid("retry", err, nil)
		gu, err := wire.DecodeConfigurationUpdate(body, "1")
		valid("configuration", err, func() []byte {
			g := configuration.Configuration{Parameters: []byte("{}")}
			g.Apply(&gu)
			return g.Doc()
		})
		du, err := wire.DecodeDatapointUpdate(body, "1")
		valid("datapoint", err, func() []byte { d := point; d.Apply(&du); return d.Doc() })
		_, err = wire.DecodeDatasetUpdate(body)
		valid("dataset", err, nil)
		_, err = wire.DecodeToolUpdate(body)
		valid("tool", err, nil)
	})
}

// FuzzQueryStrings holds for the query strings that are no search: no panic, and errors are the
// sender's fault.
func FuzzQueryStrings(f *testing.F) {
	for _, seed := range []string{
		``, `metric=metadata.cost&groupBy=event_name&bucket=1h&aggregation=p99&dateRange=24h&fill=true&timezone=Europe/Vienna`,
		`dataset_id=1&page=2&limit=20&run_ids[]=a&sort_by=name&sort_order=asc&dateRange[$gte]=1`, `aggregate_function=p95&filters=[]`,
		`run_id_1=a&run_id_2=b&event_name=n&event_type=model&filter={}&limit=1000`, `state=dead&before=0&limit=1&event_id=x`, `a=%zz&%00[=;&&=`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if c, err := wire.DecodeChart(in, fuzzTime); err == nil {
			query.CompileChart(query.NewBuilder(query.SQLite), 1, c, 0)
		} else {
			theirFault(t, "chart", err)
		}
		_, err := wire.DecodeRuns(in, fuzzTime)
		theirFault(t, "runs", err)
		_, err = wire.DecodeRunRead(in, fuzzTime)
		theirFault(t, "run", err)
		_, err = wire.DecodeSchema(in, fuzzTime)
		theirFault(t, "schema", err)
		p, err := wire.ParseParams(in)
		theirFault(t, "parameters", err)
		if err == nil {
			_, err = wire.DecodeEvaluationQuery(p)
			theirFault(t, "evaluations", err)
		}
	})
}
