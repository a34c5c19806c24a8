package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxDatapoints is how many sessions a run can have.
const maxDatapoints = 100_000

// datasetID is what ids of stored datasets look like.
var datasetID = regexp.MustCompile(`^[0-9a-f]{24}$`)

// readDataset reads the file of that name, or else takes the name for the id of a stored dataset.
func readDataset(cmd *cobra.Command, name string) (rows []experiment.Datapoint, id string, err error) {
	if _, err := os.Stat(name); name != "-" && errors.Is(err, fs.ErrNotExist) {
		if datasetID.MatchString(name) {
			return nil, name, nil
		}
		return nil, "", usage("--dataset %s: there is no such file, and it is not the id of a dataset", name)
	}
	in, err := open(cmd, name)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	isCSV := formatOf(name, "") == "csv"
	for row, err := range rowsOf(in, name, "") {
		if err != nil {
			return nil, "", err
		}
		if len(rows) == maxDatapoints {
			return nil, "", usage("%s: more than %d datapoints", name, maxDatapoints)
		}
		var d experiment.Datapoint
		if err := json.Unmarshal(datapointOf(row, isCSV), &d); err != nil {
			return nil, "", usage("%s: row %d: %s", name, len(rows)+1, err)
		}
		rows = append(rows, d)
	}
	if len(rows) == 0 {
		return nil, "", usage("%s: there are no datapoints", name)
	}
	_, ids, err := experiment.ExternalIDs(rows)
	if err != nil {
		return nil, "", usage("%s: %s", name, err)
	}
	for i := range rows {
		rows[i].ID = ids[i]
	}
	return rows, "", nil
}

// datapointOf makes a datapoint of a row: one that has no inputs has them in its other members. In
// CSV, the cells of inputs and ground_truth may be JSON objects or arrays.
func datapointOf(row json.RawMessage, isCSV bool) json.RawMessage {
	var b, inputs rawjson.Builder
	whole := rawjson.Get(row, "inputs") != nil
	for name, value := range rawjson.Object(row) {
		if text, ok := rawjson.Text(value); ok && isCSV && (name == "inputs" || name == "ground_truth") && json.Valid([]byte(text)) {
			if kind := rawjson.KindOf([]byte(text)); kind == '{' || kind == '[' {
				value = json.RawMessage(text)
			}
		}
		if whole || name == "id" || name == "datapoint_id" || name == "ground_truth" {
			b.Raw(name, value)
		} else {
			inputs.Raw(name, value)
		}
	}
	if !whole {
		b.Raw("inputs", object(&inputs))
	}
	return object(&b)
}

// object returns what has been built, also if it has no members.
func object(b *rawjson.Builder) json.RawMessage {
	if b.Len() == 0 {
		return json.RawMessage("{}")
	}
	return b.Bytes()
}
