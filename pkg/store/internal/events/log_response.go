package events

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// responseKey identifies a response of a model.
type responseKey struct {
	project  int64
	response string
}

// noteResponse records that an event has got a response id that it did not have before.
func (w *writing) noteResponse(project int64, response, before string) {
	if response != "" && response != before {
		w.responses = append(w.responses, responseKey{project, response})
	}
}

func responseOf(e *event.Event) string {
	id, _ := responseIn(e.Metadata)
	return id
}

// responseIn returns the response id in an event's metadata, and whether another event stands for the call.
func responseIn(metadata json.RawMessage) (id string, duplicate bool) {
	id, _ = rawjson.Text(rawjson.Get(metadata, "response_id"))
	return id, !rawjson.Null(rawjson.Get(metadata, event.DuplicateKey))
}

// responseRef is an event with a response id that evaluations may name.
type responseRef struct {
	event     uuid.UUID
	start     float64
	duplicate bool // another event stands for the call
}

// before reports whether an evaluation belongs to o rather than to r.
func (r responseRef) before(o responseRef) bool {
	if r.duplicate != o.duplicate {
		return r.duplicate
	}
	return sessiontree.Earlier(r.start, r.event, o.start, o.event)
}

// responseIndex finds the events of a project by response id. It reads each session once. Results of evaluations come as log
// records that name the response they are about (gen_ai.response.id), often from another process and below another
// span than the model call.
type responseIndex struct {
	a        *logMerge
	project  int64
	sessions map[uuid.UUID]map[string]responseRef
}

// maxResponses bounds how many events of one session with a response id are searched for the one that
// an evaluation names.
const maxResponses = 20_000

// eventOf returns the event with r.response as its response id, in the session of the row's own event
// or else of its trace; it returns own if there is none. Of several events with that id, a call and
// the spans around it, it returns one that is not marked as a duplicate, and of those the one that
// started last: the call itself.
func (f *responseIndex) eventOf(ctx context.Context, r *logRow, own uuid.UUID) (uuid.UUID, error) {
	session, err := f.sessionOf(ctx, r, own)
	if err != nil || session == uuid.Nil {
		return own, err
	}
	known := f.sessions[session]
	if known == nil {
		known = map[string]responseRef{}
		if err := f.readResponses(ctx, session, known); err != nil {
			return own, err
		}
		f.sessions[session] = known
	}
	if ref, ok := known[r.response]; ok {
		return ref.event, nil
	}
	return own, nil
}

// readResponses reads the response ids of a session. Metadata that is too large for its row is read
// from the payload.
func (f *responseIndex) readResponses(ctx context.Context, session uuid.UUID, known map[string]responseRef) error {
	note := func(id string, ref responseRef) {
		// The order of rows does not matter: before is a total order, and the best of all with one id stays.
		if old, twice := known[id]; id != "" && (!twice || old.before(ref)) {
			known[id] = ref
		}
	}
	var large []uuid.UUID
	err := sqldb.Each(ctx, f.a.tx, `SELECT event_id, start_ms, metadata FROM event WHERE `+f.a.w.s.Dialect.OfSession()+`
		AND (CAST(metadata AS text) LIKE '%"response_id"%' OR (spill & $3) <> 0) LIMIT $4`,
		[]any{f.project, f.a.tx.ID(session), query.SpillMetadata, maxResponses}, func(scan func(...any) error) error {
			var ref responseRef
			var metadata []byte
			if err := scan(sqldb.ScanID(&ref.event), &ref.start, &metadata); err != nil {
				return err
			}
			if metadata == nil {
				large = append(large, ref.event)
				return nil
			}
			var id string
			id, ref.duplicate = responseIn(metadata)
			note(id, ref)
			return nil
		})
	if err != nil {
		return err
	}
	// After the rows, since a transaction has one connection, which takes no second statement while a result is open.
	for _, id := range large {
		e, err := f.a.w.s.Find(ctx, f.a.tx, f.project, id)
		if fault.IsNotFound(err) {
			continue // deleted since
		}
		if err != nil {
			return err
		}
		response, duplicate := responseIn(e.Metadata)
		note(response, responseRef{id, e.Start, duplicate})
	}
	return nil
}

// sessionOf returns the session in which a row's response is looked for: that of its span's event, else that of its trace;
// zero if neither is known.
func (f *responseIndex) sessionOf(ctx context.Context, r *logRow, own uuid.UUID) (session uuid.UUID, err error) {
	s := f.a.w.s
	if own != uuid.Nil {
		e, err := s.Find(ctx, f.a.tx, f.project, own)
		if err == nil {
			return e.SessionID, nil
		}
		if fault.Of(err) != fault.NotFound {
			return session, err
		}
	}
	_, err = sqldb.One(ctx, f.a.tx, `SELECT session_id
		FROM trace
		WHERE project_id = $1 AND trace_id = $2`, []any{f.project, f.a.tx.ID(r.trace)}, sqldb.ScanID(&session))
	return session, err
}

// rowsToReassign returns the evaluations whose event may be another one now: those that name a response
// that came in this transaction, and those of traces that moved to another session.
func (a *logMerge) rowsToReassign(ctx context.Context) (list []*logRow, err error) {
	// No row names a response, so no row can follow one.
	if a.withResponse == 0 && !a.w.s.logsNameResponses() {
		return nil, nil
	}
	responses := map[int64][]string{}
	for _, k := range append(a.w.responses, a.tx.trees.responses...) {
		responses[k.project] = append(responses[k.project], k.response)
	}
	moved := a.w.moved
	// Taken off, so that the next round of apply only sees what composing adds.
	a.w.responses, a.w.moved, a.tx.trees.responses = nil, nil, nil
	for project, ids := range responses {
		if list, err = a.readByResponse(ctx, list, project, ids); err != nil {
			return nil, err
		}
	}
	for _, m := range moved {
		list, err = a.read(ctx, list, ` project_id = $1 AND response_id IS NOT NULL
			AND trace_id IN (SELECT trace_id FROM trace WHERE project_id = $1 AND session_id = $2)`,
			[]any{m.project, a.tx.ID(m.session)})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readByResponse adds the rows that name one of the responses.
func (a *logMerge) readByResponse(ctx context.Context, list []*logRow, project int64, responses []string) (_ []*logRow, err error) {
	for part := range slices.Chunk(responses, sqldb.IDsPerQuery) {
		where, args := namedIn("", project, part)
		if list, err = a.read(ctx, list, where, args); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// namedIn returns the condition that a row of log_part, under an alias, names one of the responses of a project.
func namedIn(alias string, project int64, responses []string) (where string, args []any) {
	args = []any{project}
	for _, id := range responses {
		args = append(args, id)
	}
	return " " + alias + "project_id = $1 AND " + sqldb.OneOf(alias+"response_id", 2, len(responses)), args
}
