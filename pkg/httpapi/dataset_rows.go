package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Bounds of what is read of a dataset's datapoints.
const (
	readGroup  = 500    // datapoints that stand in memory at once
	lookedRows = 20_000 // datapoints that one page looks at for those that a filter chooses
)

// rowPages is how lists of a dataset's datapoints are paged.
var rowPages = query.PageRule{Default: 50, Max: 500}

// datasetRead is a dataset in a version, of which some datapoints are read.
type datasetRead struct {
	set    dataset.Dataset
	filter dataset.RowFilter
	after  int64 // the position to begin behind
}

// readDataset reads which datapoints of which version are asked for; a cursor says both.
func (s *Server) readDataset(c *call) (in datasetRead, err error) {
	var params struct {
		Version int64  `query:"version"` // 0: the current one
		Text    string `query:"text"`
		Field   string `query:"field"`
		Value   string `query:"value"`
		Cursor  string `query:"cursor"`
	}
	if err := c.query(&params); err != nil {
		return in, err
	}
	in.filter = dataset.RowFilter{Text: params.Text, Field: params.Field, Value: params.Value}
	if err := in.filter.Validate(); err != nil {
		return in, err
	}
	if params.Cursor != "" {
		version, after, err := wire.ReadRowCursor(&in.filter, params.Cursor)
		if err != nil {
			return in, err
		}
		if params.Version != 0 && params.Version != version {
			return in, fault.InvalidField("cursor", "is of version %d", version)
		}
		params.Version, in.after = version, after
	}
	in.set, err = s.Store.Dataset(c.ctx(), c.project.ID, c.text("id"), params.Version)
	return in, err
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// walk hands the datapoints of a dataset to f, in order, until it returns an error. fault.NotFound if the dataset is gone when it comes to the end:
// what it has found is not all then, since the rows of one that is deleted go, too.
func (s *Server) walk(c *call, in *datasetRead, group int, f func(*dataset.Datapoint) error) error {
	for after := in.after; ; {
		list, next, err := s.Store.DatapointsIn(c.ctx(), c.project.ID, in.set.ID, in.set.Version, after, group)
		if err != nil {
			return err
		}
		for i := range list {
			if err := f(&list[i]); err != nil {
				return err
			}
		}
		if after = next; next == 0 {
			_, err := s.Store.Dataset(c.ctx(), c.project.ID, in.set.ID, in.set.Version)
			return err
		}
	}
}

// listDatasetRows answers with a page of the datapoints that a filter chooses. A page looks at a bounded number of them: it may have fewer than
// were asked for, and yet not be the last.
func (s *Server) listDatasetRows(c *call) error {
	in, err := s.readDataset(c)
	if err != nil {
		return err
	}
	params, err := c.params()
	if err != nil {
		return err
	}
	limit, _, err := params.Page(rowPages)
	if err != nil {
		return err
	}
	total, err := s.Store.CountDatapoints(c.ctx(), c.project.ID, in.set.ID, in.set.Version)
	if err != nil {
		return err
	}
	group := readGroup
	if in.filter.Any() {
		group = limit + 1
	}
	return c.stream(func(out *wire.Stream) error {
		out.Text(`{"version":` + strconv.FormatInt(in.set.Version, 10) + `,"total":` + strconv.Itoa(total) + `,"rows":[`)
		rows, looked, last := 0, 0, in.after
		err := s.walk(c, &in, group, func(p *dataset.Datapoint) error {
			if rows == limit || looked == lookedRows {
				return errEnough
			}
			looked, last = looked+1, p.Position
			if !in.filter.Match(p) {
				return nil
			}
			if rows++; rows > 1 {
				out.Text(",")
			}
			return out.Append(func(dst []byte) ([]byte, error) { return wire.AppendRow(dst, p, &c.project, c.dialect), nil })
		})
		cursor := "null"
		if errors.Is(err, errEnough) {
			cursor, err = `"`+wire.RowCursor(&in.filter, in.set.Version, last)+`"`, nil
		}
		out.Text(`],"looked_at":` + strconv.Itoa(looked) + `,"next_cursor":` + cursor + `}`)
		return err
	})
}

// getDatasetSplits counts the datapoints that a filter chooses by the values of fields.
func (s *Server) getDatasetSplits(c *call) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	fields, err := params.Texts("fields")
	if err != nil {
		return err
	}
	if len(fields) > dataset.MaxSplitFields {
		return fault.InvalidField("fields", "must be at most %d fields", dataset.MaxSplitFields)
	}
	for _, f := range fields {
		if err := dataset.CheckField("fields", f); err != nil {
			return err
		}
	}
	in, err := s.readDataset(c)
	if err != nil {
		return err
	}
	splits := dataset.NewSplits(fields)
	if err := s.walk(c, &in, readGroup, func(p *dataset.Datapoint) error {
		if in.filter.Match(p) {
			splits.Add(p)
		}
		return nil
	}); err != nil {
		return err
	}
	return c.answer(wire.AppendSplits(nil, splits, in.set.Version))
}

// diffPages is how differences of versions are paged.
var diffPages = query.PageRule{Default: 50, Max: 200}

// getDatasetDiff answers with how the datapoints of a dataset differ between two versions.
func (s *Server) getDatasetDiff(c *call) error {
	var in struct {
		From   int64  `query:"from"`
		To     int64  `query:"to"` // 0: the current version
		Change string `query:"change"`
		Cursor string `query:"cursor"`
	}
	if err := c.query(&in); err != nil {
		return err
	}
	params, err := c.params()
	if err != nil {
		return err
	}
	q := dataset.DiffQuery{From: in.From, To: in.To, Only: in.Change, After: in.Cursor}
	if q.Limit, _, err = params.Page(diffPages); err != nil {
		return err
	}
	switch q.Only {
	case "", dataset.Added, dataset.Removed, dataset.Changed:
	default:
		return fault.InvalidField("change", "must be one of added, removed, changed, not %.40q", q.Only)
	}
	id := c.text("id")
	to, err := s.Store.Dataset(c.ctx(), c.project.ID, id, q.To)
	if err != nil {
		return err
	}
	if q.To = to.Version; q.From == 0 {
		return fault.InvalidField("from", "is required: a version")
	}
	if _, err := s.Store.Dataset(c.ctx(), c.project.ID, id, q.From); err != nil {
		return err
	}
	diff, err := s.Store.DiffDataset(c.ctx(), c.project.ID, id, q)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error {
		var b rawjson.Builder
		b.Int("from", q.From)
		b.Int("to", q.To)
		b.Int("added", int64(diff.Added))
		b.Int("removed", int64(diff.Removed))
		b.Int("changed", int64(diff.Changed))
		head := string(b.Bytes())
		out.Text(head[:len(head)-1] + `,"rows":[`)
		for i := range diff.Rows {
			if i > 0 {
				out.Text(",")
			}
			if err := out.Append(func(dst []byte) ([]byte, error) {
				return wire.AppendDiffRow(dst, &diff.Rows[i], &c.project, c.dialect), nil
			}); err != nil {
				return err
			}
		}
		cursor := "null"
		if diff.More {
			cursor = `"` + diff.Rows[len(diff.Rows)-1].ID + `"`
		}
		out.Text(`],"next_cursor":` + cursor + `}`)
		return nil
	})
}

// exportDataset streams the datapoints that a filter chooses as a file. For CSV they are read twice: the columns stand in its first line.
func (s *Server) exportDataset(c *call) error {
	var params struct {
		Format string `query:"format"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	in, err := s.readDataset(c)
	if err != nil {
		return err
	}
	to := http.NewResponseController(c.w)
	walk := func(f func(*dataset.Datapoint) error) error {
		n := 0
		return s.walk(c, &in, readGroup, func(p *dataset.Datapoint) error {
			if n++; n%readGroup == 1 { // as with other files
				_ = to.SetWriteDeadline(time.Now().Add(exportWrite)) // not all writers can; then there is none
			}
			if p.Deleted || !in.filter.Match(p) {
				return nil
			}
			return f(p)
		})
	}
	var head []byte
	contentType, appendTo := "application/x-ndjson", func(dst []byte, p *dataset.Datapoint) []byte {
		return append(wire.AppendDatapoint(dst, p, &c.project, c.dialect), '\n')
	}
	switch params.Format {
	case "", dataset.FormatJSONL:
		params.Format = dataset.FormatJSONL
	case dataset.FormatCSV:
		var table dataset.Table
		if err := walk(table.Columns); err != nil {
			return err
		}
		contentType, appendTo, head = "text/csv; charset=utf-8", table.AppendRow, table.AppendHead(nil)
	default:
		return fault.InvalidField("format", "must be one of jsonl, csv, not %.40q", params.Format)
	}
	c.w.Header().Set("Content-Disposition", wire.IsDownload(in.set.Name+"."+params.Format))
	return c.stream(func(out *wire.Stream) error {
		out.ContentType = contentType
		out.Text(string(head))
		return walk(func(p *dataset.Datapoint) error {
			return out.Append(func(dst []byte) ([]byte, error) { return appendTo(dst, p), nil })
		})
	})
}

// previewed is how many datapoints a dry run shows.
const previewed = 5

// importDataset stores the rows of a file as datapoints, all or none.
func (s *Server) importDataset(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeDatasetImport(body)
	if err != nil {
		return err
	}
	m, err := dataset.ReadFile(in.Text, in.Format, in.Columns)
	if err != nil {
		return err
	}
	if in.Dry {
		return c.answer(wire.AppendImport(nil, m, previewed))
	}
	if err := m.Err(); err != nil {
		return err
	}
	return s.storeIn(c, &in.DatasetTarget, m.Points)
}

// storeIn stores datapoints in a dataset that is there or in a new one, all or none.
func (s *Server) storeIn(c *call, to *wire.DatasetTarget, list []dataset.Datapoint) (err error) {
	id := to.ID
	switch {
	case id == "":
		id, _, err = s.Store.CreateDatasetOf(c.ctx(), c.project.ID, to.New, list)
	case len(list) > 0:
		for i := range list {
			list[i].LinkedDatasets = []string{id}
		}
		_, err = s.Store.CreateDatapoints(c.ctx(), c.project.ID, list)
	}
	if err != nil {
		return missing("dataset_id", err)
	}
	d, err := s.Store.Dataset(c.ctx(), c.project.ID, id, 0)
	if err != nil {
		return missing("dataset_id", err)
	}
	var b rawjson.Builder
	b.String("dataset_id", id)
	b.Int("version", d.Version)
	b.Int("added", int64(len(list)))
	return c.json(&b)
}

// createDatasetFromSearch makes a datapoint of each event or session that a search finds, newest first, all or none.
func (s *Server) createDatasetFromSearch(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeDatasetSearch(body, s.Now())
	if err != nil {
		return err
	}
	if in.ID != "" {
		if _, err := s.Store.Dataset(c.ctx(), c.project.ID, in.ID, 0); err != nil {
			return missing("dataset_id", err)
		}
	}
	making := pointMaker{c: c, batch: &wire.DatapointBatch{Mapping: in.Mapping}, most: dataset.MaxRows, field: "events"}
	if in.Dry {
		making.most = previewed
	}
	total := 0
	if in.Events != nil {
		making.batch.Search = *in.Events
		total, err = making.all(s.Store)
	} else {
		making.field = "sessions"
		total, err = making.sessions(s.Store, *in.Sessions)
	}
	switch {
	case err != nil:
		return err
	case in.Dry:
		var b rawjson.Builder
		b.Int("total", int64(total))
		b.Int("most", dataset.MaxRows)
		b.Raw("preview", wire.AppendContents(nil, making.list))
		return c.json(&b)
	}
	return s.storeIn(c, &in.DatasetTarget, making.list)
}
