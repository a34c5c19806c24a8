package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Datapoint is one example: what the function is given, and what is expected of it.
//
// In JSON it is an object with the members id (or datapoint_id), inputs and ground_truth, all
// optional, and any others, which Row gives back.
type Datapoint struct {
	ID          string // its own name; empty: it is named by what is in it
	Inputs      map[string]any
	GroundTruth any // nil: nothing is known

	row map[string]any // the whole of it, as it came in JSON
}

// UnmarshalJSON reads a datapoint. Its numbers are json.Number, digit for digit.
func (d *Datapoint) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var row map[string]any
	if err := dec.Decode(&row); err != nil {
		return err
	}
	if row == nil {
		return fmt.Errorf("a datapoint must be an object, not null")
	}
	*d = Datapoint{GroundTruth: row["ground_truth"], row: row}
	for _, key := range [...]string{"id", "datapoint_id"} {
		if d.ID != "" {
			break
		}
		switch id := row[key].(type) {
		case nil:
		case string:
			d.ID = id
		case json.Number:
			d.ID = id.String()
		default:
			return fmt.Errorf("%s: must be a text", key)
		}
	}
	if in, ok := row["inputs"]; ok && in != nil {
		if d.Inputs, ok = in.(map[string]any); !ok {
			return fmt.Errorf("inputs: must be an object")
		}
	}
	return nil
}

// MarshalJSON writes Row.
func (d Datapoint) MarshalJSON() ([]byte, error) { return json.Marshal(d.Row()) }

// Row returns the whole datapoint: its fields that are not empty, and what else there was in its JSON.
func (d Datapoint) Row() map[string]any {
	row := maps.Clone(d.row)
	if row == nil {
		row = map[string]any{}
		if d.ID != "" {
			row["id"] = d.ID
		}
	}
	if d.Inputs != nil {
		row["inputs"] = d.Inputs
	}
	if d.GroundTruth != nil {
		row["ground_truth"] = d.GroundTruth
	}
	return row
}

// external marks ids of what the server does not store.
const external = "EXT-"

// ExternalIDs returns the ids under which the server speaks of a dataset that it does not store: of
// the dataset, and of each datapoint. They begin with EXT-. A datapoint's own id is kept; else
// its id, and the dataset's, are made of what is in it, so that the same examples have the same
// ids in each run, and can be compared. HoneyHive's Python SDK makes the same ids of the same JSON.
func ExternalIDs(dataset []Datapoint) (id string, datapoints []string, err error) {
	list := pythonJSON{[]byte{'['}}
	datapoints = make([]string, len(dataset))
	for i, d := range dataset {
		var p pythonJSON
		if err := p.value(d.Row()); err != nil {
			return "", nil, fmt.Errorf("dataset[%d]: %w", i, err)
		}
		if i > 0 {
			list.buf = append(list.buf, ", "...)
		}
		list.buf = append(list.buf, p.buf...)
		if d.ID != "" {
			datapoints[i] = externalID(d.ID)
		} else {
			datapoints[i] = hashID(strconv.AppendInt(p.buf, int64(i), 10))
		}
	}
	return hashID(append(list.buf, ']')), datapoints, nil
}

func externalID(id string) string {
	if strings.HasPrefix(id, external) {
		return id
	}
	return external + id
}

func hashID(text []byte) string {
	sum := sha256.Sum256(text)
	return external + hex.EncodeToString(sum[:8])
}
