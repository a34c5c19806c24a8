package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

// What export, import and tail have in common.

// The formats of files of events: an event a line, or a message of OpenTelemetry a line, as the
// Collector's file exporter writes them.
const (
	bulkJSONL = "jsonl"
	bulkOTLP  = "otlp"
)

func bulkFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", bulkJSONL,
		"`FORMAT` of the file: jsonl, an event a line, or otlp, OpenTelemetry's JSON, a message of spans a line")
	completes(cmd, "format", []string{bulkJSONL, bulkOTLP})
}

func checkBulk(format string) error {
	if format != bulkJSONL && format != bulkOTLP {
		return usage("--format %s: must be %s or %s", format, bulkJSONL, bulkOTLP)
	}
	return nil
}

// walkQuery returns the choice for walks over all its events, with a range that does not move.
func (c *eventChoice) walkQuery(now time.Time) (q client.EventQuery, err error) {
	ownRange := *c
	ownRange.since, ownRange.until = "", ""
	text, err := ownRange.query()
	if err != nil {
		return q, err
	}
	var wire struct {
		Filters []client.Filter `json:"filters"`
		RunID   string          `json:"evaluation_id"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&wire); err != nil && !errors.Is(err, io.EOF) { // it is empty if all are chosen
		return q, err
	}
	q.Filters, q.RunID = wire.Filters, wire.RunID
	q.DateRange, err = fixedRange(c.since, c.until, now)
	return q, err
}

// fixedRange returns the range of --since and --until, counted from now.
func fixedRange(since, until string, now time.Time) (r client.DateRange, err error) {
	switch {
	case timeUpToNow.MatchString(since) && until != "":
		return r, usage("--since %s goes up to now; with --until it must be a date", since)
	case timeUpToNow.MatchString(since):
		if r.From, _, err = client.Last(since).Bounds(now); err != nil {
			return r, usage("--since %s: %s", since, strings.TrimPrefix(err.Error(), "client: "))
		}
		return r, nil
	case since != "":
		if r.From, _, err = parseDate(since); err != nil {
			return r, usage("--since %s: %s, or a time up to now such as 30m, 24h or 7d", since, err)
		}
	}
	if until != "" {
		day := false
		if r.To, day, err = parseDate(until); err != nil {
			return r, usage("--until %s: %s", until, err)
		}
		if day {
			r.To = r.To.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
	}
	return r, nil
}

var errDate = errors.New("must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z")

// parseDate reads a date, with or without a time of day; without a zone it is in UTC, as the
// server takes it.
func parseDate(text string) (t time.Time, day bool, err error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true, nil
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, false, nil
		}
	}
	return t, false, errDate
}

// maxLine bounds a line of a file, which stands in memory: a request takes 20 MB.
const maxLine = 32 << 20

// lineReader reads a file line by line, one in memory.
type lineReader struct {
	from   *bufio.Reader
	n      int   // number of the line that was read last, from 1
	offset int64 // in the file, of what comes behind it
	line   []byte
}

var errLongLine = errors.New("is longer than 32 MB")

// next returns the next line without its end, io.EOF behind the last one. It holds until the next
// call.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if len(l.line) == 0 && len(part) > 0 {
			l.n++
		}
		l.line = append(l.line, part...)
		l.offset += int64(len(part))
		switch {
		case len(l.line) > maxLine:
			return nil, errLongLine
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.line) > 0, err == nil:
			return bytes.TrimSpace(l.line), nil
		default:
			return nil, err
		}
	}
}
