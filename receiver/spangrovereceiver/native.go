package spangrovereceiver

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/sample"
	"github.com/spangrove/spangrove/pkg/spancodec"
	"github.com/spangrove/spangrove/pkg/wire"
)

// apiRoutes returns the paths that are mounted on the API extension's port: the native writes in
// all their aliases, and OTLP. Without a traces pipeline there is nowhere to write to.
func (r *spangroveReceiver) apiRoutes() []servedRoute {
	routes := r.otlpRoutes(r.viaAPI)
	if r.traces == nil {
		return routes
	}
	for _, native := range []struct {
		paths []string
		write nativeHandler
	}{
		{[]string{"/session/start", "/v1/session/start", "/sessions", "/v1/sessions"}, r.startSession},
		{[]string{"/session/{id}/traces", "/v1/session/{id}/traces"}, r.addTraces},
		{[]string{"/sessions/{id}/events/batch", "/v1/sessions/{id}/events/batch"}, r.addEvents},
		{[]string{"/events", "/v1/events"}, r.create(wire.DecodeEvent)},
		{[]string{"/events/model", "/v1/events/model"}, r.create(wire.DecodeModelEvent)},
		{[]string{"/events/batch"}, r.createBatch(wire.Lenient)},
		{[]string{"/v1/events/batch"}, r.createBatch(wire.Strict)},
		{[]string{"/events/model/batch", "/v1/events/model/batch"}, r.createModelBatch},
		{[]string{"/samples", "/v1/samples"}, r.loadSamples},
	} {
		for _, path := range native.paths {
			routes = append(routes, servedRoute{"POST " + path, r.native(native.write)})
		}
	}
	return routes
}

// nativeHandler writes what a body says and gives the JSON of the answer.
type nativeHandler func(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error)

// native serves a native path. Its parameters, of which there are none, are checked as those of
// the other routes of the API are. The answer is written only when the pipeline has taken all.
func (r *spangroveReceiver) native(write nativeHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var answer []byte
		err := r.handle(req, (*ingress.Hold).ReadAll, func(body []byte, from caller) (err error) {
			params, err := wire.ParseParams(req.URL.RawQuery)
			if err == nil {
				err = params.Known(nil)
			}
			if err == nil {
				answer, err = write(req, body, from.Identity, time.Now())
			}
			return err
		})
		if err != nil {
			wire.WriteError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK) // clients compare with exactly 200
		_, _ = w.Write(answer)       // a client that is gone cannot be told
	})
}

// checkStarts returns a fault.Invalid if an event begins too far from now to be stored. The last n
// events are those that the request listed under the name list; the others are its session. It is asked before
// the events go down the pipeline, so that the error can name their place in the list.
func (r *spangroveReceiver) checkStarts(events []event.Incoming, list string, n int) error {
	if r.starts == nil {
		return nil
	}
	for i := range events {
		err := r.starts.CheckStart(&events[i].Event)
		if err == nil {
			continue
		}
		if at := i - (len(events) - n); at < 0 {
			return fault.In("session_properties", err)
		} else if list != "" {
			return fault.In(fmt.Sprintf("%s[%d]", list, at), err)
		}
		return err
	}
	return nil
}

// put sends events down the pipeline, all in one push, so that they are taken all or not at all.
func (r *spangroveReceiver) put(ctx context.Context, id project.Identity, events []event.Incoming) error {
	if len(events) == 0 {
		return nil
	}
	_, err := r.pushTraces(ctx, r.viaAPI, "native", spancodec.Traces(events), id)
	return err
}

// create serves a path that writes one event, as decode reads it.
func (r *spangroveReceiver) create(decode func([]byte, time.Time) (event.Incoming, error)) nativeHandler {
	return func(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
		e, err := decode(body, now)
		if err == nil {
			err = r.checkStarts([]event.Incoming{e}, "", 1)
		}
		if err != nil {
			return nil, err
		}
		if err := r.put(req.Context(), id, []event.Incoming{e}); err != nil {
			return nil, err
		}
		return wire.AppendCreateAnswer(nil, e.ID), nil
	}
}

// createBatch serves a path that writes a list of events. policy decides what becomes of fields that are not known.
func (r *spangroveReceiver) createBatch(policy wire.Policy) nativeHandler {
	return func(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
		b, err := wire.DecodeBatch(body, policy, now)
		return r.putBatch(req.Context(), id, "events", b, err)
	}
}

// createModelBatch serves the path that writes a list of model events.
func (r *spangroveReceiver) createModelBatch(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
	b, err := wire.DecodeModelBatch(body, now)
	return r.putBatch(req.Context(), id, "model_events", b, err)
}

// loadSamples serves the path that writes the sample sessions, as a batch that somebody has sent. It takes no options: the body may be
// empty or an empty object.
func (r *spangroveReceiver) loadSamples(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
	if err := wire.DecodeNothing(body); err != nil {
		return nil, err
	}
	b, err := wire.DecodeBatch(sample.Batch(now), wire.Strict, now)
	if err != nil {
		return nil, err
	}
	if err := r.put(req.Context(), id, b.Events); err != nil {
		return nil, err
	}
	return wire.AppendSamples(nil, sample.IDs()), nil
}

// putBatch writes a batch, or passes on the error of decoding it. It is written all or not at all.
func (r *spangroveReceiver) putBatch(ctx context.Context, id project.Identity, list string, b wire.Batch, err error) ([]byte, error) {
	if err == nil {
		err = r.checkStarts(b.Events, list, len(b.IDs))
	}
	if err != nil {
		return nil, err
	}
	if err := r.put(ctx, id, b.Events); err != nil {
		return nil, err
	}
	return wire.AppendBatchAnswer(nil, &b), nil
}

// addTraces serves the path that adds the events of two lists, logs and events, to a session.
func (r *spangroveReceiver) addTraces(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
	b, err := wire.DecodeSessionTraces(body, req.PathValue("id"), now)
	return r.addBatch(req.Context(), id, b, err)
}

// addEvents serves the path that adds events to a session.
func (r *spangroveReceiver) addEvents(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
	b, err := wire.DecodeSessionEvents(body, req.PathValue("id"), now)
	return r.addBatch(req.Context(), id, b, err)
}

// addBatch is putBatch for events of the lists logs and events, with the answer that the paths below a session have.
func (r *spangroveReceiver) addBatch(ctx context.Context, id project.Identity, b wire.Batch, err error) ([]byte, error) {
	if err == nil {
		logs, others := b.Events[:b.Logs], b.Events[b.Logs:]
		err = cmp.Or(r.checkStarts(logs, "logs", len(logs)), r.checkStarts(others, "events", len(others)))
	}
	if err != nil {
		return nil, err
	}
	if err := r.put(ctx, id, b.Events); err != nil {
		return nil, err
	}
	return []byte(`{"success":true}`), nil
}

// startSession answers with the whole session as it is stored: a repeated start merges into
// the stored session. A caller who may not read is told what was sent, and the ids made for it.
func (r *spangroveReceiver) startSession(req *http.Request, body []byte, id project.Identity, now time.Time) ([]byte, error) {
	e, err := wire.DecodeSessionStart(body, now)
	if err == nil {
		err = r.checkStarts([]event.Incoming{e}, "", 1)
	}
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	if err := r.put(ctx, id, []event.Incoming{e}); err != nil {
		return nil, err
	}
	p := r.projectOf(ctx, id)
	if r.sessions != nil && mayRead(id) {
		// What cannot be read back was still taken: a processor may have dropped it, or the
		// pipeline leads to a queue. Then the answer is what was sent.
		if stored, err := r.sessions.ReadSession(ctx, p.ID, e.SessionID); err == nil {
			return wire.AppendEvent(nil, &stored, &p), nil
		}
	}
	return wire.AppendEvent(nil, &e.Event, &p), nil
}

// projectOf returns the project that the caller writes to, for the answer; what is not known of it
// stays empty.
func (r *spangroveReceiver) projectOf(ctx context.Context, id project.Identity) project.Project {
	p := id.Project
	if p.ID != 0 || r.projects == nil {
		return p
	}
	var known project.Project
	var err error
	if p.PublicID != "" {
		known, err = r.projects.ProjectByPublicID(ctx, p.PublicID)
	} else {
		known, err = r.projects.DefaultProject(ctx)
	}
	if err != nil {
		return p
	}
	return known
}
