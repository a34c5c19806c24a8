package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Playground asks models for people who try prompts.
type Playground interface {
	// Chat asks a model, at the providers and within the budgets of a project's judges, and hands its answer to tell piece by
	// piece: deltas, then what it took, then that it is done or why it is not whole. fault.Invalid if there is no such
	// provider or model, or it has no word for a setting; fault.Limited and fault.Unavailable if there is no place for now.
	Chat(ctx context.Context, projectID int64, q *playground.Request, tell func(playground.Event) error) error
}

var playgroundOperations = []apiOperation{
	{"runPlayground", http.MethodPost, []string{"/playground/run"}, project.ScopeFull, (*Server).runPlayground},
}

// runPlayground streams what a model answers. What is wrong before the model is asked is an error of HTTP, all else a message
// of the stream.
func (s *Server) runPlayground(c *call) error {
	if s.Playground == nil {
		return fault.New(fault.Unavailable, "this server asks no models: it runs without spangrove_evaluate")
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	q, err := wire.DecodePlaygroundRun(body)
	if err != nil {
		return err
	}
	c.target = q.Provider + "/" + q.Model
	c.done() // the answer may take minutes
	ctx, leave := context.WithCancel(c.ctx())
	pieces, ended := make(chan playground.Event), make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- s.Playground.Chat(ctx, c.project.ID, q, func(e playground.Event) error {
			select {
			case pieces <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		leave()
		for range ended { // nothing is left under way
		}
	}()
	return s.tellAnswer(c, pieces, ended)
}

// tellAnswer sends what comes of a model's answer until it ends, the caller leaves, its key is no longer good, or the server stops.
func (s *Server) tellAnswer(c *call, pieces <-chan playground.Event, ended <-chan error) error {
	out := c.unhurried()
	begun := false
	send := func(text string) error {
		if !begun {
			out.begin(c)
			begun = true
		}
		return out.send(text)
	}
	fail := func(message string) error {
		_ = send(wire.PlaygroundMessage(&playground.Event{Error: &playground.Failure{Kind: "server", Message: message, Temporary: true}}))
		return nil // who has gone needs no answer
	}
	ping := time.NewTicker(livePing)
	defer ping.Stop()
	for {
		select {
		case e := <-pieces:
			if send(wire.PlaygroundMessage(&e)) != nil {
				return nil
			}
		case <-ping.C:
			if !s.stillAllowed(c, project.ScopeFull) {
				return fail("The key is no longer good; the answer is not whole.")
			}
			if send(": ping\n\n") != nil {
				return nil
			}
		case <-c.ctx().Done():
			return nil
		case <-s.ended:
			return fail("The server stops; the answer is not whole.")
		case err := <-ended:
			switch {
			case err == nil || c.ctx().Err() != nil:
				return nil
			case !begun:
				_ = out.to.SetWriteDeadline(time.Now().Add(liveWrite))
				return err
			}
			var known *fault.Error
			if errors.As(err, &known) && known.Kind != fault.Internal {
				return fail(known.Message())
			}
			s.Logger.Error("a playground run failed", zap.Error(err))
			return fail("The server could not go on; its log tells why.")
		}
	}
}
