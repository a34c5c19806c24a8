package wire

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

const (
	// comparedLength is how long the texts of a row are at most, in characters.
	comparedLength = 400
	// maxRepetitions is how many sessions of a run about one datapoint a row names.
	maxRepetitions = 20
)

// ComparedRows is a page of rows of a comparison, and what they show.
type ComparedRows struct {
	Many *run.Many
	Page *run.RowPage
	// Metrics is what the runs have of each metric; nil: the page is not the first.
	Metrics []run.MetricSides
	// Load reads the events of sessions, in the order of ids as far as they are there.
	Load func(ctx context.Context, ids []uuid.UUID) (*event.Set, error)
	// Datapoints are those of the rows that are stored here.
	Datapoints map[string]*dataset.Datapoint
}

// WriteRunCompare streams a comparison with a page of its rows.
func WriteRunCompare(ctx context.Context, s *Stream, r *RunCompare, x *ComparedRows) error {
	c := x.Many
	s.text(`{"baseline":`)
	s.buf = rawjson.AppendString(s.buf, c.Run(c.Base).ID)
	if x.Metrics != nil {
		s.text(`,"runs":`)
		s.buf = append(s.buf, comparedRuns(c, x.Metrics)...)
		s.text(`,"metrics":[`)
		for i := range x.Metrics {
			if i > 0 {
				s.text(",")
			}
			s.buf = append(s.buf, comparedMetric(c, &x.Metrics[i])...)
			if err := s.flushFull(); err != nil {
				return err
			}
		}
		s.text(`],"metrics_omitted":`)
		s.buf = strconv.AppendInt(s.buf, int64(c.Omitted), 10)
		var counts rawjson.Builder
		counts.Int("all", int64(x.Page.All))
		for _, only := range run.Onlys {
			counts.Int(string(only), int64(x.Page.Counts[only]))
		}
		s.text(`,"counts":`)
		s.buf = append(s.buf, counts.Bytes()...)
	}
	s.text(`,"total":`)
	s.buf = strconv.AppendInt(s.buf, int64(x.Page.Total), 10)
	s.text(`,"next_cursor":`)
	if x.Page.Next != nil {
		s.buf = rawjson.AppendString(s.buf, rowCursor(r.question, x.Page.Next))
	} else {
		s.text("null")
	}
	s.text(`,"rows":[`)
	if err := x.writeRows(ctx, s); err != nil {
		return err
	}
	s.text("]}")
	return s.flushFull()
}

// rowsAtOnce is how many rows' events are read together.
const rowsAtOnce = 25

func (x *ComparedRows) writeRows(ctx context.Context, s *Stream) error {
	for from := 0; from < len(x.Page.Rows); from += rowsAtOnce {
		rows := x.Page.Rows[from:min(from+rowsAtOnce, len(x.Page.Rows))]
		cells := make([][]*run.Cell, len(rows))
		var ids []uuid.UUID
		for i, row := range rows {
			for side := range x.Many.Sides() {
				cell := x.Many.Cell(row, side)
				cells[i] = append(cells[i], cell)
				if cell != nil {
					ids = append(ids, cell.Sessions[0])
					if cell.Errors > 0 && cell.Failed != cell.Sessions[0] {
						ids = append(ids, cell.Failed)
					}
				}
			}
		}
		set, err := x.Load(ctx, ids)
		if err != nil {
			return err
		}
		texts := sessionTexts{set: set, at: make(map[uuid.UUID]int, len(ids))}
		for i := range set.Events {
			texts.at[set.Events[i].ID] = i
		}
		for i, row := range rows {
			if from+i > 0 {
				s.text(",")
			}
			if err := x.writeRow(ctx, s, row, cells[i], &texts); err != nil {
				return err
			}
			if err := s.flushFull(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *ComparedRows) writeRow(ctx context.Context, s *Stream, row int, cells []*run.Cell, texts *sessionTexts) error {
	id, datapoint := x.Many.RowID(row)
	var input, expected string
	list := []byte{'['}
	for side, cell := range cells {
		if side > 0 {
			list = append(list, ',')
		}
		if cell == nil {
			list = append(list, "null"...)
			continue
		}
		e, err := texts.of(ctx, cell.Sessions[0])
		if err != nil {
			return err
		}
		// The baseline's, or else what the first run has.
		if in := previewOfLength(e.Inputs, "user", comparedLength); in != "" && (input == "" || side == x.Many.Base) {
			input = in
		}
		if truth := previewOfLength(rawjson.Get(e.Feedback, event.TruthKey), "assistant", comparedLength); truth != "" && (expected == "" || side == x.Many.Base) {
			expected = truth
		}
		failure := ""
		if cell.Errors > 0 {
			if failure, err = texts.failure(ctx, cell.Failed); err != nil {
				return err
			}
		}
		list = append(list, x.cell(cell, previewOfLength(e.Outputs, "assistant", comparedLength), failure)...)
	}
	p := x.Datapoints[datapoint]
	if p != nil && input == "" {
		input = previewOfLength(p.Inputs, "user", comparedLength)
	}
	if p != nil && expected == "" {
		expected = previewOfLength(p.GroundTruth, "assistant", comparedLength)
	}
	var b rawjson.Builder
	b.String("id", id)
	addText(&b, "datapoint_id", datapoint, V1)
	b.Bool("stored", p != nil)
	b.String("input", input)
	b.String("expected", expected)
	b.Raw("cells", append(list, ']'))
	s.buf = append(s.buf, b.Bytes()...)
	return nil
}

// cell returns what a run made of a row.
func (x *ComparedRows) cell(cell *run.Cell, output, failure string) []byte {
	var b, scores rawjson.Builder
	b.String("session_id", cell.Sessions[0].String())
	b.Int("sessions", int64(len(cell.Sessions)))
	if len(cell.Sessions) > 1 {
		some := cell.Sessions[:min(len(cell.Sessions), maxRepetitions)]
		b.Raw("session_ids", arrayOf(some, func(dst []byte, id *uuid.UUID) []byte { return appendID(dst, *id) }))
	}
	b.String("output", output)
	if cell.Errors > 0 {
		b.String("error", failure)
		b.Int("errors", int64(cell.Errors))
	}
	if cell.Running {
		b.Bool("running", true)
	}
	for i := range cell.Scores {
		score := &cell.Scores[i]
		scores.Raw(x.Many.Metrics[score.Metric].Key, comparedScore(score))
	}
	addObject(&b, "scores", scores.Bytes())
	return b.Bytes()
}

func comparedScore(score *run.CellScore) []byte {
	var b rawjson.Builder
	if score.Text != "" {
		b.String("value", cut(score.Text, maxRowName))
	} else {
		b.Number("value", score.Value)
	}
	if score.Values > 1 {
		b.Int("values", int64(score.Values))
		if score.Text == "" {
			b.Number("min", score.Low)
			b.Number("max", score.High)
			b.Number("deviation", score.Deviation)
		}
	}
	if score.Change != "" {
		b.Number("delta", score.Delta)
		b.String("change", string(score.Change))
	}
	if score.Judged {
		b.Bool("passed", score.Passed)
		if score.Values > 1 {
			b.Int("values_passed", int64(score.ValuesPassed))
		}
	}
	return b.Bytes()
}

// sessionTexts are the session events of some rows.
type sessionTexts struct {
	set *event.Set
	at  map[uuid.UUID]int
}

// of reads the session event of a session; an empty one if it is gone.
func (t *sessionTexts) of(ctx context.Context, id uuid.UUID) (event.Event, error) {
	i, ok := t.at[id]
	if !ok {
		return event.Event{}, nil
	}
	return t.set.Load(ctx, i)
}

// failure returns the error of a session in a line.
func (t *sessionTexts) failure(ctx context.Context, id uuid.UUID) (string, error) {
	e, err := t.of(ctx, id)
	if err != nil || e.Error == nil {
		return "", err
	}
	return oneLine(*e.Error, previewLength), nil
}
