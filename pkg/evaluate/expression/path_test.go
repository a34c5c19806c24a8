package expression

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/rawjson/rawjsontest"
)

// Paths are read as filters read them, and end as those of the language where they lead to nothing.
func TestPaths(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	const event = `{"metadata":{"test.unique_id":"u1","gen_ai.request.foo.bar":4,"resource":{"telemetry.sdk.language":"go"},
 "both":{"in":1},"both.in":2,"part.of":{"it":3},"rows":[{"x.y":5,"list":[7,8]}],"nothing":null},
 "inputs":{"o":{"x.y":"z"},"chat_history":[{"tool.name":"a"},{"tool.name":"b"}]}}`
	for criteria, want := range map[string]string{
		`metadata.test.unique_id`:                                 `"u1"`,
		`event.metadata.test.unique_id`:                           `"u1"`,
		`metadata["test"]["unique_id"]`:                           `"u1"`,
		`metadata["test.unique_id"]`:                              `"u1"`,
		`metadata.gen_ai.request.foo.bar + 1`:                     `5`,
		`metadata?.gen_ai?.request?.foo?.bar ?? 0`:                `4`,
		`metadata.resource.telemetry.sdk.language`:                `"go"`,
		`inputs.o.x.y`:                                            `"z"`,
		`metadata.both.in`:                                        `1`,
		`metadata.part.of.it`:                                     `3`,
		`metadata.rows[0].x.y`:                                    `5`,
		`metadata.rows[0].list[-1]`:                               `8`,
		`metadata.rows["0"].x.y`:                                  `5`,
		`metadata?.none?.rows.deeper.x ?? 9`:                      `9`,
		`metadata?.nothing?.a.b.c ?? 9`:                           `9`,
		`len(filter(inputs.chat_history, .tool.name == "b"))`:     `1`,
		`metadata.rows[0].list[1] == 8 && metadata.both.in == 1`:  `true`,
		`let m = metadata; m.test.unique_id`:                      `"u1"`,
		`"unique_id" in (metadata?.test ?? {}) ? "nested" : "no"`: `"no"`,
	} {
		kind := map[byte]metric.Return{'"': metric.String, 't': metric.Boolean}[want[0]]
		if r := run(t, e, kind, criteria, event); !r.Success || string(r.Score) != want {
			t.Errorf("%s: %+v, want %s", criteria, r, want)
		}
	}
	for criteria, want := range map[string]evaluation.Failure{
		`metadata.none.deeper`:             Exception,
		`metadata.test.unique_id.deeper`:   Exception,
		`metadata?.none.rows.deeper`:       Exception,
		`metadata?.none?.rows.deeper`:      Wrong, // skipped from ?. on
		`metadata.both?.none.deeper`:       Exception,
		`metadata.test.other_id`:           Exception,
		`metadata.both.other`:              Wrong,
		`$path($meter, metadata, 1)`:       Exception,
		`$path($meter, metadata, 1).a.b`:   Exception,
		`metadata.rows.list`:               Exception,
		`metadata?.rows?.first?.second[0]`: Exception,
	} {
		if r := run(t, e, metric.Float, criteria, event); r.Success || r.Failure != want && r.Failure != Syntax {
			t.Errorf("%s: %+v, want %s", criteria, r, want)
		}
	}
}

// Decoded values are read as their JSON is.
func TestLookupAsInJSON(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		raw, path := rawjsontest.Dotted(rnd)
		want := decode(rawjson.Lookup(raw, path...))
		if got, _ := lookup(&meter{left: DefaultWork}, decode(raw), path); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v of %s: %v, want %v", path, raw, got, want)
		}
	}
}
