package tracer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// SpanOption is an option of a span that is started: a Type, Fields.
type SpanOption interface{ onSpan(*spanStart) }

type spanStart struct {
	kind   Type
	fields Fields
}

// Type is what a step is. The zero value is a chain.
type Type string

// The types of steps.
const (
	Chain Type = "chain" // made of other steps
	Model Type = "model" // a call of a model
	Tool  Type = "tool"  // a call of anything else
)

func (k Type) onSpan(s *spanStart) { s.kind = k }

func (f Fields) onSpan(s *spanStart) { s.fields = f }

// Start starts a span below the context's and gives the context of what happens in it, and what ends
// it, with the error that it ended with or nil. It is for steps that are no function; for all
// others Trace and Wrap are better.
func (t *Tracer) Start(ctx context.Context, name string, opts ...SpanOption) (context.Context, func(error)) {
	s := spanStart{kind: Chain}
	for _, o := range opts {
		o.onSpan(&s)
	}
	if sc := scopeOf(ctx); sc == nil || sc.t != t {
		ctx = context.WithValue(ctx, scopeKey{}, &scope{t: t})
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(
		attribute.String("honeyhive_event_type", string(s.kind)), attribute.String("honeyhive_event_name", name)))
	Enrich(ctx, s.fields)
	return ctx, func(err error) {
		if err != nil {
			fail(span, err)
		}
		span.End()
	}
}

// fail writes on a span that it failed. An error's own method may panic, as that of a nil pointer
// does, where fmt's functions do not.
func fail(span trace.Span, err error) {
	text := fmt.Sprint(err)
	span.SetStatus(codes.Error, text)
	about := []attribute.KeyValue{attribute.String("exception.type", fmt.Sprintf("%T", err)), attribute.String("exception.message", text)}
	if p, ok := err.(*panicked); ok {
		about = append(about, attribute.String("exception.stacktrace", p.stack))
		about[0] = attribute.String("exception.type", "panic")
	}
	span.AddEvent("exception", trace.WithAttributes(about...))
}

// panicked is the error of a span whose function panicked.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// errExited is the error of a span whose function ended its goroutine.
var errExited = errors.New("the goroutine ended")

// Trace runs f as a step below the context's. Its error is the step's, and comes back; a panic is
// recorded with its stack, and goes on.
func (t *Tracer) Trace(ctx context.Context, name string, f func(context.Context) error, opts ...SpanOption) (err error) {
	ctx, end := t.Start(ctx, name, opts...)
	returned := false
	defer func() {
		if returned {
			end(err)
			return
		}
		r := recover()
		if r == nil { // runtime.Goexit
			end(errExited)
			return
		}
		end(&panicked{r, string(debug.Stack())})
		panic(r)
	}()
	err = f(ctx)
	returned = true
	return err
}

// Wrap makes a traced function of f: each call is a step of that name with what f is given as its
// inputs and what it gives as its outputs.
func Wrap[In, Out any](
	t *Tracer,
	name string,
	f func(context.Context, In) (Out, error),
	opts ...SpanOption,
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		err = t.Trace(ctx, name, func(ctx context.Context) (err error) {
			Enrich(ctx, Fields{Inputs: in})
			if out, err = f(ctx, in); err == nil {
				Enrich(ctx, Fields{Outputs: out})
			}
			return err
		}, opts...)
		return out, err
	}
}

// EventID returns the id of the event that the context's span becomes, known as soon as the span has
// started; empty without a span. Update adds to the event by it, at any time.
func EventID(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ""
	}
	return eventID(sc)
}

// eventID returns how the server names the events of spans: the UUID version 5 of the span id in the
// namespace of the trace id.
func eventID(sc trace.SpanContext) string {
	return uuid.NewSHA1(uuid.UUID(sc.TraceID()), []byte(sc.SpanID().String())).String()
}
