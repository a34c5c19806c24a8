package apiextension

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxForwardAnswer bounds what is read of an answer to an update, in bytes.
const maxForwardAnswer = 1 << 20

// newForward returns what sends updates of events to the server that has the events, or nil if this one has them.
//
// What that server finds wrong with an update is told to the sender. All else is Unavailable, so that the sender tries again:
// that it cannot be reached, and that it refuses the key of the configuration.
func (e *apiExtension) newForward(ctx context.Context, host component.Host) (func(context.Context, uuid.UUID, []byte) ([]byte, error), error) {
	cfg := e.cfg.ForwardUpdates.Get()
	if cfg == nil {
		return nil, nil
	}
	client, err := cfg.ToClient(ctx, host.GetExtensions(), e.set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	// A redirect would turn the update into a read, whose answer looks like success, and take the key elsewhere.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := strings.TrimRight(cfg.Endpoint, "/") + "/events/"
	return func(ctx context.Context, eventID uuid.UUID, body []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, base+eventID.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			if ctx.Err() != nil { // the sender has left
				return nil, err
			}
			return nil, fault.Wrap(fault.Unavailable, err, "the server that has the events cannot be reached")
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(res.Body, maxForwardAnswer))
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "the server that has the events cannot be reached")
		}
		return answer, answerError(res.StatusCode, answer)
	}, nil
}

// answerError returns the error for the sender of an update that was answered so.
func answerError(status int, answer []byte) error {
	if json.Valid(answer) && rawjson.KindOf(answer) == '{' {
		if status == http.StatusOK {
			return nil
		}
		message, _ := rawjson.Text(rawjson.Get(answer, "message"))
		switch kind := fault.OfStatus(status); kind {
		case fault.Invalid, fault.NotFound, fault.TooLarge, fault.Limited:
			return fault.New(kind, "%s", message)
		}
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("status %d: %.200s", status, answer), "the server that has the events refuses what this one forwards")
}
