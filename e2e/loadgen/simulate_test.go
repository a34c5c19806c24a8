package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func testCosts(t *testing.T) *costs {
	t.Helper()
	x := &costs{}
	if err := json.Unmarshal(measuredCosts, x); err != nil {
		t.Fatal(err)
	}
	return x
}

func runScenario(t *testing.T, x *costs, sc scenario) *outcome {
	t.Helper()
	o, err := sc.run(x)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestStationWaits holds the wait at one place, with arrivals at random and work that always takes the same, to the formula of M/D/1.
func TestStationWaits(t *testing.T) {
	const work, n = 1.0, 200_000
	for _, use := range []float64{0.3, 0.6, 0.8} {
		r := rand.New(rand.NewPCG(1, 0))
		s := &sim{}
		at := &station{sim: s, places: 1}
		var waited float64
		when := 0.0
		for range n {
			when += r.ExpFloat64() * work / use
			came := when
			s.after(came, func() { at.serve(work, func() { waited += s.now - came - work }) })
		}
		s.run(math.Inf(1))
		want := use / (2 * (1 - use)) * work
		if got := waited / n; math.Abs(got-want) > 0.05*want+0.002 {
			t.Errorf("at a use of %v the mean wait is %v, want %v", use, got, want)
		}
	}
}

// TestUses holds the use of each part to what comes in by what it costs, and what is stored to its size.
func TestUses(t *testing.T) {
	x := testCosts(t)
	sc := scenario{Servers: 2, ServerCores: 4, Shards: 4, ShardCores: 4, Rate: 20_000, Batch: 50, Stored: 4e9, Seconds: 60, Seed: 1}
	o := runScenario(t, x, sc)
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	c := &x.Postgres
	near("CPU of servers", o.serverCPU, sc.Rate*(c.ServerUS+c.BackgroundUS)/1e6/8, 0.05)
	near("CPU of shards", o.shardCPU, sc.Rate*c.DatabaseUS/1e6/16, 0.1) // the busiest
	near("space", o.diskGB, c.Bytes, 0.001)
	near("answered", float64(o.answered), sc.Rate/50*60, 0.02)
	if !o.sustained() {
		t.Error("not sustained")
	}
}

// TestOverload offers more than there is, and less.
func TestOverload(t *testing.T) {
	x := testCosts(t)
	c := &x.SQLite
	most := 2e6 / (c.ServerUS + c.DatabaseUS + c.BackgroundUS) // of two cores
	for _, tt := range []struct {
		share float64
		want  bool
	}{{0.8, true}, {1.3, false}} {
		o := runScenario(t, x, scenario{Servers: 1, ServerCores: 2, Rate: tt.share * most, Batch: 50, Seconds: 60, Seed: 2})
		if o.sustained() != tt.want {
			t.Errorf("%v of what two cores do: sustained %v, want %v (%d of %d answered, %v s behind)", tt.share, o.sustained(), tt.want, o.answered, o.offered, o.behind)
		}
	}
}

// TestMoreShards never does less: what one shard cannot do two can, and a question takes each of them less time.
func TestMoreShards(t *testing.T) {
	x := testCosts(t)
	sc := scenario{Servers: 4, ServerCores: 8, ShardCores: 4, Rate: 40_000, Batch: 50, Range: 1e9, New: 0.1, Seconds: 60, Seed: 3}
	answered, took := 0, math.Inf(1)
	for _, n := range []int{1, 2, 4, 8} {
		sc.Shards = n
		o := runScenario(t, x, sc)
		if o.answered < answered {
			t.Errorf("%d shards answer %d requests, fewer of them %d", n, o.answered, answered)
		}
		p50 := quantile(o.fresh, 0.5)
		if n > 2 && !(p50 < took) {
			t.Errorf("with %d shards a question takes %v s, with half of them %v", n, p50, took)
		}
		answered, took = o.answered, p50
	}
	sc.Shards = 1
	if o := runScenario(t, x, sc); o.sustained() {
		t.Error("one shard of four cores sustains 40,000 events a second")
	}
}

// TestCapacityOfMoreShards draws stores, from idle to overloaded, and doubles their shards: no fewer requests are answered, but for those under way.
func TestCapacityOfMoreShards(t *testing.T) {
	x := testCosts(t)
	r := rand.New(rand.NewPCG(7, 0))
	overloaded := 0
	for range 60 {
		sc := scenario{Servers: 1 + r.IntN(4), ServerCores: 2 + r.IntN(7), Shards: 1 << r.IntN(4), ShardCores: 1 + r.IntN(4), Rate: 1000 + 40_000*r.Float64(), Batch: 20 + r.IntN(100),
			Skew: 0.5 * r.Float64() * float64(r.IntN(2)), Seconds: 20, Seed: r.Uint64()}
		few := runScenario(t, x, sc)
		sc.Shards *= 2
		more := runScenario(t, x, sc)
		if !few.sustained() {
			overloaded++
		}
		if float64(more.answered) < 0.98*float64(few.answered)-10 {
			t.Errorf("%+v: %d of %d answered, with half of the shards %d of %d", sc, more.answered, more.offered, few.answered, few.offered)
		}
	}
	if overloaded < 10 || overloaded > 50 {
		t.Errorf("%d of 60 stores are overloaded, so that the rest proves little", overloaded)
	}
}

// TestSkew has one session send a third of all: more shards do not help its own.
func TestSkew(t *testing.T) {
	x := testCosts(t)
	sc := scenario{Servers: 4, ServerCores: 8, Shards: 8, ShardCores: 2, Rate: 40_000, Batch: 50, Stored: 1e9, Seconds: 30, Seed: 4}
	even := runScenario(t, x, sc)
	sc.Skew = 1.0 / 3
	skewed := runScenario(t, x, sc)
	if even.shardCPU > 0.5 || skewed.shardCPU < 0.9 || !(quantile(skewed.acknowledged, 0.99) > 10*quantile(even.acknowledged, 0.99)) || skewed.diskGB < 3*even.diskGB {
		t.Errorf("even: CPU %v, p99 %v, %v GB; skewed: %v, %v, %v", even.shardCPU, quantile(even.acknowledged, 0.99), even.diskGB,
			skewed.shardCPU, quantile(skewed.acknowledged, 0.99), skewed.diskGB)
	}
}

// TestSameSeed gives the same outcome twice, and another seed another one.
func TestSameSeed(t *testing.T) {
	x := testCosts(t)
	sc := scenario{Servers: 2, ServerCores: 4, Shards: 2, ShardCores: 4, Rate: 5000, Batch: 20, Range: 1e7, Sessions: 5, Known: 5, New: 1, Seconds: 10, Seed: 5}
	first, second := runScenario(t, x, sc), runScenario(t, x, sc)
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs of one scenario differ")
	}
	sc.Seed = 6
	if other := runScenario(t, x, sc); reflect.DeepEqual(first.acknowledged, other.acknowledged) {
		t.Error("another seed gives the same")
	}
	for _, bad := range []scenario{{}, {Servers: 2, ServerCores: 1, Batch: 1, Seconds: 1}, {Servers: 1, ServerCores: 1, Shards: 1, Batch: 1, Seconds: 1}} {
		if _, err := bad.run(x); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
