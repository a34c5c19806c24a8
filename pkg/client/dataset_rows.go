package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
)

// RowQuery chooses datapoints of a dataset, in its order. What is empty does not count.
type RowQuery struct {
	Version int64  // an old version; 0 is the current one
	Text    string // in some text or name of theirs, in any case
	Field   string // a path such as metadata.split
	Value   string // that Field has, or an element of it
	Limit   int    // 1 to 500; 0: 50
	Cursor  string // NextCursor of the page before
}

func (q RowQuery) query() url.Values {
	v := url.Values{}
	setInt(v, "version", q.Version)
	set(v, "text", q.Text)
	set(v, "field", q.Field)
	set(v, "value", q.Value)
	setInt(v, "limit", int64(q.Limit))
	set(v, "cursor", q.Cursor)
	return v
}

// Row is a datapoint in a version of a dataset.
type Row struct {
	Position         int64     `json:"position"`
	DatapointVersion int64     `json:"datapoint_version"` // for DatapointInput.IfVersion
	Datapoint        Datapoint `json:"datapoint"`
}

// RowPage is a page of the datapoints of a dataset.
type RowPage struct {
	Version    int64  `json:"version"`
	Total      int    `json:"total"` // datapoints of the version, whatever was chosen of them
	Rows       []Row  `json:"rows"`  // may be fewer than Limit before the last page
	LookedAt   int    `json:"looked_at"`
	NextCursor string `json:"next_cursor"` // empty on the last page
}

// Rows reads a page of the datapoints of a dataset.
func (s *DatasetService) Rows(ctx context.Context, id string, q RowQuery) (*RowPage, error) {
	return one[RowPage](ctx, s.c, Request{Method: http.MethodGet, Path: path("datasets", id, "rows"), Query: q.query(), Repeatable: true})
}

// maxRows is the largest page of a dataset's datapoints that the server gives.
const maxRows = 500

// AllRows walks over all datapoints of a dataset that a query chooses, in the version of the first page. Limit is how many are read at a
// time, 500 if it is 0; a page that is too large for the client's bound is read in smaller ones.
func (s *DatasetService) AllRows(ctx context.Context, id string, q RowQuery) iter.Seq2[Row, error] {
	if q.Limit <= 0 {
		q.Limit = maxRows
	}
	return func(yield func(Row, error) bool) {
		page := q
		follow(q.Cursor, func(cursor string) ([]Row, string, error) {
			page.Cursor = cursor
			got, err := s.Rows(ctx, id, page)
			for errors.Is(err, ErrTooLarge) && page.Limit > 1 {
				page.Limit /= 2
				got, err = s.Rows(ctx, id, page)
			}
			if err != nil {
				return nil, "", err
			}
			page.Limit = min(q.Limit, 2*page.Limit)
			return got.Rows, got.NextCursor, nil
		})(yield)
	}
}

// Splits is how many datapoints of a dataset have which values.
type Splits struct {
	Version    int64        `json:"version"`
	Total      int          `json:"total"`
	Fields     []SplitField `json:"fields"`
	MoreFields int          `json:"more_fields"` // that were not counted
}

// SplitField counts the values of a field, the most frequent first.
type SplitField struct {
	Field     string `json:"field"`
	WithValue int    `json:"with_value"` // datapoints that have one
	Values    []struct {
		Value string `json:"value"`
		Count int    `json:"count"`
	} `json:"values"`
	MoreValues int  `json:"more_values"` // that are not shown
	Others     bool `json:"others"`      // there are values that were not kept apart
}

// Splits counts the datapoints that a query chooses by the values of fields, such as metadata.split; without fields by those of metadata.
func (s *DatasetService) Splits(ctx context.Context, id string, q RowQuery, fields ...string) (*Splits, error) {
	q.Limit, q.Cursor = 0, ""
	v := q.query()
	setList(v, "fields", fields)
	return one[Splits](ctx, s.c, Request{Method: http.MethodGet, Path: path("datasets", id, "splits"), Query: v, Repeatable: true})
}

// DiffQuery asks how two versions of a dataset differ.
type DiffQuery struct {
	From, To int64  // To 0 is the current one
	Change   string // only those added, removed or changed; empty: all
	Limit    int    // 1 to 200; 0: 50
	Cursor   string // NextCursor of the page before
}

// DatasetDiff is a page of the datapoints that differ between two versions, and how many in all.
type DatasetDiff struct {
	From       int64         `json:"from"`
	To         int64         `json:"to"`
	Added      int           `json:"added"`
	Removed    int           `json:"removed"`
	Changed    int           `json:"changed"`
	Rows       []DatasetEdit `json:"rows"`
	NextCursor string        `json:"next_cursor"` // empty on the last page
}

// DatasetEdit is a datapoint that differs.
type DatasetEdit struct {
	Change      string     `json:"change"` // added, removed or changed
	DatapointID string     `json:"datapoint_id"`
	Fields      []string   `json:"fields"` // that differ, if it was changed
	Before      *Datapoint `json:"before"` // its contents, without its id and times
	After       *Datapoint `json:"after"`
}

// Diff reads a page of how two versions of a dataset differ.
func (s *DatasetService) Diff(ctx context.Context, id string, q DiffQuery) (*DatasetDiff, error) {
	v := url.Values{}
	setInt(v, "from", q.From)
	setInt(v, "to", q.To)
	set(v, "change", q.Change)
	setInt(v, "limit", int64(q.Limit))
	set(v, "cursor", q.Cursor)
	return one[DatasetDiff](ctx, s.c, Request{Method: http.MethodGet, Path: path("datasets", id, "diff"), Query: v, Repeatable: true})
}

// Export reads the datapoints that a query chooses as a file, jsonl or csv. The caller closes it.
func (s *DatasetService) Export(ctx context.Context, id, format string, q RowQuery) (io.ReadCloser, error) {
	q.Limit, q.Cursor = 0, ""
	v := q.query()
	set(v, "format", format)
	body, _, err := s.c.stream(ctx, Request{Method: http.MethodGet, Path: path("datasets", id, "export"), Query: v, Repeatable: true})
	return body, err
}

// ImportColumn says what becomes of a column of a file: inputs.KEY, ground_truth.KEY, metadata.KEY, such a part as a whole, history, or nothing.
type ImportColumn struct {
	Name string `json:"name"`
	To   string `json:"to"`
}

// DatasetImport is a file whose rows become datapoints.
type DatasetImport struct {
	Format    string         `json:"format"` // csv or jsonl
	Text      string         `json:"text"`
	Columns   []ImportColumn `json:"columns,omitempty"` // what their own names do not say
	DatasetID string         `json:"dataset_id,omitempty"`
	Name      string         `json:"name,omitempty"` // of a new dataset, instead of DatasetID
}

// Extended says what came of an import, or of a search that became datapoints.
type Extended struct {
	DatasetID string `json:"dataset_id"`
	Version   int64  `json:"version"`
	Added     int    `json:"added"`
}

// Import makes datapoints of the rows of a file, at most 10,000, all or none.
func (s *DatasetService) Import(ctx context.Context, in DatasetImport) (*Extended, error) {
	return one[Extended](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/datasets/import", Body: &in})
}

// ImportPreview is what an import would store.
type ImportPreview struct {
	Rows    int            `json:"rows"`
	Bad     int            `json:"bad"`
	Columns []ImportColumn `json:"columns"`
	Errors  []struct {
		Row     int    `json:"row"`
		Line    int    `json:"line"`
		Column  string `json:"column"`
		Message string `json:"message"`
	} `json:"errors"` // the first 100
	Preview []Datapoint `json:"preview"` // the first 5, without ids and times
}

// PreviewImport says what an import would store, and which rows are wrong. Nothing is stored.
func (s *DatasetService) PreviewImport(ctx context.Context, in DatasetImport) (*ImportPreview, error) {
	body := struct {
		DatasetImport
		Dry bool `json:"dry"`
	}{in, true}
	return one[ImportPreview](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/datasets/import", Body: &body, Repeatable: true})
}

// DatasetSearch makes datapoints of all that a search finds: either of events or of sessions.
type DatasetSearch struct {
	Events    *EventQuery   // of it Filters, DateRange and RunID count
	Sessions  *SessionQuery // of it Filters, EventFilters and DateRange count
	Mapping   *Mapping      // dotted paths into the event; nil: its inputs, and its outputs as ground truth
	DatasetID string
	Name      string // of a new dataset, instead of DatasetID
}

type wireDatasetSearch struct {
	Events    any      `json:"events,omitempty"`
	Sessions  any      `json:"sessions,omitempty"`
	Mapping   *Mapping `json:"mapping,omitempty"`
	DatasetID string   `json:"dataset_id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Dry       bool     `json:"dry,omitempty"`
}

func (q *DatasetSearch) wire() wireDatasetSearch {
	type search struct {
		Filters      []Filter `json:"filters,omitempty"`
		EventFilters []Filter `json:"event_filters,omitempty"`
		DateRange    any      `json:"dateRange,omitempty"`
		RunID        string   `json:"evaluation_id,omitempty"`
	}
	w := wireDatasetSearch{Mapping: q.Mapping, DatasetID: q.DatasetID, Name: q.Name}
	if e := q.Events; e != nil {
		w.Events = search{Filters: e.Filters, DateRange: e.DateRange.wire(), RunID: e.RunID}
	}
	if s := q.Sessions; s != nil {
		w.Sessions = search{Filters: s.Filters, EventFilters: s.EventFilters, DateRange: s.DateRange.wire()}
	}
	return w
}

// FromSearch makes a datapoint of each event or session that a search finds, at most 10,000, newest first, all or none.
func (s *DatasetService) FromSearch(ctx context.Context, q DatasetSearch) (*Extended, error) {
	return one[Extended](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/datasets/from_search", Body: q.wire()})
}

// SearchPreview is what a search would become.
type SearchPreview struct {
	Total   int         `json:"total"`
	Most    int         `json:"most"`    // how many may be stored at once
	Preview []Datapoint `json:"preview"` // of the newest, without ids and times
}

// PreviewSearch says how many events or sessions a search finds, and what would become of the newest. Nothing is stored.
func (s *DatasetService) PreviewSearch(ctx context.Context, q DatasetSearch) (*SearchPreview, error) {
	body := q.wire()
	body.Dry = true
	return one[SearchPreview](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/datasets/from_search", Body: body, Repeatable: true})
}
