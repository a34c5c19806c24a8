package main

import (
	"crypto/sha1" //nolint:gosec // see eventID
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// What the small events of a load at scale are.
const (
	smallSpans    = 12      // spans of a session
	smallUsers    = 20_000  // of which the first ones have far more sessions than the last ones
	smallPool     = 4 << 20 // bytes of text that inputs and outputs are taken from
	rareEvery     = 100_000 // one output in so many has the rare word
	refundEvery   = 100     // one input in so many has the word refund
	errorEvery    = 50      // one span in so many failed
	rareWord      = "quetzalcoatl"
	refundWord    = "refund"
	nanosPerMicro = 1000
)

// smallModel is a model that small events name: how many of 100 calls, and its price in billionths of a dollar a token.
type smallModel struct {
	name, provider     string
	share              int
	prompt, completion int64
}

var smallModels = []smallModel{
	{"gpt-4o-mini", "openai", 40, 150, 600},
	{"gpt-4o", "openai", 25, 2_500, 10_000},
	{"claude-sonnet-4", "anthropic", 15, 3_000, 15_000},
	{"gemini-2.5-flash", "gcp.gemini", 10, 300, 2_500},
	{"o3", "openai", 5, 2_000, 8_000},
	{"llama-3.3-70b", "groq", 5, 590, 790},
}

// smallTiers are the values of the attribute tier, and how many of 100 sessions have each.
var smallTiers = []struct {
	name  string
	share int
}{{"free", 80}, {"pro", 15}, {"enterprise", 5}}

// Kinds of rows, in the order of smallKinds.
const (
	rowSession = iota
	rowChain
	rowModel
	rowTool
)

var smallKinds = []string{"session", "chain", "model", "tool"}

// smallSteps are the spans of a session: what each is called (a call of a model is called after the model) and which one
// it stands below.
var smallSteps = [smallSpans]struct {
	kind   uint8
	name   string
	parent int
}{
	{rowChain, "support agent", -1}, {rowTool, "search_docs", 0}, {rowModel, "", 0}, {rowTool, "lookup_order", 0},
	{rowModel, "", 0}, {rowChain, "follow up", 0}, {rowModel, "", 5}, {rowTool, "run_sql", 5}, {rowModel, "", 5},
	{rowTool, "send_email", 0}, {rowModel, "", 0}, {rowModel, "", 0},
}

// smallSpan is one small event. Times are microseconds.
type smallSpan struct {
	start, end         int64
	model              int // in smallModels, -1 for none
	prompt, completion int64
	failed             bool
	refund, rare       bool
	input, output      int // places in the pool
	inputLength        int
	outputLength       int
}

// name returns the name of the i-th span of a session.
func (e *smallSpan) name(i int) string {
	if e.model >= 0 {
		return "chat " + smallModels[e.model].name
	}
	return smallSteps[i].name
}

// nanos returns the cost in billionths of a dollar.
func (e *smallSpan) nanos() int64 {
	if e.model < 0 {
		return 0
	}
	m := &smallModels[e.model]
	return e.prompt*m.prompt + e.completion*m.completion
}

// smallSession is one session of small events.
type smallSession struct {
	user  int
	tier  int
	spans [smallSpans]smallSpan
}

// SmallGenerator makes sessions of small events, the same ones for the same seed, number and times: twelve spans each, at even
// distances over a window of time.
type SmallGenerator struct {
	Seed     uint64
	Sessions int
	Base     time.Time // start of the first session
	Window   time.Duration
	pool     []byte
}

// NewSmallGenerator returns a generator of events in whole sessions.
func NewSmallGenerator(seed uint64, events int, base time.Time, window time.Duration) *SmallGenerator {
	r := seededRandom(seed, 11, 12)
	return &SmallGenerator{Seed: seed, Sessions: events / smallSpans, Base: base, Window: window, pool: textPool(&r, smallPool)}
}

// unit returns a number from 0 to 1, 0 left out.
func (r *randomSource) unit() float64 { return float64(r.next()>>11+1) / (1 << 53) }

// exponential returns microseconds that are exponentially distributed about a mean.
func (r *randomSource) exponential(mean float64) int64 { return int64(-math.Log(r.unit()) * mean) }

// oneOfShares returns which of n things with shares of 100 is drawn.
func (r *randomSource) oneOfShares(share func(i int) int) int {
	left := r.below(100)
	for i := 0; ; i++ {
		if left -= share(i); left < 0 {
			return i
		}
	}
}

// isRare reports whether the output of the n-th event has the rare word: that of one in each block of rareEvery.
func (g *SmallGenerator) isRare(n int) bool {
	r := seededRandom(g.Seed, uint64(n/rareEvery), 77)
	return r.below(rareEvery) == n%rareEvery
}

// Session makes session s.
func (g *SmallGenerator) Session(s int, out *smallSession) {
	r := seededRandom(g.Seed, uint64(s), 3)
	u := r.unit()
	// A power law: user 0 has 4 of 100 sessions, and half of the users share the last fifth.
	out.user = min(int(u*u*u*smallUsers), smallUsers-1)
	out.tier = r.oneOfShares(func(i int) int { return smallTiers[i].share })
	step := int64(g.Window/time.Microsecond) / int64(g.Sessions)
	begin := g.Base.UnixMicro() + int64(s)*step + int64(r.below(int(max(step*9/10, 1))))
	at := begin
	for i := range out.spans {
		e := &out.spans[i]
		*e = smallSpan{start: at, model: -1}
		switch smallSteps[i].kind {
		case rowModel:
			e.model = r.oneOfShares(func(i int) int { return smallModels[i].share })
			e.prompt, e.completion = 200+r.exponential(1500), 10+r.exponential(250)
			e.end = at + 400_000 + r.exponential(1_200_000) // 1 call in 1,300 takes more than 9 s
		case rowTool:
			e.end = at + 20_000 + r.exponential(150_000)
		default:
			e.end = at + 1000 // as long as what is below it, see after the loop
		}
		e.failed = r.below(errorEvery) == 0
		e.refund = r.below(refundEvery) == 0
		e.rare = g.isRare(s*smallSpans + i)
		e.inputLength, e.outputLength = 200+r.below(300), 100+r.below(200)
		e.input, e.output = r.below(smallPool-600), r.below(smallPool-600)
		if smallSteps[i].kind == rowChain {
			at += 1000
		} else {
			at = e.end + 1000 + int64(r.below(20_000))
		}
	}
	// A chain ends after all that is below it.
	for i := smallSpans - 1; i > 0; i-- {
		if p := &out.spans[smallSteps[i].parent]; p.end < out.spans[i].end+1000 {
			p.end = out.spans[i].end + 1000
		}
	}
}

// traceID returns the id of a session's trace; its UUID is that of the session.
func (g *SmallGenerator) traceID(s int) (id [16]byte) {
	r := seededRandom(g.Seed, uint64(s)+7, 101)
	binary.BigEndian.PutUint64(id[:8], r.next()|1<<63)
	binary.BigEndian.PutUint64(id[8:], r.next())
	return id
}

func (g *SmallGenerator) spanID(s, i int) (id [8]byte) {
	r := seededRandom(g.Seed, uint64(s)+7, uint64(i)+2000)
	binary.BigEndian.PutUint64(id[:], r.next()|1)
	return id
}

// eventID returns the id of the event of a span: the UUID version 5 (RFC 9562) of its id in hexadecimal, in the namespace of the trace's.
func (g *SmallGenerator) eventID(s, i int) string {
	trace, span := g.traceID(s), g.spanID(s, i)
	sum := sha1.Sum(hex.AppendEncode(trace[:], span[:])) //nolint:gosec // version 5 is defined on SHA-1
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return textOf(id)
}

func smallUser(u int) string { return fmt.Sprintf("user-%05d", u) }

// Request returns the spans of sessions from first to before end.
func (g *SmallGenerator) Request(first, end int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("loadgen")
	ss.Spans().EnsureCapacity((end - first) * smallSpans)
	var session smallSession
	var buf []byte
	for s := first; s < end; s++ {
		g.Session(s, &session)
		for i := range session.spans {
			buf = g.appendSpan(ss.Spans().AppendEmpty(), s, i, &session, buf[:0])
		}
	}
	return td
}

func (g *SmallGenerator) appendSpan(o ptrace.Span, s, i int, session *smallSession, buf []byte) []byte {
	e := &session.spans[i]
	o.SetTraceID(g.traceID(s))
	o.SetSpanID(g.spanID(s, i))
	if p := smallSteps[i].parent; p >= 0 {
		o.SetParentSpanID(g.spanID(s, p))
	}
	o.SetName(e.name(i))
	o.SetKind(ptrace.SpanKindInternal)
	o.SetStartTimestamp(pcommon.Timestamp(e.start * nanosPerMicro))
	o.SetEndTimestamp(pcommon.Timestamp(e.end * nanosPerMicro))
	o.Status().SetCode(ptrace.StatusCodeOk)
	if e.failed {
		o.Status().SetCode(ptrace.StatusCodeError)
		o.Status().SetMessage("rate limit exceeded")
	}
	a := o.Attributes()
	a.EnsureCapacity(16)
	a.PutStr("openinference.span.kind", map[uint8]string{rowChain: "CHAIN", rowModel: "LLM", rowTool: "TOOL"}[smallSteps[i].kind])
	a.PutStr("session.id", uuidOf(g.traceID(s)))
	a.PutStr("user.id", smallUser(session.user))
	a.PutStr("tier", smallTiers[session.tier].name)
	if e.model >= 0 {
		m := &smallModels[e.model]
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", m.provider)
		a.PutStr("gen_ai.request.model", m.name)
		a.PutStr("gen_ai.response.model", m.name)
		a.PutInt("gen_ai.usage.input_tokens", e.prompt)
		a.PutInt("gen_ai.usage.output_tokens", e.completion)
		a.PutDouble("gen_ai.usage.cost", float64(e.nanos())/1e9)
	}
	buf = append(buf[:0], `{"query":"`...)
	if e.refund {
		buf = append(buf, refundWord+" "...)
	}
	buf = append(append(buf, g.pool[e.input:e.input+e.inputLength]...), `"}`...)
	a.PutStr("input.value", string(buf))
	a.PutStr("input.mime_type", "application/json")
	buf = append(buf[:0], g.pool[e.output:e.output+e.outputLength]...)
	if e.rare {
		buf = append(buf, " "+rareWord...)
	}
	a.PutStr("output.value", string(buf))
	a.PutStr("output.mime_type", "text/plain")
	return buf
}

// smallColumns are the events of a load in memory, a row each, as columns: what all answers are known from, and what a plain scan of
// columns reads. Each session has one row for its own event, which shows its totals, and then those of its spans.
type smallColumns struct {
	kind     []uint8
	name     []uint8 // in names
	model    []int8  // in smallModels, -1 for none
	tier     []uint8 // in smallTiers
	user     []int32
	start    []int64 // µs
	duration []int64 // µs
	tokens   []int64
	nanos    []int64 // billionths of a dollar
	failed   []uint8 // 1, or of a session the number of errors
	refund   []bool
	rare     []bool
	names    []string
}

const smallRows = smallSpans + 1

// columns makes all events once.
func (g *SmallGenerator) columns() *smallColumns {
	n := g.Sessions * smallRows
	c := &smallColumns{
		kind: make([]uint8, 0, n), name: make([]uint8, 0, n), model: make([]int8, 0, n), tier: make([]uint8, 0, n), user: make([]int32, 0, n),
		start: make([]int64, 0, n), duration: make([]int64, 0, n), tokens: make([]int64, 0, n), nanos: make([]int64, 0, n),
		failed: make([]uint8, 0, n), refund: make([]bool, 0, n), rare: make([]bool, 0, n),
	}
	code := map[string]uint8{}
	nameOf := func(name string) uint8 {
		k, ok := code[name]
		if !ok {
			k = uint8(len(c.names))
			code[name], c.names = k, append(c.names, name)
		}
		return k
	}
	var session smallSession
	for s := range g.Sessions {
		g.Session(s, &session)
		whole := len(c.kind)
		c.add(rowSession, nameOf("session"), -1, &session, session.spans[0].start, session.spans[0].end-session.spans[0].start)
		for i := range session.spans {
			e := &session.spans[i]
			c.add(smallSteps[i].kind, nameOf(e.name(i)), int8(e.model), &session, e.start, e.end-e.start)
			row := len(c.kind) - 1
			c.tokens[row], c.nanos[row] = e.prompt+e.completion, e.nanos()
			c.refund[row], c.rare[row] = e.refund, e.rare
			if e.failed {
				c.failed[row] = 1
			}
			c.tokens[whole] += c.tokens[row]
			c.nanos[whole] += c.nanos[row]
			c.failed[whole] += c.failed[row]
		}
	}
	return c
}

// add appends a row without tokens, cost, error and words.
func (c *smallColumns) add(kind, name uint8, model int8, session *smallSession, start, duration int64) {
	c.kind, c.name, c.model = append(c.kind, kind), append(c.name, name), append(c.model, model)
	c.tier, c.user = append(c.tier, uint8(session.tier)), append(c.user, int32(session.user))
	c.start, c.duration = append(c.start, start), append(c.duration, duration)
	c.tokens, c.nanos = append(c.tokens, 0), append(c.nanos, 0)
	c.failed, c.refund, c.rare = append(c.failed, 0), append(c.refund, false), append(c.rare, false)
}
