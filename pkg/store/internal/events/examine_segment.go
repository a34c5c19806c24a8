package events

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/words"
)

// wordRowsExamined is how many events of a segment are looked for by a word of theirs.
const wordRowsExamined = 50

// segmentPass goes over segments and collects what is wrong.
type segmentPass struct {
	x *Examiner

	segments, events               int
	damaged, rows, values, overlap diagnosis.Cases // of segments
	uncovered                      diagnosis.Cases // of projects
	words                          diagnosis.Cases
	indexed                        int
}

func (x *Examiner) checkSegments(ctx context.Context, r *diagnosis.Recorder) error {
	p := &segmentPass{x: x}
	list, err := x.s.segmentStates(ctx)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(g segmentState) bool { return !slices.Contains(x.projects, g.project) })
	p.order(list)
	if x.o.Full || x.events <= examinedRows {
		err := x.s.db.Snapshot(ctx, func(c sqldb.Conn) error { return p.coverage(ctx, c) })
		if err != nil {
			return err
		}
	}
	built := slices.DeleteFunc(slices.Clone(list), func(g segmentState) bool { return !g.HasHeader })
	chosen := x.chosen(built)
	for i, g := range chosen {
		r.Progress(int64(i), int64(len(chosen)))
		err := x.s.db.Snapshot(ctx, func(c sqldb.Conn) error {
			x.s.forgetRead()
			return p.look(ctx, c, g.ID)
		})
		if err != nil {
			return fmt.Errorf("segment %d: %w", g.ID, err)
		}
	}
	p.report(r, len(list), len(list)-len(built))
	return nil
}

// chosen returns the segments that are read: all, or the newest and others at random.
func (x *Examiner) chosen(list []segmentState) []segmentState {
	if x.o.Full || len(list) <= sampleSegments {
		return list
	}
	slices.SortFunc(list, func(a, b segmentState) int { return int(b.ID - a.ID) })
	rest := list[sampleSegments/2:]
	rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return list[:sampleSegments]
}

// order looks whether segments of a project overlap, by place.
func (p *segmentPass) order(list []segmentState) {
	for i := 1; i < len(list); i++ {
		if a, b := &list[i-1], &list[i]; a.project == b.project && a.LastSeq >= b.FirstSeq {
			p.overlap.Add(fmt.Sprintf("%d and %d of project %d", a.ID, b.ID, a.project))
		}
	}
}

// segmentGap is events of a project that are in no segment although they are sealed.
type segmentGap struct {
	project     int64
	first, last int64
	events      int
	from, to    float64 // bounds of their starts
}

// coverage looks for events up to the last sealed place that are in no segment.
func (p *segmentPass) coverage(ctx context.Context, c sqldb.Conn) error {
	gaps, err := p.x.s.segmentGaps(ctx, c)
	for _, g := range gaps {
		p.uncovered.Add(fmt.Sprintf("%d events of project %d", g.events, g.project))
		p.uncovered.N += int64(g.events) - 1
	}
	return err
}

// segmentGaps finds the sealed events of projects that are not deleted which are in the range of no segment, those between two segments
// together.
func (s *Store) segmentGaps(ctx context.Context, c sqldb.Conn) (gaps []segmentGap, err error) {
	err = sqldb.Each(ctx, c, `SELECT e.project_id, count(*), min(e.seq), max(e.seq), min(e.start_ms), max(e.start_ms)
		FROM (
			SELECT x.project_id, x.seq, x.start_ms, (
				SELECT max(g.first_seq) FROM segment AS g WHERE g.project_id = x.project_id AND g.first_seq <= x.seq) AS place
			FROM event AS x
			WHERE x.seq <= (SELECT sealed_seq FROM segment_progress)
				AND x.project_id IN (SELECT id FROM project WHERE deleted_ms = 0)) AS e
		LEFT JOIN segment AS h ON h.project_id = e.project_id AND h.first_seq = e.place
		WHERE h.id IS NULL OR h.last_seq < e.seq
		GROUP BY e.project_id, e.place
		ORDER BY e.project_id, 3`, nil, func(scan func(...any) error) error {
		var g segmentGap
		err := scan(&g.project, &g.events, &g.first, &g.last, &g.from, &g.to)
		gaps = append(gaps, g)
		return err
	})
	return gaps, err
}

// keyRow is the key of an event's row, with its place.
type keyRow struct {
	seq int64
	day int32
	id  uuid.UUID
}

// look looks at one segment: its parts, its events, their values and words.
func (p *segmentPass) look(ctx context.Context, c sqldb.Conn, id int64) error {
	s := p.x.s
	var g segment.Segment
	var project int64
	var header []byte
	found, err := sqldb.One(ctx, c, `SELECT project_id, id, first_seq, last_seq, num_events, first_ms, last_ms, header, words FROM segment WHERE id = $1`,
		[]any{id}, &project, &g.ID, &g.FirstSeq, &g.LastSeq, &g.Events, &g.FirstMS, &g.LastMS, &header, &g.HasWords)
	if err != nil || !found || header == nil { // it was built again meanwhile
		return err
	}
	columns := map[int][]byte{}
	err = sqldb.Each(ctx, c, `SELECT number, data FROM segment_column WHERE segment_id = $1`, []any{id}, func(scan func(...any) error) error {
		var number int
		var data []byte
		err := scan(&number, &data)
		columns[number] = bytes.Clone(data)
		return err
	})
	if err != nil {
		return err
	}
	p.segments++
	what := fmt.Sprintf("%d of project %d", id, project)
	has, ofWords, err := segment.Verify(g, header, columns)
	switch {
	case err != nil && ofWords:
		p.words.Add(fmt.Sprintf("%s: %v", what, err))
		columns = nil
	case err != nil:
		p.damaged.Add(fmt.Sprintf("%s: %v", what, err))
		return nil
	}
	p.events += g.Events
	rows, stale, err := s.rowsOfSegment(ctx, c, project, &g)
	if err != nil {
		return err
	}
	if off := compareKeys(has, rows, stale); off != "" {
		p.rows.Add(what + ": " + off)
		return nil
	}
	if len(stale) == 0 && (p.x.o.Full || p.segments <= 2) {
		off, err := s.compareValues(ctx, c, project, &g, has)
		if err != nil {
			return err
		}
		if off != "" {
			p.values.Add(what + ": " + off)
		}
	}
	if columns == nil || !g.HasWords {
		return nil
	}
	p.indexed++
	off, err := s.compareWords(ctx, c, project, &g, columns, has, stale)
	if off != "" {
		p.words.Add(what + ": " + off)
	}
	return err
}

// rowsOfSegment reads the keys of the rows in the range of a segment, and the places of those that have changed or gone since it was built.
func (s *Store) rowsOfSegment(ctx context.Context, c sqldb.Conn, project int64, g *segment.Segment) (rows []keyRow, stale map[int64]bool, err error) {
	args := []any{project, g.FirstSeq, g.LastSeq}
	err = sqldb.Each(ctx, c, `SELECT e.seq, e.day, e.event_id FROM event AS e
		WHERE `+s.Dialect.NoIndex("e.project_id")+` = $1 AND e.seq >= $2 AND e.seq <= $3 ORDER BY e.seq`, args, func(scan func(...any) error) error {
		var k keyRow
		err := scan(&k.seq, &k.day, sqldb.ScanID(&k.id))
		rows = append(rows, k)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	stale = map[int64]bool{}
	err = sqldb.Each(ctx, c, `SELECT seq FROM segment_stale WHERE project_id = $1 AND seq >= $2 AND seq <= $3`, args, func(scan func(...any) error) error {
		var seq int64
		err := scan(&seq)
		stale[seq] = true
		return err
	})
	return rows, stale, err
}

// compareKeys says how the events of a segment differ from the rows, by day; empty if they do not.
func compareKeys(has *segment.Contents, rows []keyRow, stale map[int64]bool) string {
	lacks, extra := map[int32]int{}, map[int32]int{}
	at := 0
	for i, seq := range has.Seqs {
		for at < len(rows) && rows[at].seq < seq {
			lacks[rows[at].day]++ // a change of it is of no use: it is not in the segment
			at++
		}
		switch {
		case at < len(rows) && rows[at].seq == seq:
			if !stale[seq] && (rows[at].day != has.Days[i] || rows[at].id != has.IDs[i]) {
				extra[has.Days[i]]++
			}
			at++
		case !stale[seq]:
			extra[has.Days[i]]++
		}
	}
	for ; at < len(rows); at++ {
		lacks[rows[at].day]++
	}
	var parts []string
	for _, x := range []struct {
		days map[int32]int
		text string
	}{{lacks, "%d events of %s are not in it"}, {extra, "%d events of %s in it are not there"}} {
		for day, n := range x.days {
			parts = append(parts, fmt.Sprintf(x.text, n, time.UnixMilli(int64(day)*dayMillis).UTC().Format(time.DateOnly)))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts[:min(len(parts), 3)], ", ")
}

// compareValues builds the columns of a segment anew from the rows and says how those that are stored differ.
func (s *Store) compareValues(ctx context.Context, c sqldb.Conn, project int64, g *segment.Segment, has *segment.Contents) (off string, err error) {
	built, err := s.buildSegments(ctx, c, `e.seq > $1 AND e.seq <= $2 AND e.project_id = $3`,
		stepsOf(g.FirstSeq-1, g.LastSeq, g.Events, sealRows), project)
	if err != nil || len(built) != 1 || built[0].Events != g.Events { // so large that it is built as two now
		return "", err
	}
	columns, partial, unread, err := built[0].Named()
	if err != nil {
		return "", err
	}
	if len(partial)+len(has.Partial) > 0 || !slices.Equal(unread, has.Unread) {
		return "", nil // which members have a column depends on more than the events
	}
	for name, data := range columns {
		if !bytes.Equal(data, has.Columns[name]) {
			return fmt.Sprintf("the values of %q are not those of the rows", name), nil
		}
	}
	if len(columns) != len(has.Columns) {
		return fmt.Sprintf("it has %d columns, by the rows %d", len(has.Columns), len(columns)), nil
	}
	return "", nil
}

// compareWords looks for some events of a segment by a word of their inputs.
func (s *Store) compareWords(ctx context.Context, c sqldb.Conn, project int64, g *segment.Segment, columns map[int][]byte,
	has *segment.Contents, stale map[int64]bool) (off string, err error) {
	index, err := segment.VerifiedWords(*g, columns)
	if err != nil {
		return "", err
	}
	step := max(1, len(has.Seqs)/wordRowsExamined)
	for row := 0; row < len(has.Seqs); row += step {
		if stale[has.Seqs[row]] {
			continue
		}
		r, err := s.loadHead(ctx, c, project, has.Days[row], has.IDs[row])
		if fault.IsNotFound(err) { // its session is not there, which is another check's
			continue
		}
		if err != nil {
			return "", err
		}
		if r.IsSession() || s.fillFrom(ctx, c, r) != nil { // a payload that cannot be read is another check's
			continue
		}
		word := firstWord(r.Inputs)
		if word == "" {
			continue
		}
		found, err := index.Contains(words.Inputs, word)
		if err != nil {
			return "the index of words cannot be read: " + err.Error(), nil //nolint:nilerr // it is what was found
		}
		if !found.Sure.Has(row) && !found.Maybe.Has(row) {
			return fmt.Sprintf("event %s is not found by a word of its inputs", r.ID), nil
		}
	}
	return "", nil
}

// firstWord returns a word of a string in a JSON value, not a key; empty if there is none.
func firstWord(raw json.RawMessage) (word string) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var look func(v any)
	look = func(v any) {
		if word != "" {
			return
		}
		switch v := v.(type) {
		case string:
			for w := range words.Split(v) {
				if len(w) > 1 {
					word = w
					return
				}
			}
		case []any:
			for _, x := range v {
				look(x)
			}
		case map[string]any:
			for _, x := range v {
				look(x)
			}
		}
	}
	look(v)
	return word
}

func (p *segmentPass) report(r *diagnosis.Recorder, all, waiting int) {
	found := map[string]bool{}
	for _, f := range []struct {
		cases       *diagnosis.Cases
		check, text string
	}{
		{&p.damaged, checkSegments, "%d segments are damaged, or of another version of this program"},
		{&p.rows, checkSegments, "%d segments hold other events than there are: searches and charts give wrong answers"},
		{&p.values, checkSegments, "%d segments hold other values than the events have: searches and charts give wrong answers"},
		{&p.overlap, checkSegments, "%d pairs of segments overlap: searches and charts count events twice"},
		{&p.uncovered, checkSegments, "%d events are in no segment though they count as sealed: searches and charts miss them"},
		{&p.words, checkWords, "the index of words of %d segments is damaged or misses words: searches for texts may miss events"},
	} {
		if f.cases.N > 0 {
			found[f.check] = true
			r.Add(f.cases.Finding(diagnosis.Finding{Check: f.check, Severity: diagnosis.Error, Text: f.text,
				Advice: "--mend builds them anew from the events", Mendable: true}))
		}
	}
	if !found[checkSegments] {
		r.OK("%d of %d segments with %d events are whole and hold what the rows say; %d wait to be built", p.segments, all, p.events, waiting)
	}
	if !found[checkWords] {
		r.Add(diagnosis.Finding{Check: checkWords, Severity: diagnosis.OK, Text: fmt.Sprintf("the index of words of %d segments is whole", p.indexed)})
	}
}
