package price

// Counts are the tokens of a call as it was told: any of the first three may be missing. The
// others are 0 if they are.
type Counts struct {
	Prompt, Completion, Total *int64
	CacheRead, CacheWrite     int64
	Reasoning                 int64
	AudioIn, AudioOut         int64
}

// Usage returns the tokens that a price is asked for. What is missing of prompt and completion
// follows from the total: an embedding has no completion, and some senders report only one of the
// two. Without the prompt it reports false: half a cost looks like a whole one.
func (c Counts) Usage(embedding bool) (u Usage, ok bool) {
	u = Usage{CacheRead: c.CacheRead, CacheWrite: c.CacheWrite, Reasoning: c.Reasoning, AudioIn: c.AudioIn, AudioOut: c.AudioOut}
	if c.Completion != nil {
		u.Completion = *c.Completion
	}
	switch {
	case c.Prompt != nil:
		u.Prompt = *c.Prompt
		if c.Completion == nil && c.Total != nil {
			u.Completion = max(*c.Total-u.Prompt, 0)
		}
		return u, true
	case c.Total != nil && (c.Completion != nil || embedding):
		u.Prompt = max(*c.Total-u.Completion, 0)
		return u, true
	}
	return u, false
}
