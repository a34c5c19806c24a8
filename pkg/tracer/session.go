package tracer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// session is what contexts carry of a session.
type session struct {
	id     string
	source string
	about  json.RawMessage // metadata of each of its events, an object or nil
	stamp  []attribute.KeyValue
}

// SessionOption is an option of a session that is started: Fields, SessionKey, Experiment.
type SessionOption interface{ onSession(*sessionStart) }

type sessionStart struct {
	session
	fields       Fields
	key, project string
}

// SessionKey is the session's own name in the program: a UUID is the session's id, and any other
// text stands for an id that is made of it, so that each process that knows the text speaks of
// the same session. Without it each start makes a new one.
type SessionKey string

func (k SessionKey) onSession(s *sessionStart) { s.key = string(k) }

// Experiment makes a session one datapoint's part in a run of an experiment. It is also the
// configuration of a tracer as SDKs hand it on, in JSON.
type Experiment struct {
	Project      string `json:"project"` // for the record: the key decides
	IsEvaluation bool   `json:"is_evaluation"`
	RunID        string `json:"run_id"`
	DatasetID    string `json:"dataset_id"` // EXT-… if the dataset is not stored
	DatapointID  string `json:"datapoint_id"`
	Source       string `json:"source"` // of the session; empty: evaluation
}

// SourceEvaluation is where sessions of experiments come from.
const SourceEvaluation = "evaluation"

func (e Experiment) onSession(s *sessionStart) {
	s.source = cmp.Or(e.Source, SourceEvaluation)
	s.project = cmp.Or(e.Project, s.project)
	var b rawjson.Builder
	for _, m := range [...]struct{ key, value string }{{"run_id", e.RunID}, {"dataset_id", e.DatasetID}, {"datapoint_id", e.DatapointID}} {
		if m.value != "" {
			b.String(m.key, m.value)
		}
	}
	s.about = b.Bytes()
}

func (f Fields) onSession(s *sessionStart) { s.fields = f }

// StartSession starts a session and gives the context of what happens in it, and its id. All spans
// that start with the context belong to the session, those of other instrumentations too; other
// services join it by the trace context of their requests. It does not wait for the server.
func (t *Tracer) StartSession(ctx context.Context, name string, opts ...SessionOption) (context.Context, string) {
	s := sessionStart{session: session{source: t.source}, project: t.project}
	for _, o := range opts {
		o.onSession(&s)
	}
	if s.key == "" {
		s.id = uuid.NewString()
	} else {
		s.id = event.SessionOf(s.key).String()
	}
	var b rawjson.Builder
	b.String("session_id", s.id)
	b.String("session_name", cmp.Or(name, t.sessionName))
	b.String("source", s.source)
	b.Number("start_time", client.Millis(time.Now()))
	if s.project != "" {
		b.String("project", s.project)
	}
	f := s.fields.encode()
	f.values[inMetadata] = rawjson.Merge(f.values[inMetadata], s.about)
	f.members(&b)
	if f.err != nil {
		b.String("error", fmt.Sprint(f.err))
	}
	t.startSession(s.id, b.Bytes())
	return t.inSession(ctx, s.session), s.id
}

// startSession starts a session, or fills what one that was started lacks.
func (t *Tracer) startSession(id string, body json.RawMessage) {
	var wrapped rawjson.Builder
	wrapped.Raw("session", body)
	t.call(id, http.MethodPost, "/session/start", wrapped.Bytes())
}

// JoinSession returns the context of a session that is known by its id or by its SessionKey, without
// starting it: to go on with a conversation, or with a session that another process started.
func (t *Tracer) JoinSession(ctx context.Context, idOrKey string) context.Context {
	return t.inSession(ctx, session{id: event.SessionOf(idOrKey).String(), source: t.source})
}

func (t *Tracer) inSession(ctx context.Context, s session) context.Context {
	s.stamp = []attribute.KeyValue{attribute.String("honeyhive.session_id", s.id), attribute.String("honeyhive_source", s.source)}
	if s.about != nil {
		s.stamp = append(s.stamp, attributeOf[inMetadata].String(string(s.about)))
	}
	return context.WithValue(ctx, scopeKey{}, &scope{t, &s})
}

// SessionID returns the id of the context's session, empty without one.
func SessionID(ctx context.Context) string {
	if sc := scopeOf(ctx); sc != nil && sc.session != nil {
		return sc.session.id
	}
	return ""
}

// EnrichSession adds to the context's session; without one it does nothing. Of errors the
// session's first one stays.
func EnrichSession(ctx context.Context, f Fields) {
	sc := scopeOf(ctx)
	if sc == nil || sc.session == nil {
		return
	}
	if f.Error != nil { // which updates cannot set
		var b rawjson.Builder
		b.String("session_id", sc.session.id)
		b.String("error", fmt.Sprint(f.Error))
		sc.t.startSession(sc.session.id, b.Bytes())
	}
	sc.t.Update(sc.session.id, f)
}

// scope is what contexts carry.
type scope struct {
	t       *Tracer
	session *session // nil: none
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	return sc
}
