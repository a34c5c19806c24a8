package main

import (
	"cmp"
	"container/heap"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// simulate runs a store of many shards in simulated time, by costs that were measured on one machine.
//
// Events come in requests, each of one session, at random moments (Poisson). A request takes CPU of a server, which decodes and maps it, and then waits
// for the writer of its session's shard. A writer takes all that waits, takes CPU of the shard, writes and syncs, and answers all of it: group commit. What
// the background does for each event, such as building columns, takes CPU of a server when nothing else wants it. A question about a session takes one shard; one about
// all events in a range takes every shard for its part of the segments, and is answered when the slowest part is there and merged.

//go:embed specs/costs.json
var measuredCosts []byte

// costs are what a part takes, each with where the figure comes from.
type costs struct {
	SQLite    storeCosts `json:"sqlite"`
	Postgres  storeCosts `json:"postgres"`
	Questions struct {
		Source            string
		EventsPerSegment  float64 `json:"events_per_segment"`
		KnownUSPerSegment float64 `json:"known_us_per_segment"` // CPU, by what is in memory of columns
		NewUSPerSegment   float64 `json:"new_us_per_segment"`   // CPU, by columns that are read and decoded first
		NewBytesPerEvent  float64 `json:"new_bytes_per_event"`  // of the columns that it reads
		SessionUS         float64 `json:"session_us"`
		FixedUS           float64 `json:"fixed_us"`           // of each question, at its server
		MergeUSPerShard   float64 `json:"merge_us_per_shard"` // of what a shard has answered
	} `json:"questions"`
	Machine struct {
		Source  string
		FsyncMS float64 `json:"fsync_ms"`
		WriteMB float64 `json:"write_mb"` // a second
		ReadMB  float64 `json:"read_mb"`
		DiskGB  float64 `json:"disk_gb"` // of a shard
	} `json:"machine"`
}

// storeCosts are what an event of 1 KB takes.
type storeCosts struct {
	Source       string
	ServerUS     float64 `json:"server_us"`     // CPU to receive and map it
	DatabaseUS   float64 `json:"database_us"`   // CPU to store it
	BackgroundUS float64 `json:"background_us"` // CPU for columns, words and packing, later
	Bytes        float64 `json:"bytes"`         // on disk, packed
	BytesWritten float64 `json:"bytes_written"` // to disk until then
	Writers      int     `json:"writers"`       // transactions at once
}

// scenario is what is simulated.
type scenario struct {
	Servers     int     `json:"servers"`
	ServerCores int     `json:"server_cores"`
	Shards      int     `json:"shards"` // 0: SQLite, in the server
	ShardCores  int     `json:"shard_cores"`
	Rate        float64 `json:"rate"`  // events a second
	Batch       int     `json:"batch"` // events of a request
	Stored      float64 `json:"stored"`
	Range       float64 `json:"range"`          // events that a question is about
	Sessions    float64 `json:"sessions_asked"` // questions a second, of each kind
	Known       float64 `json:"known_asked"`
	New         float64 `json:"new_asked"`
	Seconds     float64 `json:"seconds"`
	Skew        float64 `json:"skew"` // share of events of the session that sends most, all of one shard
	Seed        uint64  `json:"seed"`
}

// outcome is what came of it. Times are in seconds, the shortest first.
type outcome struct {
	scenario
	answered, offered              int
	acknowledged                   []float64
	session, known, fresh          []float64
	serverCPU, shardCPU, shardDisk float64 // shares of the time, of the busiest
	behind                         float64 // seconds of background work that waits at the end, of the server with the most
	diskGB                         float64 // of the largest shard
}

// sim is simulated time.
type sim struct {
	now    float64
	events eventHeap
	order  int
}

type simEvent struct {
	at    float64
	order int // of those at one time
	do    func()
}

type eventHeap []simEvent

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(simEvent)) }
func (h *eventHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func (s *sim) after(wait float64, do func()) {
	s.order++
	heap.Push(&s.events, simEvent{s.now + wait, s.order, do})
}

func (s *sim) run(until float64) {
	for len(s.events) > 0 && s.events[0].at <= until {
		e := heap.Pop(&s.events).(simEvent)
		s.now = e.at
		e.do()
	}
	s.now = until
}

// station serves so many jobs at once, in the order in which they came, and those of the background only when no other waits.
type station struct {
	sim         *sim
	places      int
	waiting     []job
	later       []job
	busySeconds float64
	laterWaits  float64 // seconds of work in later
}

type job struct {
	seconds float64
	done    func()
}

func (s *station) serve(seconds float64, done func()) {
	s.waiting = append(s.waiting, job{seconds, done})
	s.next()
}

// background adds work that may wait.
func (s *station) background(seconds float64) {
	s.later = append(s.later, job{seconds, func() {}})
	s.laterWaits += seconds
	s.next()
}

func (s *station) next() {
	for s.places > 0 {
		var j job
		switch {
		case len(s.waiting) > 0:
			j, s.waiting = s.waiting[0], s.waiting[1:]
		case len(s.later) > 0:
			j, s.later = s.later[0], s.later[1:]
			s.laterWaits -= j.seconds
		default:
			return
		}
		s.places--
		s.busySeconds += j.seconds
		s.sim.after(j.seconds, func() {
			s.places++
			j.done()
			s.next()
		})
	}
}

// shard is a database with its writers. With SQLite its CPU is the server's.
type shard struct {
	cpu, disk *station
	writers   int // that rest
	queue     []request
	events    int
}

type request struct {
	events int
	done   func()
}

// maxCommit is how many events a transaction stores at most.
const maxCommit = 10_000

// commit lets each writer that rests take all that waits.
func (h *shard) commit(c *storeCosts, x *costs) {
	for h.writers > 0 && len(h.queue) > 0 {
		n, events := 0, 0
		for n < len(h.queue) && (n == 0 || events+h.queue[n].events <= maxCommit) {
			events += h.queue[n].events
			n++
		}
		group := h.queue[:n:n]
		h.queue = h.queue[n:]
		h.writers--
		h.cpu.serve(float64(events)*c.DatabaseUS/1e6, func() {
			h.disk.serve(x.Machine.FsyncMS/1e3+float64(events)*c.BytesWritten/x.Machine.WriteMB/1e6, func() {
				h.writers++
				h.events += events
				for _, r := range group {
					r.done()
				}
				h.commit(c, x)
			})
		})
	}
}

// questionSteps is in how many steps a goroutine of a question takes its segments.
const questionSteps = 50

// run simulates a scenario. The same scenario gives the same outcome.
func (sc scenario) run(x *costs) (*outcome, error) {
	if sc.Servers < 1 || sc.ServerCores < 1 || sc.Shards > 0 && sc.ShardCores < 1 || sc.Batch < 1 || sc.Seconds <= 0 || sc.Shards == 0 && sc.Servers > 1 {
		return nil, errors.New("a scenario needs servers with cores, shards with cores (none and one server for SQLite), events a request, and seconds")
	}
	r := rand.New(rand.NewPCG(sc.Seed, 0))
	s := &sim{}
	out := &outcome{scenario: sc}
	servers := make([]*station, sc.Servers)
	for i := range servers {
		servers[i] = &station{sim: s, places: sc.ServerCores}
	}
	c := &x.Postgres
	var shards []*shard
	for range sc.Shards {
		shards = append(shards, &shard{cpu: &station{sim: s, places: sc.ShardCores}, disk: &station{sim: s, places: 1}, writers: c.Writers * sc.Servers})
	}
	if sc.Shards == 0 {
		c = &x.SQLite
		shards = []*shard{{cpu: servers[0], disk: &station{sim: s, places: 1}, writers: c.Writers}}
	}
	// arrivals calls f at random moments, so many a second.
	arrivals := func(rate float64, f func()) {
		if rate <= 0 {
			return
		}
		var next func()
		next = func() {
			f()
			s.after(r.ExpFloat64()/rate, next)
		}
		s.after(r.ExpFloat64()/rate, next)
	}
	server := func() *station { return servers[r.IntN(len(servers))] }
	arrivals(sc.Rate/float64(sc.Batch), func() {
		at, from := s.now, server()
		h := shards[r.IntN(len(shards))]
		if r.Float64() < sc.Skew {
			h = shards[0]
		}
		out.offered++
		from.serve(float64(sc.Batch)*c.ServerUS/1e6, func() {
			h.queue = append(h.queue, request{sc.Batch, func() {
				out.answered++
				out.acknowledged = append(out.acknowledged, s.now-at)
				from.background(float64(sc.Batch) * c.BackgroundUS / 1e6)
			}})
			h.commit(c, x)
		})
	})
	q := &x.Questions
	arrivals(sc.Sessions, func() {
		at := s.now
		shards[r.IntN(len(shards))].cpu.serve(q.SessionUS/1e6, func() { out.session = append(out.session, s.now-at) })
	})
	// all asks every shard, by two goroutines of which each takes some segments after the other, so that what is stored meanwhile comes in between.
	all := func(usPerSegment, bytesPerEvent float64, took *[]float64) func() {
		return func() {
			at, from, left := s.now, server(), 2*len(shards)
			merged := func() {
				if left--; left == 0 {
					from.serve((q.FixedUS+q.MergeUSPerShard*float64(len(shards)))/1e6, func() { *took = append(*took, s.now-at) })
				}
			}
			segments := sc.Range / q.EventsPerSegment / float64(left)
			for _, h := range shards {
				for range 2 {
					rest := segments
					var step func()
					step = func() {
						if rest <= 0 {
							merged()
							return
						}
						n := min(rest, segments/questionSteps+1e-9)
						rest -= n
						h.disk.serve(n*q.EventsPerSegment*bytesPerEvent/x.Machine.ReadMB/1e6, func() { h.cpu.serve(n*usPerSegment/1e6, step) })
					}
					step()
				}
			}
		}
	}
	arrivals(sc.Known, all(q.KnownUSPerSegment, 0, &out.known))
	arrivals(sc.New, all(q.NewUSPerSegment, q.NewBytesPerEvent, &out.fresh))
	s.run(sc.Seconds)
	for _, list := range [][]float64{out.acknowledged, out.session, out.known, out.fresh} {
		slices.Sort(list)
	}
	for _, v := range servers {
		out.serverCPU = max(out.serverCPU, v.busySeconds/sc.Seconds/float64(sc.ServerCores))
		out.behind = max(out.behind, v.laterWaits)
	}
	for _, h := range shards {
		if sc.Shards > 0 {
			out.shardCPU = max(out.shardCPU, h.cpu.busySeconds/sc.Seconds/float64(sc.ShardCores))
		}
		out.shardDisk = max(out.shardDisk, h.disk.busySeconds/sc.Seconds)
	}
	out.diskGB = sc.Stored * c.Bytes / 1e9 * max(1/float64(len(shards)), sc.Skew+(1-sc.Skew)/float64(len(shards)))
	return out, nil
}

// limit names the part that is used most, and how much of it is.
func (o *outcome) limit(x *costs) (string, float64) {
	type part struct {
		name string
		used float64
	}
	most := slices.MaxFunc([]part{
		{"CPU of servers", o.serverCPU}, {"CPU of shards", o.shardCPU}, {"writes of shards", o.shardDisk}, {"space of shards", o.diskGB / x.Machine.DiskGB},
	}, func(a, b part) int { return cmp.Compare(a.used, b.used) })
	return most.name, most.used
}

// sustained reports whether what came in was answered and its background work done, but for what is under way.
func (o *outcome) sustained() bool {
	return float64(o.answered) >= 0.97*float64(o.offered) && o.behind < 0.1*o.Seconds
}

// sized are the bounds by which a ladder's step is chosen.
const (
	sizedUse      = 0.7 // of each part
	sizedAck      = 0.5 // p99, seconds
	sizedQuestion = 30  // p99 of a new question over the range, the server's limit of a read
)

// fits reports whether a scenario is large enough.
func (o *outcome) fits(x *costs) bool {
	_, used := o.limit(x)
	return o.sustained() && used <= sizedUse && !(quantile(o.acknowledged, 0.99) > sizedAck) && !(quantile(o.fresh, 0.99) > sizedQuestion) // NaN: there was none
}

// quantile returns a percentile of times, which are sorted; NaN of none.
func quantile(list []float64, p float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	return rankOf(list, p)
}

// use returns how much of the part that is used most a scenario takes on average, by what comes in alone.
func (sc scenario) use(x *costs) float64 {
	c, perEvent := &x.Postgres, x.Postgres.ServerUS+x.Postgres.BackgroundUS
	shards := float64(sc.Shards)
	if sc.Shards == 0 {
		c, shards = &x.SQLite, 1
		perEvent = c.ServerUS + c.BackgroundUS + c.DatabaseUS
	}
	most := max(sc.Rate*perEvent/1e6/float64(sc.Servers*sc.ServerCores), sc.Stored*c.Bytes/1e9/shards/x.Machine.DiskGB, sc.Rate*c.BytesWritten/1e6/x.Machine.WriteMB/shards)
	if sc.Shards > 0 {
		most = max(most, sc.Rate*c.DatabaseUS/1e6/shards/float64(sc.ShardCores))
	}
	return max(most, sc.Range/x.Questions.EventsPerSegment*x.Questions.NewUSPerSegment/1e6/2/shards/sizedQuestion*sizedUse) // two goroutines a shard
}

// ladder returns, for each number of events in 30 days, the smallest scenario that is large enough: SQLite, PostgreSQL, or more shards and servers. At its
// peak three times as much comes in as on average.
func ladder(x *costs, seconds float64, seed uint64) (list []*outcome, err error) {
	const peak, month = 3, 30 * 86_400
	for _, events := range []float64{1e6, 1e7, 1e8, 1e9, 1e10, 1e11} {
		base := scenario{Batch: 50, Rate: max(events/month*peak, 1), Stored: events, Range: events, Sessions: 2, Known: 1, New: 0.1, Seconds: seconds, Seed: seed}
		var tries []scenario
		add := func(servers, serverCores, shards, shardCores int) {
			t := base
			t.Servers, t.ServerCores, t.Shards, t.ShardCores = servers, serverCores, shards, shardCores
			tries = append(tries, t)
		}
		add(1, 2, 0, 0)
		add(1, 8, 0, 0)
		add(1, 8, 1, 8)
		for shards := 1; shards <= 512; shards *= 2 {
			for _, servers := range []int{2, 4, 8, 16} {
				add(servers, 8, shards, 16)
			}
		}
		var last *outcome
		for i, t := range tries {
			if t.use(x) > sizedUse && i < len(tries)-1 {
				continue // what it takes on average is too much already
			}
			if last, err = t.run(x); err != nil {
				return nil, err
			}
			if last.fits(x) {
				break
			}
		}
		list = append(list, last)
	}
	return list, nil
}

func printOutcomes(w io.Writer, x *costs, list []*outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "stored\tevents/s\tservers\tshards\tanswered\tack p50/p99\tsession p99\tknown question p50/p99\tnew question p50/p99\tGB a shard\tmost used\tlarge enough")
	for _, o := range list {
		name, used := o.limit(x)
		shards := "SQLite"
		if o.Shards > 0 {
			shards = fmt.Sprintf("%d x %d cores", o.Shards, o.ShardCores)
		}
		fmt.Fprintf(t, "%.0e\t%.0f\t%d x %d cores\t%s\t%.1f %%\t%s / %s\t%s\t%s / %s\t%s / %s\t%.0f\t%s, %.0f %%\t%v\n", o.Stored, o.Rate, o.Servers, o.ServerCores, shards,
			100*float64(o.answered)/float64(max(o.offered, 1)), inSeconds(o.acknowledged, 0.5), inSeconds(o.acknowledged, 0.99), inSeconds(o.session, 0.99), inSeconds(o.known, 0.5), inSeconds(o.known, 0.99),
			inSeconds(o.fresh, 0.5), inSeconds(o.fresh, 0.99), o.diskGB, name, 100*used, o.fits(x))
	}
	t.Flush()
}

func inSeconds(list []float64, p float64) string {
	v := quantile(list, p)
	switch {
	case math.IsNaN(v):
		return "-"
	case v < 1:
		return fmt.Sprintf("%.3g ms", 1e3*v)
	}
	return fmt.Sprintf("%.3g s", v)
}

func simulateCommand(args []string) error {
	fs := flag.NewFlagSet("simulate", flag.ExitOnError)
	costFile := fs.String("costs", "", "file with costs (default those that were measured: specs/costs.json)")
	file := fs.String("scenario", "", "file with a scenario (default: the smallest that is large enough for 10^6 to 10^11 events in 30 days)")
	seconds := fs.Float64("seconds", 120, "how long a step of the ladder is simulated")
	seed := fs.Uint64("seed", 1, "of what is random")
	fs.Parse(args)
	x := &costs{}
	text := measuredCosts
	var err error
	if *costFile != "" {
		if text, err = os.ReadFile(*costFile); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(text, x); err != nil {
		return fmt.Errorf("costs: %w", err)
	}
	began := time.Now()
	var list []*outcome
	if *file == "" {
		list, err = ladder(x, *seconds, *seed)
	} else {
		var sc scenario
		if text, err = os.ReadFile(*file); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &sc); err != nil {
			return fmt.Errorf("%s: %w", *file, err)
		}
		var o *outcome
		o, err = sc.run(x)
		list = append(list, o)
	}
	if err != nil {
		return err
	}
	printOutcomes(os.Stdout, x, list)
	fmt.Fprintf(os.Stderr, "simulated in %.1f s\n", time.Since(began).Seconds())
	return nil
}
