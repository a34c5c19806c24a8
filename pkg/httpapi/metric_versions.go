package httpapi

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

func (s *Server) listMetricVersions(c *call) error {
	id := c.text("id")
	return dataPage(c,
		func(ctx context.Context, project int64, limit, page int) ([]string, int, error) {
			return s.Store.FindMetricVersions(ctx, project, id, limit, page)
		},
		func(ctx context.Context, project int64, names []string) ([]metric.Version, error) {
			return s.Store.LoadMetricVersions(ctx, project, id, names)
		},
		func(dst []byte, v *metric.Version) []byte { return append(dst, c.version(v)...) })
}

// version returns a version of a metric as answers show it.
func (c *call) version(v *metric.Version) json.RawMessage {
	v.Filters = c.filters(v.Filters)
	return wire.AppendMetricVersion(nil, v, c.dialect)
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
	c.target = c.text("id") + "/" + v.Name()
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", c.version(&v))
	s.warn(&b, &v.Definition)
	return c.json(&b)
}

func (s *Server) deployMetricVersion(c *call) error {
	v, err := s.Store.DeployMetricVersion(c.ctx(), c.project.ID, c.text("id"), c.text("name"))
	if err != nil {
		return err
	}
	c.target = c.text("id") + "/" + v.Name() // the path may have its SHA
	return c.data(c.version(&v))
}

// data answers with one thing in {"success", "data"}.
func (c *call) data(item json.RawMessage) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", item)
	return c.json(&b)
}

// dataPage streams a page of things as data answers with one: find names those of the page and counts all, load reads them.
func dataPage[T any](
	c *call,
	find func(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error),
	load func(ctx context.Context, projectID int64, ids []string) ([]T, error),
	item func(dst []byte, item *T) []byte,
) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	ids, total, err := find(c.ctx(), c.project.ID, limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	return c.stream(func(out *wire.Stream) error {
		out.Text(`{"success":true,"data":`)
		err := wire.WriteList(out, ids, func(ids []string) ([]T, error) { return load(c.ctx(), c.project.ID, ids) }, item)
		out.Text("}")
		return err
	})
}

// dataDeleted answers that something is deleted.
func (c *call) dataDeleted(what, id string) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.String("message", "The "+what+" "+id+" is deleted.")
	return c.json(&b)
}
