package httpapi

import (
	"slices"
	"strconv"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// listPages is how lists of resources are paged. Clients know no pages here, so a list that
// nobody limits is as long as may be.
var listPages = query.PageRule{Default: 1000, Max: 1000}

// query reads the query string into a struct with tags (wire.Params.Read).
func (c *call) query(to any) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	return params.Read(to)
}

// params reads the query string.
func (c *call) params() (wire.Params, error) { return wire.ParseParams(c.r.URL.RawQuery) }

// text reads an id of the path. Which ids there can be is not the path's to say.
func (c *call) text(name string) string { return wire.PathText(c.r.PathValue(name)) }

// paramID reads an id from the query string under one of the names that clients use for it.
// Errors speak of the first.
func (c *call) paramID(names ...string) (string, error) {
	params, err := c.params()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if id, err := params.Text(name); err != nil || id != "" {
			return id, err
		}
	}
	return "", fault.InvalidField(names[0], "is required")
}

// page reads limit and page of a list.
func (c *call) page() (limit, page int, err error) {
	params, err := c.params()
	if err != nil {
		return 0, 0, err
	}
	return params.Page(listPages)
}

// versions answers with n versions of something; at returns the number of each and since when it
// was the current one.
func (c *call) versions(n, total int, at func(i int) (version, since int64)) error {
	c.total(total)
	out := []byte(`{"versions":[`)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		version, since := at(i)
		out = wire.AppendVersion(out, version, since)
	}
	_ = wire.WriteJSON(c.w, append(out, "]}"...)) // an error is the caller's connection, gone
	return nil
}

// count writes how many were meant by a change: one or none.
func count(b *rawjson.Builder, key string, hit bool) {
	n := int64(0)
	if hit {
		n = 1
	}
	b.Int(key, n)
}

// missing names the field by which a request names what is not there.
func missing(field string, err error) error {
	if fault.IsNotFound(err) {
		return fault.In(field, err)
	}
	return err
}

// total sends how many there are in all, where the body of a list has no place for it.
func (c *call) total(n int) { c.w.Header().Set("X-Total-Count", strconv.Itoa(n)) }

// list streams the things with these ids under key, or bare if key is empty.
func list[T any](c *call, key string, ids []string, load func(ids []string) ([]T, error), item func(dst []byte, item *T) []byte) error {
	return c.stream(func(out *wire.Stream) error {
		if key == "" {
			return wire.WriteList(out, ids, load, item)
		}
		out.Text(`{"` + key + `":`)
		err := wire.WriteList(out, ids, load, item)
		out.Text("}")
		return err
	})
}

// inserted returns the answer to a creation.
func inserted(result ...func(*rawjson.Builder)) *rawjson.Builder {
	var b, inner rawjson.Builder
	b.Bool("inserted", true)
	for _, f := range result {
		f(&inner)
	}
	b.Raw("result", inner.Bytes())
	return &b
}

// resourceOperations are those of all nouns except events and sessions.
var resourceOperations = slices.Concat(
	datasetOperations, datapointOperations, configurationOperations, metricOperations, evaluationOperations, backfillOperations,
	toolOperations, providerOperations, chartOperations, viewOperations, alertOperations, commentOperations, dashboardOperations, deletionOperations, queueOperations, runOperations, schemaOperations,
	projectOperations, keyOperations, limitOperations, retentionOperations, usageOperations, indexOperations, auditOperations,
	refusalOperations, statusOperations, sampleOperations, playgroundOperations,
)
