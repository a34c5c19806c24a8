package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// answerRef is an answer that evaluations may name.
type answerRef struct {
	event uuid.UUID
	start float64
}

// answers finds the events of a project by the ids of their answers. It reads each session once.
type answers struct {
	a        *annotating
	project  int64
	sessions map[uuid.UUID]map[string]answerRef
}

// maxAnswers bounds the model events of one session among which the one that an evaluation
// names is looked for.
const maxAnswers = 20_000

// eventOf is the event whose answer a row names, in the session of the row's own event or else
// of its trace; own if there is none.
func (f *answers) eventOf(ctx context.Context, r *noteRow, own uuid.UUID) (uuid.UUID, error) {
	session, err := f.sessionOf(ctx, r, own)
	if err != nil || session == uuid.Nil {
		return own, err
	}
	known := f.sessions[session]
	if known == nil {
		known = map[string]answerRef{}
		err := each(ctx, f.a.tx, `SELECT event_id, start_ms, metadata FROM ev WHERE `+f.a.w.s.db.frag().bySession+` AND type = $3 LIMIT $4`,
			[]any{f.project, f.a.tx.id(session), query.TypeCode(event.TypeModel), maxAnswers}, func(scan func(...any) error) error {
				var ref answerRef
				var metadata []byte
				if err := scan(scanID{&ref.event}, &ref.start, &metadata); err != nil {
					return err
				}
				id, ok := rawjson.Text(rawjson.Get(metadata, "response_id"))
				if old, twice := known[id]; ok && (!twice || earlier(ref.start, ref.event, old.start, old.event)) {
					known[id] = ref
				}
				return nil
			})
		if err != nil {
			return own, err
		}
		f.sessions[session] = known
	}
	if ref, ok := known[r.response]; ok {
		return ref.event, nil
	}
	return own, nil
}

func (f *answers) sessionOf(ctx context.Context, r *noteRow, own uuid.UUID) (session uuid.UUID, err error) {
	s := f.a.w.s
	if own != uuid.Nil {
		e, err := s.find(ctx, f.a.tx, f.project, own)
		if err == nil {
			return e.SessionID, nil
		}
		if fault.Of(err) != fault.NotFound {
			return session, err
		}
	}
	_, err = one(ctx, f.a.tx, `SELECT session_id FROM trace WHERE project_id = $1 AND trace_id = $2`, []any{f.project, f.a.tx.id(r.trace)}, scanID{&session})
	return session, err
}

// readdressed are the evaluations whose event may be another one now: those that name an answer
// that came in this transaction, and those of traces that moved to another session.
func (a *annotating) readdressed(ctx context.Context) (list []*noteRow, err error) {
	if a.addressed == 0 && !a.w.s.addressed() {
		return nil, nil
	}
	responses := map[int64][]string{}
	for _, h := range a.w.fresh {
		if h.responseID != "" {
			responses[h.project] = append(responses[h.project], h.responseID)
		}
	}
	for project, ids := range responses {
		for part := range slices.Chunk(ids, idsPerQuery) {
			args := []any{project}
			for _, id := range part {
				args = append(args, id)
			}
			if list, err = a.read(ctx, list, ` project_id = $1 AND `+oneOf("response_id", 2, len(part)), args); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range a.w.moved {
		list, err = a.read(ctx, list, ` project_id = $1 AND response_id IS NOT NULL AND trace_id IN (SELECT trace_id FROM trace WHERE project_id = $1 AND session_id = $2)`,
			[]any{m.project, a.tx.id(m.session)})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
