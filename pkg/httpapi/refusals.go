package httpapi

import (
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/wire"
)

var refusalOperations = []apiOperation{
	{"listRefusals", http.MethodGet, []string{"/server/refusals"}, project.ScopeRead, (*Server).listRefusals},
}

// refuse notes an operation that was refused. That something is not there is an answer and no refusal: who looks again and again
// for an event that is still to come would push everything else out. own is the caller's project, where it is known.
func (s *Server) refuse(r *http.Request, own project.Project, err error) {
	if fault.IsNotFound(err) {
		return
	}
	who, ok := project.IdentityFrom(r.Context())
	if !ok {
		who.Project = own
	}
	refusal, ok := refused.From(err)
	if !ok || who.Project.PublicID == "" {
		return
	}
	_, path, _ := strings.Cut(r.Pattern, " ")
	refusal.Method, refusal.Path, refusal.KeyPrefix = r.Method, path, who.KeyPrefix
	s.Refusals.Add(who.Project.PublicID, refusal)
}

// listRefusals lists what was refused of the caller's project, and of unknown callers if this one may see that.
func (s *Server) listRefusals(c *call) error {
	unknown, err := s.seesUnknown(c)
	if err != nil {
		return err
	}
	out := []byte(`{"refusals":[`)
	for i, r := range s.Refusals.Of(c.project.PublicID, unknown) {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendRefusal(out, &r)
	}
	return c.answer(append(out, "]}"...))
}

// seesUnknown reports whether the caller may see requests of unknown callers. They may have been meant for any project, so they are
// for who manages all of them, or for everybody where there is only one.
func (s *Server) seesUnknown(c *call) (bool, error) {
	if c.scope.Allows(project.ScopeAdmin) {
		return true, nil
	}
	_, projects, err := s.Store.Projects(c.ctx(), "", 1, 1)
	return projects == 1, err
}
