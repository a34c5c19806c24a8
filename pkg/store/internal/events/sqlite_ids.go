package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// An event's row is found by project, day and id, so a reader that has the id alone must find its day.
// Ids of days around the present are found by the filters (idFilter), one for each day of a project that id_filter_day
// lists. All other events, such as those of an import, are listed by id in far_event, however many
// days they lie on. So each event is in a filter or in far_event, and an id is looked for in a bounded
// number of places whatever is stored.

// projectDay is a day of a project, in days since 1970.
type projectDay struct {
	project int64
	day     int32
}

// nearDays is how many days before today have filters when they begin to hold events. One day
// ahead of today has one as well.
const nearDays = sqldb.NearDays

// idSlice is how many ids of a day without a filter move to far_event in one transaction.
const idSlice = 500

// addIDs keeps where events are found that this transaction stores. A day that has a filter, or is near enough to get one,
// takes them; the ids of any other day go to far_event. While a day's ids are being moved to far_event (moveIDs), new
// ones go to both places: it may already be past them.
func (t *sqliteBulkTx) addIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error {
	k := projectDay{project, day}
	if today := t.b.today(); !t.begun[k] && (!t.b.live[k] || t.emptied[k]) {
		// A filter of its own would hold few ids: an import of ten years would make thousands of them.
		if day < today-nearDays || day > today+1 {
			return t.addFarIDs(ctx, project, day, ids)
		}
		if _, err := t.Exec(ctx, `INSERT INTO id_filter_day(project_id, day)
			VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, project, day); err != nil {
			return err
		}
		t.beginDay(k)
	}
	for _, id := range ids {
		// Before the commit: if that fails, the filter has an id too many, which costs a look-up in vain and is never wrong.
		t.b.ids.add(project, day, id)
	}
	if t.b.moving[k] {
		return t.addFarIDs(ctx, project, day, ids)
	}
	return nil
}

// beginDay records that this transaction begins a day. It becomes live only with the commit.
func (t *sqliteBulkTx) beginDay(k projectDay) {
	if t.begun == nil {
		t.begun = map[projectDay]bool{}
	}
	t.begun[k] = true
	delete(t.emptied, k)
}

// addFarIDs lists ids in far_event, and in the filter of such ids.
func (t *sqliteBulkTx) addFarIDs(ctx context.Context, project int64, day int32, ids []uuid.UUID) error {
	for _, id := range ids {
		if _, err := t.Exec(ctx, `INSERT INTO far_event(project_id, event_id, day)
			VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, project, id[:], day); err != nil {
			return err
		}
		t.b.ids.add(project, farDay, id)
	}
	delete(t.emptied, projectDay{project, farDay})
	return nil
}

// removeIDs undoes addIDs for events whose rows this transaction took from a day. A Bloom filter cannot forget one id: it is
// dropped with the last event of its day, and until then leads to a look-up in vain.
func (t *sqliteBulkTx) removeIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error {
	empty := func(k projectDay, look string, args ...any) (bool, error) {
		var n int
		found, err := sqldb.One(ctx, t, look, args, &n)
		if err == nil && !found {
			// Whether the day is empty was read in this transaction, and nobody else writes, so it holds at the commit.
			if t.emptied == nil {
				t.emptied = map[projectDay]bool{}
			}
			t.emptied[k] = true
			delete(t.begun, k)
		}
		return !found, err
	}
	if t.b.ids.hasFar(project) {
		for _, id := range ids {
			if _, err := t.Exec(ctx, `DELETE FROM far_event
				WHERE project_id = $1 AND event_id = $2 AND day = $3`, project, id[:], day); err != nil {
				return err
			}
		}
		if _, err := empty(projectDay{project, farDay}, `SELECT 1 FROM far_event WHERE project_id = $1 LIMIT 1`, project); err != nil {
			return err
		}
	}
	k := projectDay{project, day}
	// A day without a filter has nothing to drop.
	if !t.b.live[k] && !t.begun[k] {
		return nil
	}
	if none, err := empty(k, `SELECT 1 FROM event WHERE project_id = $1 AND day = $2 LIMIT 1`, project, day); err != nil || !none {
		return err
	}
	_, err := t.Exec(ctx, `DELETE FROM id_filter_day WHERE project_id = $1 AND day = $2`, project, day)
	return err
}

// committed brings what is in memory up to what the transaction committed. Nobody else writes, so
// nothing comes between the two.
func (t *sqliteBulkTx) committed() {
	for k := range t.begun {
		t.b.live[k] = true
	}
	for k := range t.emptied {
		delete(t.b.live, k)
		delete(t.b.moving, k)
		t.b.ids.drop(k.project, k.day)
	}
}

// moveIDs lists a slice of the ids of a day that has no filter in far_event: those after an id, nil for
// the first. It returns the last of them; nil means that the day is done, and has no filter any more.
func (t *sqliteBulkTx) moveIDs(ctx context.Context, k projectDay, after []byte) (last []byte, err error) {
	if !t.b.live[k] {
		return nil, nil // deleted since
	}
	// Set in memory and not undone if the transaction fails: ids that go to both places meanwhile are found once all the same.
	t.b.moving[k] = true
	if after == nil {
		after = []byte{}
	}
	var ids []uuid.UUID
	err = sqldb.Each(ctx, t, `SELECT event_id
		FROM event
		WHERE project_id = $1 AND day = $2 AND event_id > $3
		ORDER BY event_id LIMIT $4`,
		[]any{k.project, k.day, after, idSlice}, func(scan func(...any) error) error {
			var id uuid.UUID
			err := scan(sqldb.ScanID(&id))
			ids = append(ids, id)
			return err
		})
	if err == nil {
		err = t.addFarIDs(ctx, k.project, k.day, ids)
	}
	if err != nil {
		return nil, err
	}
	// A slice that is not full was the last. Only with it, in one transaction, the day stops being one that has a
	// filter: until then its ids are found by day, from then on by far_event.
	if len(ids) == idSlice {
		return ids[len(ids)-1][:], nil
	}
	if t.emptied == nil {
		t.emptied = map[projectDay]bool{}
	}
	t.emptied[k] = true
	_, err = t.Exec(ctx, `DELETE FROM id_filter_day WHERE project_id = $1 AND day = $2`, k.project, k.day)
	return nil, err
}

// findEvents probes the days that are named for each id, and those of far_event if the filter says so.
func (t *sqliteBulkTx) findEvents(ctx context.Context, projectID int64, ids []idDays) (map[uuid.UUID]int32, error) {
	found := map[uuid.UUID]int32{}
	probe := func(id uuid.UUID, day int32) error {
		var n int
		ok, err := sqldb.One(ctx, t, `SELECT 1
			FROM event
			WHERE project_id = $1 AND day = $2 AND event_id = $3`, []any{projectID, day, id[:]}, &n)
		if ok {
			found[id] = day
		}
		return err
	}
	for _, id := range ids {
		days, far := id.days, id.far
		if days == nil && !far { // any day; not by a reader: all of them may be busy
			days, far = t.b.ids.mayContain(projectID, id.id, nil)
		}
		if far {
			more, err := farDays(ctx, t, projectID, id.id)
			if err != nil {
				return nil, err
			}
			days = append(days, more...)
		}
		for _, day := range days {
			if _, ok := found[id.id]; ok {
				break
			}
			if err := probe(id.id, day); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// farDays returns the days on which an id may stand that is not found by day.
func farDays(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) (days []int32, err error) {
	err = sqldb.Each(ctx, c, `SELECT day
		FROM far_event
		WHERE project_id = $1 AND event_id = $2`, []any{project, id[:]}, func(scan func(...any) error) error {
		var day int32
		err := scan(&day)
		days = append(days, day)
		return err
	})
	return days, err
}

func (b *sqliteBulk) farDays(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) ([]int32, error) {
	return farDays(ctx, c, project, id)
}

// days lists what has filters: the days of id_filter_day, newest first, and farDay of projects with ids in
// far_event.
func (b *sqliteBulk) days(ctx context.Context) (list []projectDay, err error) {
	read := func(scan func(...any) error) error {
		var k projectDay
		err := scan(&k.project, &k.day)
		list = append(list, k)
		return err
	}
	if err := sqldb.Each(ctx, b.db, `SELECT project_id, day FROM id_filter_day ORDER BY day DESC`, nil, read); err != nil {
		return nil, err
	}
	for _, k := range list {
		b.live[k] = true
	}
	err = sqldb.Each(ctx, b.db, `SELECT id, $1
		FROM project
		WHERE EXISTS (SELECT 1 FROM far_event WHERE project_id = id)`, []any{int64(farDay)}, read)
	return list, err
}

func (b *sqliteBulk) filterOf(of projectDay) projectDay { return of }

// idsOf calls f for the ids of a day, or of far_event, from which its filter is built at start.
func (b *sqliteBulk) idsOf(ctx context.Context, k projectDay, f func(uuid.UUID) error) error {
	text, args := `SELECT event_id FROM event WHERE project_id = $1 AND day = $2`, []any{k.project, k.day}
	if k.day == farDay {
		text, args = `SELECT event_id FROM far_event WHERE project_id = $1`, args[:1]
	}
	return sqldb.Each(ctx, b.db, text, args, func(scan func(...any) error) error {
		var id uuid.UUID
		if err := scan(sqldb.ScanID(&id)); err != nil {
			return err
		}
		return f(id)
	})
}
