package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/provider"
)

// request is one question to a model, in no API's terms.
type request struct {
	model, system, prompt string
	schema                json.RawMessage // of the answer; nil: the provider is not told
	anyTemperature        bool            // the model's own, not 0
	maxTokens             int
	olderLimit            bool // openai: the bound is max_tokens, not max_completion_tokens
	// vain reports whether there is no point in asking any more, since what the question is about is deleted; nil: there always is.
	vain func(context.Context) bool
	// asked is set once a call is made; nil: nobody wants to know.
	asked *bool

	// chat is what a person asks, in place of system, prompt and schema; the answer goes to tell as it comes.
	chat    *playground.Request
	tell    func(playground.Delta) error
	noUsage bool // openai: the endpoint does not know how to be asked for the tokens of a stream
}

// last returns when the answer must be whole, if it must begin before end.
func (q *request) last(end time.Time) time.Time {
	if q.chat != nil {
		return time.Now().Add(maxStream)
	}
	return end
}

// bytes returns the size of what the model has to read.
func (q *request) bytes() int {
	if q.chat != nil {
		return q.chat.Bytes()
	}
	return len(q.system) + len(q.prompt)
}

// reply is what a model answered, in no API's terms.
type reply struct {
	text    string
	refusal string // why there is no answer: the model or the provider's filter refused
	cut     bool   // it ended at the bound of tokens
	model   string // that answered
	usage   price.Usage

	// Of a stream: why it ended, whether usage is counted by the length of the texts, and how long it took, until the first
	// piece and in all.
	finish      string
	estimated   bool
	first, took time.Duration
}

// client asks one endpoint in its API. It does not retry. Errors come from package outbound, or
// say that the answer could not be read.
type client interface {
	ask(ctx context.Context, q request) (reply, error)
	// stream asks what a person asks (q.chat). What it returns with an error is what came until then.
	stream(ctx context.Context, q request) (reply, error)
	// fits returns why the API cannot ask what a person asks, as a fault.Invalid.
	fits(q *playground.Request) error
}

// endpoint asks one provider within its bounds. mu guards the fields below it, for an instant
// each and never during a call; budget and slots guard themselves, and nothing else changes.
type endpoint struct {
	name   string
	cfg    Provider // complete
	route  *route
	client client
	prices *price.Book
	budget budget
	logger *zap.Logger
	slots  *evaluate.Slots // for calls under way
	sleep  func(context.Context, time.Duration) error

	mu     sync.Mutex
	pause  time.Time        // until when the provider wants to be left alone
	habits map[string]habit // by model
	told   time.Time        // when the log was last told why it was not reached
}

// tellAgain is how long the log is not told again why a provider is not reached.
const tellAgain = 10 * time.Second

// habit is what a model turned out not to know: the form of an answer, a temperature of 0, the name of the bound of tokens
// that its endpoint is thought to know, and how to be asked for the tokens of a stream.
type habit struct{ noSchema, noTemperature, otherLimit, noUsage bool }

// maxHabits bounds the models that something is remembered of.
const maxHabits = 1000

// failure is why there is no answer: its kind, whether the same question may succeed later, and a sentence for people.
type failure struct {
	kind      evaluation.Failure
	temporary bool
	why       string
}

func (f *failure) Error() string { return f.why }

// statusFailure is a failure with the status of the provider's answer.
type statusFailure struct {
	*failure
	status int
}

func (f *statusFailure) Unwrap() error { return f.failure }

// pauseFailure is the failure of a call that was not made: the provider wants none for as long as left, which is longer than may be waited.
type pauseFailure struct {
	*failure
	left time.Duration
}

func (f *pauseFailure) Unwrap() error { return f.failure }

// withStatus returns a failure with the status of the answer that caused it, if one did.
func withStatus(f *failure, cause error) error {
	var status *statusError
	if errors.As(cause, &status) {
		return &statusFailure{f, status.status}
	}
	return f
}

// ask returns a model's answer and what it cost in US dollars; priced is false if its price is not
// known. An error is a *failure, unless ctx has ended. It makes calls (once) until one succeeds:
//
//  1. A call that the model refused for its form is made again at once without what it does not know (learn). That is
//     no retry, and happens at most maxLearned times.
//  2. A call that can succeed later is made again after the pause that the provider asks for, or else after a growing one
//     (backoff), at most Retries times.
//  3. All of it takes at most Deadline. A pause beyond it is not begun; whoever comes while it lasts is told so at once.
func (p *endpoint) ask(ctx context.Context, q request, a asker) (r reply, usd float64, priced bool, err error) {
	end := time.Now().Add(p.cfg.Deadline)
	inside, cancel := context.WithDeadline(ctx, q.last(end))
	defer cancel()
	for attempt, learned := 0, 0; ; {
		sent := p.adapt(q)
		r, usd, priced, err = p.once(inside, sent, a, end)
		var begun *begunError
		var pause *pauseFailure
		if err == nil || ctx.Err() != nil || errors.As(err, &begun) || errors.As(err, &pause) {
			return r, usd, priced, err
		}
		if learned < maxLearned && p.learn(sent, err) {
			learned++
			continue
		}
		f, wait := p.classify(err)
		if !time.Now().Before(end) {
			return r, 0, false, &failure{Timeout, true,
				fmt.Sprintf("The provider %s gave no answer within %s, waiting and retries included.", p.name, p.cfg.Deadline)}
		}
		if wait == 0 {
			wait = backoff(attempt)
		}
		attempt++
		if !f.temporary || attempt > p.cfg.Retries || time.Now().Add(wait).After(end) {
			return r, usd, priced, withStatus(f, err)
		}
		if p.sleep(inside, wait) != nil {
			return r, usd, priced, withStatus(f, err)
		}
	}
}

// maxLearned bounds what the endpoint learns about a model from one question: as many traits as a habit has.
const maxLearned = 3

// once makes one call. The order matters: it first waits, for the provider's pause and then for a slot, and only then
// reserves in the two budgets, so that money is held for calls alone and not for those that wait. What is reserved is
// given back in any case, less what an answer did cost; a call without an answer costs nothing.
//
// The call begins before end.
func (p *endpoint) once(ctx context.Context, q request, a asker, end time.Time) (r reply, usd float64, priced bool, err error) {
	waiting, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if err := p.waitForPause(waiting); err != nil {
		return r, 0, false, err
	}
	if err := p.slots.Take(waiting, evaluate.Wait{Project: a.project, Most: a.most, Queued: true}); err != nil {
		if inside := waiting.Err(); inside != nil {
			err = inside
		}
		return r, 0, false, err
	}
	defer p.slots.Give(a.project)
	if q.vain != nil && q.vain(ctx) {
		return r, 0, false, &failure{evaluation.Unfit, false, "The event is deleted. Nobody was asked about it."}
	}
	// The most that the call is taken to cost: a token for every 3 bytes of the prompt, some more for what the API adds,
	// and an answer up to its bound.
	could := price.Usage{Prompt: tokensOf(q.bytes()) + 100, Completion: int64(q.maxTokens)}
	most, priced := p.cost(q.model, q.model, could)
	charge, err := p.budget.reserve(ctx, most, priced)
	if err != nil {
		return r, 0, false, err
	}
	made := false
	defer func() { charge(usd, made) }()
	chargeProject, err := a.budget.reserve(ctx, p.counted(most, priced, could), true)
	if err != nil {
		return r, 0, false, err
	}
	counted := 0.0
	defer func() { chargeProject(counted, made) }()
	if q.asked != nil {
		*q.asked = true
	}
	if r, err = p.call(ctx, q, end); err != nil && r.usage == (price.Usage{}) {
		return r, 0, false, err
	}
	made = true // also if a stream broke off: what came of it is paid for
	usd, priced = p.cost(r.model, q.model, r.usage)
	counted = p.counted(usd, priced, r.usage)
	return r, usd, priced, err
}

// call makes a call within the provider's time limit.
func (p *endpoint) call(ctx context.Context, q request, end time.Time) (reply, error) {
	if q.chat != nil {
		return p.stream(ctx, q, end)
	}
	one, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	return p.client.ask(one, q)
}

// tokensOf returns how many tokens a text of n bytes is taken to have where nobody has counted them.
func tokensOf(n int) int64 { return int64(n+2) / 3 }

// asker is the project for which a provider is asked.
type asker struct {
	project int64
	budget  *budget // the project's, for all providers together
	most    int     // how many calls to the provider it may have under way; 0: all
}

// What a token of a model costs of which no price is known, where somebody else's service is asked: as
// much as of the dearest models, in US dollars.
const (
	dearPrompt     = 15e-6
	dearCompletion = 75e-6
)

// counted returns what a call counts for the project's budget. Models without a known price count as dear
// ones at the types' own services, and as nothing elsewhere, as on a machine of one's own.
func (p *endpoint) counted(usd float64, priced bool, u price.Usage) float64 {
	switch {
	case priced:
		return usd
	case p.cfg.BaseURL == services[p.cfg.Type]:
		return float64(u.Prompt)*dearPrompt + float64(u.Completion)*dearCompletion
	}
	return 0
}

// cost returns what a call costs in US dollars, by the model that answered or else the one that was asked for.
func (p *endpoint) cost(model, requested string, u price.Usage) (usd float64, known bool) {
	name := p.name
	if p.cfg.Type != provider.OpenAI { // which many speak under names of their own
		name = p.cfg.Type
	}
	return p.prices.Cost(price.Call{Model: model, RequestModel: requested, Provider: name, Usage: u})
}

// waitForPause waits until the provider may be asked again. A pause that ends after the deadline fails at once: waiting
// for it would be in vain.
func (p *endpoint) waitForPause(ctx context.Context) error {
	p.mu.Lock()
	wait := time.Until(p.pause)
	p.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	if at, ok := ctx.Deadline(); ok && time.Now().Add(wait).After(at) {
		return &pauseFailure{&failure{ProviderFailed, true,
			fmt.Sprintf("The provider %s wants no calls for another %s.", p.name, wait.Round(time.Second))}, wait}
	}
	return p.sleep(ctx, wait)
}

// classify returns what an error of a call means, and the pause that the provider asks for, or 0. A pause after 429 holds
// for all calls to the provider, not only for this one. The cases go from what is known best to any other error, which
// is taken for an answer that cannot be read.
func (p *endpoint) classify(err error) (*failure, time.Duration) {
	var f *failure
	var status *statusError
	var timeout net.Error
	switch {
	case errors.As(err, &f):
		return f, 0
	case errors.As(err, &status):
		if status.status == http.StatusTooManyRequests && status.after > 0 {
			p.mu.Lock()
			if until := time.Now().Add(status.after); until.After(p.pause) {
				p.pause = until
			}
			p.mu.Unlock()
		}
		return &failure{ProviderFailed, status.temporary(),
			fmt.Sprintf("The provider %s %s", p.name, sentence(status.Error()))}, status.after
	case egress.Unreachable(err):
		return p.unreachable(err), 0
	case errors.Is(err, errRefused):
		return &failure{ProviderFailed, false, fmt.Sprintf("The provider %s was not asked: %s", p.name, sentence(reason(err)))}, 0
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &failure{Timeout, true, fmt.Sprintf("The provider %s did not answer within %s.", p.name, p.cfg.Timeout)}, 0
	case egress.BrokeOff(err):
		return &failure{ProviderFailed, true, fmt.Sprintf("The connection to the provider %s broke off.", p.name)}, 0
	default:
		return &failure{ProviderFailed, true,
			fmt.Sprintf("The provider %s gave no answer that can be read: %s", p.name, sentence(reason(err)))}, 0
	}
}

// unreachable returns the failure of a call that found no way to the provider. Only the log tells why,
// unless the address is one that everybody sees is not allowed.
func (p *endpoint) unreachable(err error) *failure {
	p.mu.Lock()
	tell := time.Since(p.told) > tellAgain
	if tell {
		p.told = time.Now()
	}
	p.mu.Unlock()
	if tell {
		p.logger.Warn("a model provider was not reached", zap.Int64("project_id", p.budget.project), zap.String("provider", p.name),
			zap.Error(err))
	}
	if u, parsed := url.Parse(p.cfg.BaseURL); parsed == nil && p.cfg.ProxyURL == "" && errors.Is(err, egress.ErrAddress) {
		if literal, ok := egress.Literal(u.Hostname()); ok && !egress.Public(literal) {
			return &failure{ProviderFailed, false,
				fmt.Sprintf("The provider %s was not asked: %s is not on the public Internet; %s.", p.name, u.Hostname(), howToAllow)}
		}
	}
	return &failure{ProviderFailed, true,
		fmt.Sprintf("The provider %s was not reached: there may be no such host, or nobody at that address, "+
			"or the address is not allowed. "+
			"The server's log tells more. If it is not on the public Internet, %s.", p.name, howToAllow)}
}

// reason returns an error without the method and the URL that package http puts before it, and never
// longer than a message.
func reason(err error) string {
	text := err.Error()
	if at := strings.Index(text, errRefused.Error()+": "); at >= 0 {
		text = text[at+len(errRefused.Error()+": "):]
	}
	return cut(text, maxMessage)
}

// sentence returns a text with a full stop at its end.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// adapt takes out of a question what its model does not know.
func (p *endpoint) adapt(q request) request {
	p.mu.Lock()
	h := p.habits[q.model]
	p.mu.Unlock()
	if h.noSchema {
		q.schema = nil
	}
	q.anyTemperature = h.noTemperature
	q.noUsage = h.noUsage
	q.olderLimit = h.otherLimit != p.older()
	return q
}

// older reports whether the endpoint is likely to know the bound of tokens by its older name, as those
// that imitate OpenAI's do.
func (p *endpoint) older() bool { return p.cfg.BaseURL != services[provider.OpenAI] }

// learn remembers what a model refuses to be told (the form of the answer, a temperature, a bound
// by this name), which differs by model and changes over time, so that it can be asked without. It
// is false if the error tells nothing of that.
func (p *endpoint) learn(sent request, err error) bool {
	var status *statusError
	if !errors.As(err, &status) || status.status != http.StatusBadRequest && status.status != http.StatusUnprocessableEntity {
		return false
	}
	text := strings.ToLower(status.message)
	names := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.habits[sent.model]
	switch {
	case sent.chat == nil && !sent.anyTemperature && names("temperature"): // a person's is theirs to change
		h.noTemperature = true
	case p.cfg.Type == provider.OpenAI && names("max_tokens", "max_completion_tokens"):
		h.otherLimit = sent.olderLimit == p.older()
	case sent.chat != nil && !sent.noUsage && names("stream_options", "include_usage"):
		h.noUsage = true
	case sent.schema != nil && names("response_format", "schema", "structured output", "tool", "json mode",
		"response_mime_type", "responsemimetype"):
		h.noSchema = true
	default:
		return false
	}
	if len(p.habits) >= maxHabits {
		clear(p.habits)
	}
	p.habits[sent.model] = h
	return true
}

// backoff returns how long to wait after an attempt, counted from 0: half a second, doubled each time
// up to 30 seconds, and half of that at random so that callers do not come back together.
func backoff(attempt int) time.Duration {
	d := min(500*time.Millisecond<<min(attempt, 10), 30*time.Second)
	return d/2 + rand.N(d/2+1)
}

// sleep waits, or until ctx ends; then the error is its.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
