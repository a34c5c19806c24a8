package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

var segmentTests = []test{
	{"Segments/answers are those of rows", segmentsAnswerAsRows},
	{"Segments/answers are those of rows while others write", segmentsAnswerWhileOthersWrite},
	{"Segments/one that is damaged changes no answer", segmentsDamaged},
	{"Segments/of deleted events nothing is left", segmentsForget},
	{"Segments/built anew", segmentsRebuilt},
	{"Segments/built anew in the next process", segmentsRebuiltLater},
	{"Segments/state", segmentsCounted},
	{"Segments/a run with an inner event of type session", segmentsInnerSession},
	{"Segments/words of a payload that is gone", segmentsWordsGone},
	{"Segments/percentiles of buckets that change", segmentsPercentiles},
}

// comparisons returns how many answers are compared: SPANGROVE_COMPARISONS, by default 4,000, and fewer where the tests are to be short.
// .ci/tests compares 20,000 on each database where nobody writes beside, `make check-all` also where others do.
func comparisons() int {
	if n, err := strconv.Atoi(os.Getenv("SPANGROVE_COMPARISONS")); err == nil {
		return n
	}
	if testing.Short() {
		return 1000
	}
	return 4000
}

// segmentsAnswerAsRows stores, changes and deletes random events, and compares random questions as segments answer them with what rows say.
// They are the same in each run, unless SPANGROVE_SEED is another number, or "new".
func segmentsAnswerAsRows(e *env) {
	r := newRandomEvents(e, e.seed(), 1)
	const perRound = 150
	for want := comparisons(); r.compared < want && !e.Failed(); {
		r.deleteOld()
		r.change()
		if r.rand.IntN(3) > 0 {
			e.ok(e.s.Seal(e.ctx))
		}
		if r.rand.IntN(3) == 0 {
			r.change() // behind what is sealed
		}
		r.ask(perRound)
	}
}

// seed returns SPANGROVE_SEED, by default 1; for "new" another one each time.
func (e *env) seed() uint64 {
	e.Helper()
	seed := uint64(1)
	if text := os.Getenv("SPANGROVE_SEED"); text == "new" {
		seed = uint64(time.Now().UnixNano())
	} else if s, err := strconv.ParseUint(text, 10, 64); err == nil {
		seed = s
	}
	e.Logf("SPANGROVE_SEED=%d", seed)
	return seed
}

// randomEvents changes a store at random, and asks it random questions.
type randomEvents struct {
	*env
	rand     *rand.Rand
	sessions []uuid.UUID
	events   []uuid.UUID
	from     float64 // when the days begin in which events start, in seconds after noon
	within   bool    // questions are about the first days alone
	compared int     // answers
	asked    []func()
	runs     []run.Run // the first lists some sessions; none: nothing is asked of runs
}

// newRandomEvents returns random events that belong to runs.
func newRandomEvents(e *env, seed, stream uint64) *randomEvents {
	r := &randomEvents{env: e, rand: rand.New(rand.NewPCG(seed, stream))}
	for i := range 3 {
		r.runs = append(r.runs, e.createRun(run.Update{ID: id(fmt.Sprint("run ", i)).String()}))
	}
	return r
}

// randomDays is in how many days random events start.
const randomDays = 3

// randomStart is when an event or a session starts, in seconds after noon.
func (r *randomEvents) randomStart() float64 { return r.from + float64(r.rand.IntN(randomDays*86_400)) }

// deleteOld deletes sessions until few enough are left for many questions.
func (r *randomEvents) deleteOld() {
	r.Helper()
	for len(r.sessions) > 30 {
		r.ok(r.s.DeleteSession(r.ctx, r.project, r.sessions[0]))
		r.sessions = r.sessions[1:]
		r.events = r.events[len(r.events)/4:] // most of those that are gone
	}
}

// ask asks n questions of all kinds, some of them again, and ends with the first whose answers differ.
func (r *randomEvents) ask(n int) {
	r.Helper()
	for range n {
		switch r.rand.IntN(9) {
		case 0, 1:
			r.compareChart()
		case 2:
			r.compareValues()
		case 3:
			r.compareSessions()
		case 4:
			if len(r.runs) > 0 {
				r.compareRun()
			}
		case 5:
			if len(r.asked) > 0 {
				r.asked[r.rand.IntN(len(r.asked))]()
			}
		default:
			r.compareSearch()
		}
		if r.Failed() {
			return
		}
	}
}

// askedBefore is how many of the last questions are asked again, after events have changed: what is in memory of their answers must not be old.
const askedBefore = 40

// first asks a question for the first time.
func (r *randomEvents) first(compare func()) {
	r.asked = append(r.asked[max(0, len(r.asked)-askedBefore+1):], compare)
	compare()
}

func pick[T any](r *randomEvents, list ...T) T { return list[r.rand.IntN(len(list))] }

// change stores some events, and changes or deletes some of those before.
func (r *randomEvents) change() {
	r.Helper()
	for range 1 + r.rand.IntN(3) {
		session := fmt.Sprint("s", r.rand.Uint64())
		if r.rand.IntN(2) == 0 {
			r.put(r.sessionStart(session))
		}
		r.sessions = append(r.sessions, id(session))
		batch := event.Batch{}
		unscored := r.rand.IntN(2) == 0 // events without scores name the datapoint of such a session
		for range 1 + r.rand.IntN(12) {
			x := r.incoming(session)
			if unscored {
				x.Metrics = nil
			}
			if n := len(batch.Events); n > 0 && r.rand.IntN(2) == 0 {
				x.ParentID = batch.Events[r.rand.IntN(n)].ID
			}
			batch.Events = append(batch.Events, x)
		}
		r.ok(r.s.Put(r.ctx, r.project, batch))
		for i := range batch.Events {
			r.events = append(r.events, batch.Events[i].ID)
		}
	}
	for range r.rand.IntN(6) {
		// An event that is gone may be among them: its change waits for it in vain.
		_, err := r.s.Update(r.ctx, r.project, r.updateOf(r.events[r.rand.IntN(len(r.events))]))
		r.ok(err)
	}
}

// updateOf is a random change of an event.
func (r *randomEvents) updateOf(x uuid.UUID) event.Update {
	u := event.Update{EventID: x}
	switch r.rand.IntN(6) {
	case 0:
		u.Metadata = r.object()
	case 4:
		u.Metrics = r.scores()
	case 1:
		u.Feedback = text(`{"rating":%d}`, r.rand.IntN(6))
	case 2:
		u.Config = text(`{"model":%q}`, pick(r, "o3", "gpt-4o", "new"))
	case 3:
		u.Outputs = r.payload()
	default:
		u.Metrics = text(`{"score":%v}`, float64(r.rand.IntN(100))/100)
	}
	return u
}

// parents are ids of events and sessions that may have events below them, and one that nothing has.
func (r *randomEvents) parents() []uuid.UUID {
	list := []uuid.UUID{id("nobody's parent")}
	for _, known := range [][]uuid.UUID{r.sessions, r.events} {
		list = append(list, known[max(0, len(known)-20):]...)
	}
	return list
}

func (r *randomEvents) sessionStart(name string) event.Incoming {
	x := start(name, pick(r, "chat", "batch", "nightly run"), r.randomStart(), float64(r.rand.IntN(100)))
	x.Metadata = r.object()
	if r.rand.IntN(10) == 0 {
		x.Metrics = r.scores()
	}
	x.UserProperties = text(`{"user_id":"u%d","plan":%q}`, r.rand.IntN(5), pick(r, "free", "pro"))
	return x
}

func (r *randomEvents) incoming(session string) event.Incoming {
	x := step(session, fmt.Sprint("e", r.rand.Uint64()), r.randomStart())
	x.Name = pick(r, "search", "answer", "größe", "")
	x.Type = pick(r, event.TypeModel, event.TypeModel, event.TypeTool, event.TypeChain, event.TypeGeneric)
	x.Duration = pick(r, 0, 1, 12.5, 1000, 0.123456, float64(r.rand.IntN(10_000)))
	x.End = x.Start + x.Duration
	x.Metadata, x.Source = r.object(), pick(r, "suite", "other")
	if r.rand.IntN(5) == 0 {
		x.Error = pointer(pick(r, "timeout", "", "bad thing: "+strings.Repeat("x", r.rand.IntN(20_000))))
	}
	if r.rand.IntN(2) == 0 {
		x.Config = text(`{"model":%s,"temperature":%v,"nested":{"a":%d}}`, pick(r, `"o3"`, `"gpt-4o"`, "null", "5"), r.rand.IntN(3), r.rand.IntN(3))
	}
	if r.rand.IntN(3) == 0 {
		x.Metrics = r.scores()
	}
	if r.rand.IntN(2) == 0 {
		x.Inputs = r.payload()
	}
	if r.rand.IntN(2) == 0 {
		x.Outputs = r.payload()
	}
	x.Complete(arrival)
	return x
}

// scores are metrics as senders spell them.
func (r *randomEvents) scores() json.RawMessage {
	switch r.rand.IntN(12) {
	case 0:
		return raw(pick(r, `{}`, `{ }`, `{"score":null}`, `{"":1,"score":2}`, `{"score":1,"why":{"a":[1, 2]}}`))
	case 1:
		return text(`{"score":%v,"why":%q}`, r.rand.Float64(), strings.Repeat("long ", r.rand.IntN(4000))) // up to all of it goes to the payload
	}
	ok := pick(r, `true`, `false`, `"true"`, `null`, `1`, `"good"`)
	n := pick(r, fmt.Sprint(float64(r.rand.IntN(100))/100), `1.0`, `-0`, `1e2`, `0.10`, `7`)
	return text(pick(r, `{"score":%s,"ok":%s}`, `{"score": %s, "ok": %s}`, `{ "ok":%s ,"score" : %s}`,
		"{\n  \"sco\\u0072e\": %s,\n  \"ok\": %s\n}", `{"n":%s,"score":%s}`), n, ok)
}

// payload is inputs or outputs with texts that filters look for.
func (r *randomEvents) payload() json.RawMessage {
	var texts []string
	for range 1 + r.rand.IntN(4) {
		texts = append(texts, pick(r, randomTexts...))
	}
	raw, err := json.Marshal(map[string]any{
		pick(r, "q", "answer", "refund"): strings.Join(texts, pick(r, " ", "\n", "", "/")), "list": []any{1, pick(r, randomTexts...), nil},
	})
	r.ok(err)
	return raw
}

// object is a JSON object whose members are of any kind.
func (r *randomEvents) object() json.RawMessage {
	var b rawjson.Builder
	b.Raw("total_tokens", text("%d", r.rand.IntN(5000)))
	for range r.rand.IntN(6) {
		value := pick(r, `1`, `1.0`, `-0`, `5`, `"5"`, `true`, `"true"`, `null`, `""`, `"blue"`, `"BLUE"`, `{}`, `[]`, `[1,"blue"]`,
			`{"b":1}`, `{"b":{"c":"deep"}}`, `{"b.c":"flat"}`, `"2026-01-02T12:00:00Z"`, `1767355200000`, `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`,
			`0.1`, `1.5e-9`, `123456789012345678`, `"`+strings.Repeat("long ", 300)+`"`, fmt.Sprint(r.rand.Float64()*1000), fmt.Sprint(r.rand.IntN(100)))
		b.Raw(pick(r, "a", "a.b", "a.b.c", "tier", "cost", "n", "key with spaces", "prompt_tokens", "has_feedback"), raw(value))
	}
	if len(r.runs) > 0 && r.rand.IntN(2) == 0 {
		b.String("run_id", r.runs[1+r.rand.IntN(len(r.runs)-1)].ID)
	}
	if r.rand.IntN(3) == 0 {
		b.Raw("datapoint_id", raw(pick(r, `"d1"`, `"d2"`, `"d3"`, `"d4"`, `""`, `7`, `"`+strings.Repeat("d", 1100)+`"`)))
	}
	if r.rand.IntN(12) == 0 {
		b.Raw("large", text("%q", strings.Repeat("y", 9000))) // all of it goes to the payload
	}
	clean, _, err := rawjson.Clean(b.Bytes())
	r.ok(err)
	return clean
}

var (
	randomFields = []string{
		"event_type", "event_name", "source", "error", "start_time", "end_time", "duration", "metadata.total_tokens", "metadata.a", "metadata.a.b",
		"metadata.a.b.c", "metadata.tier", "metadata.cost", "metadata.n", "metadata.key with spaces", "metadata.prompt_tokens", "metadata.large",
		"metadata.num_events", "metadata.has_feedback", "metadata.none", "config.model", "config.temperature", "config.nested.a", "metrics.score",
		"metrics.ok", "feedback.rating", "user_properties.plan", "user_properties.user_id",
	}
	randomTextFields = []string{"inputs", "outputs", "text", "text", "inputs.q", "outputs.answer", "inputs.list", "outputs.list.1"}
	randomTexts      = []string{
		"refund", "Refund policy", "refunds", "größe", "退款政策在哪里", "أين أموالي", "🎉🎉", "timeout", "a", "!?", "12.5", "true",
		strings.Repeat("0123456789abcdef", 6), strings.Repeat("iVBORw0KGgo", 30), "<b>\\\"x\"</b>", "search", "",
	}
	randomNeedles = []string{
		"refund", "Refund", "fund", "refund policy", "policy refund", "REFUND", "größe", "öß", "政策", "款政策在", "أموالي", "🎉", "out", "a", "", "!", "12", "5 ", "true",
		"cdef0123", strings.Repeat("0123456789abcdef", 3), "Rw0", "b>", `\\\"x`, "search", "nothing", "refund/Refund", "refund\\nrefund", "true refund 12",
	}
	randomValues = []string{
		`"model"`, `"session"`, `"tool"`, `"search"`, `""`, `"timeout"`, `"x"`, `"suite"`, `5`, `"5"`, `0`, `1`, `"1"`, `2500`, `0.5`, `true`,
		`"true"`, `false`, `"blue"`, `"lu"`, `"deep"`, `"flat"`, `"o3"`, `"pro"`, `"u1"`, `"2026-01-02T12:00:00Z"`, `1767355200000`, `"long long"`, `null`,
		`"6BA7B810-9DAD-11D1-80B4-00C04FD430C8"`, `1767441600000`, `"größe"`,
	}
	randomOperators = []string{"exists", "not exists", "is", "is not", "is any of", "contains", "not contains", "greater than", "less than", "after", "before"}
)

// filter is the JSON of one filter, which may be refused.
func (r *randomEvents) filterText() string {
	if r.rand.IntN(4) == 0 {
		return fmt.Sprintf(`{"field":%q,"operator":%q,"value":"%s"}`, pick(r, randomTextFields...),
			pick(r, "contains", "contains", "not contains", "matches words", "is", "is not", "exists"), pick(r, randomNeedles...))
	}
	if r.rand.IntN(12) == 0 {
		return fmt.Sprintf(`{"field":"parent_id","operator":%q,"type":%q,"value":"%s"}`,
			pick(r, "is", "is", "is", "is not", "exists", "not exists", "contains"), pick(r, "id", "string", "string"), pick(r, r.parents()...))
	}
	operator, value := pick(r, randomOperators...), pick(r, randomValues...)
	if operator == "is any of" {
		value = "[" + value + "," + pick(r, randomValues...) + "]"
	}
	return fmt.Sprintf(`{"field":%q,"operator":%q,"type":%q,"value":%s}`, pick(r, randomFields...), operator,
		pick(r, "string", "string", "number", "number", "boolean", "datetime", "id"), value)
}

// filters are some that are not refused.
func (r *randomEvents) filters() []query.Filter {
	var out []query.Filter
	for range r.rand.IntN(3) {
		for {
			text := r.filterText()
			if r.rand.IntN(5) == 0 {
				text = fmt.Sprintf(`{"any":[[%s,%s],[%s]]}`, text, r.filterText(), r.filterText())
			}
			if fs, err := query.ParseFilters(raw("["+text+"]"), "filters"); err == nil {
				out = append(out, fs...)
				break
			}
		}
	}
	return out
}

// bounds are the times that questions are about at most.
func (r *randomEvents) bounds() (from, to *float64) {
	if !r.within {
		return nil, nil
	}
	return pointer(noon), pointer(noon + randomDays*dayMillis)
}

func (r *randomEvents) search() query.Search {
	q := query.Search{Filters: r.filters(), Limit: 1 + r.rand.IntN(20), Page: 1 + r.rand.IntN(3), Sort: pick(r, query.EventSorts()...), Ascending: r.rand.IntN(2) == 0}
	q.From, q.To = r.bounds()
	if r.rand.IntN(3) == 0 {
		q.From = pointer(noon + float64(r.rand.IntN(randomDays*dayMillis)))
	}
	if r.rand.IntN(3) == 0 {
		q.To = pointer(noon + float64(r.rand.IntN(randomDays*dayMillis)))
	}
	if r.rand.IntN(3) == 0 {
		q.Page, q.Continued, q.Uncounted = 1, true, r.rand.IntN(2) == 0
	}
	return q
}

// compareSearch compares a page, and those behind it if there is a cursor.
func (r *randomEvents) compareSearch() {
	q := r.search()
	r.first(func() { r.compareSearchOf(q) })
}

func (r *randomEvents) compareSearchOf(q query.Search) {
	r.Helper()
	for range 3 {
		r.compared++
		want, got := r.searchBy(events.FromRows(r.ctx), q), r.searchBy(r.ctx, q)
		if d := difference(want, got); d != "" {
			r.Errorf("%s (-rows +segments):\n%s", describe(&q), d)
			q.After, q.Page, q.Limit = nil, 1, 5000 // all that match, of which the page may not show the one that differs
			r.explain(r.searchBy(events.FromRows(r.ctx), q).IDs, r.searchBy(r.ctx, q).IDs)
			return
		}
		if !got.HasMore {
			return
		}
		q.After = &query.Place{Value: got.Last, ID: got.IDs[len(got.IDs)-1]}
	}
}

// difference describes how two answers differ, empty if they do not. Most are the same to the bit, which takes a hundredth of the time to find.
func difference(want, got any, options ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, options...)
}

// explain logs the events that one list has and the other lacks.
func (r *randomEvents) explain(a, b []uuid.UUID) {
	r.Helper()
	for _, x := range slices.Concat(a, b) {
		if slices.Contains(a, x) != slices.Contains(b, x) {
			e := r.event(x)
			r.Logf("%s %s from %v for %v, metadata %.1000s config %s, metrics %s, feedback %s, user %s, error %.50s", e.Type, x, e.Start, e.Duration,
				e.Metadata, e.Config, e.Metrics, e.Feedback, e.UserProperties, shapeOf(e).Error)
		}
	}
}

// found is what a search answers.
type found struct {
	IDs     []uuid.UUID
	Total   int
	HasMore bool
	Last    float64
}

func (r *randomEvents) searchBy(ctx context.Context, q query.Search) (f found) {
	r.Helper()
	set, err := r.s.Search(ctx, r.project, q)
	if err != nil {
		r.Fatalf("%s: %v", describe(&q), err)
	}
	f.HasMore, f.Last = set.HasMore, set.Last
	if !q.Uncounted {
		f.Total = set.Total
	}
	for i := range set.Events {
		f.IDs = append(f.IDs, set.Events[i].ID)
	}
	return f
}

func describe(q *query.Search) string {
	filters, _ := json.Marshal(q.Filters)
	at := func(f *float64) float64 {
		if f == nil {
			return math.NaN()
		}
		return *f
	}
	return fmt.Sprintf("sort %s ascending %v limit %d page %d from %v to %v after %v filters %s", q.Sort, q.Ascending, q.Limit, q.Page, at(q.From), at(q.To), q.After, filters)
}

// compareChart compares a chart, and some others of one range that are asked for together.
func (r *randomEvents) compareChart() {
	c := r.randomChart()
	set := query.ChartSet{From: c.From, To: noon + 40*dayMillis, Bucket: c.Bucket, Zone: time.UTC}
	if c.To != nil {
		set.To = *c.To
	}
	set.Previous = set.From != nil && !r.within && r.rand.IntN(2) == 0
	for range 1 + r.rand.IntN(4) {
		one := r.randomChart()
		one.MaxGroups = r.rand.IntN(4)
		set.Series = append(set.Series, one)
	}
	r.first(func() { r.compareChartOf(c) })
	r.first(func() { r.compareChartsOf(&set) })
}

// refused compares the errors of a chart from rows and from segments, and reports whether there is no answer to compare: a chart of too many
// points is refused by both, in the same words.
func (r *randomEvents) refused(rows, segments error) bool {
	r.Helper()
	if rows != nil && fault.Of(rows) == fault.Invalid && fault.Of(segments) == fault.Invalid {
		r.equal("refusal", rows.Error(), segments.Error())
		return true
	}
	r.ok(rows)
	r.ok(segments)
	return false
}

// compareChartsOf compares charts that are asked for together, sums up to what the order of additions does to doubles.
func (r *randomEvents) compareChartsOf(set *query.ChartSet) {
	r.Helper()
	r.compared++
	want, refused := r.s.Charts(events.FromRows(r.ctx), r.project, set)
	got, err := r.s.Charts(r.ctx, r.project, set)
	if r.refused(refused, err) {
		return
	}
	if d := difference(want, got, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); d != "" {
		for _, c := range set.Series {
			r.Logf("%s of %v by %v, %d groups: %s", c.Aggregation, c.Metric, c.Group, c.MaxGroups, describe(&c.Search))
		}
		r.Errorf("%d charts together from %v, previous %v (-rows +segments):\n%s", len(set.Series), set.From, set.Previous, d)
	}
}

func (r *randomEvents) randomChart() *query.Chart {
	metric, err := query.NewFieldReader(pick(r, "duration", "metadata.total_tokens", "metadata.cost", "metadata.n", "metrics.score", "metrics.ok", "config.temperature", "start_time"))
	r.ok(err)
	c := &query.Chart{Metric: metric, Bucket: pick(r, query.Hour, query.Day, query.Week), Zone: time.UTC, Search: r.search(),
		Aggregation: pick(r, query.Count, query.Sum, query.Average, query.Min, query.Max, query.Median, query.P95)}
	c.Search.Limit, c.Search.Page, c.Search.Continued = 0, 0, false
	if r.rand.IntN(2) == 0 {
		g, err := query.NewFieldReader(pick(r, "event_name", "event_type", "config.model", "metadata.a", "metadata.a.b", "metadata.tier", "metadata.n", "error", "user_properties.plan", "duration"))
		r.ok(err)
		c.Group = &g
	}
	return c
}

// compareChartOf compares a chart, sums up to what the order of additions does to doubles.
func (r *randomEvents) compareChartOf(c *query.Chart) {
	r.Helper()
	r.compared++
	want, refused := r.s.Chart(events.FromRows(r.ctx), r.project, c)
	got, err := r.s.Chart(r.ctx, r.project, c)
	if r.refused(refused, err) {
		return
	}
	if d := difference(want, got, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateEmpty()); d != "" {
		r.Errorf("%s of %v by %v: %s (-rows +segments):\n%s", c.Aggregation, c.Metric, c.Group, describe(&c.Search), d)
	}
}

// compareRun compares what the events of a run say.
func (r *randomEvents) compareRun() {
	q := r.search()
	if r.rand.IntN(3) == 0 {
		q.Filters = nil
	}
	i := r.rand.IntN(len(r.runs))
	if i == 0 && len(r.sessions) > 0 {
		var listed []string
		for range r.rand.IntN(20) {
			listed = append(listed, r.sessions[r.rand.IntN(len(r.sessions))].String())
		}
		var err error
		r.runs[0], err = r.s.UpdateRun(r.ctx, r.project, run.Update{ID: r.runs[0].ID, EventIDs: listed})
		r.ok(err)
	}
	r.first(func() { r.compareRunOf(&r.runs[i], q) })
}

func (r *randomEvents) compareRunOf(of *run.Run, q query.Search) {
	r.Helper()
	r.compared++
	want, err := r.s.RunScores(events.FromRows(r.ctx), r.project, of, q)
	r.ok(err)
	got, err := r.s.RunScores(events.FromSegments(r.ctx), r.project, of, q)
	r.ok(err)
	if d := difference(want, got, cmpopts.EquateEmpty()); d != "" {
		r.Errorf("a run with %d sessions: %s (-rows +segments):\n%s", len(want.Sessions), describe(&q), d)
	}
}

// compareValues compares the values of a field.
func (r *randomEvents) compareValues() {
	field := pick(r, randomFields...)
	q := r.values(field, pick(r, "", "", "b", "1"), 1+r.rand.IntN(20), r.filters()...)
	q.Search.From, q.Search.To = r.bounds()
	r.first(func() { r.compareValuesOf(field, q) })
}

func (r *randomEvents) compareValuesOf(field string, q *query.ValueQuery) {
	r.Helper()
	r.compared++
	want, err := r.s.Values(events.FromRows(r.ctx), r.project, q)
	r.ok(err)
	got, err := r.s.Values(r.ctx, r.project, q)
	r.ok(err)
	if d := difference(want, got, cmpopts.EquateEmpty()); d != "" {
		r.Errorf("values of %s with prefix %q: %s (-rows +segments):\n%s", field, q.Prefix, describe(&q.Search), d)
	}
}

// sessionFilters are some filters on sessions that are not refused.
func (r *randomEvents) sessionFilters() []query.Filter {
	var out []query.Filter
	for range r.rand.IntN(3) {
		for {
			text := r.filterText()
			if r.rand.IntN(2) == 0 {
				text = fmt.Sprintf(`{"field":%q,"operator":%q,"type":"number","value":%d}`,
					pick(r, "totals.cost", "totals.tokens", "totals.errors", "totals.events", "totals.tool_events", "totals.feedback"),
					pick(r, "is", "is not", "greater than", "less than"), r.rand.IntN(6))
			} else if r.rand.IntN(4) == 0 {
				text = `{"field":"state","operator":"is","value":"running"}`
			}
			if fs, err := query.ParseSessionFilters(raw("["+text+"]"), "filters"); err == nil {
				out = append(out, fs...)
				break
			}
		}
	}
	return out
}

// compareSessions compares a page of sessions, and those behind it.
func (r *randomEvents) compareSessions() {
	q := query.SessionSearch{Filters: r.sessionFilters(), Sort: pick(r, query.SessionSorts()...), Ascending: r.rand.IntN(2) == 0, Limit: 1 + r.rand.IntN(12),
		Counted: r.rand.IntN(2) == 0}
	if r.rand.IntN(3) == 0 {
		q.EventFilters = r.filters()
	}
	s := r.search()
	q.From, q.To = s.From, s.To
	r.first(func() { r.compareSessionsOf(q) })
}

func (r *randomEvents) compareSessionsOf(q query.SessionSearch) {
	r.Helper()
	for range 3 {
		r.compared++
		want, got := r.sessionsBy(events.FromRows(r.ctx), q), r.sessionsBy(r.ctx, q)
		if d := difference(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(1e-9, 0)); d != "" {
			some, _ := json.Marshal(q.EventFilters)
			r.Errorf("sessions by %s, counted %v, with events %s: %s (-rows +segments):\n%s", q.Sort, q.Counted, some,
				describe(&query.Search{Filters: q.Filters, From: q.From, To: q.To, Limit: q.Limit, Ascending: q.Ascending, After: q.After}), d)
			r.explain(want.Found.IDs, got.Found.IDs)
			return
		}
		if !got.Found.HasMore {
			return
		}
		q.After = &query.Place{Value: got.Found.Last, ID: got.Found.IDs[len(got.Found.IDs)-1]}
	}
}

// foundSessions is what a search of sessions answers.
type foundSessions struct {
	Found  found
	Totals []event.SessionTotals
}

func (r *randomEvents) sessionsBy(ctx context.Context, q query.SessionSearch) (f foundSessions) {
	r.Helper()
	set, err := r.s.SearchSessions(ctx, r.project, q)
	r.ok(err)
	f.Found.Total, f.Found.HasMore, f.Found.Last, f.Totals = set.Total, set.HasMore, set.Last, set.Totals
	for i := range set.Events {
		f.Found.IDs = append(f.Found.IDs, set.Events[i].ID)
	}
	return f
}

// segmentsDamaged damages what is stored of segments: answers stay the same, and the segments are built again.
func segmentsDamaged(e *env) {
	inMetadata := e.filter("metadata.tier", "is", "string", `"t3"`)
	inInputs := e.filter("inputs", "contains", "string", `"word3"`)
	for i, damage := range []string{
		`UPDATE segment_column SET data = ` + e.place.Bytes("0102030405060708"),
		`UPDATE segment_column SET data = ` + e.place.Bytes("0102030405060708") + ` WHERE number > 100000`,
		`DELETE FROM segment_column WHERE number > 100000`,
		`UPDATE segment SET header = ` + e.place.Bytes("01"),
		`DELETE FROM segment_column`,
	} {
		for j := range 5 {
			x := step("s", fmt.Sprintf("x%d.%d", i, j), float64(j))
			x.Metadata, x.Inputs = text(`{"tier":"t%d"}`, j), text(`{"q":"word%d"}`, j)
			e.put(x)
		}
		e.ok(e.s.Seal(e.ctx))
		e.ok(e.s.Close(e.ctx)) // what is in memory is not damaged
		e.place.Exec(e.T, damage)
		e.open(optionsNone)
		q := query.Search{Filters: []query.Filter{inMetadata, inInputs}, Limit: 10, Page: 1}
		set, err := e.s.Search(e.ctx, e.project, q)
		e.ok(err)
		e.equal(damage, i+1, set.Total)
		if n := e.place.Count(e.T, `SELECT count(*) FROM segment WHERE header IS NULL`); n == 0 {
			e.Errorf("%s: no segment is known to be damaged", damage)
		}
		e.ok(e.s.Seal(e.ctx))
		e.equal("segments without columns", 0, e.place.Count(e.T, `SELECT count(*) FROM segment WHERE header IS NULL`))
		set, err = e.s.Search(e.ctx, e.project, q)
		e.ok(err)
		e.equal(damage+" built again", i+1, set.Total)
	}
}

// segmentsForget deletes events and sessions: the next pass leaves neither their columns nor a record of them.
func segmentsForget(e *env) {
	for j := range 5 {
		e.put(step("s", fmt.Sprint("x", j), float64(j)), step("t", fmt.Sprint("y", j), float64(j)))
	}
	e.ok(e.s.Seal(e.ctx))
	e.equal("events in segments", 12, e.place.Count(e.T, `SELECT CAST(sum(num_events) AS bigint) FROM segment`))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.ok(e.s.Seal(e.ctx))
	e.equal("events in segments", 6, e.place.Count(e.T, `SELECT CAST(sum(num_events) AS bigint) FROM segment`))
	e.equal("changes on record", 0, e.place.Count(e.T, `SELECT count(*) FROM segment_stale`))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("t")))
	e.ok(e.s.Seal(e.ctx))
	e.equal("segments", 0, e.place.Count(e.T, `SELECT count(*) FROM segment`))
	e.equal("columns", 0, e.place.Count(e.T, `SELECT count(*) FROM segment_column`))
	// Places are not used again, also in a new process.
	e.reopen(optionsNone)
	e.put(step("u", "z", 0))
	e.equal("events", 2, e.place.Count(e.T, `SELECT count(*) FROM event WHERE seq > (SELECT sealed_seq FROM segment_progress)`))
}

// segmentsInnerSession asks for the sessions of a run that have an event which is of type session and no session's own, in a segment and behind
// what is sealed.
func segmentsInnerSession(e *env) {
	r := e.createRun(run.Update{})
	inner := func(session string) event.Incoming {
		x := step(session, session+" inner", 1)
		x.Name, x.Type = "inner", event.TypeSession
		return x
	}
	e.put(of(r.ID, "d1", start("s", "s", 0, 9)), inner("s"), of(r.ID, "d2", start("t", "t", 0, 9)))
	e.ok(e.s.Seal(e.ctx))
	e.put(inner("t"), of(r.ID, "d3", start("u", "u", 0, 9)))
	q := query.Search{Filters: []query.Filter{e.filter("event_name", "is", "", `"inner"`)}}
	for what, ctx := range map[string]context.Context{"rows": events.FromRows(e.ctx), "segments": events.FromSegments(e.ctx)} {
		scores, err := e.s.RunScores(ctx, e.project, &r, q)
		e.ok(err)
		e.equal("sessions by "+what, map[uuid.UUID]bool{id("s"): true, id("t"): true}, setOf(scores.Sessions))
	}
}

func setOf(ids []uuid.UUID) map[uuid.UUID]bool {
	set := map[uuid.UUID]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// segmentsWordsGone indexes words of payloads that expire then: neither their events nor the session that showed them are found any more,
// although the index still has the words.
func segmentsWordsGone(e *env) {
	e.at(40)
	e.put(start("s", "chat", 0, 10), spoken("s", "refund", 0), spoken("t", "refund b", 20*day))
	e.ok(e.s.Seal(e.ctx))
	e.equal("indexes of words", 1, e.place.Count(e.T, `SELECT count(*) FROM segment WHERE words`))
	search := func() []uuid.UUID {
		q := query.Search{Filters: []query.Filter{e.filter("inputs", "contains", "string", `"refund"`)}, Limit: 10, Page: 1}
		got, want := e.idsOf(e.ctx, q), e.idsOf(events.FromRows(e.ctx), q)
		e.equal("found by rows and by segments", want, got)
		return got
	}
	// Session t is implicit, and shows what its event has.
	e.equal("events before", 4, len(search()))
	e.keep("payload_days", 30)
	e.retain()
	e.equal("events after", 2, len(search()))
}

// idsOf returns the ids of the events that a search finds.
func (e *env) idsOf(ctx context.Context, q query.Search) (ids []uuid.UUID) {
	e.Helper()
	set, err := e.s.Search(ctx, e.project, q)
	e.ok(err)
	for i := range set.Events {
		ids = append(ids, set.Events[i].ID)
	}
	return ids
}
