package events

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// fullArchive is from how many events on it is worth a word that they share one partition.
const fullArchive = 10_000_000

// parts are the partitions of events and of chunks that there are.
type parts struct {
	attached, loose map[string]bool // by name
	defaults        []string
	archived        int64 // events in the archive, as PostgreSQL estimates them
}

func (b *postgresBulk) checks() []diagnosis.Check {
	return []diagnosis.Check{{Name: checkPartitions, Run: b.checkPartitions}}
}

func (b *postgresBulk) parts(ctx context.Context) (*parts, error) {
	p := &parts{attached: map[string]bool{}, loose: map[string]bool{}}
	err := sqldb.Each(ctx, b.db, `SELECT c.relname::text, i.inhparent IS NOT NULL, coalesce(pg_get_expr(c.relpartbound, c.oid), ''), CAST(c.reltuples AS bigint)
		FROM pg_class AS c
		LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid AND i.inhparent IN ('event'::regclass, 'chunk'::regclass)
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
			AND (i.inhparent IS NOT NULL OR c.relname ~ '^(event|chunk)_(d[0-9]+|archive)$')`, nil, func(scan func(...any) error) error {
		var name, bound string
		var attached bool
		var rows int64
		if err := scan(&name, &attached, &bound, &rows); err != nil {
			return err
		}
		if attached {
			p.attached[name] = true
		} else {
			p.loose[name] = true
		}
		if bound == "DEFAULT" {
			p.defaults = append(p.defaults, name)
		}
		if name == "event_archive" {
			p.archived = rows
		}
		return nil
	})
	return p, err
}

// halves returns the days of partitions of events without one of chunks beside it.
func (p *parts) halves() (days []int32) {
	for name := range p.attached {
		var day int32
		if n, _ := fmt.Sscanf(name, "event_d%d", &day); n == 1 && !p.attached[fmt.Sprintf("chunk_d%d", day)] {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return days
}

func (b *postgresBulk) checkPartitions(ctx context.Context, r *diagnosis.Recorder) error {
	p, err := b.parts(ctx)
	if err != nil {
		return err
	}
	wrong := false
	add := func(f diagnosis.Finding) {
		wrong = true
		r.Add(f)
	}
	for _, name := range []string{"event_archive", "chunk_archive"} {
		if !p.attached[name] && !p.loose[name] {
			add(diagnosis.Finding{Severity: diagnosis.Error, Text: "the partition " + name + " is not there: events that began long ago cannot be stored",
				Advice: "restore a backup of it"})
		}
	}
	if len(p.loose) > 0 {
		names := slices.Sorted(maps.Keys(p.loose))
		add(diagnosis.Finding{Severity: diagnosis.Error, Count: int64(len(names)), Examples: names[:min(len(names), 5)],
			Text:   fmt.Sprintf("%d partitions are detached: nothing shows what is in them, and nothing can be stored on their days", len(names)),
			Advice: "attach them again: ALTER TABLE event ATTACH PARTITION event_d… FOR VALUES FROM (…) TO (…), with the day of the name and 28 days later"})
	}
	var half diagnosis.Cases
	for _, day := range p.halves() {
		half.Add(fmt.Sprintf("chunk_d%d", day))
	}
	if half.N > 0 {
		add(half.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d partitions of payloads are missing: on their days no event with a payload can be stored",
			Advice: "--mend makes them; what was in them is lost unless there is a backup", Mendable: true}))
	}
	if len(p.defaults) > 0 {
		add(diagnosis.Finding{Severity: diagnosis.Warn, Count: int64(len(p.defaults)), Examples: p.defaults,
			Text:   "there is a default partition, which Spangrove does not make: each new partition has to look through it",
			Advice: "move its rows to partitions of their days, and drop it"})
	}
	for _, day := range []int32{b.today(), b.today() + aheadDays} {
		first := partitionOf(day) * partitionDays
		if name := fmt.Sprintf("event_d%d", first); day >= b.archive && !p.attached[name] && !p.loose[name] && !wrong {
			add(diagnosis.Finding{Severity: diagnosis.Warn, Examples: []string{name}, Text: "the partition for the days around now is not made yet",
				Advice: "a server that runs makes it ahead; if one does, see its log and whether its user may make tables"})
			break
		}
	}
	if p.archived > fullArchive {
		add(diagnosis.Finding{Severity: diagnosis.Warn, Count: p.archived,
			Text:   fmt.Sprintf("about %d events that began long ago share one partition", p.archived),
			Advice: "nothing is wrong; a rule of retention deletes them row by row, which takes longer than for newer ones"})
	}
	if !wrong {
		r.OK("%d, each where it belongs", len(p.attached))
	}
	return nil
}

func (b *postgresBulk) mends() []diagnosis.Mend {
	return []diagnosis.Mend{{Checks: []string{checkPartitions}, Run: func(ctx context.Context) (string, error) {
		p, err := b.parts(ctx)
		if err != nil {
			return "", err
		}
		days := p.halves()
		for _, day := range days {
			if err := b.makePartitions(ctx, partitionOf(day)); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("made %d partitions of payloads", len(days)), nil
	}}}
}

// unfindable returns none: an index that all partitions have leads to every event.
func (b *postgresBulk) unfindable(context.Context, sqldb.Conn, int64, int32, []uuid.UUID) ([]uuid.UUID, error) {
	return nil, nil
}

func (b *postgresBulk) withoutSession() string {
	return `NOT EXISTS (SELECT 1 FROM session AS s WHERE s.project_id = e.project_id AND s.session_id = e.session_id)`
}
