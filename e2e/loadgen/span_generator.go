package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// randomSource is splitmix64: tiny, seedable from (seed, trace, span), so any batch can
// be produced again without the ones before it.
type randomSource struct{ s uint64 }

// seededRandom returns the random source of three numbers, such as seed, trace and span: neighbours have
// nothing in common.
func seededRandom(a, b, c uint64) randomSource {
	r := randomSource{a*0x9e3779b97f4a7c15 ^ b*0xbf58476d1ce4e5b9 ^ c*0x94d049bb133111eb}
	r.next()
	return r
}

func (r *randomSource) next() uint64 {
	r.s += 0x9e3779b97f4a7c15
	z := r.s
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number from 0 to n-1. The bias of the remainder is far below what a load shows.
func (r *randomSource) below(n int) int { return int(r.next() % uint64(n)) }

const numUsers = 500

var (
	models    = []string{"gpt-4o-mini", "gpt-4o", "claude-sonnet-4", "gemini-2.0-flash", "llama-3.3-70b"}
	providers = []string{"openai", "openai", "anthropic", "gcp.gemini", "groq"}
	tools     = []string{"search_docs", "get_weather", "run_sql", "read_file", "send_email", "calculator"}
	// traceSizes averages 12.
	traceSizes = []int{6, 18, 9, 15, 12}
)

// kind of a generated span.
type kind uint8

const (
	kindAgent kind = iota
	kindChain
	kindLLM
	kindTool
	kindRetriever
)

var kindNames = []string{"AGENT", "CHAIN", "LLM", "TOOL", "RETRIEVER"}

// span is one generated span, before it is turned into OTLP.
type span struct {
	trace, index              int // trace index; span index within the trace
	parent                    int // index of the parent within the trace, -1 for the root
	kind                      kind
	start, end                int64 // unix ns
	inputOffset               int   // payload position in the pool
	inputLength               int
	outputOffset              int
	outputLength              int
	systemPrompt              int // which system prompt
	inputTokens, outputTokens int // tokens
	failed                    bool
}

// SpanGenerator makes the same spans for the same seed, size and base time.
type SpanGenerator struct {
	Seed          uint64
	Total         int       // spans, without the big trace
	Traces        int       // traces, without the big trace
	Base          time.Time // earliest trace start
	Window        time.Duration
	Big           int // spans of the one big trace, 0 for none
	Project       string
	pool          []byte
	systemPrompts []string
	spansBefore   []int // spans in the first i (mod 5) traces of a cycle
}

const poolSize = 48 << 20

func NewSpanGenerator(seed uint64, total, big int, base time.Time, window time.Duration, project string) *SpanGenerator {
	g := &SpanGenerator{Seed: seed, Total: total, Base: base, Window: window, Big: big, Project: project}
	sum := 0
	for _, n := range traceSizes {
		g.spansBefore = append(g.spansBefore, sum)
		sum += n
	}
	g.Traces = total / sum * len(traceSizes)
	for rest := total % sum; rest > 0; g.Traces++ {
		rest -= traceSizes[g.Traces%len(traceSizes)]
	}
	r := seededRandom(seed, 1, 2)
	g.pool = textPool(&r, poolSize)
	for i := 0; i < 16; i++ {
		o := r.below(poolSize - 1024)
		g.systemPrompts = append(g.systemPrompts, "You are assistant number "+strconv.Itoa(i)+". "+string(g.pool[o:o+600]))
	}
	return g
}

// textPool returns at least size bytes of made-up words, some far more often than others, as in real text. A word is of
// syllables of one consonant and one vowel, so no English word with two consonants in a row is among them.
func textPool(r *randomSource, size int) []byte {
	vocab := make([][]byte, 8192)
	const cons, vow = "bcdfghjklmnprstvw", "aeiou"
	for i := range vocab {
		w := make([]byte, 0, 12)
		for s := 0; s < 1+r.below(4); s++ {
			w = append(w, cons[r.below(len(cons))], vow[r.below(len(vow))])
		}
		vocab[i] = append(w, ' ')
	}
	pool := make([]byte, 0, size+64)
	for c := 0; len(pool) < size; c++ {
		// A skewed draw: low word numbers far more often, as in real text.
		u := float64(r.next()>>11) / (1 << 53)
		w := vocab[int(u*u*u*8191)]
		pool = append(pool, w...)
		if c%13 == 12 {
			pool[len(pool)-1] = '.'
			pool = append(pool, ' ')
		}
		if c%97 == 96 { // digits and such, so that text is not all words
			pool = strconv.AppendUint(pool, r.next()%1000000, 10)
			pool = append(pool, ' ')
		}
	}
	return pool
}

// SpansOf returns how many spans trace t has. The big trace is number g.Traces.
func (g *SpanGenerator) SpansOf(t int) int {
	if t == g.Traces {
		return g.Big
	}
	n := traceSizes[t%len(traceSizes)]
	if left := g.Total - g.firstSpanOf(t); left < n {
		return left
	}
	return n
}

func (g *SpanGenerator) firstSpanOf(t int) int {
	return t/len(traceSizes)*60 + g.spansBefore[t%len(traceSizes)]
}

func (g *SpanGenerator) TraceID(t int) (id [16]byte) {
	r := seededRandom(g.Seed, uint64(t)+7, 99)
	binary.BigEndian.PutUint64(id[:8], r.next()|1<<63)
	binary.BigEndian.PutUint64(id[8:], r.next())
	return
}

func (g *SpanGenerator) TraceHex(t int) string { id := g.TraceID(t); return hex.EncodeToString(id[:]) }

func (g *SpanGenerator) SpanID(t, i int) (id [8]byte) {
	r := seededRandom(g.Seed, uint64(t)+7, uint64(i)+1000)
	binary.BigEndian.PutUint64(id[:], r.next()|1)
	return
}

func uuidOf(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return textOf(b)
}

// textOf writes a UUID.
func textOf(b [16]byte) string {
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// SessionUUID returns the session id of trace t, the value of session.id.
func (g *SpanGenerator) SessionUUID(t int) string { return uuidOf(g.TraceID(t)) }

func (g *SpanGenerator) User(t int) string {
	r := seededRandom(g.Seed, uint64(t), 5)
	return fmt.Sprintf("user-%03d", r.below(numUsers))
}

// Spans makes the spans of one trace: a root agent, turns under it, and model,
// tool and retrieval steps under the turns.
func (g *SpanGenerator) Spans(t int, out []span) []span {
	n := g.SpansOf(t)
	step := int64(g.Window) / int64(g.Traces+1)
	begin := g.Base.UnixNano() + int64(t)*step
	base, chain := len(out), 0
	for i := 0; i < n; i++ {
		r := seededRandom(g.Seed, uint64(t), uint64(i))
		s := span{trace: t, index: i, parent: chain}
		switch {
		case i == 0:
			s.kind, s.parent = kindAgent, -1
		case i%5 == 1:
			s.kind, s.parent, chain = kindChain, 0, i
		case i%5 == 2 || i%5 == 4:
			s.kind = kindLLM
		case i%5 == 3:
			s.kind = kindTool
		default:
			s.kind = kindRetriever
		}
		s.start = begin + int64(i)*50e6
		s.end = s.start + 20e6 + int64(r.below(25e6))
		s.inputLength, s.outputLength = 1024+r.below(7168), 200+r.below(1848)
		if t == g.Traces { // keep the big trace near 10 MB
			s.inputLength, s.outputLength = 1024+r.below(1024), 200+r.below(400)
		}
		s.inputOffset, s.outputOffset = r.below(poolSize-9000), r.below(poolSize-9000)
		s.systemPrompt = r.below(16)
		s.inputTokens, s.outputTokens = s.inputLength/4, s.outputLength/4
		s.failed = r.below(50) == 0
		out = append(out, s)
	}
	// parents end after their children
	for i := len(out) - 1; i > base; i-- {
		if p := &out[base+out[i].parent]; p.end <= out[i].end {
			p.end = out[i].end + 1e6
		}
	}
	return out
}

// input and output text of a span; letters, digits, blanks and dots only, so
// that it needs no JSON escape.
func (g *SpanGenerator) userText(s *span, b []byte) []byte {
	return append(b, g.pool[s.inputOffset:s.inputOffset+s.inputLength]...)
}

func (g *SpanGenerator) messages(s *span, b []byte) []byte {
	b = append(b, `[{"role":"system","content":"`...)
	b = append(b, g.systemPrompts[s.systemPrompt]...)
	b = append(b, `"},{"role":"user","content":"`...)
	b = g.userText(s, b)
	return append(b, `"}]`...)
}

// inputJSON returns the span's inputs object. Model steps carry chat messages, the
// others plain arguments. The text is 1 to 8 KB; messages add 0.6 KB of prompt.
func (g *SpanGenerator) inputJSON(s *span, b []byte) []byte {
	switch s.kind {
	case kindLLM:
		b = append(b, `{"messages":`...)
		b = g.messages(s, b)
		return append(b, '}')
	case kindTool:
		b = append(b, `{"tool":"`...)
		b = append(b, tools[s.systemPrompt%len(tools)]...)
		b = append(b, `","arguments":"`...)
	default:
		b = append(b, `{"query":"`...)
	}
	b = g.userText(s, b)
	return append(b, `"}`...)
}

func (g *SpanGenerator) outputText(s *span) []byte {
	return g.pool[s.outputOffset : s.outputOffset+s.outputLength]
}

func (s *span) name() string {
	switch s.kind {
	case kindAgent:
		return "invoke_agent support"
	case kindChain:
		return "turn"
	case kindLLM:
		return "chat " + models[s.systemPrompt%len(models)]
	case kindTool:
		return "execute_tool " + tools[s.systemPrompt%len(tools)]
	}
	return "retrieve"
}

// OTLP turns spans into one request.
func (g *SpanGenerator) OTLP(spans []span) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "loadgen")
	rs.Resource().Attributes().PutStr("openinference.project.name", g.Project)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("loadgen")
	ss.Spans().EnsureCapacity(len(spans))
	var buf []byte
	for i := range spans {
		buf = g.appendSpan(ss.Spans().AppendEmpty(), &spans[i], buf[:0])
	}
	return td
}

// appendSpan fills in one span of a request, and returns its buffer.
func (g *SpanGenerator) appendSpan(o ptrace.Span, s *span, buf []byte) []byte {
	o.SetTraceID(g.TraceID(s.trace))
	o.SetSpanID(g.SpanID(s.trace, s.index))
	if s.parent >= 0 {
		o.SetParentSpanID(g.SpanID(s.trace, s.parent))
	}
	o.SetName(s.name())
	o.SetKind(ptrace.SpanKindInternal)
	o.SetStartTimestamp(pcommon.Timestamp(s.start))
	o.SetEndTimestamp(pcommon.Timestamp(s.end))
	if s.failed {
		o.Status().SetCode(ptrace.StatusCodeError)
		o.Status().SetMessage("rate limit exceeded")
	} else {
		o.Status().SetCode(ptrace.StatusCodeOk)
	}
	a := o.Attributes()
	a.EnsureCapacity(28)
	a.PutStr("openinference.span.kind", kindNames[s.kind])
	a.PutStr("session.id", g.SessionUUID(s.trace))
	a.PutStr("user.id", g.User(s.trace))
	buf = g.inputJSON(s, buf)
	a.PutStr("input.value", string(buf))
	a.PutStr("input.mime_type", "application/json")
	a.PutStr("output.value", string(g.outputText(s)))
	a.PutStr("output.mime_type", "text/plain")
	switch s.kind {
	case kindAgent:
		a.PutStr("gen_ai.operation.name", "invoke_agent")
		a.PutStr("gen_ai.agent.name", "support")
	case kindLLM:
		g.putModelAttributes(a, s)
	case kindTool:
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", tools[s.systemPrompt%len(tools)])
		a.PutStr("gen_ai.tool.call.id", "call_"+strconv.Itoa(s.inputOffset))
		a.PutStr("tool.name", tools[s.systemPrompt%len(tools)])
	case kindRetriever:
		a.PutStr("retrieval.documents.0.document.id", "doc-"+strconv.Itoa(s.outputOffset%10000))
		a.PutStr("retrieval.documents.0.document.content", string(g.pool[s.outputOffset:s.outputOffset+200]))
		a.PutDouble("retrieval.documents.0.document.score", 0.87)
	}
	return buf
}

// putModelAttributes adds what instrumentations record of a call of a model.
func (g *SpanGenerator) putModelAttributes(a pcommon.Map, s *span) {
	model, provider := models[s.systemPrompt%len(models)], providers[s.systemPrompt%len(models)]
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.provider.name", provider)
	a.PutStr("gen_ai.system", provider)
	a.PutStr("gen_ai.request.model", model)
	a.PutStr("gen_ai.response.model", model)
	a.PutDouble("gen_ai.request.temperature", 0.2)
	a.PutInt("gen_ai.usage.input_tokens", int64(s.inputTokens))
	a.PutInt("gen_ai.usage.output_tokens", int64(s.outputTokens))
	a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("stop")
	a.PutStr("llm.model_name", model)
	a.PutStr("llm.provider", provider)
	a.PutInt("llm.token_count.prompt", int64(s.inputTokens))
	a.PutInt("llm.token_count.completion", int64(s.outputTokens))
	a.PutInt("llm.token_count.total", int64(s.inputTokens+s.outputTokens))
	a.PutStr("llm.output_messages.0.message.role", "assistant")
	const call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
	a.PutStr(call+".name", tools[s.systemPrompt%len(tools)])
	a.PutStr(call+".arguments", `{"q":"`+string(g.pool[s.outputOffset:s.outputOffset+40])+`"}`)
}

// batch is one request's worth of spans.
type batch struct {
	spans []span
	big   bool
}

// Unit u is what one worker sends before it takes the next: one batch of whole
// traces, or (interleaved) eight batches that mix the spans of many traces in
// the order they end, as a batching exporter sends them: children before
// parents, a trace spread over requests.
func (g *SpanGenerator) Unit(u, tracesPerBatch int, interleave bool) []batch {
	if !interleave {
		var b batch
		for t := u * tracesPerBatch; t < (u+1)*tracesPerBatch && t < g.Traces; t++ {
			b.spans = g.Spans(t, b.spans)
		}
		return []batch{b}
	}
	const k = 8
	var all []span
	for t := u * tracesPerBatch * k; t < (u+1)*tracesPerBatch*k && t < g.Traces; t++ {
		n := len(all)
		all = g.Spans(t, all)
		for i := n; i < len(all); i++ { // all of a unit's traces run at once
			all[i].trace = t
		}
	}
	first := u * tracesPerBatch * k
	step := int64(g.Window) / int64(g.Traces+1)
	sort.SliceStable(all, func(i, j int) bool {
		return all[i].end-int64(all[i].trace-first)*step < all[j].end-int64(all[j].trace-first)*step
	})
	size := (len(all) + k - 1) / k
	var out []batch
	for len(all) > 0 {
		n := min(size, len(all))
		out = append(out, batch{spans: all[:n:n]})
		all = all[n:]
	}
	return out
}

func (g *SpanGenerator) Units(tracesPerBatch int, interleave bool) int {
	per := tracesPerBatch
	if interleave {
		per *= 8
	}
	return (g.Traces + per - 1) / per
}
