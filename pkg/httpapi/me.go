package httpapi

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// getMe answers with the project that the caller acts in and its key, and with what the server is: where it listens, what metrics can use, and
// the bounds that a client should know. A key that may only send is not told what metrics can use.
func (s *Server) getMe(c *call) error {
	var b rawjson.Builder
	b.Raw("project", projectName(&c.project))
	b.String("scope", string(c.scope))
	if who, ok := project.IdentityFrom(c.ctx()); ok {
		b.String("key_id", who.KeyID)
		b.Bool("can_switch", who.MaySwitch())
		if who.Own != nil {
			b.Raw("key_project", projectName(who.Own))
		}
	}
	b.String("version", s.Version)
	b.Raw("addresses", s.addresses())
	if c.scope.Allows(project.ScopeRead) {
		available, err := s.Evaluator.Available(c.ctx(), c.project.ID)
		if err != nil {
			return err
		}
		b.Raw("evaluators", texts(available.Types))
		b.Raw("providers", texts(available.Providers))
	}
	bounds, err := s.Store.ProjectLimits(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	limits, err := s.clientLimits(&bounds)
	if err != nil {
		return err
	}
	b.Raw("limits", limits)
	return c.json(&b)
}

// projectName returns the id and the name of a project.
func projectName(p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("id", p.PublicID)
	b.String("name", p.Name)
	return b.Bytes()
}

// serves has the names of what listeners serve.
var serves = map[mount.Topic]string{mount.TopicAPI: "api", mount.TopicOTLPGRPC: "otlp_grpc", mount.TopicOTLPHTTP: "otlp_http"}

// addresses returns where the server listens, as they are bound.
func (s *Server) addresses() json.RawMessage {
	out := []byte{'['}
	if s.Listeners != nil {
		for i, l := range s.Listeners() {
			var b rawjson.Builder
			b.String("serves", serves[l.Topic])
			b.String("url", l.URL)
			b.Int("max_body_bytes", l.MaxBytes)
			if l.MaxItems > 0 {
				b.Int("max_items", int64(l.MaxItems))
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, b.Bytes()...)
		}
	}
	return append(out, ']')
}

// clientLimits returns the bounds that a client should know before it sends or asks; those of a project are its rates and
// amounts, where 0 is no bound.
func (s *Server) clientLimits(ofProject *project.Bounds) (json.RawMessage, error) {
	rates, err := json.Marshal(ofProject)
	if err != nil {
		return nil, err
	}
	var b rawjson.Builder
	if s.MaxBody > 0 {
		b.Int("body_bytes", s.MaxBody)
	}
	b.Int("json_depth", rawjson.MaxDepth)
	b.Int("batch_events", wire.MaxBatchEvents)
	b.Int("page_rows", query.MaxLimit)
	b.Int("page_sessions", wire.MaxSessions)
	b.Int("field_values", query.MaxFieldValues)
	b.Int("tree_rows", maxTreeRows)
	b.Int("previews", wire.MaxPreviews)
	b.Int("filters", query.MaxFilters)
	b.Raw("project", rates)
	return b.Bytes(), nil
}

// texts returns an array of texts.
func texts[T ~string](list []T) json.RawMessage {
	out := []byte{'['}
	for i, t := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, string(t))
	}
	return append(out, ']')
}
