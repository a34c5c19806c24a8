package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/words"
)

// A segment gets an index of the words in inputs and outputs (package words) some time after its columns: reading all payloads takes longer, and
// is left to when little else is to be done. The index has the words of the moment at which it is built. Events that have changed since their
// segment was built are on record (segment_seal.go), and who uses the index reads them from their rows. A session event shows inputs and outputs
// of its session's events, so it counts as changed with each of these.

const (
	// wordsRows is how many rows are read at once for an index.
	wordsRows = 500
	// wordsRest is how long the background rests after an index while events come in, as a multiple of the time that it took.
	wordsRest = packRestBusy
)

// wordIndexer builds indexes of words in the background.
type wordIndexer struct {
	s    *Store
	next time.Time // while events come in
}

// run builds the indexes that are due, the newest first: those of all segments that have none or, while events come in, that of one segment
// which will hardly be built again.
func (x *wordIndexer) run(ctx context.Context, idle bool) error {
	if !idle && time.Now().Before(x.next) {
		return nil
	}
	list, err := x.s.withoutWords(ctx)
	for i := range list {
		if !idle && list[i].Events <= segment.MaxEvents/2 {
			continue
		}
		began := time.Now()
		if err = x.s.indexWords(ctx, &list[i]); err != nil {
			return err
		}
		x.next = time.Now().Add(wordsRest * time.Since(began))
		if !idle || x.s.busy() || len(x.s.sealKick) > 0 || x.s.sealed.unsealed.Load() > 0 {
			return nil
		}
	}
	return err
}

// withoutWords lists the segments that have columns and no index of words, the newest first.
func (s *Store) withoutWords(ctx context.Context) (list []segmentState, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT project_id, id, first_seq, last_seq, num_events, first_ms, last_ms
		FROM segment
		WHERE header IS NOT NULL AND NOT words
		ORDER BY last_seq DESC`, nil, func(scan func(...any) error) error {
		x := segmentState{Segment: segment.Segment{HasHeader: true}}
		err := scan(&x.project, &x.ID, &x.FirstSeq, &x.LastSeq, &x.Events, &x.FirstMS, &x.LastMS)
		list = append(list, x)
		return err
	})
	return list, err
}

// indexWords builds the index of a segment, unless the segment has been built again meanwhile.
func (s *Store) indexWords(ctx context.Context, x *segmentState) error {
	built, err := s.buildWords(ctx, x)
	if isDamaged(err) {
		return s.dropColumns(ctx, []int64{x.ID})
	}
	if err != nil {
		return err
	}
	return s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		n, err := tx.Exec(ctx, `UPDATE segment SET words = $2 WHERE id = $1 AND header IS NOT NULL AND NOT words`, x.ID, true)
		if err != nil || n == 0 {
			return err
		}
		return insertColumns(ctx, tx, x.ID, segment.OfWords(built))
	})
}

// buildWords reads the texts of a segment's events. It takes minutes where all cores are in use, and seals what comes meanwhile.
func (s *Store) buildWords(ctx context.Context, x *segmentState) (*words.Built, error) {
	block, err := segment.Open(ctx, x.Segment, s.columns, &segmentView{s: s, project: x.project, conn: s.db})
	if err != nil {
		return nil, err
	}
	w := &wordRows{s: s, block: block, builder: words.NewBuilder()}
	steps := stepsOf(x.FirstSeq-1, x.LastSeq, x.Events, wordsRows)
	for from, to, more := steps.next(); more; from, to, more = steps.next() {
		began := time.Now()
		var seqs []int64
		var rows []*Stored
		err := sqldb.Each(ctx, s.db, `SELECT e.seq, `+s.Columns()+`
			FROM `+s.Dialect.FromBySeq()+`
			WHERE e.project_id = $1 AND e.seq > $2 AND e.seq <= $3`+fmt.Sprintf(` ORDER BY e.seq LIMIT %d`, wordsRows),
			[]any{x.project, from, to}, func(scan func(...any) error) error {
				var seq int64
				r, err := ScanHead(func(columns ...any) error { return scan(append([]any{&seq}, columns...)...) })
				seqs, rows = append(seqs, seq), append(rows, r)
				return err
			})
		if err == nil {
			err = w.add(ctx, x.project, seqs, rows)
		}
		if err != nil {
			return nil, err
		}
		if len(rows) == wordsRows { // there may be more
			to = seqs[wordsRows-1]
		}
		steps.read(to)
		s.restForReads(ctx, began)
		if err := s.sealNew(ctx); err != nil {
			return nil, err
		}
	}
	return w.builder.Build(block.Len())
}

// wordRows adds the texts of a segment's rows to an index.
type wordRows struct {
	s       *Store
	block   *segment.Block
	row     int // the next one of the segment
	builder *words.Builder
}

func (w *wordRows) add(ctx context.Context, project int64, seqs []int64, rows []*Stored) error {
	l, err := w.s.newEventList(ctx, w.s.db, project, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		found, err := w.moveTo(seqs[i])
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		w.builder.Row(w.row)
		l.prefetch(ctx, i)
		e, _, err := l.asRead(ctx, i)
		switch {
		case errors.Is(err, errNoChunk), errors.Is(err, record.ErrDamaged):
			w.builder.Unread()
		case err != nil:
			return err
		}
		w.builder.AddJSON(words.Inputs, e.Inputs)
		w.builder.AddJSON(words.Outputs, e.Outputs)
	}
	return nil
}

// moveTo goes on to the segment's row with a place in the order of events, and reports whether there is one.
func (w *wordRows) moveTo(seq int64) (found bool, err error) {
	for ; w.row < w.block.Len(); w.row++ {
		if at, err := w.block.Seq(w.row); err != nil || at >= seq {
			return at == seq, err
		}
	}
	return false, nil
}
