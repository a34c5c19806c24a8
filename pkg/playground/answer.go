package playground

import "time"

// Event is one piece of what comes back; exactly one of its fields is set.
type Event struct {
	Delta *Delta
	Usage *Usage
	Done  *Done
	Error *Failure
}

// Delta is what the model has written since the one before.
type Delta struct {
	Text      string
	Reasoning string
	Calls     []CallDelta
}

// CallDelta is what there is more of a call: the first one has its id and name, and arguments are added up.
type CallDelta struct {
	Index int // of the call in the answer, from 0
	ToolCall
}

// Usage is what the answer took.
type Usage struct {
	Prompt, Completion               int64
	CacheRead, CacheWrite, Reasoning int64
	USD                              float64
	Priced                           bool // whether the price is known; else USD is nothing
	Estimated                        bool // the provider has not told; counted by the length of the texts
}

// Done ends an answer that is whole.
type Done struct {
	Provider   string
	Model      string // that answered
	Finish     string // stop, length, tool_calls, content_filter, or the provider's word
	Refusal    string // why the model or the provider would not answer; mostly empty
	Duration   time.Duration
	FirstToken time.Duration // until the first piece
}

// Failure ends an answer that is not whole, or that never came.
type Failure struct {
	Kind      string // refused, budget, timeout or provider
	Message   string // for people
	Status    int    // of the provider's answer; 0: there was none
	Temporary bool   // the same may succeed later
}
