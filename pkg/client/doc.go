// Package client calls the HTTP API of a Spangrove server: a method for each operation, typed
// structs for what goes in and comes out, and retries that do nothing twice. A session with an
// event:
//
//	c, err := client.New("http://127.0.0.1:7420", key)
//	session, err := c.Sessions.Start(ctx, client.SessionInput{SessionName: "checkout"})
//	id, err := c.Events.Create(ctx, client.EventInput{
//		SessionID: session.SessionID,
//		EventType: client.EventTool,
//		EventName: "search",
//		Inputs:    client.Object{"query": "refunds"},
//		Outputs:   client.Object{"hits": 3},
//	})
//
// The key decides which project a call is about.
//
// # Errors
//
// An answer other than success is an *Error with status, code, field and message. Nothing of
// what a failed call was to do is stored, unless the connection broke after the server had
// begun.
//
// # Retries
//
// A call is tried again when the server could not be reached, when the connection broke, and
// after the statuses 408, 429 and 5xx; not when it ran into its time limit. The waits are random
// up to a bound that doubles, and never shorter than what Retry-After asks for.
//
// Sessions, events and runs carry ids that the client makes, so they are the same ones when they
// are sent again; updates and deletes say the same twice. Datasets, datapoints, configurations,
// tools, metrics, charts, views, comments, dashboards, queues, projects and keys get their ids from the server: their creation is tried again
// only where it certainly has not happened, when there was no connection or the server answered
// 408, 429 or 503.
//
// # Lists
//
// Methods named List read a page, those named All walk over all pages:
//
//	for d, err := range c.Datasets.All(ctx, client.DatasetQuery{}) {
//		if err != nil { … }
//	}
//
// Events, spans, sessions and evaluations are walked by cursor: each page begins after the last item of
// the page before, so that what is added or deleted meanwhile neither moves nor hides others. All other
// lists are walked by page number, in the order of their List. Most are oldest first, so that what is
// added meanwhile comes at the end. Where something is deleted meanwhile, by the caller or by others, the walk
// goes back as far as that can have moved what stands behind it: nothing that is there comes twice or not at all.
// It remembers the ids of what has come for that.
//
// # JSON
//
// Objects of events and the like are Object, a map. Numbers in them are json.Number as they were
// stored, digit for digit. Times of events are Unix milliseconds; Millis and Time turn them.
package client
