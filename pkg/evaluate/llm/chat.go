package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/price"
)

// maxStream bounds how long a streamed answer may take in all. Until its first piece it has the provider's Deadline, and
// between two pieces the provider's Timeout.
const maxStream = 10 * time.Minute

// Chat asks a model what a person wants to know, by the same providers and within the same budgets as judges, and hands the
// answer to tell as it comes. It is recorded nowhere. What the provider, or a budget, refuses is told as an Error; the errors
// of Chat are those of the request itself (fault.Invalid, fault.Conflict), of the store, of tell, and of a context that has ended.
func (e *Engine) Chat(ctx context.Context, projectID int64, q *playground.Request, tell func(playground.Event) error) error {
	p, model, why, err := e.choose(ctx, projectID, selection{
		provider: strings.TrimSpace(q.Provider), model: strings.TrimSpace(q.Model),
		who: "The request", providerField: "provider", modelField: "model",
	})
	switch {
	case err != nil:
		return err
	case why != "":
		return fault.New(fault.Invalid, "%s", why)
	}
	maxTokens := int64(p.cfg.MaxOutputTokens)
	if q.MaxTokens != nil {
		if most := max(playground.MaxTokens, maxTokens); *q.MaxTokens > most {
			return fault.InvalidField("parameters.max_tokens", "must be at most %d", most)
		}
		maxTokens = *q.MaxTokens
	}
	if err := p.client.fits(q); err != nil {
		return err
	}
	who, err := e.asker(ctx, projectID, p)
	if err != nil {
		return err
	}
	r, usd, priced, err := p.ask(ctx, request{model: model, chat: q, maxTokens: int(maxTokens), tell: func(d playground.Delta) error {
		return tell(playground.Event{Delta: &d})
	}}, who)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.usage != (price.Usage{}) {
		u := playground.Usage{
			Prompt: r.usage.Prompt, Completion: r.usage.Completion,
			CacheRead: r.usage.CacheRead, CacheWrite: r.usage.CacheWrite, Reasoning: r.usage.Reasoning,
			USD: usd, Priced: priced, Estimated: r.estimated,
		}
		if err := tell(playground.Event{Usage: &u}); err != nil {
			return err
		}
	}
	if err != nil {
		return tell(playground.Event{Error: p.failureOf(err)})
	}
	if r.model == "" {
		r.model = model
	}
	return tell(playground.Event{Done: &playground.Done{Provider: p.name, Model: r.model, Finish: r.finish, Refusal: r.refusal,
		Duration: r.took, FirstToken: r.first}})
}

// failureOf returns what is told of a question that has no whole answer.
func (p *endpoint) failureOf(err error) *playground.Failure {
	var f *failure
	var begun *begunError
	var status *statusFailure
	out := &playground.Failure{}
	if errors.As(err, &status) {
		out.Status = status.status
	}
	switch {
	case errors.As(err, &begun):
		f = p.brokenOff(begun.error)
	case !errors.As(err, &f):
		f, _ = p.classify(err)
	}
	out.Kind, out.Message, out.Temporary = string(f.kind), f.why, f.temporary
	return out
}

// brokenOff returns the failure of an answer of which a part has come.
func (p *endpoint) brokenOff(err error) *failure {
	switch {
	case errors.Is(err, errSilent):
		return &failure{Timeout, true, fmt.Sprintf("The provider %s sent nothing more for %s; the answer is not whole.", p.name, p.cfg.Timeout)}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{Timeout, true, fmt.Sprintf("The answer of the provider %s was not whole after %s.", p.name, maxStream)}
	}
	return &failure{ProviderFailed, true,
		fmt.Sprintf("The provider %s broke its answer off: %s", p.name, sentence(p.route.secrets.Replace(reason(err))))}
}

// begunError is the error of an answer of which a part was told: the same question is not asked again.
type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

// errSilent is the cause of the end of a stream in which nothing more came.
var errSilent = fmt.Errorf("silence: %w", context.DeadlineExceeded)

// errShort is the error of a stream that ends before its answer does.
var errShort = errors.New("it ended before the answer was whole")

// stream makes a call whose answer comes in pieces. It begins before end. An answer that broke off, and one whose reader has
// left, has cost what it took until then, counted by the length of the texts unless the provider has told.
func (p *endpoint) stream(ctx context.Context, q request, end time.Time) (r reply, err error) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, streamed{}, true))
	defer cancel(nil)
	silence := time.AfterFunc(time.Until(end), func() { cancel(errSilent) })
	defer silence.Stop()
	start, first, written := time.Now(), time.Duration(0), 0
	tell := q.tell
	q.tell = func(d playground.Delta) error {
		silence.Reset(p.cfg.Timeout)
		if first == 0 {
			first = time.Since(start)
		}
		written += len(d.Text) + len(d.Reasoning)
		for _, c := range d.Calls {
			written += len(c.Name) + len(c.Arguments)
		}
		return tell(d)
	}
	r, err = p.client.stream(ctx, q)
	r.first, r.took = first, time.Since(start)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	if err == nil && r.usage == (price.Usage{}) || err != nil && (first > 0 || ctx.Err() != nil) {
		r.estimated = true
		r.usage.Prompt = max(r.usage.Prompt, tokensOf(q.bytes()))
		r.usage.Completion = max(r.usage.Completion, tokensOf(written))
	}
	if err != nil && first > 0 {
		err = &begunError{err}
	}
	return r, err
}

// refusedByClient is the error of a request that the library of a client would not send.
func refusedByClient(err error) error { return fmt.Errorf("%w: %w", errRefused, err) }

// tellsStream reports whether an answer is a stream of server-sent events. One that is something else would be read in vain.
func tellsStream(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get("Content-Type"))), "text/event-stream")
}

// unknownParameter returns the error of a parameter that an API has no word for.
func unknownParameter(field, api string) error {
	return fault.InvalidField(field, "%s has no such setting; leave it out", api)
}
