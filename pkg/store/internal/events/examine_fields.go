package events

import (
	"context"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// listedFields are the rows of a project's field index for all events.
type listedFields struct {
	rows map[listedField]dayRange
	full bool // further ones were not listed, or names are being taken off: what is not there says nothing
}

type listedField struct {
	typ        int
	name, path string
}

// covers reports whether a key of an event is listed, under its name or without one.
func (l *listedFields) covers(typ int, name, path string, day int32) bool {
	d, ok := l.rows[listedField{typ, name, path}]
	if ok && d.has(day) {
		return true
	}
	d, ok = l.rows[listedField{typ, "", path}]
	return ok && d.has(day)
}

func readListedFields(ctx context.Context, c sqldb.Conn, project int64) (*listedFields, error) {
	l := &listedFields{rows: map[listedField]dayRange{}}
	err := sqldb.Each(ctx, c, `SELECT type, name, path, first_day, last_day FROM field_index WHERE project_id = $1 AND scope = $2`,
		[]any{project, ScopeAll}, func(scan func(...any) error) error {
			var f listedField
			var d dayRange
			err := scan(&f.typ, &f.name, &f.path, &d.first, &d.last)
			l.rows[f] = d
			return err
		})
	if err != nil {
		return nil, err
	}
	var n int
	going, err := sqldb.One(ctx, c, `SELECT 1 FROM deletion WHERE project_id = $1 AND kind = $2`, []any{project, DeletedNames}, &n)
	l.full = going || len(l.rows) >= fieldIndexRows
	return l, err
}

// listed looks whether the keys of an event are in the field index. That is read once a project; what it does not have then is looked at
// again (confirm).
func (p *sessionPass) listed(ctx context.Context, c sqldb.Conn, e *Stored) {
	l := p.fields[e.project]
	if l == nil {
		var err error
		if l, err = readListedFields(ctx, c, e.project); err != nil {
			l = &listedFields{full: true} // the reads that follow will say why
		}
		p.fields[e.project] = l
	}
	if l.full {
		return
	}
	typ := query.TypeCode(e.Type)
	for _, path := range keysOf(&e.Event) {
		if !l.covers(typ, e.Name, path, e.Day) {
			p.suspects = append(p.suspects, suspect{e.project, typ, e.Name, path, e.Day, e.ID})
		}
	}
}

// confirm looks at the suspects again, after the snapshot in which their events were read: those that came with events after the index was
// read are listed now.
func (p *sessionPass) confirm(ctx context.Context) error {
	again := map[int64]*listedFields{}
	known := map[suspect]bool{}
	for _, x := range p.suspects {
		l := again[x.project]
		if l == nil {
			var err error
			if l, err = readListedFields(ctx, p.x.s.db, x.project); err != nil {
				return err
			}
			again[x.project], p.fields[x.project] = l, l
		}
		field := suspect{project: x.project, typ: x.typ, name: x.name, path: x.path}
		if !l.full && !known[field] && !l.covers(x.typ, x.name, x.path, x.day) {
			known[field] = true
			p.unlistedOf[x.project] = true
			p.unlisted.Add(x.path + " of event " + name(x.project, x.event))
		}
	}
	p.suspects = nil
	return nil
}
