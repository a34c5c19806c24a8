package httpapi

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// maxTreeRows is how many rows of a session's tree one answer has at most.
const maxTreeRows = 20_000

var treeOperations = []apiOperation{
	{"getSessionTree", http.MethodGet, []string{"/sessions/{id}/tree"}, project.ScopeRead, (*Server).getSessionTree},
	{"previewEvents", http.MethodPost, []string{"/events/previews"}, project.ScopeRead, (*Server).previewEvents},
	{"getEventField", http.MethodGet, []string{"/events/{id}/fields/{field}"}, project.ScopeRead, (*Server).getEventField},
}

// getSessionTree answers with the rows of a session's tree, without what the events say; or with those that have changed since
// the caller read them, if this server remembers what that was.
func (s *Server) getSessionTree(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	part, since, err := c.treePart()
	if err != nil {
		return err
	}
	began := time.Now()
	set, err := s.Store.Session(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	read := time.Now()
	rows, gaps, whole, err := wire.TreeRows(c.ctx(), set, part)
	if err != nil {
		return err
	}
	answer := treeAnswer{
		rows: rows, gaps: gaps, whole: whole, complete: whole && part.Below == uuid.Nil && part.Around == uuid.Nil,
		total: len(set.Events), since: since,
	}
	body := s.trees.answer(treeKey{c.project.ID, sessionOf(set, id)}, answer)
	c.w.Header().Set("Server-Timing", fmt.Sprintf("db;dur=%.1f, encode;dur=%.1f", millis(read.Sub(began)), millis(time.Since(read))))
	return c.answer(body)
}

// sessionOf returns the id of the session whose events are in set: another one than asked for if that has moved.
func sessionOf(set *event.Set, asked uuid.UUID) uuid.UUID {
	if len(set.Events) > 0 {
		return set.Events[0].SessionID
	}
	return asked
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// treePart reads which rows are asked for.
func (c *call) treePart() (part wire.TreePart, since string, err error) {
	var params struct {
		Limit  int64  `query:"limit"`
		Below  string `query:"below"`
		After  string `query:"after"`
		Around string `query:"around"`
		Since  string `query:"since"`
	}
	if err := c.query(&params); err != nil {
		return part, "", err
	}
	part.Limit = maxTreeRows
	switch {
	case params.Limit > maxTreeRows:
		return part, "", fault.InvalidField("limit", "must be at most %d", maxTreeRows)
	case params.Limit > 0:
		part.Limit = int(params.Limit)
	}
	if params.Below != "" {
		if part.Below, err = wire.ParseID(params.Below); err != nil {
			return part, "", fault.In("below", err)
		}
	}
	if params.After != "" {
		if part.After, err = wire.ParseID(params.After); err != nil {
			return part, "", fault.In("after", err)
		}
		if params.Below == "" {
			return part, "", fault.InvalidField("after", "needs below")
		}
	}
	if params.Around != "" {
		if part.Around, err = wire.ParseID(params.Around); err != nil {
			return part, "", fault.In("around", err)
		}
		if params.Below != "" {
			return part, "", fault.InvalidField("around", "must not be given with below")
		}
	}
	if params.Since != "" && (params.Below != "" || params.Around != "") {
		return part, "", fault.InvalidField("since", "must not be given with below or around")
	}
	return part, params.Since, nil
}

// Bounds of what is remembered of trees that were read: of at most 32 sessions, and of all their versions together at most 400,000 rows, which
// take some 40 bytes each in a map.
const (
	rememberedTrees = 32
	rememberedRows  = 400_000
)

// trees remembers what it has answered of sessions, so that a page that shows a growing session is sent only what has changed.
// It is safe for concurrent use.
type trees struct {
	seed maphash.Seed
	mu   sync.Mutex // guards what is below
	last *lru.Cache[treeKey, *treeVersions]
	rows int // of all versions
}

type treeKey struct {
	project int64
	session uuid.UUID
}

// treeVersions are the last versions of a tree that were answered, oldest first: two pages may show the same session.
type treeVersions struct{ list []treeVersion }

// treeVersion is a tree as it was answered: a hash of each row, and one of all of them.
type treeVersion struct {
	touched string
	rows    map[uuid.UUID]uint64
}

// maxTreeVersions is how many versions of one tree are remembered.
const maxTreeVersions = 3

func newTrees() *trees {
	t := &trees{seed: maphash.MakeSeed()}
	t.last, _ = lru.NewWithEvict(rememberedTrees, func(_ treeKey, v *treeVersions) { // the size is valid
		for _, old := range v.list {
			t.rows -= len(old.rows)
		}
	})
	return t
}

// treeAnswer is what there is to answer: rows, of a session of total events.
type treeAnswer struct {
	rows     []wire.TreeRow
	gaps     []wire.TreeGap // where events are missing before a row
	whole    bool           // the rows are all that were asked for
	complete bool           // and the whole session was
	total    int
	since    string // the version that the caller has; empty: none
}

// answer returns the answer to getSessionTree.
func (t *trees) answer(key treeKey, a treeAnswer) []byte {
	rows := a.rows
	now := treeVersion{rows: make(map[uuid.UUID]uint64, len(rows))}
	var buf []byte
	var all maphash.Hash
	all.SetSeed(t.seed)
	for i := range rows {
		buf = wire.AppendTreeRow(buf[:0], &rows[i], true)
		now.rows[rows[i].ID] = maphash.Bytes(t.seed, buf)
		_, _ = all.Write(buf) // never fails
	}
	now.touched = strconv.FormatUint(all.Sum64(), 36)
	before, known := t.exchange(key, now, a.complete, a.since)

	var b rawjson.Builder
	b.String("session_id", key.session.String())
	b.String("touched", now.touched)
	b.Int("total", int64(a.total))
	b.Bool("truncated", !a.whole)
	if !known {
		b.Raw("columns", rawjson.AppendStrings(nil, wire.TreeColumns))
		b.Raw("rows", rowList(rows, false, nil))
		if len(a.gaps) > 0 {
			var gaps rawjson.Builder
			for _, g := range a.gaps {
				gaps.Int(g.Row.String(), int64(g.Events))
			}
			b.Raw("gaps", gaps.Bytes())
		}
		return b.Bytes()
	}
	b.String("since", a.since)
	b.Raw("columns", rawjson.AppendStrings(nil, wire.TreeChangeColumns))
	b.Raw("rows", rowList(rows, true, func(r *wire.TreeRow) bool {
		old, there := before.rows[r.ID]
		return !there || old != now.rows[r.ID]
	}))
	var removed []string
	for id := range before.rows {
		if _, still := now.rows[id]; !still {
			removed = append(removed, id.String())
		}
	}
	b.Raw("removed", rawjson.AppendStrings(nil, removed))
	return b.Bytes()
}

// exchange remembers a version of a tree, and returns the one that the caller has.
func (t *trees) exchange(key treeKey, now treeVersion, complete bool, since string) (before treeVersion, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.last.Get(key)
	if !ok {
		v = &treeVersions{}
	}
	newest := false
	for _, old := range v.list {
		if since != "" && old.touched == since {
			before, known = old, true
		}
		newest = newest || old.touched == now.touched
	}
	if complete && !newest {
		if len(v.list) == maxTreeVersions {
			t.rows -= len(v.list[0].rows)
			v.list = slices.Delete(v.list, 0, 1)
		}
		v.list = append(v.list, now)
		t.rows += len(now.rows)
		t.last.Add(key, v)
		for t.rows > rememberedRows && t.last.Len() > 1 {
			t.last.RemoveOldest()
		}
	}
	return before, known && complete
}

// rowList returns the rows that want chooses, all if it is nil.
func rowList(rows []wire.TreeRow, byID bool, want func(*wire.TreeRow) bool) []byte {
	list := []byte{'['}
	for i := range rows {
		if want != nil && !want(&rows[i]) {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = wire.AppendTreeRow(list, &rows[i], byID)
	}
	return append(list, ']')
}

// previewEvents answers with a line of the inputs and outputs of events, for a list that shows them.
func (s *Server) previewEvents(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	ids, err := wire.DecodePreviews(body)
	if err != nil {
		return err
	}
	set, err := s.Store.EventsByID(c.ctx(), c.project.ID, ids)
	if err != nil {
		return err
	}
	comments, err := s.Store.CountComments(c.ctx(), c.project.ID, ids)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error { return wire.WritePreviews(c.ctx(), out, set, comments) })
}

// getEventField answers with one field of an event as it is stored, digit for digit.
func (s *Server) getEventField(c *call) error {
	id, err := c.id("event_id")
	if err != nil {
		return err
	}
	name := c.r.PathValue("field")
	if !wire.IsEventField(name) {
		return fault.InvalidField("field", "must be one of %s", wire.EventFieldNames())
	}
	e, err := s.Store.Event(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	raw := wire.EventField(&e, name)
	if c.hasAlready(strconv.FormatUint(maphash.Bytes(s.trees.seed, raw), 36)) {
		return nil
	}
	return c.answer(raw)
}
