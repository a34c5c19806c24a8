package client

import (
	"context"
	"io"
	"net/http"
)

// Formats of a File.
const (
	FormatJSONL = "jsonl"
	FormatCSV   = "csv"
)

// File is how an export is written.
type File struct {
	Format string // FormatJSONL if empty, or FormatCSV
	// Columns are fields, and paths into those that are objects, such as metadata.cost. Without any, JSON lines have whole events, and other
	// files a column for each field.
	Columns []string
}

type wireFile struct {
	Format  string   `json:"format"`
	Columns []string `json:"columns,omitempty"`
	Sort    string   `json:"sort,omitempty"`
	Order   string   `json:"order,omitempty"`
}

func (f *File) wire(sort string, ascending bool) wireFile {
	w := wireFile{Format: or(f.Format, FormatJSONL), Columns: f.Columns, Sort: sort}
	if ascending {
		w.Order = "asc"
	}
	return w
}

// ExportFile reads all events that match as a file, row by row as the server finds them. Of the search Filters, DateRange, RunID, Sort and Ascending
// count. A file that is broken off before its end ends with an error other than io.EOF. The caller closes it.
func (s *EventService) ExportFile(ctx context.Context, q EventSearch, f File) (io.ReadCloser, error) {
	body := struct {
		Filters   []Filter `json:"filters,omitempty"`
		DateRange any      `json:"dateRange,omitempty"`
		RunID     string   `json:"evaluation_id,omitempty"`
		wireFile
	}{q.Filters, q.DateRange.wire(), q.RunID, f.wire(q.Sort, q.Ascending)}
	answer, _, err := s.c.stream(ctx, Request{Method: http.MethodPost, Path: "/v1/events/export", Body: body, Repeatable: true})
	return answer, err
}

// Export reads all sessions that match as a file; as EventService.ExportFile. Of the query Filters, EventFilters, DateRange, Sort and Ascending count.
func (s *SessionService) Export(ctx context.Context, q SessionQuery, f File) (io.ReadCloser, error) {
	body := struct {
		Filters      []Filter `json:"filters,omitempty"`
		EventFilters []Filter `json:"event_filters,omitempty"`
		DateRange    any      `json:"dateRange,omitempty"`
		wireFile
	}{q.Filters, q.EventFilters, q.DateRange.wire(), f.wire(q.Sort, q.Ascending)}
	answer, _, err := s.c.stream(ctx, Request{Method: http.MethodPost, Path: "/v1/sessions/export", Body: body, Repeatable: true})
	return answer, err
}
