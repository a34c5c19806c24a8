package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spangrove/spangrove/pkg/client"
)

type datasetQuery struct {
	Name   string `json:"name,omitempty" jsonschema:"only datasets of this name"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many datasets, oldest first"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

type dataset struct {
	ID          string `json:"dataset_id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Datapoints  int    `json:"datapoints"`
	Version     int64  `json:"version"`
	CreatedAt   string `json:"created_at"`
}

type datasetList struct {
	Datasets []dataset `json:"datasets"`
	Total    int       `json:"total"`
}

type rowQuery struct {
	DatasetID string `json:"dataset_id" jsonschema:"id of the dataset"`
	Text      string `json:"text,omitempty" jsonschema:"only datapoints with this text somewhere, in any case"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many datapoints, in the order of the dataset"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// datapoint is one in a list. Its parts are JSON texts, which may be cut.
type datapoint struct {
	ID          string `json:"datapoint_id"`
	Inputs      string `json:"inputs" jsonschema:"JSON, cut at the ellipsis if it is long"`
	GroundTruth string `json:"ground_truth,omitempty" jsonschema:"JSON, cut at the ellipsis if it is long"`
	Metadata    string `json:"metadata,omitempty" jsonschema:"JSON, cut at the ellipsis if it is long"`
	EventID     string `json:"linked_event,omitempty"`
}

type rowList struct {
	Datapoints []datapoint `json:"datapoints"`
	Total      int         `json:"total"`
	Version    int64       `json:"version"`
}

type newDataset struct {
	Name        string `json:"name" jsonschema:"name of the dataset, unlike all others of the project"`
	Description string `json:"description,omitempty" jsonschema:"what it is for"`
	size
}

type newDatapoints struct {
	DatasetID  string         `json:"dataset_id" jsonschema:"id of the dataset"`
	Datapoints []newDatapoint `json:"datapoints,omitempty" jsonschema:"the datapoints to be added, all or none"`
	EventIDs   []string       `json:"event_ids,omitempty" jsonschema:"instead: events of which datapoints are made, their inputs as inputs and their outputs as ground truth"`
	size
}

type newDatapoint struct {
	Inputs      map[string]any `json:"inputs" jsonschema:"what the program is given"`
	GroundTruth map[string]any `json:"ground_truth,omitempty" jsonschema:"what is expected of it"`
	Metadata    map[string]any `json:"metadata,omitempty" jsonschema:"all else, such as a split"`
}

type stored struct {
	DatasetID string `json:"dataset_id"`
	Added     int    `json:"added"`
}

// maxNewDatapoints is how many datapoints a call adds.
const maxNewDatapoints = 200

func (t *tools) addDatasets() {
	add(t, definition{
		name: "list_datasets", title: "Datasets",
		description: "The datasets of the project: ordered sets of datapoints, over which programs are evaluated.",
		schema:      []property{between("limit", 1, 100, 20)},
	}, listDatasets)
	add(t, definition{
		name: "dataset_rows", title: "Datapoints of a dataset",
		description: "The datapoints of a dataset with inputs, ground truth and metadata as JSON, each cut if it is long.",
		schema:      []property{between("limit", 1, 200, 20)},
	}, t.datasetRows)
	add(t, definition{
		name: "create_dataset", title: "Create a dataset", effect: stores,
		description: "Creates an empty dataset. It needs a key of scope full.",
	}, createDataset)
	add(t, definition{
		name: "add_datapoints", title: "Add datapoints", effect: stores,
		description: "Adds datapoints to a dataset, written out or made of events, all or none. It needs a key of scope full. Calling it twice adds them twice.",
		schema:      []property{items("datapoints", 1, maxNewDatapoints), items("event_ids", 1, maxNewDatapoints)},
	}, addDatapoints)
}

func listDatasets(ctx context.Context, c *call, in datasetQuery) (*answer[datasetList], error) {
	first, err := offset(in.Cursor)
	if err != nil {
		return nil, err
	}
	found, total, err := pageOf(first, or(in.Limit, 20), func(p client.Page) (*client.List[client.Dataset], error) {
		return c.Datasets.List(ctx, client.DatasetQuery{Name: in.Name, WithoutIDs: true, Page: p})
	})
	if err != nil {
		return nil, err
	}
	list := fit(c, len(found), 0, func(i, width int) item[dataset] {
		f := &found[i]
		d := dataset{line(f.ID, 80), line(f.Name, width), line(f.Description, width), f.NumPoints, f.Version, day(f.CreatedAt)}
		text := fmt.Sprintf("%s %q: %s, version %d, created %s", d.ID, d.Name, count(d.Datapoints, "datapoint", "datapoints"), d.Version, d.CreatedAt)
		if d.Description != "" {
			text += "\n    " + d.Description
		}
		return item[dataset]{text, d}
	})
	return &answer[datasetList]{
		head: fmt.Sprintf("%s of %d, oldest first.", count(len(list), "dataset", "datasets"), total),
		text: texts(list), data: datasetList{data(list), total}, next: after(first, len(list), total),
	}, nil
}

func (t *tools) datasetRows(ctx context.Context, c *call, in rowQuery) (*answer[rowList], error) {
	release, err := t.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	q := client.RowQuery{Text: in.Text, Limit: or(in.Limit, 20), Cursor: in.Cursor}
	page, err := c.Datasets.Rows(ctx, in.DatasetID, q)
	if err != nil {
		return nil, err
	}
	rows := page.Rows
	list := fit(c, len(rows), 0, func(i, width int) item[datapoint] { return datapointItem(&rows[i].Datapoint, 2*width) })
	if len(list) < len(rows) { // the cursor is to stand after the last one that is shown
		q.Limit = len(list)
		if page, err = c.Datasets.Rows(ctx, in.DatasetID, q); err != nil {
			return nil, err
		}
	}
	a := &answer[rowList]{
		head: fmt.Sprintf("%s; the dataset has %d in version %d.", count(len(list), "datapoint", "datapoints"), page.Total, page.Version),
		text: texts(list), data: rowList{data(list), page.Total, page.Version}, next: page.NextCursor,
	}
	return a, nil
}

func datapointItem(p *client.Datapoint, width int) item[datapoint] {
	d := datapoint{
		ID: line(p.ID, 80), Inputs: short(p.Inputs, width), GroundTruth: short(p.GroundTruth, width), Metadata: short(p.Metadata, width), EventID: line(p.LinkedEvent, 80),
	}
	text := d.ID + " inputs: " + orText(d.Inputs, "{}")
	for _, more := range []struct{ name, text string }{{"ground truth", d.GroundTruth}, {"metadata", d.Metadata}, {"made of event", d.EventID}} {
		if more.text != "" {
			text += "\n    " + more.name + ": " + more.text
		}
	}
	return item[datapoint]{text, d}
}

// short returns the JSON of an object as one line, cut; nothing for an empty one.
func short(o client.Object, width int) string {
	if len(o) == 0 {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return ""
	}
	return line(b.String(), width)
}

func createDataset(ctx context.Context, c *call, in newDataset) (*answer[stored], error) {
	id, err := c.Datasets.Create(ctx, client.DatasetInput{Name: in.Name, Description: in.Description})
	if err != nil {
		return nil, err
	}
	return &answer[stored]{
		head: "The dataset was created, with the id " + line(id, 80) + ".", data: stored{DatasetID: id},
		hints: []string{"add_datapoints puts datapoints into it."},
	}, nil
}

func addDatapoints(ctx context.Context, c *call, in newDatapoints) (*answer[stored], error) {
	added := 0
	switch {
	case (len(in.Datapoints) == 0) == (len(in.EventIDs) == 0):
		return nil, errors.New("give either datapoints or event_ids")
	case len(in.EventIDs) > 0:
		ids, err := c.Datapoints.CreateFromEvents(ctx, client.DatapointBatch{Events: in.EventIDs, DatasetID: in.DatasetID})
		if err != nil {
			return nil, err
		}
		added = len(ids)
	default:
		var lines bytes.Buffer
		e := json.NewEncoder(&lines) // writes a line each
		for i := range in.Datapoints {
			if err := e.Encode(&in.Datapoints[i]); err != nil {
				return nil, fmt.Errorf("datapoints[%d]: %w", i, err)
			}
		}
		got, err := c.Datasets.Import(ctx, client.DatasetImport{Format: "jsonl", Text: lines.String(), DatasetID: in.DatasetID})
		if err != nil {
			return nil, err
		}
		added = got.Added
	}
	return &answer[stored]{head: count(added, "datapoint was", "datapoints were") + " added.", data: stored{in.DatasetID, added}}, nil
}
