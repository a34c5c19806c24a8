// Package llm is the engine of LLM metrics: models that judge events. A metric's prompt is a
// template over the event; the model's answer is a score with an explanation, in the form that
// the metric asks for.
//
// One judgement takes these steps (see askForScore):
//
//  1. The prompt is filled with the event's fields, each marked as data (template.render).
//  2. The question has a key, and an event id made of it. If an event of that id holds an answer with the right
//     signature, it is the answer, and costs nothing. Whoever asks the same at the same time waits.
//  3. The model is asked within bounds: calls at a time, a day's budgets of the provider and of the project, retries
//     until a deadline (endpoint.ask), and only at addresses that the operator allows (outbound).
//  4. The score is read from the answer, with goodwill but without guessing (read).
//  5. Question and answer are recorded as events of the project, with tokens and cost.
//
// What goes wrong is an evaluation.Result with a failure and a sentence for people, and says whether it is temporary.
// Only the end of the caller's context and errors of the store are errors.
package llm

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/price"
)

// The failures of judges, in addition to those of any engine.
const (
	Refused        evaluation.Failure = "refused"  // the model, or its provider's filter, would not answer
	Unparsed       evaluation.Failure = "unparsed" // there is no score in its answer that the metric can have
	Budget         evaluation.Failure = "budget"   // the day's budget is used up
	Timeout        evaluation.Failure = "timeout"  // there was no answer in time
	ProviderFailed evaluation.Failure = "provider" // the provider was not reached, or refused the call
)

// Deps is what the engine works with.
type Deps struct {
	Recorder Recorder         // nil: nothing is recorded, and no question answered from records
	Secret   []byte           // signs records and makes their ids; empty: one of this process, whose records others do not use
	Ledger   Ledger           // nil: the days of budgets begin with the server
	Stored   Stored           // nil: projects have no providers of their own
	Projects Projects         // nil: the server's providers serve all projects, and no project has a limit
	Logger   *zap.Logger      // nil: silent
	Now      func() time.Time // nil: time.Now; tells the day of budgets
}

// Engine computes the scores of LLM metrics. It may be used by many goroutines at once: after New only the
// caches, asking, and what is in endpoints and budgets change, and these guard themselves.
type Engine struct {
	deps     Deps
	cfg      Config
	prices   *price.Book
	outbound *outbound
	named    map[string]*endpoint // of the configuration, by folded name
	// The endpoints of projects, made when they are first asked.
	own     *lru.Cache[ownKey, *endpoint]
	budgets *lru.Cache[int64, *budget] // of projects
	serves  []string                   // names and ids of projects that the server's providers serve, in addition to the first
	asking  keyed
}

// New returns an engine of a valid configuration.
func New(cfg Config, deps Deps) (*Engine, error) {
	if deps.Logger == nil {
		deps.Logger = zap.NewNop()
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if len(deps.Secret) == 0 {
		deps.Secret = make([]byte, 32)
		_, _ = rand.Read(deps.Secret) // never fails
	}
	networks, err := egress.Networks(cfg.AllowAddresses)
	if err != nil {
		return nil, err
	}
	prices, err := price.ReadFile(cfg.PriceFile)
	if err != nil {
		return nil, fmt.Errorf("price_file: %w", err)
	}
	e := &Engine{deps: deps, cfg: cfg, prices: prices, outbound: newOutbound(networks), named: map[string]*endpoint{}}
	e.own, _ = lru.New[ownKey, *endpoint](maxOwn) // fails for sizes below 1 only
	e.budgets, _ = lru.New[int64, *budget](maxOwn)
	e.serves = egress.Elements(cfg.Projects)
	for name, p := range cfg.Providers {
		if p.BaseURL == "" && p.APIKey == "" {
			continue // its key is not in the environment
		}
		if e.named[fold(name)], err = e.newEndpoint(0, name, p); err != nil {
			return nil, fmt.Errorf("providers::%s: %w", name, err)
		}
	}
	return e, nil
}

// newEndpoint returns the endpoint of a provider, complete with its defaults. project is 0 for one of the configuration.
func (e *Engine) newEndpoint(project int64, name string, cfg Provider) (*endpoint, error) {
	cfg.complete(name)
	r, err := newRoute(e.outbound, cfg)
	if err != nil {
		return nil, err
	}
	c, err := newClient(cfg, r.client())
	if err != nil {
		return nil, err
	}
	return &endpoint{
		name:   name,
		cfg:    cfg,
		route:  r,
		client: c,
		prices: e.prices,
		logger: e.deps.Logger,
		slots:  evaluate.NewSlots(cfg.Concurrency, 0),
		sleep:  sleep,
		habits: map[string]habit{},
		budget: budget{
			project:  project,
			provider: name,
			usd:      cfg.DailyBudgetUSD,
			calls:    cfg.DailyCalls,
			ledger:   e.deps.Ledger,
			now:      e.deps.Now,
		},
	}, nil
}

// Close ends idle connections.
func (e *Engine) Close() error {
	e.outbound.close()
	for _, p := range e.named { // some have connections of their own
		p.route.out.close()
	}
	return nil
}

// Evaluate implements evaluate.Engine. It judges as many events at a time as the provider may be asked at a time; the
// calls of several tasks share the endpoint's slots. Results stand in the order of the events.
func (e *Engine) Evaluate(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	results := make([]evaluation.Result, len(task.Events))
	p, model, why, err := e.choose(ctx, task.Project, selectedBy(task.Metric))
	if err != nil {
		return nil, err
	}
	if why != "" {
		for i := range results {
			results[i] = failed(evaluation.NoEngine, "%s The metric was not run.", why)
		}
		return results, nil
	}
	who, err := e.asker(ctx, task.Project, p)
	if err != nil {
		return nil, err
	}
	t, err := parse(task.Metric.Criteria)
	if err != nil {
		for i := range results {
			results[i] = failed(evaluation.Unfit, "The metric's prompt cannot be used: %v", err)
		}
		return results, nil
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(p.cfg.Concurrency, len(task.Events)) {
		workers.Go(func() {
			for i := range next {
				results[i] = e.one(ctx, p, who, model, t, &task, task.Events[i])
			}
		})
	}
	for i := range task.Events {
		next <- i // the workers are quick to come back once ctx has ended
	}
	close(next)
	workers.Wait()
	// Where the time of a batch of the queue ran out, what was answered counts all the same, and results say what became of the others. Whoever waits
	// for a single answer is told that there is none.
	if err := ctx.Err(); err != nil && (task.ID == "" || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	return results, nil
}

// one judges one event.
func (e *Engine) one(ctx context.Context, p *endpoint, who asker, model string, t template, task *evaluate.Task,
	event json.RawMessage) evaluation.Result {
	d := task.Metric
	if d.NeedsGroundTruth && lookup(event, []string{"ground_truth"}) == nil {
		return failed(evaluation.Unfit, "The metric needs a ground truth, and the event has none in feedback.ground_truth.")
	}
	if t.names(first) {
		return e.pair(ctx, p, who, model, t, task, event)
	}
	return e.askForScore(ctx, p, who, model, t, task, d, event)
}

// askForScore asks a model the template's question about an event, for a score of the kind that d
// wants. d is the task's metric or stands in for it (see pair). An answer without a score is recorded, too, and its
// cost is in the result.
func (e *Engine) askForScore(ctx context.Context, p *endpoint, who asker, model string, t template, task *evaluate.Task,
	d *metric.Definition, event json.RawMessage) evaluation.Result {
	prompt, mark, err := t.render(event, e.cfg.MaxPromptBytes)
	if err != nil {
		return failed(evaluation.Unfit, "The metric's prompt cannot be filled in: %v.", err)
	}
	j := &judgement{
		project: task.Project, metric: d, metricID: task.ID, version: task.Version, event: event, provider: p, start: time.Now(),
		request: request{model: model, system: instructions(d, mark), prompt: prompt, schema: schema(d), maxTokens: p.cfg.MaxOutputTokens},
	}
	j.identify(e.deps.Secret)
	r := e.answer(ctx, p, who, j)
	if task.ID == "" {
		r.Prompt = j.conversation()
	}
	return r
}

// answer finds the recorded answer to a question, or asks the model and records what it says.
func (e *Engine) answer(ctx context.Context, p *endpoint, who asker, j *judgement) evaluation.Result {
	d, model := j.metric, j.request.model
	// Whoever asks the same at the same time waits for the answer.
	leave, err := e.asking.enter(ctx, j.key)
	if err != nil {
		return unanswered(p, false)
	}
	defer leave()
	if v, ok := e.known(ctx, j); ok {
		return evaluation.Result{Success: true, Score: v.score, Explanation: v.explanation}
	}
	e.locate(ctx, j)
	if ctx.Err() != nil {
		return unanswered(p, false)
	}
	asked := false
	j.request.asked = &asked
	r, usd, priced, err := p.ask(ctx, j.request, who)
	var f *failure
	if err != nil {
		if errors.As(err, &f) {
			res := failed(f.kind, "%s", f.why)
			res.Temporary = f.temporary
			var pause *pauseFailure
			if errors.As(err, &pause) {
				res.Skipped, res.Later = true, pause.left
			}
			return res
		}
		return unanswered(p, asked) // ctx has ended
	}
	j.reply, j.usd, j.priced, j.end = r, usd, priced, time.Now()
	switch v, why := read(d, r.text); {
	case r.refusal != "":
		j.failure = failed(Refused, "The model %s of %s refused to judge: %s", model, p.name, sentence(cut(r.refusal, maxMessage)))
	case why != "" && r.cut:
		j.failure = failed(Unparsed, "The answer of the model %s of %s ended at max_output_tokens, %d, before the score.", model, p.name,
			p.cfg.MaxOutputTokens)
	case why != "":
		j.failure = failed(Unparsed, "The answer of the model %s of %s has no score that can be used: %s.", model, p.name, why)
	default:
		j.verdict = v
	}
	e.record(ctx, j)
	if j.verdict.score == nil {
		j.failure.Cost = usd
		return j.failure
	}
	return evaluation.Result{Success: true, Score: j.verdict.score, Explanation: j.verdict.explanation, Cost: usd}
}

// unanswered returns the result of a question to which there was no answer when the time for it was over; of one that was not asked, nobody has
// looked at the event.
func unanswered(p *endpoint, asked bool) evaluation.Result {
	r := failed(Timeout, "The time for the task was over before the provider %s could be asked.", p.name)
	if asked {
		r = failed(Timeout, "The provider %s had not answered when the time for the task was over.", p.name)
	}
	r.Temporary, r.Skipped = true, !asked
	return r
}

// Check implements the check of a definition without an event: that its prompt is a template.
func (e *Engine) Check(d *metric.Definition) error {
	if _, err := parse(d.Criteria); err != nil {
		return fault.InvalidField("criteria", "%v", err)
	}
	return nil
}

// failed returns a result without a score.
func failed(kind evaluation.Failure, format string, args ...any) evaluation.Result {
	return evaluation.Result{Failure: kind, Explanation: fmt.Sprintf(format, args...)}
}

// keyed lets one caller at a time do what has a key: here ask one question. The one who waited then finds the answer
// recorded.
type keyed struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when its holder leaves
}

// enter waits until nobody else is there. The caller must call leave. The error is that of ctx. Those who wait are not
// in line: any of them may be the next.
func (k *keyed) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		k.mu.Lock()
		other, taken := k.busy[key]
		if !taken {
			if k.busy == nil {
				k.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			k.busy[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, key)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
