package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/client"
)

// parts are those of an event that can be read.
var parts = []string{"inputs", "outputs", "error", "config", "metadata", "metrics", "feedback", "user_properties"}

type eventQuery struct {
	EventID string   `json:"event_id" jsonschema:"id of the event"`
	Parts   []string `json:"parts,omitempty" jsonschema:"what to read of it; inputs, outputs and error if left out"`
	Path    string   `json:"path,omitempty" jsonschema:"instead of parts: dotted path of a value that was cut, such as inputs.messages.3.content"`
	Offset  int      `json:"offset,omitempty" jsonschema:"with path: how many characters of a text, or items of a list or keys of an object, to skip"`
	size
}

// event is an event with what was asked for of it.
type event struct {
	found
	Values map[string]any `json:"values" jsonschema:"by part, or by path"`
	Cuts   []cut          `json:"cuts,omitempty" jsonschema:"where values are cut, and how to read on"`
}

// cut says where a value is cut. Path and Offset are the arguments by which get_event reads on.
type cut struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Of     int    `json:"of"`
	Unit   string `json:"unit" jsonschema:"what offset counts: characters, items or keys"`
}

// levels are the bounds of an event's values, from generous ones to what always fits.
var levels = []bounds{
	{50_000, 5_000, 40}, {12_000, 1_000, 30}, {4_000, 200, 20}, {1_500, 60, 12}, {600, 25, 8}, {200, 12, 6}, {80, 6, 5}, {30, 3, 4}, {20, 1, 2},
}

func (t *tools) getEvent(ctx context.Context, c *call, in eventQuery) (*answer[event], error) {
	page, err := c.Events.SearchPage(ctx, client.EventSearch{
		EventQuery: client.EventQuery{
			Filters:     []client.Filter{{Field: "event_id", Operator: client.Is, Value: in.EventID, Type: client.TypeID}},
			Projections: []string{"session_id", "event_type", "event_name", "start_time", "duration", "error", "config.model", "metadata.total_tokens", "metadata.cost"},
			Page:        client.Page{Limit: 1},
		},
		Uncounted: true,
	})
	if err != nil {
		return nil, err
	}
	if len(page.Events) == 0 {
		return nil, fmt.Errorf("there is no event %s in the project; search_events and session_tree give ids of events", line(in.EventID, 60))
	}
	wanted := in.Parts
	switch {
	case in.Path != "":
		wanted = []string{in.Path}
	case len(wanted) == 0:
		wanted = parts[:3]
	}
	release, err := t.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	values := make([]any, len(wanted))
	raw := 0
	for i, path := range wanted {
		if values[i], err = readPath(ctx, c, in.EventID, path); err != nil {
			return nil, err
		}
		if _, ok := values[i].(rawText); ok {
			raw++
		}
	}
	head := eventItem(&page.Events[0], 200)
	head.data.Error = "" // it is one of the parts
	headText, _, _ := strings.Cut(head.text, "\n")
	room := c.size - reserved - len(headText) - jsonSize(head.data)
	var d event
	var text string
	for _, b := range levels {
		d, text = event{found: head.data, Values: map[string]any{}}, ""
		cutter := cutter{bounds: b}
		for i, path := range wanted {
			if values[i] == nil {
				continue
			}
			key := shorten(path, 300)
			d.Values[key] = cutter.value(values[i], key, in.Offset, 0)
		}
		text, d.Cuts = cutter.text.String(), cutter.cuts
		if len(text) <= room && jsonSize(d.Values)+jsonSize(d.Cuts) <= room {
			break
		}
	}
	a := &answer[event]{head: fmt.Sprintf("One event with %s.", strings.Join(shownParts(in), ", ")), text: headText + "\n" + text, data: d}
	if len(d.Values) == 0 {
		a.hints = append(a.hints, "It has none of the parts that were asked for; others are "+strings.Join(parts, ", ")+".")
	}
	if raw > 0 {
		a.hints = append(a.hints, fmt.Sprintf("%s over %d bytes and shown as JSON text: read on with its name as path, and an offset.", count(raw, "part is", "parts are"), maxDecoded))
	}
	if n := len(d.Cuts); n > 0 {
		a.hints = append(a.hints, count(n, "value is", "values are")+" cut; where one is cut, path and offset say how get_event reads on.")
	}
	return a, nil
}

// shownParts names what is shown in the server's own words.
func shownParts(in eventQuery) []string {
	switch {
	case in.Path != "":
		return []string{"the value at path"}
	case len(in.Parts) == 0:
		return parts[:3]
	}
	return in.Parts
}

// maxDecoded is how many bytes of JSON a part of an event may have to be taken apart: in memory it may take fifty times as many. A larger one
// is a rawText.
const maxDecoded = 2 << 20

// rawText is the JSON text of a part that is too large to be taken apart.
type rawText string

// readPath reads a part of an event, or a value in it. A part that the event does not have is nil.
func readPath(ctx context.Context, c *call, id, path string) (any, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("path: must be at most %d bytes", maxPath)
	}
	part, rest, nested := strings.Cut(path, ".")
	if !slices.Contains(parts, part) {
		return nil, fmt.Errorf("path: %q is no part of an event; a path begins with one of %s", line(part, 60), strings.Join(parts, ", "))
	}
	raw, err := c.Events.Field(ctx, id, part)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxDecoded {
		if nested {
			return nil, fmt.Errorf("path: %s has %d bytes, too many to be taken apart; read it as JSON text with path %s and an offset", part, len(raw), part)
		}
		return rawText(raw), nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the server's %s is not JSON: %w", part, err)
	}
	if !nested {
		if empty(v) {
			return nil, nil
		}
		return v, nil
	}
	tries := maxLookups
	v, ok := lookup(v, rest, &tries)
	if !ok {
		return nil, fmt.Errorf("path: the event has nothing at %s; read %s first to see what there is", line(path, 200), part)
	}
	return v, nil
}

// empty reports whether a part says nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// maxPath bounds a path, in bytes, and maxLookups how many places are tried: keys with dots can make a path mean many.
const (
	maxPath    = 4_000
	maxLookups = 10_000
)

// lookup finds the value at a path. Where keys have dots, the shortest key that leads on comes first.
func lookup(v any, path string, tries *int) (any, bool) {
	if *tries--; *tries < 0 {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		for end := 0; end <= len(path); end++ {
			if end < len(path) && path[end] != '.' {
				continue
			}
			inner, ok := v[path[:end]]
			if !ok {
				continue
			}
			if end == len(path) {
				return inner, true
			}
			if found, ok := lookup(inner, path[end+1:], tries); ok {
				return found, true
			}
		}
	case []any:
		key, rest, nested := strings.Cut(path, ".")
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		if !nested {
			return v[i], true
		}
		return lookup(v[i], rest, tries)
	}
	return nil, false
}
