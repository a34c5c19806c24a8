package storetest

import (
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

// index counts what is in segments.
func (e *env) index() project.Index {
	e.Helper()
	x, err := e.s.IndexState(e.ctx, e.project)
	e.ok(err)
	return x
}

// built waits until the background has built what waits.
func (e *env) built() project.Index {
	e.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		x := e.index()
		if !x.Rebuilding() {
			return x
		}
		if time.Now().After(deadline) {
			e.Fatalf("after a minute it is still to be built: %+v", x)
		}
	}
}

// compareSome compares some answers of each kind with those of rows.
func (r *randomEvents) compareSome(n int) {
	r.Helper()
	for range n {
		r.compareSearch()
		r.compareChart()
		r.compareValues()
		r.compareSessions()
		r.compareRun()
		if r.Failed() {
			r.FailNow()
		}
	}
}

// segmentsRebuilt has segments built anew again and again, and compares answers before it has begun, while it is under way with events
// that are stored, changed and deleted, and once it is done.
func segmentsRebuilt(e *env) {
	r := newRandomEvents(e, 3, 1)
	for round := range 4 {
		for range 3 {
			r.change()
			e.ok(e.s.Seal(e.ctx))
		}
		r.change() // behind what is sealed
		e.ok(e.s.RebuildIndex(e.ctx, e.project))
		r.compareSome(3)
		r.change()
		if round%2 == 1 { // again, while it is under way
			e.ok(e.s.RebuildIndex(e.ctx, e.project))
			e.ok(e.s.DeleteSession(e.ctx, e.project, r.sessions[0]))
			r.sessions = r.sessions[1:]
		}
		r.compareSome(3)
		// Some that are built beside others that wait.
		e.ok(e.s.Seal(e.ctx))
		r.change()
		e.ok(e.s.Seal(e.ctx))
		e.place.Exec(e.T, `UPDATE segment SET header = NULL WHERE id % 2 = 0`)
		r.compareSome(3)
		e.built()
		r.compareSome(5)
	}
	if x := e.index(); x.Events == 0 || x.Bytes == 0 {
		e.Errorf("nothing is in segments: %+v", x)
	}
}

// segmentsRebuiltLater closes the store in the middle of a rebuild: the next process goes on with it.
func segmentsRebuiltLater(e *env) {
	r := newRandomEvents(e, 4, 1)
	for range 3 {
		r.change()
		e.ok(e.s.Seal(e.ctx))
	}
	before := e.place.Count(e.T, `SELECT max(id) FROM segment`)
	want := e.index().Events
	e.ok(e.s.RebuildIndex(e.ctx, e.project))
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `UPDATE segment SET header = NULL`) // what the background may have built by then
	e.open(store.Options{})
	r.compareSome(3)
	x := e.built()
	e.equal("events in segments", want, x.Events)
	e.equal("segments from before", 0, e.place.Count(e.T, fmt.Sprintf(`SELECT count(*) FROM segment WHERE id <= %d`, before)))
	e.equal("columns from before", 0, e.place.Count(e.T, fmt.Sprintf(`SELECT count(*) FROM segment_column WHERE segment_id <= %d`, before)))
	r.compareSome(10)
}

// segmentsCounted counts what is in segments as events come, change and go, and that a rebuild is of one project only.
func segmentsCounted(e *env) {
	e.equal("at first", project.Index{}, e.index())
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.ok(e.s.Put(e.ctx, other.ID, event.Batch{Events: []event.Incoming{step("t", "y", 0)}}))
	e.put(step("s", "a", 0), step("s", "b", 1), step("s", "c", 2))
	e.ok(e.s.Seal(e.ctx))
	x := e.index()
	bytes := x.Bytes
	if bytes < 100 {
		e.Errorf("%d bytes", bytes)
	}
	e.equal("sealed", project.Index{Segments: 1, Events: 4, Bytes: bytes}, x)
	e.equal("bytes of all", e.place.Count(e.T, `SELECT CAST(sum(octet_length(data)) AS bigint) FROM segment_column`)+
		e.place.Count(e.T, `SELECT CAST(sum(octet_length(header)) AS bigint) FROM segment`),
		int(bytes)+int(e.stateOf(other.ID).Bytes))

	// The background is not as quick as this: it seals once nothing came for two seconds.
	e.put(step("s", "d", 3))
	e.update(event.Update{EventID: id("a"), Feedback: text(`{"rating":1}`)})
	x = e.index()
	if x.UnsealedEvents+x.Events != 5 || (x.UnsealedEvents > 0 && x.ChangedEvents < 2) { // the session's event has changed as well
		e.Errorf("after an event and a change: %+v", x)
	}
	otherID := e.place.Count(e.T, fmt.Sprintf(`SELECT max(id) FROM segment WHERE project_id = %d`, other.ID))
	e.ok(e.s.RebuildIndex(e.ctx, e.project))
	e.built()
	e.ok(e.s.Seal(e.ctx))
	x = e.index()
	e.equal("built anew", project.Index{Segments: x.Segments, Events: 5, Bytes: x.Bytes}, x)
	e.equal("the other project's segment", otherID, e.place.Count(e.T, fmt.Sprintf(`SELECT max(id) FROM segment WHERE project_id = %d`, other.ID)))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.ok(e.s.Seal(e.ctx))
	e.equal("in the end", project.Index{}, e.index())
}

func (e *env) stateOf(projectID int64) project.Index {
	e.Helper()
	x, err := e.s.IndexState(e.ctx, projectID)
	e.ok(err)
	return x
}
