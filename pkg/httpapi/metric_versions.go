package httpapi

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

func (s *Server) listMetricVersions(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	names, total, err := s.Store.FindMetricVersions(c.ctx(), c.project.ID, c.text("id"), limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	return c.stream(func(out *wire.Stream) error {
		out.Text(`{"success":true,"data":`)
		err := wire.WriteList(out, names,
			func(names []string) ([]metric.Version, error) {
				return s.Store.LoadMetricVersions(c.ctx(), c.project.ID, c.text("id"), names)
			},
			func(dst []byte, v *metric.Version) []byte { return wire.AppendMetricVersion(dst, v, c.dialect) })
		out.Text("}")
		return err
	})
}

func (s *Server) createMetricVersion(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	r, err := wire.DecodeMetricVersion(body, c.dialect)
	if err != nil {
		return err
	}
	if err := s.Evaluator.Check(&r.Content); err != nil {
		return fault.In("content", err)
	}
	v, err := s.Store.CreateMetricVersion(
		c.ctx(),
		c.project.ID,
		c.text("id"),
		metric.Version{Definition: r.Content, Message: r.Message},
		r.Deploy,
	)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", wire.AppendMetricVersion(nil, &v, c.dialect))
	s.warn(&b, &v.Definition)
	return c.json(&b)
}

func (s *Server) deployMetricVersion(c *call) error {
	v, err := s.Store.DeployMetricVersion(c.ctx(), c.project.ID, c.text("id"), c.text("name"))
	if err != nil {
		return err
	}
	return c.data(wire.AppendMetricVersion(nil, &v, c.dialect))
}

// data answers with one thing in {"success", "data"}.
func (c *call) data(item json.RawMessage) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", item)
	return c.json(&b)
}
