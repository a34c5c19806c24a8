package httpapi

import (
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// getMe answers with the caller's project and key, and with what the server is.
func (s *Server) getMe(c *call) error {
	var b, p rawjson.Builder
	p.String("id", c.project.PublicID)
	p.String("name", c.project.Name)
	b.Raw("project", p.Bytes())
	b.String("scope", string(c.scope))
	if who, ok := project.IdentityFrom(c.ctx()); ok {
		b.String("key_id", who.KeyID)
	}
	b.String("version", s.Version)
	return c.json(&b)
}
