package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/otlpexport"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// treePages is how a tree is read: whole, unless the caller wants parts of it, each small
// enough for the server that shall import it.
var treePages = query.PageRule{Default: math.MaxInt32, Max: math.MaxInt32}

// getSessionOTLP answers with a session as spans: the session event and all below it.
func (s *Server) getSessionOTLP(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	format, err := otlpFormat(c.r)
	if err != nil {
		return err
	}
	set, err := s.Store.Session(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	return s.treeOTLP(c, format, set, uuid.Nil)
}

// getEventOTLP answers with an event and what is below it as spans. The id of a session gives
// the session.
func (s *Server) getEventOTLP(c *call) error {
	id, err := c.id("event_id")
	if err != nil {
		return err
	}
	format, err := otlpFormat(c.r)
	if err != nil {
		return err
	}
	set, at, err := s.around(c, id)
	if err != nil {
		return err
	}
	return s.treeOTLP(c, format, set, at)
}

// treeOTLP sends a part of a session's tree, parents first.
func (s *Server) treeOTLP(c *call, format otlpexport.Format, set *event.Set, at uuid.UUID) error {
	values := c.r.URL.Query()
	limit, page, err := treePages.Parse(text(values.Get("limit")), text(values.Get("page")))
	if err != nil {
		return err
	}
	order := event.Below(set.Events, at)
	if len(order) == 0 {
		return fault.New(fault.NotFound, "no event %s", at)
	}
	c.total(len(order))
	from := len(order)
	if page-1 <= len(order)/limit {
		from = min((page-1)*limit, from)
	}
	return s.sendOTLP(c, otlpexport.New(format, true), format, set, order[from:min(from+limit, len(order))])
}

// searchOTLP serves an export whose page of events comes as spans.
func (s *Server) searchOTLP(c *call) error {
	format, err := otlpFormat(c.r)
	if err != nil {
		return err
	}
	object, err := c.object()
	if err != nil {
		return err
	}
	in, err := wire.DecodeSearch(object, query.SpanPages, s.Now())
	if err != nil {
		return err
	}
	if !rawjson.Empty(rawjson.Get(object, "projections")) {
		return fault.InvalidField("projections", "must be left out: a span holds its whole event")
	}
	if in.Snippets {
		return fault.InvalidField("snippets", "must be left out: a span holds its whole event")
	}
	in.Search.Filters = query.InProject(in.Search.Filters, c.project)
	set, err := s.Store.Search(c.ctx(), c.project.ID, in.Search)
	if err != nil {
		return err
	}
	if !in.Search.Uncounted {
		c.total(set.Total)
	}
	if next := in.NextCursor(set); next != "" {
		c.w.Header().Set("X-Next-Cursor", next)
	}
	order := make([]int, len(set.Events))
	for i := range order {
		order[i] = i
	}
	return s.sendOTLP(c, otlpexport.New(format, false), format, set, order)
}

// sendOTLP streams events of a set in the given order.
func (s *Server) sendOTLP(c *call, x *otlpexport.Encoder, format otlpexport.Format, set *event.Set, order []int) error {
	return c.stream(func(out *wire.Stream) error {
		out.ContentType, out.WholeEnd = format.ContentType(), false
		for _, i := range order {
			if err := appendOTLP(c.ctx(), out, x, set, i); err != nil {
				return err
			}
		}
		return out.Append(x.Finish)
	})
}

func appendOTLP(ctx context.Context, out *wire.Stream, x *otlpexport.Encoder, set *event.Set, i int) error {
	e, err := set.Load(ctx, i)
	if err != nil || set.IsGone(i) {
		return err
	}
	return out.Append(func(dst []byte) ([]byte, error) { return x.Append(dst, &e) })
}

// otlpFormat returns the encoding a caller asks for: the parameter format, else the first encoding
// in Accept that OTLP has, else JSON.
func otlpFormat(r *http.Request) (otlpexport.Format, error) {
	switch name := r.URL.Query().Get("format"); strings.ToLower(name) {
	case "":
	case "json":
		return otlpexport.JSON, nil
	case "protobuf", "proto":
		return otlpexport.Protobuf, nil
	default:
		return "", fault.InvalidField("format", "must be json or protobuf")
	}
	for _, line := range r.Header.Values("Accept") {
		for _, one := range strings.Split(line, ",") {
			media, params, err := mime.ParseMediaType(one)
			if q, bad := strconv.ParseFloat(params["q"], 64); err != nil || bad == nil && q <= 0 {
				continue
			}
			switch media {
			case "application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf":
				return otlpexport.Protobuf, nil
			case "application/json":
				return otlpexport.JSON, nil
			}
		}
	}
	return otlpexport.JSON, nil
}

// text returns a parameter as JSON, nothing if it is empty.
func text(value string) json.RawMessage {
	if value == "" {
		return nil
	}
	return rawjson.AppendString(nil, value)
}
