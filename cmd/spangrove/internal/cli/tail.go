package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/fault"
)

func (a *app) eventTail() *cobra.Command {
	var choice eventChoice
	t := &follower{app: a, seen: map[string]float64{}}
	cmd := command("tail", "Follow new events", `
		spangrove events tail
		spangrove events tail --since 10m --filter 'error exists'
		spangrove events tail --type model --output jsonl | jq .metadata.cost`,
		func(ctx context.Context, _ []string) error {
			switch {
			case t.limit < 0:
				return usage("--limit must not be negative")
			case t.interval <= 0:
				return usage("--interval must be more than 0")
			case t.late < 0:
				return usage("--late must not be negative")
			}
			var err error
			now := time.Now()
			if t.query, err = choice.walkQuery(now); err != nil {
				return err
			}
			t.since = t.query.DateRange.From
			if t.since.IsZero() {
				t.since = now
			}
			return t.follow(ctx)
		})
	cmd.Long = "Events are shown as they arrive, oldest first, until Ctrl-C; --since shows some of those before, too. Each event is shown once, " +
		"as it is when it is first seen; later changes are not shown.\n\n" +
		"What is new is found by looking again and again through the events that began within the time of --late: an event that arrives later than that " +
		"after its start is not shown. That holds for differences between this machine's clock and those of the senders, too. A longer time finds more " +
		"and costs the server more. While the server is away, it is asked again, and nothing of that time is lost."
	choice.flagsWithoutTime(cmd)
	cmd.Flags().StringVar(&choice.since, "since", "",
		"also those that began in this `TIME` up to now, such as 30m, 24h or 7d, or from this date on")
	cmd.Flags().DurationVar(&t.late, "late", 10*time.Minute, "how long after its start an event may arrive")
	cmd.Flags().DurationVar(&t.interval, "interval", time.Second, "how often to look; less often if looking takes long")
	cmd.Flags().IntVar(&t.limit, "limit", 0, "end after so many events; 0: go on until Ctrl-C")
	return cmd
}

// follower follows events.
type follower struct {
	*app
	query    client.EventQuery // without its range
	since    time.Time         // events that began before and are there when it begins are not shown
	late     time.Duration
	interval time.Duration
	limit    int

	from time.Time          // where the next look begins
	seen map[string]float64 // start of each event from there on that is known, by its id
	out  *streamOutput
}

// tailChunk is how many new events are read whole at a time.
const tailChunk = 200

var errEnough = errors.New("as many events as were wanted")

func (t *follower) follow(ctx context.Context) error {
	t.from = time.Now().Add(-t.late)
	if t.since.Before(t.from) {
		t.from = t.since
	}
	t.out = t.stream(tailColumns, tailWidths)
	err := t.looks(ctx)
	if ended := t.out.end(); err == nil {
		err = ended
	}
	if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) {
		t.remark("showed %d events", t.out.n)
		return nil
	}
	return after(err, "showed %d events", t.out.n)
}

// looks looks for new events until ctx ends.
func (t *follower) looks(ctx context.Context) error {
	old := t.since // in the first look, what began before is not new
	away := false
	for {
		begun := time.Now()
		err := t.look(ctx, client.Millis(old))
		switch {
		case ctx.Err() != nil:
			return context.Canceled
		case err == nil && away:
			t.remark("%s answers again", t.api.Server())
			away = false
		case err == nil:
		case old.IsZero() && passing(err):
			if !away {
				t.remark("%s; trying again", t.failure(err).Line)
			}
			away = true
		default:
			return err
		}
		pause := t.interval
		if err == nil {
			old = time.Time{}
			t.forget(begun.Add(-t.late))
			pause = max(pause, 4*time.Since(begun)) // so that the server has most of the time for others
		}
		select {
		case <-ctx.Done():
			return context.Canceled
		case <-time.After(pause):
		}
	}
}

// passing reports whether an error may be over at the next look.
func passing(err error) bool {
	if errors.Is(err, errEnough) || errors.Is(err, errOutput) {
		return false
	}
	var e *client.Error
	if !errors.As(err, &e) {
		return true // the connection
	}
	kind := fault.OfStatus(e.Status)
	return kind.Later() || kind == fault.Timeout || kind == fault.Internal
}

// forget moves the beginning of the next look.
func (t *follower) forget(from time.Time) {
	if !from.After(t.from) {
		return
	}
	t.from = from
	for id, start := range t.seen {
		if start < client.Millis(from) {
			delete(t.seen, id)
		}
	}
}

// look shows the events that are new, oldest first; those that began before old are only
// noted. First it reads no more than ids, since most of what there is has been seen.
func (t *follower) look(ctx context.Context, old float64) error {
	q := t.query
	q.DateRange = client.Since(t.from)
	q.Projections = []string{"start_time"}
	var parts [][]placed // new events that follow each other, newest first
	known := true        // the event before
	for e, err := range t.api.Events.All(ctx, q) {
		if err != nil {
			return err
		}
		_, seen := t.seen[e.EventID]
		if !seen && e.StartTime < old {
			t.seen[e.EventID] = e.StartTime
			seen = true
		}
		if !seen {
			if known || len(parts[len(parts)-1]) == tailChunk {
				parts = append(parts, nil)
			}
			last := &parts[len(parts)-1]
			*last = append(*last, placed{e.EventID, e.StartTime})
		}
		known = seen
	}
	for _, part := range slices.Backward(parts) {
		slices.Reverse(part)
		if err := t.show(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// show reads events, oldest first, and shows them.
func (t *follower) show(ctx context.Context, events []placed) error {
	q := t.query
	// Times in a query are in microseconds.
	q.DateRange = client.DateRange{
		From: client.Time(events[0].start).Add(-time.Microsecond),
		To:   client.Time(events[len(events)-1].start).Add(time.Microsecond),
	}
	if t.format == formatTable {
		for _, c := range tailColumns {
			q.Projections = append(q.Projections, c.path)
		}
	}
	found := make(map[string]json.RawMessage, len(events))
	for _, e := range events {
		found[e.id] = nil
	}
	for text, err := range t.api.Events.AllRaw(ctx, q) {
		if err != nil {
			return err
		}
		id := textOf(text, "event_id")
		if _, wanted := found[id]; wanted {
			found[id] = text
		}
	}
	for _, e := range events {
		text := found[e.id]
		if text == nil {
			continue // it has been deleted
		}
		if err := t.out.add(text); err != nil {
			return err
		}
		t.seen[e.id] = e.start
		if t.out.n == t.limit {
			return errEnough
		}
	}
	return nil
}

var tailColumns = []column{
	{title: "start", path: "start_time", show: millis},
	{title: "type", path: "event_type"},
	{title: "took", path: "duration", show: span, right: true},
	{title: "name", path: "event_name"},
	{title: "error", path: "error"},
	{title: "event", path: "event_id"},
}

// tailWidths are those of tailColumns in a table whose end is not known.
var tailWidths = []int{19, 7, 8, 24, 24, 36}

// streamOutput is a list that is shown as it comes, also as a table.
type streamOutput struct {
	*listOutput
	widths []int // of the columns of a table
}

func (o *output) stream(columns []column, widths []int) *streamOutput {
	return &streamOutput{o.items(columns), widths}
}

var errOutput = errors.New("the output cannot be written")

func (s *streamOutput) add(item json.RawMessage) error {
	err := s.listOutput.add(item)
	if err == nil && s.format == formatTable {
		err = s.row()
	}
	if err != nil {
		return errors.Join(errOutput, err)
	}
	return nil
}

// row shows the last row, and above the first one the titles. In a pipe, cells are never shortened.
func (s *streamOutput) row() error {
	t := &s.table
	var b strings.Builder
	if s.n == 1 {
		var head []string
		for _, c := range t.columns {
			head = append(head, strings.ToUpper(c.title))
		}
		b.WriteString(s.bold(t.line(head, s.widths, s.width)) + "\n")
	}
	cells := t.rows[len(t.rows)-1]
	t.rows = t.rows[:0]
	widths := slices.Clone(s.widths)
	for i, text := range cells {
		if s.width == 0 {
			widths[i] = max(widths[i], uniseg.StringWidth(text))
		}
	}
	b.WriteString(t.line(cells, widths, s.width) + "\n")
	_, err := io.WriteString(s.results, b.String())
	return err
}
