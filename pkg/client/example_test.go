package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// A session with a step in it, stored and read back as a tree.
func Example() {
	server, stop := inprocess.ForExample() // yours is perhaps http://127.0.0.1:7420
	defer stop()
	ctx := context.Background()

	c, err := client.New(server, inprocess.Key)
	if err != nil {
		log.Fatal(err)
	}
	defer c.CloseIdleConnections()

	session, err := c.Sessions.Start(ctx, client.SessionInput{SessionName: "support chat"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Events.Create(ctx, client.EventInput{
		SessionID: session.SessionID,
		EventType: client.EventTool,
		EventName: "search",
		Duration:  12.5,
		Inputs:    client.Object{"query": "refunds"},
		Outputs:   client.Object{"hits": 3},
	})
	if err != nil {
		log.Fatal(err)
	}

	tree, err := c.Sessions.Get(ctx, session.SessionID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tree.EventName)
	for _, child := range tree.Children {
		fmt.Println("  ", child.EventType, child.EventName, child.Duration, "ms", child.Inputs["query"])
	}
	// Output:
	// support chat
	//    tool search 12.5 ms refunds
}

// All walks over everything a query finds, page by page.
func ExampleEventService_All() {
	server, stop := inprocess.ForExample()
	defer stop()
	ctx := context.Background()
	c, err := client.New(server, inprocess.Key)
	if err != nil {
		log.Fatal(err)
	}
	defer c.CloseIdleConnections()

	noon := time.Now().Add(-time.Hour)
	var batch client.Batch
	for i, cost := range []float64{0.25, 0.75, 1.5} {
		batch.Events = append(batch.Events, client.EventInput{
			EventType: client.EventModel,
			EventName: fmt.Sprint("call ", i),
			StartTime: client.Millis(noon.Add(time.Duration(i) * time.Minute)),
			Metadata:  client.Object{"cost": cost},
		})
	}
	if _, err := c.Events.CreateBatch(ctx, batch); err != nil {
		log.Fatal(err)
	}

	expensive := client.EventQuery{
		DateRange: client.Last("1d"),
		Filters: []client.Filter{
			{Field: "event_type", Operator: client.Is, Value: client.EventModel},
			{Field: "metadata.cost", Operator: client.GreaterThan, Value: 0.5, Type: client.TypeNumber},
		},
	}
	for e, err := range c.Events.All(ctx, expensive) {
		if err != nil {
			log.Fatal(err)
		}
		cost, _ := client.Float(e.Metadata["cost"])
		fmt.Println(e.EventName, cost)
	}
	// Output:
	// call 2 1.5
	// call 1 0.75
}

// An answer other than success is an Error, which says what is wrong with which field.
func ExampleError() {
	server, stop := inprocess.ForExample()
	defer stop()
	c, err := client.New(server, inprocess.Key)
	if err != nil {
		log.Fatal(err)
	}
	defer c.CloseIdleConnections()

	_, err = c.Events.Create(context.Background(), client.EventInput{EventType: "thought"})
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Code)
		fmt.Println(e.Field)
	}
	// Output:
	// 400 VALIDATION_ERROR
	// event_type
}

// An event as client libraries have it becomes one of the server.
func ExampleClientEvent_Input() {
	e := client.ClientEvent{
		EventType: client.EventModel,
		EventName: "chat",
		Project:   "shop",
		Source:    "production",
		Inputs:    client.Object{"question": "Can I return this?"},
		Error:     &client.Failure{Type: "RateLimit", Message: "try again later", Code: "429"},
		ModelCall: &client.ModelCall{Model: "m-large", Provider: "acme"},
	}
	e.Complete(time.Now()) // ids, the start, the status
	in, err := e.Input()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Status)
	fmt.Println(in.Error)
	fmt.Println(in.Metadata)
	fmt.Println(in.Config)
	// Output:
	// error
	// try again later
	// map[error_code:429 error_type:RateLimit]
	// map[model:m-large provider:acme]
}
