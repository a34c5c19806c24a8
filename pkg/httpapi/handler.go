package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// call is one request, whose data it is about, and what the caller's key allows.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	project project.Project
	scope   project.Scope
	dialect wire.Dialect
	read    func(r *http.Request, projectID string) (body []byte, release func(), err error)
	release func() // nil: no body was read
	// What a client's model needs of the events of this answer, see wire.Stream.
	fourTypes, objectOutputs bool

	counted bool   // nothing was to be changed, only counted: the audit log has no entry
	target  string // what the audit log calls it, where only the handler knows
}

func (c *call) ctx() context.Context { return c.r.Context() }

// handler serves an operation: it checks the scope and answers errors. An error after the
// answer has begun breaks the connection, so that a cut answer is never taken for a whole one.
func (s *Server) handler(op apiOperation, d wire.Dialect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, scope, err := s.admit(r.Context(), op.scope)
		if err == nil {
			err = knownParameters(r, op.id)
		}
		if err == nil && op.stores() {
			err = s.Store.CheckStored(r.Context(), p.ID)
		}
		rule, isAudited := audited[op.id]
		answer, start := rule.watched(w)
		c := &call{w: answer, r: r, project: p, scope: scope, dialect: d, read: s.ReadBody}
		defer c.done()
		if err == nil {
			err = op.handle(s, c)
		}
		if isAudited && !c.counted {
			s.record(&op, &rule, c, start, err)
		}
		if err == nil {
			return
		}
		if fault.Of(err) == fault.Internal {
			s.Logger.Error("request failed", zap.String("operation", op.id), zap.Error(err))
		}
		if errors.Is(err, errBegun) {
			panic(http.ErrAbortHandler)
		}
		s.refuse(r, p, err)
		wire.WriteError(w, err)
	})
}

// stores reports whether the operation may add to what the caller's project has stored.
func (op *apiOperation) stores() bool {
	if slices.ContainsFunc(deletionOperations, func(d apiOperation) bool { return d.id == op.id }) {
		return false // who is over the limit needs them
	}
	writes := op.scope == project.ScopeIngest || op.scope == project.ScopeFull
	return writes && (op.method == http.MethodPost || op.method == http.MethodPut || op.method == http.MethodPatch)
}

// knownParameters refuses what the operation has no parameter for.
func knownParameters(r *http.Request, operation string) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	params, err := wire.ParseParams(r.URL.RawQuery)
	if err != nil {
		return err
	}
	return params.Known(parameters[operation])
}

// admit returns the caller's project and scope if the caller's key allows what needs scope. On a
// server without keys everybody may do everything.
func (s *Server) admit(ctx context.Context, scope project.Scope) (project.Project, project.Scope, error) {
	who, ok := project.IdentityFrom(ctx)
	if !ok {
		p, err := s.Store.DefaultProject(ctx)
		return p, project.ScopeAdmin, err
	}
	if !who.Scope.Allows(scope) {
		return project.Project{}, "", fault.New(fault.Forbidden, "this needs a key of scope %q; the key has %q", scope, who.Scope)
	}
	return who.Project, who.Scope, nil
}

// errBegun marks an error that came after the first bytes of the answer.
var errBegun = errors.New("the answer was broken off")

// stream sends the answer that write makes, whole or not as a success.
func (c *call) stream(write func(*wire.Stream) error) error {
	s := wire.NewStream(c.w)
	s.WholeEnd, s.FourTypes, s.ObjectOutputs = c.dialect == wire.V0, c.fourTypes, c.objectOutputs
	defer s.Discard()
	err := write(s)
	if err == nil {
		err = s.Close()
	}
	if err != nil && s.Started() {
		return errors.Join(err, errBegun)
	}
	return err
}

// fromOlderClient reports whether a client of the paths without /v1 asks. Their models of an event know four types, and objects alone as outputs.
func (c *call) fromOlderClient() bool {
	return strings.HasPrefix(c.r.Header.Get("User-Agent"), "speakeasy-sdk/")
}

// fromPython reports whether the Python client asks, which says so from 1.0 on. Its models of an exported and of a single event
// have objects alone as outputs.
func (c *call) fromPython() bool { return c.r.Header.Get("hh-client-language") == "python" }

// filters returns those of a metric or a queue as the caller's client takes them.
func (c *call) filters(object json.RawMessage) json.RawMessage {
	if c.fromPython() {
		return wire.PlainFilters(object)
	}
	return object
}

// json answers with a small object. That the caller has gone meanwhile is no error of the
// operation, which is done.
func (c *call) json(b *rawjson.Builder) error { return c.answer(b.Bytes()) }

// answer sends any JSON.
func (c *call) answer(body json.RawMessage) error {
	_ = wire.WriteJSON(c.w, body)
	return nil
}

// hasAlready sets the ETag of an answer, weak since the bytes differ by compression, and reports whether the caller says that they have
// it: then the answer is 304, and nothing is left to do. tag must tell all answers of the path apart, and be plain letters, digits and dots.
func (c *call) hasAlready(tag string) bool {
	etag := `"` + tag + `"`
	c.w.Header().Set("ETag", "W/"+etag)
	for _, line := range c.r.Header.Values("If-None-Match") {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == etag {
				c.w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// id reads the path's id. name is what the error calls it.
func (c *call) id(name string) (uuid.UUID, error) {
	id, err := wire.ParseID(c.r.PathValue("id"))
	if err != nil {
		return uuid.Nil, fault.In(name, err)
	}
	return id, nil
}

// body reads the whole body, which is valid until the call is answered. TooLarge if it is over the
// server's bound; Limited and Unavailable if there is no room for it now.
func (c *call) body() ([]byte, error) {
	c.done()
	raw, release, err := c.read(c.r, c.project.PublicID)
	c.release = release
	var over *http.MaxBytesError
	var kind *fault.Error
	switch {
	case err == nil:
		limit.Charge(c.ctx(), len(raw))
		return raw, nil
	case errors.As(err, &over):
		return nil, fault.New(fault.TooLarge, "the body is larger than %d bytes", over.Limit)
	case errors.As(err, &kind) && kind.Kind != fault.Invalid:
		return nil, err // also where it ended the connection, as that of a body that is too slow does
	case c.ctx().Err() != nil:
		return nil, c.ctx().Err()
	case kind != nil:
		return nil, err
	default:
		return nil, fault.Wrap(fault.Invalid, err, "the body cannot be read: it ends early or is not in the encoding it names")
	}
}

// object reads the whole body as a JSON object.
func (c *call) object() ([]byte, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	object, _, err := wire.DecodeObject(body)
	return object, err
}

// done releases the memory of the body.
func (c *call) done() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}
