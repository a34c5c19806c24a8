package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/spangrove/spangrove/pkg/client"
)

type treeQuery struct {
	SessionID string `json:"session_id" jsonschema:"id of the session"`
	Below     string `json:"below,omitempty" jsonschema:"only what stands below the event of this id"`
	Depth     int    `json:"depth,omitempty" jsonschema:"how many levels below the first; 0 is all"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many events"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// row is an event in a tree.
type row struct {
	ID         string   `json:"event_id"`
	Depth      int      `json:"depth"`
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	AfterMS    float64  `json:"after_ms" jsonschema:"how long after the first row it began"`
	DurationMS float64  `json:"duration_ms"`
	Running    bool     `json:"running,omitempty"`
	Tokens     *float64 `json:"tokens,omitempty"`
	Cost       *float64 `json:"cost,omitempty"`
	Error      string   `json:"error,omitempty"`
	Hidden     int      `json:"hidden_below,omitempty" jsonschema:"events below it that depth leaves out"`

	start  float64
	parent int // place in the list; -1: none
	below  int
}

// slow is an event that took time of its own.
type slow struct {
	ID    string  `json:"event_id"`
	Type  string  `json:"type"`
	Name  string  `json:"name"`
	OwnMS float64 `json:"own_ms" jsonschema:"its duration without the time in which events below it ran"`
	Share float64 `json:"share" jsonschema:"of the duration of the first row, from 0 to 1"`
}

type tree struct {
	SessionID string `json:"session_id"`
	Total     int    `json:"total_events"`
	Slowest   []slow `json:"slowest,omitempty"`
	Rows      []row  `json:"rows"`
}

// maxSlow is how many of the slowest events an answer names.
const maxSlow = 5

func sessionTree(ctx context.Context, c *call, in treeQuery) (*answer[tree], error) {
	got, err := c.Sessions.Tree(ctx, in.SessionID, client.TreePart{Below: in.Below})
	if err != nil {
		return nil, err
	}
	rows, err := readRows(got)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return &answer[tree]{head: "There is no event below this one.", data: tree{SessionID: got.SessionID, Total: got.Total, Rows: []row{}}}, nil
	}
	d := tree{SessionID: got.SessionID, Total: got.Total, Rows: []row{}}
	a := &answer[tree]{head: count(len(rows), "event", "events") + " below that event."}
	if in.Below == "" {
		failed, err := c.failures(ctx, got.SessionID, rows)
		if err != nil {
			return nil, err
		}
		a.head = "The " + summaryOf(rows, got.Total, failed)
	}
	before := ""
	if in.Cursor == "" && !got.Truncated && in.Below == "" {
		if d.Slowest = slowest(rows); len(d.Slowest) > 0 {
			before = "most time of their own:\n"
			for _, s := range d.Slowest {
				before += fmt.Sprintf("  %s %q %s, %s %% of the session [%s]\n", s.Type, s.Name, took(s.OwnMS), number(float64(int(s.Share*1000+0.5))/10), s.ID)
			}
			before += "tree:\n"
		}
	}
	shown := within(rows, in.Depth)
	first := 0
	if in.Cursor != "" {
		if first = slices.IndexFunc(shown, func(r row) bool { return r.ID == in.Cursor }) + 1; first == 0 {
			return nil, errors.New("cursor: the event that it names is not in this tree any more, or depth has changed; leave it out to begin anew")
		}
	}
	rest := shown[first:]
	rest = rest[:min(len(rest), or(in.Limit, 200))]
	list := fit(c, len(rest), len(before)+jsonSize(d.Slowest), func(i, width int) item[row] { return rowItem(rest[i], width) })
	if n := first + len(list); n < len(shown) && len(list) > 0 {
		a.next = shown[n-1].ID
	}
	d.Rows = data(list)
	a.text, a.data = before+texts(list), d
	if got.Truncated {
		a.hints = append(a.hints, fmt.Sprintf("The session has %d events, of which the server lists %d, those of the upper levels; below with the id of an event lists others.", got.Total, len(rows)))
	}
	if slices.ContainsFunc(d.Rows, func(r row) bool { return r.Hidden > 0 }) {
		a.hints = append(a.hints, "Events below the last level are counted only; a higher depth, or below with an event's id, shows them.")
	}
	a.hints = append(a.hints, "get_event with an event_id reads its inputs and outputs.")
	return a, nil
}

// readRows reads the rows of a tree, parents before their children, with the level of each.
func readRows(got *client.TreeRows) ([]row, error) {
	place := map[string]int{}
	for i, name := range got.Columns {
		place[name] = i
	}
	rows := make([]row, len(got.Rows))
	for i, cells := range got.Rows {
		r := &rows[i]
		var state string
		for name, to := range map[string]any{"event_id": &r.ID, "parent": &r.parent, "type": &r.Type, "name": &r.Name, "start_time": &r.start,
			"duration": &r.DurationMS, "state": &state, "error": &r.Error, "tokens": &r.Tokens, "cost": &r.Cost, "below": &r.below} {
			at, ok := place[name]
			if !ok || at >= len(cells) {
				return nil, fmt.Errorf("the server's tree has no column %s: it is of another version than this program", name)
			}
			if err := json.Unmarshal(cells[at], to); err != nil {
				return nil, fmt.Errorf("the server's tree has a bad %s: %w", name, err)
			}
		}
		r.Running = state == "running"
		if r.parent >= 0 && r.parent < i {
			r.Depth = rows[r.parent].Depth + 1
		}
		r.AfterMS = r.start - rows[0].start
	}
	return rows, nil
}

// within returns the rows of so many levels below the first, all if that is 0.
func within(rows []row, depth int) []row {
	if depth == 0 {
		return rows
	}
	var shown []row
	for _, r := range rows {
		if r.Depth > depth {
			continue
		}
		if r.Depth == depth {
			r.Hidden = r.below
		}
		shown = append(shown, r)
	}
	return shown
}

// slowest returns the events that took most time of their own, each at least a twentieth of the first row's duration.
func slowest(rows []row) []slow {
	type interval struct{ from, to float64 }
	inside := make([][]interval, len(rows)) // when the children of a row ran
	for i := range rows {
		if p := rows[i].parent; p >= 0 && p < i {
			inside[p] = append(inside[p], interval{rows[i].start, rows[i].start + rows[i].DurationMS})
		}
	}
	var found []slow
	for i := range rows {
		r := &rows[i]
		list := inside[i]
		sort.Slice(list, func(a, b int) bool { return list[a].from < list[b].from })
		own, done, end := r.DurationMS, r.start, r.start+r.DurationMS
		for _, in := range list {
			from, to := max(in.from, done), min(in.to, end)
			if to > from {
				own -= to - from
				done = to
			}
		}
		if whole := rows[0].DurationMS; i > 0 && whole > 0 && own*20 >= whole {
			found = append(found, slow{r.ID, r.Type, line(r.Name, 80), own, own / whole})
		}
	}
	sort.SliceStable(found, func(a, b int) bool { return found[a].OwnMS > found[b].OwnMS })
	return found[:min(len(found), maxSlow)]
}

func rowItem(r row, width int) item[row] {
	r.Name, r.Error = line(r.Name, width), line(r.Error, width)
	text := fmt.Sprintf("%s%s %q %s +%s", indent(r.Depth), r.Type, r.Name, took(r.DurationMS), took(r.AfterMS))
	if r.Running {
		text += " running"
	}
	if r.Tokens != nil {
		text += " tokens " + number(*r.Tokens)
	}
	if r.Cost != nil {
		text += " " + dollars(r.Cost)
	}
	if r.Error != "" {
		text += fmt.Sprintf(" ERROR %q", r.Error)
	}
	if r.Hidden > 0 {
		text += " … " + count(r.Hidden, "event", "events") + " below"
	}
	return item[row]{text + " [" + r.ID + "]", r}
}
