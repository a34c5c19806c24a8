// Package tracer sends what a Go program does to a Spangrove server: sessions, and the steps in them.
// It is built on the OpenTelemetry SDK, so that the spans of any instrumentation nest between its
// own.
//
//	t, err := tracer.New("http://127.0.0.1:7420", key, tracer.WithSource("production"))
//	if err != nil {
//		return err
//	}
//	defer t.Shutdown(context.Background()) // sends what waits; give it a deadline if the program must end anyway
//
//	ctx, _ = t.StartSession(ctx, "support chat", tracer.Fields{UserProperties: map[string]any{"user_id": user}})
//	err = t.Trace(ctx, "answer", func(ctx context.Context) error {
//		docs, err := search(ctx, question) // a traced function, see Wrap
//		…
//		tracer.Enrich(ctx, tracer.Fields{Metrics: map[string]any{"documents": len(docs)}})
//		return err
//	})
//
// # Sessions and steps
//
// [Tracer.StartSession] gives a context; every span that starts with it, or with a context made of
// it, belongs to the session. [Tracer.Trace] runs a function as a step, [Wrap] makes a traced
// function of another one, whose parameter and result are the step's inputs and outputs, and
// [Tracer.Start] is for steps that are no function. Errors are recorded and come back; panics are
// recorded and go on.
//
// [Enrich] adds to the step that the context is in, whichever instrumentation started it,
// [EnrichSession] to its session. Ids are known at once ([EventID], [SessionID]): keep one, and
// [Tracer.Update] adds to the step or session whenever there is something to say, such as what a
// person thinks of an answer.
//
// # Other instrumentations, other services
//
// Hand [Tracer.Provider] to other instrumentations, or make it everyone's with
// otel.SetTracerProvider. A program that has a provider already keeps it: [WithProvider]. Another
// service joins the session by the trace context in its requests (OpenTelemetry's propagators), and
// needs no more than to send its spans to the same project; or by the session's id, with
// [Tracer.JoinSession].
//
// # What happens when the server does not answer
//
// Nothing waits for the server: spans, session starts and updates go into queues, from which other
// goroutines send them. While the server is away they try on, for as long as it takes, with pauses
// of at most five seconds or what the server asks for, up to a minute. All that is sent has an id
// of its own, so sending twice changes nothing. [Tracer.Flush] comes back when all is on the
// server's disk; it and [Tracer.Shutdown] wait for a server that is away until their context ends.
//
// The queue of spans holds [DefaultQueue] bytes, or what [WithQueue] says, the one of session
// starts and updates 16 MiB; that and the requests that are under way, of about 4 MiB each way, bound
// the tracer's memory. A span or update that is larger by itself goes alone. When a queue is full, whatever
// ends a span, starts a session or updates waits for room, so that nothing is lost however long the
// outage is. A program that must never wait has [WithDropping] instead: what finds no room is
// counted ([Tracer.Counts]) and lost. What the server refuses for good (a wrong key, a request that
// it cannot read or that makes it fail time and again) is lost, too. The error handler is told of
// each outage and loss.
//
// A field whose JSON is longer than 1 MiB goes to the server apart from its span, as an update, for
// spans' attributes have a bound there.
package tracer
