package dataset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Mapping says which parts of something become which parts of a datapoint. An entry that a list has twice
// counts once.
type Mapping struct {
	Inputs      []string
	History     []string
	GroundTruth []string
}

// once returns the mapping without repetitions: what they name would be copied as often.
func (m *Mapping) once() *Mapping {
	return &Mapping{Inputs: Unique(m.Inputs), History: Unique(m.History), GroundTruth: Unique(m.GroundTruth)}
}

// Empty reports whether it maps nothing.
func (m *Mapping) Empty() bool { return len(m.Inputs)+len(m.History)+len(m.GroundTruth) == 0 }

// Rows returns the function that makes a datapoint of each row, which is an object. Each mapped key of
// the row goes where the mapping says, under the same key, also where it is null; into the history its
// value is appended, but for null. All other keys become metadata. The function is not safe for
// concurrent use.
func (m *Mapping) Rows() func(row json.RawMessage) Datapoint {
	m = m.once()
	mapped := make(map[string]bool, len(m.Inputs)+len(m.History)+len(m.GroundTruth))
	for _, place := range [][]string{m.Inputs, m.History, m.GroundTruth} {
		for _, key := range place {
			mapped[key] = true
		}
	}
	values := map[string]json.RawMessage{} // of the mapped keys of one row
	pick := func(key string) (string, json.RawMessage) { return key, values[key] }
	return func(row json.RawMessage) Datapoint {
		clear(values)
		var rest rawjson.Builder
		for key, raw := range rawjson.Object(row) {
			if mapped[key] {
				values[key] = raw
			} else {
				rest.Raw(key, raw)
			}
		}
		p := m.build(pick)
		p.Metadata = rest.Bytes()
		p.Complete()
		return p
	}
}

// FromEvent makes a datapoint of an event, given as the object that answers show. The mapping's
// entries are dotted paths into it, read as in filters (rawjson.Lookup), whose last element names the
// key; CheckPaths has accepted them. A mapping that maps nothing takes the whole inputs, and the outputs as ground truth.
func (m *Mapping) FromEvent(id string, event json.RawMessage) Datapoint {
	m = m.once()
	p := m.build(func(path string) (string, json.RawMessage) {
		if v := rawjson.Lookup(event, strings.Split(path, ".")...); !rawjson.Null(v) {
			return last(path), v
		}
		return last(path), nil
	})
	if m.Empty() {
		p.Inputs = rawjson.Get(event, "inputs")
		if out := rawjson.Get(event, "outputs"); rawjson.KindOf(out) == '{' {
			p.GroundTruth = out
		} else if !rawjson.Null(out) {
			var b rawjson.Builder
			b.Raw("outputs", out)
			p.GroundTruth = b.Bytes()
		}
	}
	p.LinkedEvent = id
	p.Complete()
	return p
}

// CheckPaths refuses paths that are empty, and two paths of one place that end in the same key.
func (m *Mapping) CheckPaths() error {
	for _, place := range []struct {
		name  string
		paths []string
		keys  bool
	}{{"inputs", m.Inputs, true}, {"history", m.History, false}, {"ground_truth", m.GroundTruth, true}} {
		seen := map[string]string{}
		for i, path := range place.paths {
			at := fmt.Sprintf("%s[%d]", place.name, i)
			if path == "" || slices.Contains(strings.Split(path, "."), "") {
				return fault.InvalidField(at, "%.60q is not a path such as inputs.question", path)
			}
			if other, taken := seen[last(path)]; place.keys && taken && other != path {
				return fault.InvalidField(at, "ends in the same key as %.60q", other)
			}
			seen[last(path)] = path
		}
	}
	return nil
}

// build makes the mapped parts; pick returns the key and the value of an entry, nil if there is none.
func (m *Mapping) build(pick func(entry string) (key string, value json.RawMessage)) (p Datapoint) {
	object := func(entries []string) json.RawMessage {
		var b rawjson.Builder
		for _, entry := range entries {
			if key, value := pick(entry); value != nil {
				b.Raw(key, value)
			}
		}
		return b.Bytes()
	}
	p.Inputs, p.GroundTruth = object(m.Inputs), object(m.GroundTruth)
	history := []byte{'['}
	for _, entry := range m.History {
		key, value := pick(entry)
		if rawjson.Null(value) {
			continue
		}
		if rawjson.KindOf(value) != '[' {
			history = appendTurn(history, key, value)
			continue
		}
		for _, turn := range rawjson.Array(value) {
			history = appendTurn(history, key, turn)
		}
	}
	p.History = append(history, ']')
	return p
}

// appendTurn appends one entry of a history. Entries are objects: anything else becomes one,
// under the key it had.
func appendTurn(history []byte, key string, turn json.RawMessage) []byte {
	if len(history) > 1 {
		history = append(history, ',')
	}
	if rawjson.KindOf(turn) == '{' {
		return append(history, turn...)
	}
	var b rawjson.Builder
	b.Raw(key, turn)
	return append(history, b.Bytes()...)
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
