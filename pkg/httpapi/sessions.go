package httpapi

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// getSession answers with the session event and all below it, nested.
func (s *Server) getSession(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	set, err := s.Reader.Session(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error {
		return wire.WriteTree(c.ctx(), out, set, wire.Tree{}, &c.project)
	})
}

// deleteSession deletes a session with all its events.
func (s *Server) deleteSession(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	if err := s.Writer.DeleteSession(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.deleted(id.String())
}

func (c *call) deleted(id string) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.String("deleted", id)
	return c.json(&b)
}

// json answers with a small object. That the caller has gone meanwhile is no error of the
// operation, which is done.
func (c *call) json(b *rawjson.Builder) error { return c.answer(b.Bytes()) }

// answer is likewise for any JSON.
func (c *call) answer(body json.RawMessage) error {
	_ = wire.WriteJSON(c.w, body)
	return nil
}
