package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of an export: how many events a request reads, and how many spans and bytes of them a
// line of OTLP has, so that each line can be sent as a request.
const (
	exportPage = 500
	lineSpans  = 500
	lineBytes  = 4 << 20
)

func (a *app) eventExport() *cobra.Command {
	var choice eventChoice
	var format string
	var resume, overwrite bool
	var file fileChoice
	cmd := command("export FILE", "Write events to a file, - for standard output", `
		spangrove events export events.jsonl
		spangrove events export events.jsonl --resume
		spangrove events export - --filter 'metadata.cost > 0.5' --since 7d | gzip > costly.jsonl.gz
		spangrove events export spans.jsonl --format otlp
		spangrove events export costs.csv --csv --columns event_name,config.model,metadata.cost --since 30d`, nil)
	cmd.Long = "Events are written newest first, sessions among them, each with all its fields but those that say in which project it is. " +
		"spangrove events import makes equal events of them, in any project of any server. " +
		"Events that come in meanwhile do not disturb: each that was there at the beginning and is not deleted is written once.\n\n" +
		"An export that was interrupted goes on with --resume and the same flags: a line that was not finished is cut off, and what begins after " +
		"the last event in the file follows. What came in later, with a start before the beginning of the export, is not in it.\n\n" +
		"With --columns, --csv or --sort the server writes the file, which cannot be resumed: a line has a member or a cell for each column."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkBulk(format); err != nil {
			return err
		}
		if file.chosen() {
			return a.exportColumns(cmd, args[0], &choice, &file, format, resume, overwrite)
		}
		if resume && overwrite {
			return usage("--resume and --overwrite do not go together")
		}
		if resume && timeUpToNow.MatchString(choice.since) {
			return usage("--since %s moves with the time; with --resume it must be a date", choice.since)
		}
		q, err := choice.walkQuery(time.Now())
		if err != nil {
			return err
		}
		q.Limit = exportPage
		x := &export{app: a, query: q, format: format, name: args[0]}
		if args[0] == "-" {
			if resume || overwrite {
				return usage("--resume and --overwrite need a file")
			}
			return x.run(cmd.Context(), x.results)
		}
		file, err := x.open(resume, overwrite)
		if err != nil {
			return err
		}
		err = x.run(cmd.Context(), file)
		if closed := file.Close(); err == nil && closed != nil {
			err = &Failure{fmt.Sprintf("write %s: %s", args[0], cause(closed)), ExitFailed}
		}
		return err
	}
	choice.flags(cmd)
	bulkFlag(cmd, &format)
	file.flags(cmd, eventSorts)
	cmd.Flags().BoolVar(&resume, "resume", false, "go on with a file that an interrupted export has left")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the file if it exists")
	return cmd
}

// export is one on its way.
type export struct {
	*app
	query  client.EventQuery
	format string
	name   string
	done   map[string]bool // ids of events in the file that the query may choose again
	n      int64           // events written by this command
}

// open opens the file, behind what it has if it is to go on.
func (x *export) open(resume, overwrite bool) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	switch {
	case overwrite:
		flags |= os.O_TRUNC
	case !resume:
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(x.name, flags, 0o600) // prompts and answers are nobody else's
	if errors.Is(err, os.ErrExist) {
		return nil, usage("%s already exists; continue it with --resume, or replace it with --overwrite", x.name)
	}
	if err != nil {
		return nil, usage("write %s: %s", x.name, cause(err))
	}
	if resume {
		if err = x.goOn(file); err != nil {
			_ = file.Close() // the error that matters is the first one
			return nil, err
		}
	}
	return file, nil
}

// goOn cuts off an unfinished line, and lets the query begin where the file ends.
func (x *export) goOn(file *os.File) error {
	var end float64 // the start of the last event
	x.done = map[string]bool{}
	whole := int64(-1)
	for line, err := range backwards(file) {
		if err != nil {
			return fmt.Errorf("read %s: %w", x.name, err)
		}
		if whole < 0 {
			whole = line.end
		}
		if line.end > whole || len(bytes.TrimSpace(line.text)) == 0 {
			continue
		}
		events, err := placesOf(line.text, x.format)
		if err != nil {
			return usage("%s: is not an export in --format %s: %s; replace it with --overwrite", x.name, x.format, oneLine(err.Error()))
		}
		more := false
		for _, e := range events {
			if end == 0 || e.start < end {
				end = e.start
			}
		}
		// The bound is a time in microseconds, so it is the next one.
		x.query.DateRange.To = client.Time(end).Add(time.Microsecond)
		for _, e := range events {
			if e.start <= client.Millis(x.query.DateRange.To) {
				x.done[e.id] = true
				more = true
			}
		}
		if !more {
			break
		}
	}
	if whole < 0 {
		whole = 0
	}
	if err := file.Truncate(whole); err != nil {
		return fmt.Errorf("write %s: %w", x.name, err)
	}
	_, err := file.Seek(whole, io.SeekStart)
	return err
}

// placed is an event's place in the order of an export.
type placed struct {
	id    string
	start float64
}

// placesOf returns the places of the events in a line.
func placesOf(line []byte, format string) ([]placed, error) {
	if format == bulkJSONL {
		var e struct {
			ID    string   `json:"event_id"`
			Start *float64 `json:"start_time"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		if e.ID == "" || e.Start == nil {
			return nil, errors.New("a line has no event_id or no start_time")
		}
		return []placed{{e.ID, *e.Start}}, nil
	}
	spans, err := client.SplitSpans(line)
	if err != nil {
		return nil, err
	}
	list := make([]placed, len(spans))
	for i := range spans {
		if list[i].id, list[i].start, err = spans[i].Event(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fileLine is a line of a file, and the offset behind it.
type fileLine struct {
	text []byte
	end  int64
}

// backwards returns the lines of a file that are finished, the last one first.
func backwards(file *os.File) iter.Seq2[fileLine, error] {
	const block = 64 << 10
	return func(yield func(fileLine, error) bool) {
		at, err := file.Seek(0, io.SeekEnd) // where the bytes in held begin
		if err != nil {
			yield(fileLine{}, err)
			return
		}
		var held []byte
		finished := false // the bytes in held end where a line does
		for {
			i := bytes.LastIndexByte(held[:max(0, len(held)-1)], '\n')
			if !finished {
				i = bytes.LastIndexByte(held, '\n')
			}
			switch {
			case i >= 0 && finished, at == 0 && finished && len(held) > 0:
				if !yield(fileLine{held[i+1:], at + int64(len(held))}, nil) {
					return
				}
				held = held[:i+1]
			case i >= 0:
				held, finished = held[:i+1], true
			case at == 0:
				return
			case len(held) > maxLine:
				yield(fileLine{}, errLongLine)
				return
			default: // the more a line has, the more is read at once
				n := min(at, int64(max(block, len(held))))
				at -= n
				more := make([]byte, n, int(n)+len(held))
				if _, err := file.ReadAt(more, at); err != nil {
					yield(fileLine{}, err)
					return
				}
				held = append(more, held...)
			}
		}
	}
}

// run writes the events that the query chooses.
func (x *export) run(ctx context.Context, to io.Writer) error {
	count, err := x.api.Events.Search(ctx, client.EventQuery{
		Filters: x.query.Filters, RunID: x.query.RunID, DateRange: x.query.DateRange, Projections: []string{"start_time"}, Page: client.Page{Limit: 1},
	})
	if err != nil {
		return err
	}
	bar := &progress{}
	if _, shown := terminal(to); !shown { // or the bar would stand among the events
		bar = x.progress("exporting", "events", max(0, int64(count.Total-len(x.done))))
	}
	out := bufio.NewWriterSize(to, 256<<10)
	if x.format == bulkOTLP {
		err = x.spans(ctx, out, bar)
	} else {
		err = x.events(ctx, out, bar)
	}
	if flushed := out.Flush(); flushed != nil {
		err = &Failure{fmt.Sprintf("write %s: %s", x.name, cause(flushed)), ExitFailed}
	}
	bar.clear()
	if err != nil && x.name == "-" {
		return after(err, "exported %d events", x.n)
	}
	if err != nil {
		again := "--resume"
		if from := x.query.DateRange.From; !from.IsZero() {
			again += " --since " + from.UTC().Format(time.RFC3339Nano)
		}
		return after(err, "exported %d events to %s; go on with %s", x.n, x.name, again)
	}
	if x.name == "-" {
		x.remark("exported %d events", x.n)
		return nil
	}
	var b rawjson.Builder
	b.Int("events", x.n)
	b.String("file", x.name)
	more := ""
	if x.done != nil {
		more = "more "
	}
	return x.changed(b.Bytes(), "exported %d %sevents to %s", x.n, more, x.name)
}

func (x *export) events(ctx context.Context, out *bufio.Writer, bar *progress) error {
	for text, err := range x.api.Events.AllRaw(ctx, x.query) {
		if err != nil {
			return err
		}
		event, id := withoutPlace(text)
		if x.done[id] {
			continue
		}
		// An error of these is the one that Flush gives.
		_, _ = out.Write(event)
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
		x.n++
		bar.at(x.n, x.n)
	}
	return nil
}

// placeOf has the members of an event that only say where it is stored.
var placeOf = map[string]bool{"project": true, "project_id": true, "org_id": true, "workspace_id": true, "tenant": true}

// withoutPlace returns an event in one line without what only tells where it is stored, and its id.
func withoutPlace(event json.RawMessage) (line json.RawMessage, id string) {
	var b rawjson.Builder
	for name, value := range rawjson.Object(event) {
		if name == "event_id" {
			id, _ = rawjson.Text(value)
		}
		if !placeOf[name] {
			b.Raw(name, value)
		}
	}
	var one bytes.Buffer
	if json.Compact(&one, b.Bytes()) != nil {
		return b.Bytes(), id
	}
	return one.Bytes(), id
}

func (x *export) spans(ctx context.Context, out *bufio.Writer, bar *progress) error {
	var held []client.Span
	size := 0
	write := func() error {
		if len(held) == 0 {
			return nil
		}
		line, err := client.JoinSpans(held)
		if err != nil {
			return err
		}
		_, _ = out.Write(line)
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
		x.n += int64(len(held))
		held, size = nil, 0
		bar.at(x.n, x.n)
		return nil
	}
	for span, err := range x.api.OTLP.All(ctx, x.query) {
		if err != nil {
			return errors.Join(err, write())
		}
		id, _, err := span.Event()
		if err != nil {
			return err
		}
		if x.done[id] {
			continue
		}
		if len(held) == lineSpans || size+len(span.Span) > lineBytes {
			if err := write(); err != nil {
				return err
			}
		}
		held, size = append(held, span), size+len(span.Span)
	}
	return write()
}
