package httpapi

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/evaluate/library"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// listMetricLibrary answers with the ready-made metrics; there are few, so they are not paged.
func (s *Server) listMetricLibrary(c *call) error {
	var list []json.RawMessage
	for _, e := range library.Entries() {
		list = append(list, libraryMetric(e, c.dialect))
	}
	var b rawjson.Builder
	b.Raw("metrics", rawjson.AppendArray(nil, list))
	return c.json(&b)
}

// libraryMetric returns an entry of the library: the fields of a metric, its parameters and examples.
func libraryMetric(e *library.Entry, dialect wire.Dialect) json.RawMessage {
	var parameters, examples []json.RawMessage
	for _, p := range e.Parameters {
		var b rawjson.Builder
		b.String("name", p.Name)
		b.String("description", p.Description)
		b.Bool("required", p.Default == nil)
		if p.Default != nil {
			b.Raw("default", p.Default)
		}
		parameters = append(parameters, b.Bytes())
	}
	for _, x := range e.Examples {
		var b rawjson.Builder
		b.Raw("event", x.Event)
		if x.Parameters != nil {
			b.Raw("parameters", x.Parameters)
		}
		b.Raw("score", x.Score)
		examples = append(examples, b.Bytes())
	}
	var b rawjson.Builder
	b.Raw("parameters", rawjson.AppendArray(nil, parameters))
	b.Raw("examples", rawjson.AppendArray(nil, examples))
	return rawjson.Concat(wire.MetricDefinition(&e.Definition, dialect), b.Bytes())
}

// enableMetric makes a metric of the project from one of the library, unless that is one already.
func (s *Server) enableMetric(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, err := readyMetric(body, c.dialect)
	if err != nil {
		return err
	}
	if err := s.Evaluator.Check(&d); err != nil {
		return err
	}
	id, inserted, err := s.Store.EnableMetric(c.ctx(), c.project.ID, d)
	if err != nil {
		return err
	}
	return s.savedMetric(c, id, inserted, &d)
}

// readyMetric returns the metric of the library that body names, with the parameters and whatever
// fields of a metric that it has.
func readyMetric(body []byte, dialect wire.Dialect) (d metric.Definition, err error) {
	object, _, err := wire.DecodeObject(body)
	if err != nil {
		return d, err
	}
	p, _, err := wire.DecodeMetricPatch(object, dialect)
	if err != nil {
		return d, err
	}
	name, ok := rawjson.Text(rawjson.Get(object, "from"))
	if !ok {
		return d, fault.InvalidField("from", "is required: the name of a metric of the library")
	}
	e := library.Find(name)
	if e == nil {
		return d, fault.InvalidField("from", "the library has no metric %.100q", name)
	}
	if d, err = e.Define(rawjson.Get(object, "parameters")); err != nil {
		return d, fault.In("parameters", err)
	}
	d.Apply(&p)
	return d, d.Validate()
}

// savedMetric answers with the id of a metric, and whether it is new.
func (s *Server) savedMetric(c *call, id string, inserted bool, d *metric.Definition) error {
	var b rawjson.Builder
	b.Bool("inserted", inserted)
	b.String("metric_id", id)
	s.warn(&b, d)
	return c.json(&b)
}
