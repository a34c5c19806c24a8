package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/client"
)

// must returns what a call gave; the test ends if it failed.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// collect is all that a walk gives.
func collect[T any](t *testing.T, walk iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range walk {
		check(t, err)
		list = append(list, v)
	}
	return list
}

// status is that of an error of the API, 0 if err is not one.
func status(err error) int {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func isGone(t *testing.T, what string, err error) {
	t.Helper()
	if status(err) != http.StatusNotFound {
		t.Errorf("%s is deleted, and reading it gives %v", what, err)
	}
}

func number(text string) json.Number { return json.Number(text) }

func useService(t *testing.T, c *client.Client) {
	check(t, c.Ready(t.Context()))
	text := must(c.OpenAPI(t.Context()))(t)
	if !strings.HasPrefix(string(text), "openapi: 3.1") {
		t.Errorf("the description begins with %.40q", text)
	}
	if me := must(c.Me(t.Context()))(t); me.Project.ID == "" || me.Scope == "" || me.Version == "" {
		t.Errorf("me is %+v", me)
	} else if me.Addresses[0].Serves != "api" || me.Addresses[0].MaxBodyBytes != me.Limits.BodyBytes || me.Limits.PageRows != 1000 ||
		me.Limits.Project.StoredBytes == nil || !slices.Contains(me.Evaluators, "EXPRESSION") {
		t.Errorf("me is %+v", me)
	}
	if s := must(c.Status(t.Context()))(t); s.Covers != "server" || s.Server.Version != "test" || s.Store.Kind == "" || !s.Store.WriteCheck.OK ||
		s.Ingest == nil || s.Commits.Total == nil || s.Queue.MaxBytes == 0 || s.Contents.Projects == 0 || s.Retention.Rule.EventDays == nil {
		t.Errorf("the status is %+v", s)
	}
	if text := must(c.Diagnosis(t.Context()))(t); !strings.HasPrefix(text, "## Spangrove diagnosis\n") {
		t.Errorf("the diagnosis begins with %.40q", text)
	}
	if s := must(c.Space(t.Context()))(t); s.Bytes == 0 || len(s.Kinds) == 0 || s.Kinds[0].Bytes == 0 {
		t.Errorf("the space is %+v", s)
	}
	if list := must(c.Projects.ListRetention(t.Context(), client.Page{Limit: 1}))(t); len(list) != 1 || list[0].Effective.EventDays == nil {
		t.Errorf("rules of retention are %+v", list)
	}
	var same json.RawMessage
	check(t, c.Call(t.Context(), client.Request{Method: "GET", Path: "/v1/healthcheck"}, &same))
	equal(t, "any call", string(same), `{"status":"ok"}`)
}

func useSessions(t *testing.T, c *client.Client) {
	ctx := t.Context()
	samples := must(c.Sessions.LoadSamples(ctx))(t)
	equal(t, "samples", len(samples), 5)
	equal(t, "samples again", must(c.Sessions.LoadSamples(ctx))(t), samples)
	equal(t, "deleted samples", must(c.Sessions.DeleteSamples(ctx))(t), 5)
	equal(t, "samples left", must(c.Sessions.DeleteSamples(ctx))(t), 0)
	s := must(c.Sessions.Start(ctx, client.SessionInput{
		SessionName: "checkout", Source: "test", Inputs: client.Object{"big": number("12345678901234567890.10")},
		UserProperties: client.Object{"user": "u1"},
	}))(t)
	equal(t, "type", s.EventType, client.EventSession)
	equal(t, "inputs", s.Inputs, client.Object{"big": number("12345678901234567890.10")})
	again := must(c.Sessions.Start(ctx, client.SessionInput{SessionID: s.SessionID, Metadata: client.Object{"k": "v"}}))(t)
	equal(t, "name after a second start", again.EventName, "checkout")
	ids := must(c.Sessions.AddEvents(ctx, s.SessionID, []client.EventInput{
		{EventType: client.EventChain, EventName: "plan", Duration: 3, Inputs: client.Object{}},
		{EventType: client.EventTool, EventName: "search", Outputs: "text <&>"},
	}))(t)
	tree := must(c.Sessions.Get(ctx, s.SessionID))(t)
	if len(tree.Children) != 2 || len(ids) != 2 {
		t.Fatalf("%d children, %d ids", len(tree.Children), len(ids))
	}
	got := map[string]*client.Node{}
	for _, child := range tree.Children {
		got[child.EventID] = child
	}
	equal(t, "outputs", got[ids[1]].Outputs, any("text <&>"))
	equal(t, "duration", got[ids[0]].Duration, 3)
	equal(t, "parent", got[ids[0]].ParentID, s.SessionID)
	useSessionRows(t, c, s.SessionID, ids)
	useWatch(t, c, s.SessionID, ids[1])
	check(t, c.Sessions.Delete(ctx, s.SessionID))
	_, err := c.Sessions.Get(ctx, s.SessionID)
	isGone(t, "the session", err)
}

// useWatch watches a session while an event in it is changed.
func useWatch(t *testing.T, c *client.Client, id, event string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var kinds []string
	resets := 0
	for change, err := range c.Sessions.Watch(ctx, id) {
		check(t, err)
		if change.Reset {
			// It comes again when a commit ends that began before anybody watched, and may stand for the update's change too.
			resets++
			must(c.Events.Update(ctx, event, client.EventUpdate{Metadata: client.Object{"resets": resets}}))(t)
			continue
		}
		equal(t, "session", change.SessionID, id)
		if age := time.Since(time.UnixMilli(int64(change.Touched))); age < -time.Minute || age > time.Minute {
			t.Errorf("the change is %s old", age)
		}
		kinds = append(kinds, change.Kind)
		break
	}
	equal(t, "changes", kinds, []string{client.ChangeEvent})
	if resets == 0 {
		t.Error("the first change is no reset")
	}
}

// useSessionRows reads a session that has the inputs big and two events, the second with an output.
func useSessionRows(t *testing.T, c *client.Client, id string, events []string) {
	ctx := t.Context()
	q := client.SessionQuery{
		Filters: []client.Filter{
			{Field: "session_id", Operator: client.Is, Value: id},
			{Field: "totals.events", Operator: client.GreaterThan, Value: 1, Type: client.TypeNumber},
		},
		EventFilters: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "search"}},
		Sort:         client.SortEvents, Ascending: true, Counted: true,
	}
	page := must(c.Sessions.Search(ctx, q))(t)
	if len(page.Sessions) != 1 || page.Total != 1 || page.NextCursor != "" {
		t.Fatalf("found %d of %d sessions, next %q", len(page.Sessions), page.Total, page.NextCursor)
	}
	row := page.Sessions[0]
	equal(t, "events", row.NumEvents, 2)
	equal(t, "output", row.Output, "text <&>")
	if all := collect(t, c.Sessions.All(ctx, client.SessionQuery{Filters: q.Filters, Limit: 1})); len(all) != 1 {
		t.Errorf("walked over %d sessions", len(all))
	}
	tree := must(c.Sessions.Tree(ctx, id, client.TreePart{}))(t)
	equal(t, "rows", len(tree.Rows), 3)
	equal(t, "total", tree.Total, 3)
	around := must(c.Sessions.Tree(ctx, id, client.TreePart{Around: events[1], Limit: 2}))(t)
	equal(t, "rows around an event", len(around.Rows), 2)
	equal(t, "events before them", around.Gaps[events[1]], 1)
	changes := must(c.Sessions.Tree(ctx, id, client.TreePart{Since: tree.Touched}))(t)
	equal(t, "since", changes.Since, tree.Touched)
	equal(t, "changed rows", len(changes.Rows), 0)
	previews := must(c.Events.Previews(ctx, events))(t)
	equal(t, "preview", previews[events[1]].Output, "text <&>")
	equal(t, "one field", string(must(c.Events.Field(ctx, id, "inputs"))(t)), `{"big":12345678901234567890.10}`)
}

func useEvents(t *testing.T, c *client.Client) {
	ctx := t.Context()
	start := time.Date(2026, 5, 1, 12, 0, 0, 123_456_000, time.UTC)
	in := client.EventInput{
		EventID: uuid.NewString(), SessionID: uuid.NewString(), EventType: client.EventTool, EventName: "search", Source: "test", Error: "timeout",
		StartTime: client.Millis(start), Duration: 12.5, Inputs: client.Object{"q": "a<b", "n": number("1.10")},
		Outputs: []any{number("1"), "two"}, Metadata: client.Object{"cost": number("0.5")}, Metrics: client.Object{"accuracy": number("0.9")},
		Feedback: client.Object{"rating": true}, Config: client.Object{"k": 5}, UserProperties: client.Object{"u": nil},
	}
	id := must(c.Events.Create(ctx, in))(t)
	equal(t, "id", id, in.EventID)
	must(c.Events.Create(ctx, in))(t) // again: the same event
	q := client.EventQuery{Filters: []client.Filter{
		{Field: "session_id", Operator: client.Is, Value: in.SessionID, Type: client.TypeID},
		{Field: "event_type", Operator: client.Is, Value: client.EventTool}, // the session has an event, too
	}}
	page := must(c.Events.Search(ctx, q))(t)
	if page.Total != 1 || len(page.Items) != 1 {
		t.Fatalf("%d of %d events", len(page.Items), page.Total)
	}
	e := page.Items[0]
	equal(t, "start", client.Time(e.StartTime), start)
	in.EndTime, in.ParentID, in.Config, in.ChildrenIDs = e.StartTime+12.5, in.SessionID, client.Object{"k": number("5")}, []string{}
	equal(t, "the event as input", e.Input(), in)

	u := must(c.Events.Update(ctx, id, client.EventUpdate{Metadata: client.Object{"cost": nil, "new": 1}, EndTime: client.Ptr(e.StartTime + 20)}))(t)
	equal(t, "update", *u, client.Updated{EventID: id})
	early := uuid.NewString()
	u = must(c.Events.Update(ctx, early, client.EventUpdate{Outputs: "early"}))(t)
	equal(t, "early update", *u, client.Updated{EventID: early, Pending: true})
	node := must(c.Events.Get(ctx, id))(t)
	equal(t, "metadata", node.Metadata, client.Object{"cost": nil, "new": number("1")})
	equal(t, "end", node.EndTime, e.StartTime+20)

	second := in
	second.EventID, second.Duration, second.Metadata = uuid.NewString(), 99, client.Object{"cost": 2}
	must(c.Events.Create(ctx, second))(t)
	ranked := must(c.Events.SearchPage(ctx, client.EventSearch{EventQuery: q, Sort: client.SortCost, Snippets: true, Uncounted: true}))(t)
	equal(t, "by cost", []any{ranked.Events[0].EventID, len(ranked.Events), ranked.Total, ranked.NextCursor}, []any{second.EventID, 2, 0, ""})
	ordered := client.EventSearch{EventQuery: q, Sort: client.SortDuration, Ascending: true}
	ordered.Limit = 1
	walk := c.Events.AllInOrder(ctx, ordered)
	for range 2 { // a walk that was left can begin anew
		var names []string
		for e, err := range walk {
			check(t, err)
			if names = append(names, e.EventID); len(names) == 2 {
				break
			}
		}
		equal(t, "by duration", names, []string{id, second.EventID})
	}
	worded := q
	worded.Filters = append([]client.Filter{{Field: "event_name", Operator: client.Contains, Value: in.EventName[1:]}}, q.Filters...)
	ranked = must(c.Events.SearchPage(ctx, client.EventSearch{EventQuery: worded, Snippets: true}))(t)
	equal(t, "snippets", ranked.Events[0].Snippets, []client.Snippet{{Field: "event_name", Before: in.EventName[:1], Hit: in.EventName[1:]}})
	equal(t, "total", ranked.Total, 2)
	check(t, c.Events.Delete(ctx, second.EventID))

	q.Projections = []string{"metadata.new"}
	q.DateRange = client.DateRange{From: start, To: start}
	page = must(c.Events.Export(ctx, q))(t)
	equal(t, "projection", page.Items, []client.Event{{EventID: id, Metadata: client.Object{"new": number("1")}}})

	model := must(c.Events.CreateModel(ctx, client.ModelEventInput{
		SessionID: in.SessionID, ParentID: id, Model: "m-large", Provider: "acme", Duration: 5, StartTime: client.Millis(start),
		Messages: []client.Object{{"role": "user", "content": "hi"}}, Response: client.Object{"content": "ho"},
		Usage: client.Object{"total_tokens": 3}, Cost: 0.25,
	}))(t)
	node = must(c.Events.Get(ctx, id))(t)
	equal(t, "child", node.Children[0].EventID, model)
	equal(t, "model", node.Children[0].Config["model"], any("m-large"))

	batch := must(c.Events.CreateBatch(ctx, client.Batch{
		Events:     []client.EventInput{{EventType: client.EventChain}, {EventType: client.EventTool}},
		OneSession: true, Session: client.SessionInput{SessionName: "one"},
	}))(t)
	tree := must(c.Events.Get(ctx, batch.SessionID))(t)
	equal(t, "session of the batch", tree.EventName, "one")
	equal(t, "events of the batch", len(tree.Children), 2)
	lone := must(c.Events.CreateBatch(ctx, client.Batch{Events: []client.EventInput{{EventType: client.EventChain}, {EventType: client.EventSession, EventName: "s"}}}))(t)
	equal(t, "session event", must(c.Events.Get(ctx, lone.EventIDs[1]))(t).SessionID, lone.EventIDs[1])
	models := must(c.Events.CreateModelBatch(ctx, []client.ModelEventInput{{Model: "m", Provider: "p"}, {Model: "m", Provider: "p"}}, &client.SessionInput{SessionName: "two"}))(t)
	tree = must(c.Sessions.Get(ctx, models.SessionID))(t)
	equal(t, "model events of the batch", len(tree.Children), 2)

	chart := must(c.Events.Chart(ctx, client.ChartQuery{Metric: "duration", Aggregation: "sum", Bucket: "day", GroupBy: "event_name",
		Filters: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "search"}, {Field: "event_type", Operator: client.Is, Value: client.EventTool}}, DateRange: client.DateRange{From: start.Add(-time.Hour), To: start.Add(time.Hour)}}))(t)
	equal(t, "chart", *chart, client.Chart{Total: 1, Bucket: "day", Points: []client.ChartPoint{
		{Bucket: start.Truncate(24 * time.Hour), Group: client.Ptr("search"), Value: client.Ptr(12.5), Count: 1}}})
	set := must(c.Events.Charts(ctx, client.ChartSetQuery{Bucket: "day", Previous: true, DateRange: client.DateRange{From: start.Add(-time.Hour), To: start.Add(time.Hour)},
		Filters: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "search"}, {Field: "event_type", Operator: client.Is, Value: client.EventTool}},
		Series:  []client.ChartSeries{{Name: "calls", Aggregation: "count"}, {Metric: "duration", Aggregation: "sum", GroupBy: "event_name", Groups: 3}}}))(t)
	day := len(set.Buckets) - 1 // the range may begin the day before
	equal(t, "buckets", []any{set.Bucket, len(set.Previous), set.Buckets[day]}, []any{"day", len(set.Buckets), start.Truncate(24 * time.Hour)})
	equal(t, "name of a series", set.Series[0].Name, "calls")
	equal(t, "row", *set.Series[0].Rows[0].Values[day], 1.0)
	equal(t, "row of a group", *set.Series[1].Rows[0].Group, "search")
	equal(t, "value of a group", *set.Series[1].Rows[0].Values[day], 12.5)
	values := must(c.Events.Values(ctx, client.ValueQuery{Field: "event_name", Prefix: "SEA", DateRange: client.DateRange{From: start.Add(-time.Hour), To: start.Add(time.Hour)}, Limit: 3,
		Filters: []client.Filter{client.AnyOf([]client.Filter{{Field: "event_type", Operator: client.IsAnyOf, Value: []string{client.EventTool}}}, []client.Filter{{Field: client.FieldText, Operator: client.MatchesWords, Value: "nowhere"}})}}))(t)
	equal(t, "values", values.Values, []client.ValueCount{{Value: "search", Count: 1}})
	equal(t, "all values", values.Complete, true)
	schema := must(c.Events.Schema(ctx, client.Last("10M"), ""))(t)
	found := false
	for _, f := range schema.Fields {
		found = found || f == client.SchemaField{Name: "metrics.accuracy", EventType: client.EventTool}
	}
	if !found || len(schema.Mappings["search"]) == 0 {
		t.Errorf("the schema has no metrics.accuracy: %+v", schema)
	}
	check(t, c.Events.Delete(ctx, id))
	_, err := c.Events.Get(ctx, id)
	isGone(t, "the event", err)
}

func useDatasets(t *testing.T, c *client.Client) {
	ctx := t.Context()
	id := must(c.Datasets.Create(ctx, client.DatasetInput{Name: "questions", Description: "some", Metadata: client.Object{"a": number("1.0")}}))(t)
	points := must(c.Datasets.AddRows(ctx, id, []client.Object{{"q": "one", "a": 1, "m": 1}, {"q": "two", "a": 2}}, client.Mapping{Inputs: []string{"q"}, GroundTruth: []string{"a"}}))(t)
	d := must(c.Datasets.Get(ctx, id, client.DatasetRead{IncludeDatapoints: true}))(t)
	equal(t, "datapoints", d.Datapoints, points)
	equal(t, "included", d.Included[0].Inputs, client.Object{"q": "one"})
	equal(t, "metadata", d.Metadata, client.Object{"a": number("1.0")})
	check(t, c.Datasets.Remove(ctx, id, points[0]))
	d = must(c.Datasets.Update(ctx, id, client.DatasetUpdate{Name: client.Ptr("other")}))(t)
	equal(t, "name", d.Name, "other")
	equal(t, "description", d.Description, "some")
	equal(t, "points", d.Datapoints, points[1:])
	d = must(c.Datasets.Update(ctx, id, client.DatasetUpdate{Datapoints: []string{}}))(t)
	equal(t, "no points", d.NumPoints, 0)
	old := must(c.Datasets.Get(ctx, id, client.DatasetRead{Version: 2}))(t)
	equal(t, "old version", old.Datapoints, points)
	versions := must(c.Datasets.Versions(ctx, id, client.Page{Limit: 2}))(t)
	equal(t, "versions", []int64{versions.Items[0].Version, versions.Items[1].Version, int64(versions.Total)}, []int64{d.Version, d.Version - 1, d.Version})
	equal(t, "all versions", len(collect(t, c.Datasets.AllVersions(ctx, id))), int(d.Version))
	for range 2 {
		must(c.Datasets.Create(ctx, client.DatasetInput{Name: "more"}))(t)
	}
	list := must(c.Datasets.List(ctx, client.DatasetQuery{Name: "more", Page: client.Page{Limit: 1}}))(t)
	equal(t, "page and total", []int{len(list.Items), list.Total}, []int{1, 2})
	equal(t, "all", len(collect(t, c.Datasets.All(ctx, client.DatasetQuery{Page: client.Page{Limit: 1}}))), 3)
	check(t, c.Datasets.Delete(ctx, id))
	_, err := c.Datasets.Get(ctx, id, client.DatasetRead{})
	isGone(t, "the dataset", err)
}

func useDatasetRows(t *testing.T, c *client.Client) {
	ctx := t.Context()
	file := client.DatasetImport{Format: "csv", Text: "q,a,split\n1,2,train\n3,4,test\n", Name: "rows",
		Columns: []client.ImportColumn{{Name: "q", To: "inputs.q"}, {Name: "a", To: "ground_truth.a"}}}
	preview := must(c.Datasets.PreviewImport(ctx, file))(t)
	equal(t, "rows of the file", preview.Rows, 2)
	equal(t, "the first", preview.Preview[0].Inputs, client.Object{"q": "1"})
	made := must(c.Datasets.Import(ctx, file))(t)
	id := made.DatasetID
	equal(t, "added", made.Added, 2)
	more := must(c.Datasets.Import(ctx, client.DatasetImport{Format: "jsonl", Text: `{"inputs.q":5}`, DatasetID: id}))(t)
	equal(t, "version", more.Version, int64(2))
	rows := collect(t, c.Datasets.AllRows(ctx, id, client.RowQuery{Limit: 1}))
	equal(t, "rows", len(rows), 3)
	equal(t, "those of a split", len(must(c.Datasets.Rows(ctx, id, client.RowQuery{Field: "metadata.split", Value: "test"}))(t).Rows), 1)
	equal(t, "splits", must(c.Datasets.Splits(ctx, id, client.RowQuery{}, "metadata.split"))(t).Fields[0].WithValue, 2)
	first := rows[0]
	must(c.Datapoints.Update(ctx, first.Datapoint.ID, client.DatapointInput{Inputs: client.Object{"q": "one"}, IfVersion: first.DatapointVersion}))(t)
	_, err := c.Datapoints.Update(ctx, first.Datapoint.ID, client.DatapointInput{Inputs: client.Object{"q": "two"}, IfVersion: first.DatapointVersion})
	var refused *client.Error
	equal(t, "overtaken", errors.As(err, &refused) && refused.Status == http.StatusConflict, true)
	must(c.Datasets.Update(ctx, id, client.DatasetUpdate{Remove: []string{rows[1].Datapoint.ID}}))(t)
	diff := must(c.Datasets.Diff(ctx, id, client.DiffQuery{From: 1}))(t)
	equal(t, "differences", []int{diff.Added, diff.Removed, diff.Changed}, []int{1, 1, 1})
	equal(t, "a change", diff.Rows[0].Fields, []string{"inputs.q"})
	equal(t, "ids", len(must(c.Datasets.Get(ctx, id, client.DatasetRead{WithoutIDs: true}))(t).Datapoints), 0)
	export := must(c.Datasets.Export(ctx, id, "csv", client.RowQuery{Text: "one"}))(t)
	text, err := io.ReadAll(export)
	check(t, err)
	check(t, export.Close())
	equal(t, "file", strings.Count(string(text), "\n"), 2)
	search := client.DatasetSearch{Events: &client.EventQuery{DateRange: client.Last("1h")}, DatasetID: id}
	found := must(c.Datasets.PreviewSearch(ctx, search))(t)
	equal(t, "added of a search", must(c.Datasets.FromSearch(ctx, search))(t).Added, found.Total)
}

func useDatapoints(t *testing.T, c *client.Client) {
	ctx := t.Context()
	set := must(c.Datasets.Create(ctx, client.DatasetInput{Name: "points"}))(t)
	id := must(c.Datapoints.Create(ctx, client.DatapointInput{Inputs: client.Object{"q": 1}, GroundTruth: client.Object{"a": 2}, LinkedDatasets: []string{set}}))(t)
	changed := must(c.Datapoints.Update(ctx, id, client.DatapointInput{History: []client.Object{{"role": "user"}}, Metadata: client.Object{}}))(t)
	equal(t, "changed", changed, true)
	changed = must(c.Datapoints.Update(ctx, id, client.DatapointInput{History: []client.Object{{"role": "user"}}}))(t)
	equal(t, "changed again", changed, false)
	d := must(c.Datapoints.Get(ctx, id))(t)
	equal(t, "history", d.History, []client.Object{{"role": "user"}})
	equal(t, "inputs", d.Inputs, client.Object{"q": number("1")})
	equal(t, "linked", d.LinkedDatasets, []string{set})
	event := must(c.Events.Create(ctx, client.EventInput{EventType: client.EventTool, EventName: "for a datapoint", Inputs: client.Object{"q": 3}}))(t)
	made := must(c.Datapoints.CreateFromEvents(ctx, client.DatapointBatch{SelectAll: true, DatasetID: set, DateRange: client.Last("1h"),
		Filters: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "for a datapoint"}, {Field: "event_type", Operator: client.Is, Value: client.EventTool}}}))(t)
	equal(t, "made", len(made), 1)
	equal(t, "linked event", must(c.Datapoints.Get(ctx, made[0]))(t).LinkedEvent, event)
	list := must(c.Datapoints.List(ctx, client.DatapointQuery{IDs: []string{id}}))(t)
	equal(t, "list", []int{len(list.Items), list.Total}, []int{1, 1})
	equal(t, "all", len(collect(t, c.Datapoints.All(ctx, client.DatapointQuery{DatasetName: "points", Page: client.Page{Limit: 1}}))), 2)
	check(t, c.Datapoints.Delete(ctx, id))
	_, err := c.Datapoints.Get(ctx, id)
	isGone(t, "the datapoint", err)
}

func useConfigurations(t *testing.T, c *client.Client) {
	ctx := t.Context()
	parameters := client.Object{"call_type": "chat", "model": "m", "hyperparameters": client.Object{"temperature": number("0.70")}, "ours": "kept"}
	id := must(c.Configurations.Create(ctx, client.ConfigurationInput{Name: "prompt", Provider: "acme", Parameters: parameters, Env: []string{"dev"}, Tags: []string{"a,b", "c"}}))(t)
	got := must(c.Configurations.Get(ctx, id, 0))(t)
	equal(t, "parameters", got.Parameters, parameters)
	equal(t, "changed", must(c.Configurations.Update(ctx, id, client.ConfigurationInput{Name: "prompt 2", Tags: []string{}}))(t), true)
	equal(t, "old tags", must(c.Configurations.Get(ctx, id, 1))(t).Tags, []string{"a,b", "c"})
	equal(t, "tags", must(c.Configurations.Get(ctx, id, 0))(t).Tags, []string{})
	equal(t, "versions", must(c.Configurations.Versions(ctx, id, client.Page{}))(t).Total, 2)
	equal(t, "all versions", len(collect(t, c.Configurations.AllVersions(ctx, id))), 2)
	must(c.Configurations.Create(ctx, client.ConfigurationInput{Name: "second", Provider: "acme", Parameters: parameters, Env: []string{"prod"}, Tags: []string{"x"}}))(t)
	list := must(c.Configurations.List(ctx, client.ConfigurationQuery{Env: []string{"dev", "staging"}}))(t)
	equal(t, "in dev", []int{len(list.Items), list.Total}, []int{1, 1})
	equal(t, "tagged", must(c.Configurations.List(ctx, client.ConfigurationQuery{Tags: []string{"x"}}))(t).Total, 1)
	equal(t, "all", len(collect(t, c.Configurations.All(ctx, client.ConfigurationQuery{Page: client.Page{Limit: 1}}))), 2)
	deployed := client.ConfigurationInput{Name: "prompt 2", EnvVersions: map[string]int64{"prod": 1, "dev": 0}}
	equal(t, "deployed", must(c.Configurations.Update(ctx, id, deployed))(t), true)
	equal(t, "versions by environment", must(c.Configurations.Get(ctx, id, 0))(t).EnvVersions, map[string]int64{"prod": 1})
	equal(t, "of prod", must(c.Configurations.Deployed(ctx, id, "prod"))(t).Version, int64(1))
	equal(t, "of dev", must(c.Configurations.Deployed(ctx, id, "dev"))(t).Version, int64(2))
	inProd := must(c.Configurations.List(ctx, client.ConfigurationQuery{Name: "prompt 2", Env: []string{"prod"}}))(t)
	equal(t, "listed for prod", inProd.Items[0].Version, int64(1))
	_, err := c.Configurations.Deployed(ctx, id, "staging")
	isGone(t, "what is not deployed", err)
	check(t, c.Configurations.Delete(ctx, id))
	_, err = c.Configurations.Get(ctx, id, 0)
	isGone(t, "the configuration", err)
}

func useMetrics(t *testing.T, c *client.Client) {
	ctx := t.Context()
	definition := client.MetricDefinition{Name: "quality", Type: client.MetricHuman, Criteria: "is it good?", MetricDetails: client.MetricDetails{
		ReturnType: "float", Scale: client.Ptr(5), Threshold: &client.Threshold{Min: client.Ptr(3.0)}, EnabledInProd: client.Ptr(true)}}
	id := must(c.Metrics.Create(ctx, definition))(t)
	check(t, c.Metrics.Update(ctx, id, client.MetricUpdate{MetricDetails: client.MetricDetails{Description: "how good"}}))
	list := must(c.Metrics.List(ctx, client.MetricQuery{ID: id}))(t)
	if len(list.Items) != 1 {
		t.Fatalf("%d metrics", len(list.Items))
	}
	m := list.Items[0]
	equal(t, "criteria", m.Criteria, definition.Criteria)
	equal(t, "description", m.Description, "how good")
	equal(t, "threshold", m.Threshold, definition.Threshold)
	equal(t, "version", m.Version, "v2")
	definition.Description = "draft"
	v := must(c.Metrics.CreateVersion(ctx, id, client.MetricVersionInput{Message: "try", Content: definition}))(t)
	equal(t, "deployed", v.Deployed, false)
	equal(t, "content", v.Content.Description, "draft")
	equal(t, "deployed then", must(c.Metrics.DeployVersion(ctx, id, v.Name))(t).Deployed, true)
	versions := must(c.Metrics.Versions(ctx, id, client.Page{Limit: 2}))(t)
	equal(t, "versions", []int{len(versions.Items), versions.Total}, []int{2, 3})
	equal(t, "all versions", len(collect(t, c.Metrics.AllVersions(ctx, id))), 3)
	ran := must(c.Metrics.Run(ctx, definition, client.Object{"metrics": client.Object{"quality": 4}}))(t)
	equal(t, "run", *ran, client.MetricRun{Success: true, Result: number("4"), Explanation: ran.Explanation, Passed: client.Ptr(true)})
	must(c.Metrics.Create(ctx, client.MetricDefinition{Name: "both", Type: client.MetricComposite, Criteria: "mean", MetricDetails: client.MetricDetails{
		ChildMetrics: []client.ChildMetric{{Name: "quality", Weight: 1}}}}))(t)
	equal(t, "all", len(collect(t, c.Metrics.All(ctx, client.MetricQuery{Page: client.Page{Limit: 1}}))), 2)
	must(c.Events.Create(ctx, client.EventInput{EventType: "tool", Metrics: client.Object{"quality": 4}, Feedback: client.Object{"stars": 1}}))(t)
	agreement := must(c.Metrics.Agreement(ctx, id, client.AgreementQuery{With: "feedback.stars", DateRange: client.DateRange{Last: "1d"}}))(t)
	equal(t, "labelled, differing", []int{agreement.Labelled, agreement.Numbers.Compared, agreement.Disagreements}, []int{1, 1, 1})
	equal(t, "the case", []any{agreement.Cases[0].Label, agreement.Cases[0].Score}, []any{number("1"), number("4")})
	equal(t, "of no version", must(c.Metrics.Agreement(ctx, id, client.AgreementQuery{With: "feedback.stars", Version: "v1",
		Filters: []client.Filter{{Field: "event_type", Operator: client.Is, Value: "tool"}}}))(t).Scored, 0)
	coverage := must(c.Metrics.Coverage(ctx, id, client.DateRange{}))(t)
	equal(t, "coverage", []any{coverage.Matching > 0, coverage.Scored, coverage.Online.Done}, []any{true, 1, 0})
	check(t, c.Metrics.Delete(ctx, id))
	equal(t, "left", must(c.Metrics.List(ctx, client.MetricQuery{ID: id}))(t).Total, 0)
	library := must(c.Metrics.Library(ctx))(t)
	equal(t, "library", len(library) >= 30 && len(library[0].Examples) >= 6, true)
	enabled := must(c.Metrics.Enable(ctx, client.MetricEnabling{From: "contains", Parameters: client.Object{"phrase": "refund"}, MetricUpdate: client.MetricUpdate{Name: "mentions"}}))(t)
	ready := must(c.Metrics.RunReady(ctx, client.MetricEnabling{From: "contains", Parameters: client.Object{"phrase": "refund"}},
		client.Object{"outputs": client.Object{"content": "A refund is on its way"}}))(t)
	equal(t, "run of a ready-made one", *ready, client.MetricRun{Success: true, Result: true, Explanation: ready.Explanation, Passed: client.Ptr(true)})
	equal(t, "failure", must(c.Metrics.RunReady(ctx, client.MetricEnabling{From: "contains", MetricUpdate: client.MetricUpdate{Criteria: client.Ptr("fromJSON(answer)")}},
		client.Object{"outputs": client.Object{"content": "no JSON"}}))(t).Failure, "result_type")
	equal(t, "enabled", must(c.Metrics.List(ctx, client.MetricQuery{ID: enabled}))(t).Items[0].Name, "mentions")
}

// useEvaluations has a metric score a new event, and one that cannot.
func useEvaluations(t *testing.T, c *client.Client) {
	ctx := t.Context()
	var metrics []string
	for name, criteria := range map[string]string{"fast": "duration < 100", "odd": "metadata.a.b"} {
		metrics = append(metrics, must(c.Metrics.Create(ctx, client.MetricDefinition{Name: name, Type: client.MetricExpression, Criteria: criteria, MetricDetails: client.MetricDetails{
			ReturnType: "boolean", Threshold: &client.Threshold{PassWhen: true}, EnabledInProd: client.Ptr(true), SamplingPercentage: client.Ptr(100.0)}}))(t))
	}
	event := must(c.Events.Create(ctx, client.EventInput{EventType: "tool", Duration: 5}))(t)
	settled := func() map[string]client.MetricEvaluation {
		for {
			found := map[string]client.MetricEvaluation{}
			for _, e := range collect(t, c.Evaluations.All(ctx, client.EvaluationQuery{EventID: event})) {
				if e.State != client.EvaluationWaiting {
					found[e.State] = e
				}
			}
			if len(found) == 2 {
				return found
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	done := settled()
	e := done[client.EvaluationDone]
	equal(t, "score", string(e.Score), "true")
	equal(t, "passed", e.Passed, client.Ptr(true))
	equal(t, "version", e.MetricVersion, "v1")
	failed := done[client.EvaluationFailed]
	equal(t, "failed", failed.Failure != "" && failed.Explanation != "", true)
	equal(t, "metrics of the event", must(c.Events.Get(ctx, event))(t).Metrics["fast"], any(true))
	list, next, err := c.Evaluations.List(ctx, client.EvaluationQuery{}, "", 1)
	check(t, err)
	rest, end, err := c.Evaluations.List(ctx, client.EvaluationQuery{}, next, 1)
	check(t, err)
	equal(t, "pages", len(list) == 1 && len(rest) == 1 && list[0].ID > rest[0].ID && next == list[0].ID && end == "", true)
	equal(t, "tried again", must(c.Evaluations.Retry(ctx, client.EvaluationQuery{MetricID: failed.MetricID, State: client.EvaluationFailed}))(t), 1)
	settled()
	for _, id := range metrics {
		check(t, c.Metrics.Delete(ctx, id))
	}
}

// useBackfills has a metric score the events of a run, whose result then shows the scores.
func useBackfills(t *testing.T, c *client.Client) {
	ctx := t.Context()
	run := must(c.Runs.Create(ctx, client.RunInput{Name: "scored later"}))(t).RunID
	const n = 30
	for range n {
		must(c.Events.Create(ctx, client.EventInput{EventType: "chain", EventName: "answer", Duration: 5, Metadata: client.Object{"run_id": run}}))(t)
	}
	m := must(c.Metrics.Create(ctx, client.MetricDefinition{Name: "late", Type: client.MetricExpression, Criteria: "duration"}))(t)
	b := must(c.Backfills.Create(ctx, m, client.BackfillInput{RunID: run}))(t)
	equal(t, "total", b.Total, n)
	for b.State != client.BackfillDone {
		b = must(c.Backfills.Get(ctx, m, b.ID))(t)
		time.Sleep(10 * time.Millisecond)
	}
	equal(t, "counts", []int{b.Looked, b.Done, b.Skipped, b.Waiting}, []int{n, n, 0, 0})
	result := must(c.Runs.Result(ctx, run, client.RunRead{}))(t)
	shown := false
	for _, d := range result.Metrics.Details {
		shown = shown || d.MetricName == "late" && len(d.Values) == n
	}
	equal(t, "the run's result shows it", shown, true)

	// A backfill may be done before it is paused or cancelled: then another one is tried.
	move := func(how func(id string) (*client.Backfill, error)) *client.Backfill {
		for {
			id := must(c.Backfills.Create(ctx, m, client.BackfillInput{RunID: run, Filters: []client.Filter{}}))(t).ID
			if b, err := how(id); status(err) != http.StatusConflict {
				return must(b, err)(t)
			}
		}
	}
	b = move(func(id string) (*client.Backfill, error) { return c.Backfills.Pause(ctx, m, id) })
	equal(t, "paused", b.State, client.BackfillPaused)
	equal(t, "resumed", must(c.Backfills.Resume(ctx, m, b.ID))(t).State, client.BackfillRunning)
	b = move(func(id string) (*client.Backfill, error) { return c.Backfills.Cancel(ctx, m, id) })
	equal(t, "cancelled", b.State, client.BackfillCancelled)
	list := must(c.Backfills.List(ctx, m, client.Page{Limit: 1}))(t)
	equal(t, "list", len(list.Items) == 1 && list.Total >= 3, true)
	check(t, c.Metrics.Delete(ctx, m))
	check(t, c.Runs.Delete(ctx, run))
}

func useTools(t *testing.T, c *client.Client) {
	ctx := t.Context()
	id := must(c.Tools.Create(ctx, client.ToolInput{Name: "search", Description: "finds", Parameters: client.Object{"type": "object"}}))(t)
	got := must(c.Tools.Update(ctx, id, client.ToolInput{Name: "find"}))(t)
	equal(t, "name", got.Name, "find")
	equal(t, "parameters", got.Parameters, any(client.Object{"type": "object"}))
	must(c.Tools.Create(ctx, client.ToolInput{Name: "other"}))(t)
	list := must(c.Tools.List(ctx, client.Page{Limit: 1}))(t)
	equal(t, "page and total", []int{len(list.Items), list.Total}, []int{1, 2})
	check(t, c.Tools.Delete(ctx, id))
	equal(t, "all", len(collect(t, c.Tools.All(ctx))), 1)
}

// runOf makes a run of one session a datapoint, with a score each.
func runOf(t *testing.T, c *client.Client, name string, scores map[string]float64) *client.Run {
	t.Helper()
	run := must(c.Runs.Create(t.Context(), client.RunInput{Name: name, Status: client.RunRunning,
		PassingRanges: map[string]client.Range{"accuracy": {Min: client.Ptr(0.5)}}, Metadata: client.Object{"a": 1}}))(t)
	var ids []string
	for datapoint, score := range scores {
		s := must(c.Sessions.Start(t.Context(), client.SessionInput{SessionName: "one", Metrics: client.Object{"accuracy": score},
			Metadata: client.Object{"run_id": run.RunID, "datapoint_id": datapoint}}))(t)
		ids = append(ids, s.SessionID)
	}
	return must(c.Runs.Update(t.Context(), run.RunID, client.RunInput{Status: client.RunCompleted, EventIDs: ids, Metadata: client.Object{"b": 2}}))(t)
}

func useRuns(t *testing.T, c *client.Client) {
	ctx := t.Context()
	older := runOf(t, c, "old", map[string]float64{"EXT-1": 0.4, "EXT-2": 0.6})
	newer := runOf(t, c, "new", map[string]float64{"EXT-1": 0.8, "EXT-2": 0.6})
	got := must(c.Runs.Get(ctx, newer.RunID))(t)
	equal(t, "metadata", got.Metadata, client.Object{"a": number("1"), "b": number("2")})
	equal(t, "status", got.Status, client.RunCompleted)
	equal(t, "range", *got.PassingRanges["accuracy"].Min, 0.5)
	result := must(c.Runs.Result(ctx, older.RunID, client.RunRead{Aggregate: "max"}))(t)
	equal(t, "passed", result.Passed, []string{"EXT-2"})
	equal(t, "failed", result.Failed, []string{"EXT-1"})
	equal(t, "aggregate", *result.Metrics.Details[0].Aggregate, 0.6)
	equal(t, "run of the result", result.Run.RunID, older.RunID)
	equal(t, "datapoints", len(result.Datapoints), 2)
	comparison := must(c.Runs.Compare(ctx, newer.RunID, older.RunID, client.RunRead{}))(t)
	m := comparison.Metrics[0]
	equal(t, "improved", m.Improved, []string{"EXT-1"})
	equal(t, "same", m.Same, []string{"EXT-2"})
	equal(t, "counts", []int{m.FoundCount, m.ImprovedCount, m.DegradedCount, m.SameCount}, []int{2, 1, 0, 1})
	equal(t, "runs", []string{comparison.OldRun.RunID, comparison.NewRun.RunID}, []string{older.RunID, newer.RunID})
	scores := must(c.Runs.Scores(ctx, newer.RunID, client.ScoreQuery{Page: client.Page{Limit: 1}}))(t)
	equal(t, "scores", []int{len(scores.Items), scores.Total}, []int{1, 2})
	equal(t, "all scores", len(collect(t, c.Runs.AllScores(ctx, newer.RunID, client.ScoreQuery{Page: client.Page{Limit: 1}}))), 2)
	pairs := must(c.Runs.CompareEvents(ctx, newer.RunID, older.RunID, client.PairQuery{}))(t)
	equal(t, "pairs", pairs.Total, 2)
	for _, p := range collect(t, c.Runs.AllPairs(ctx, newer.RunID, older.RunID, client.PairQuery{Page: client.Page{Limit: 1}})) {
		equal(t, "runs of a pair", []any{p.New.Metadata["run_id"], p.Old.Metadata["run_id"]}, []any{newer.RunID, older.RunID})
	}
	many := client.RunCompareQuery{RunIDs: []string{newer.RunID, older.RunID}, Baseline: older.RunID, Limit: 1}
	compared := must(c.Runs.CompareMany(ctx, many))(t)
	equal(t, "baseline", compared.Baseline, older.RunID)
	equal(t, "counts of rows", []int{compared.Counts["all"], compared.Counts["improved"], compared.Counts["same"], compared.Total}, []int{2, 1, 1, 2})
	equal(t, "pairs of a metric", compared.Metrics[0].Runs[0].Pairs, 2)
	equal(t, "rows of all pages", len(collect(t, c.Runs.AllCompared(ctx, many))), 2)
	summed := must(c.Runs.List(ctx, client.RunQuery{IDs: []string{older.RunID}, Aggregates: true, WithoutIDs: true}))(t).Items[0]
	equal(t, "ids left out", len(summed.EventIDs)+len(summed.DatapointIDs), 0)
	equal(t, "datapoints of the list", []int{summed.Aggregates.Datapoints, summed.Aggregates.Metrics[0].Failed}, []int{2, 1})
	list := must(c.Runs.List(ctx, client.RunQuery{Status: client.RunCompleted, IDs: []string{older.RunID, newer.RunID}, Page: client.Page{Limit: 1}}))(t)
	equal(t, "newest", list.Items[0].RunID, newer.RunID)
	equal(t, "total", list.Total, 2)
	if !slices.Contains(list.Metrics, "accuracy") {
		t.Errorf("the metrics of the runs are %v", list.Metrics)
	}
	all := collect(t, c.Runs.All(ctx, client.RunQuery{Page: client.Page{Limit: 1}}))
	equal(t, "oldest first", []string{all[0].RunID, all[1].RunID}, []string{older.RunID, newer.RunID})
	for _, s := range []*client.Schema{must(c.Runs.Schema(ctx, client.Last("1d")))(t), must(c.Runs.RunSchema(ctx, newer.RunID, client.DateRange{}))(t)} {
		if len(s.Fields) == 0 {
			t.Error("the schema has no fields")
		}
	}
	check(t, c.Runs.Delete(ctx, older.RunID))
	_, err := c.Runs.Get(ctx, older.RunID)
	isGone(t, "the run", err)
}

func useCharts(t *testing.T, c *client.Client) {
	ctx := t.Context()
	own := must(c.Projects.List(ctx, client.ProjectQuery{}))(t).Items[0]
	for _, charts := range []*client.ChartService{c.Charts, c.Charts.In(own.ID)} {
		before := must(charts.List(ctx, client.Page{}))(t).Total
		in := client.SavedChartInput{Name: client.Ptr("slow"), Metric: client.Ptr("duration"), Aggregation: client.Ptr("p95"), GroupBy: client.Ptr("event_name"),
			DateRange: client.Ptr(client.Last("7d")), Filters: []client.Filter{{Field: "event_type", Operator: client.Is, Value: "tool"}}}
		saved := must(charts.Create(ctx, in))(t)
		equal(t, "aggregation", saved.Aggregation, "p95")
		equal(t, "filters", saved.Filters, in.Filters)
		saved = must(charts.Update(ctx, saved.ID, client.SavedChartInput{DateRange: &client.DateRange{}, Description: client.Ptr("text")}))(t)
		equal(t, "range", saved.DateRange, nil)
		equal(t, "read", must(charts.Get(ctx, saved.ID))(t), saved)
		must(charts.Create(ctx, in))(t)
		list := must(charts.List(ctx, client.Page{Limit: 1, Page: before + 1}))(t)
		equal(t, "list", list.Items, []client.SavedChart{*saved})
		equal(t, "all", len(collect(t, charts.All(ctx))), before+2)
		check(t, charts.Delete(ctx, saved.ID))
		_, err := charts.Get(ctx, saved.ID)
		isGone(t, "the chart", err)
	}
}

func useDashboards(t *testing.T, c *client.Client) {
	ctx := t.Context()
	before := must(c.Dashboards.List(ctx, client.Page{}))(t).Total
	chart := must(c.Charts.Create(ctx, client.SavedChartInput{Name: client.Ptr("calls"), Metric: client.Ptr("duration"), Display: client.Ptr("bars"),
		Series: []client.ChartSeries{{Name: "slow", Metric: "duration", Aggregation: "p95"}}}))(t)
	equal(t, "display", chart.Display, "bars")
	equal(t, "series", chart.Series, []client.ChartSeries{{Name: "slow", Metric: "duration", Aggregation: "p95"}})
	in := client.DashboardInput{Name: client.Ptr("all"), Layout: []client.Tile{{Chart: chart.ID, X: 6, Y: 1, Width: 6, Height: 4}}}
	saved := must(c.Dashboards.Create(ctx, in))(t)
	equal(t, "layout", saved.Layout, in.Layout)
	equal(t, "charts", saved.Charts, []client.SavedChart{*chart})
	saved = must(c.Dashboards.Update(ctx, saved.ID, client.DashboardInput{Name: client.Ptr("some")}))(t)
	equal(t, "read", must(c.Dashboards.Get(ctx, saved.ID))(t), saved)
	must(c.Dashboards.Create(ctx, in))(t)
	list := must(c.Dashboards.List(ctx, client.Page{Limit: 1, Page: before + 1}))(t)
	equal(t, "list", list.Items[0].Name, "some")
	equal(t, "all", len(collect(t, c.Dashboards.All(ctx))), before+2)
	check(t, c.Charts.Delete(ctx, chart.ID))
	equal(t, "a chart that is gone", must(c.Dashboards.Get(ctx, saved.ID))(t).Charts, []client.SavedChart{})
	check(t, c.Dashboards.Delete(ctx, saved.ID))
	_, err := c.Dashboards.Get(ctx, saved.ID)
	isGone(t, "the dashboard", err)
}

func useViews(t *testing.T, c *client.Client) {
	ctx := t.Context()
	before := must(c.Views.List(ctx, client.Page{}))(t).Total
	in := client.ViewInput{Name: client.Ptr("slow"), Page: client.Ptr("sessions"), State: client.Object{"q": "duration>10s"}}
	saved := must(c.Views.Create(ctx, in))(t)
	equal(t, "saved", []any{saved.Name, saved.Page, saved.State}, []any{"slow", "sessions", in.State})
	saved = must(c.Views.Update(ctx, saved.ID, client.ViewInput{Name: client.Ptr("slower")}))(t)
	equal(t, "changed", []any{saved.Name, saved.State}, []any{"slower", in.State})
	equal(t, "read", must(c.Views.Get(ctx, saved.ID))(t), saved)
	must(c.Views.Create(ctx, in))(t)
	list := must(c.Views.List(ctx, client.Page{Limit: 1, Page: before + 1}))(t)
	equal(t, "list", list.Items, []client.View{*saved})
	equal(t, "all", len(collect(t, c.Views.All(ctx))), before+2)
	check(t, c.Views.Delete(ctx, saved.ID))
	_, err := c.Views.Get(ctx, saved.ID)
	isGone(t, "the view", err)
}

func useComments(t *testing.T, c *client.Client) {
	ctx := t.Context()
	event := must(c.Events.Create(ctx, client.EventInput{SessionID: uuid.NewString(), EventType: client.EventTool, EventName: "commented"}))(t)
	said := must(c.Comments.Create(ctx, event, "ann", "one"))(t)
	equal(t, "said", []any{said.EventID, said.Author, said.Text}, []any{event, "ann", "one"})
	said = must(c.Comments.Update(ctx, event, said.ID, "two"))(t)
	equal(t, "changed", []any{said.Author, said.Text, said.UpdatedAt.IsZero()}, []any{"ann", "two", false})
	other := must(c.Comments.Create(ctx, event, "bob", "three"))(t)
	equal(t, "page", must(c.Comments.List(ctx, event, client.Page{Limit: 1, Page: 2}))(t).Items, []client.Comment{*other})
	equal(t, "all", collect(t, c.Comments.All(ctx, event)), []client.Comment{*said, *other})
	equal(t, "counted", must(c.Events.Previews(ctx, []string{event}))(t)[event].Comments, 2)
	check(t, c.Comments.Delete(ctx, event, said.ID))
	equal(t, "left", len(collect(t, c.Comments.All(ctx, event))), 1)
	isGone(t, "the comment", c.Comments.Delete(ctx, event, said.ID))
}

// usePlayground asks a provider whose budget allows nothing: no test asks somebody else's models.
func usePlayground(t *testing.T, c *client.Client) {
	ctx := t.Context()
	must(c.Providers.Set(ctx, "own", client.ProviderInput{DailyBudgetUSD: client.Ptr(1e-9), APIKey: client.Ptr("secret")}))(t)
	for e, err := range c.Playground.Run(ctx, client.PlaygroundInput{Provider: "own", Messages: []client.PlaygroundMessage{{Role: "user", Content: "Oslo?"}}}) {
		var failed *client.PlaygroundError
		if !errors.As(err, &failed) || failed.Failure != "budget" {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

func useAlerts(t *testing.T, c *client.Client) {
	ctx := t.Context()
	before := must(c.Alerts.List(ctx, client.Page{}))(t).Total
	in := client.AlertInput{Name: client.Ptr("slow"), Metric: client.Ptr("duration"), Func: client.Ptr("p95"), Threshold: client.Ptr(2000.0),
		Query:    []client.Filter{{Field: "event_type", Operator: client.Is, Value: "model"}},
		Channels: &[]client.AlertChannel{{Type: "email", To: []string{"ann@example.com"}}}}
	a := must(c.Alerts.Create(ctx, in))(t)
	equal(t, "made", []any{a.Name, a.Metric, a.Func, a.Threshold, a.Query, a.WindowMinutes, a.Channels[0].To},
		[]any{"slow", "duration", "p95", 2000.0, in.Query, 60, []string{"ann@example.com"}})
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	a = must(c.Alerts.Update(ctx, a.ID, client.AlertInput{SilencedUntil: &until}))(t)
	equal(t, "silenced", a.SilencedUntil, until)
	a = must(c.Alerts.Update(ctx, a.ID, client.AlertInput{SilencedUntil: &time.Time{}, Enabled: client.Ptr(false)}))(t)
	equal(t, "not any more", []any{a.SilencedUntil, a.Enabled, a.Status.State}, []any{time.Time{}, false, ""})
	equal(t, "read", must(c.Alerts.Get(ctx, a.ID))(t), a)
	tested := must(c.Alerts.Test(ctx, a.ID))(t)
	if tested.Success || len(tested.Notices) != 1 || tested.Notices[0].State != "failed" || tested.Notices[0].Error == "" {
		t.Errorf("tested without a mail server: %+v", tested)
	}
	notices := must(c.Alerts.Notices(ctx, a.ID, client.Page{}))(t)
	equal(t, "notices", []any{notices.Total, notices.Items[0].Kind}, []any{1, "test"})
	must(c.Alerts.History(ctx, a.ID, client.Page{Limit: 1}))(t)
	equal(t, "all", len(collect(t, c.Alerts.All(ctx))), before+1)
	equal(t, "no warnings", a.Warnings, nil)
	a = must(c.Alerts.Update(ctx, a.ID, client.AlertInput{Metric: client.Ptr("never seen")}))(t)
	equal(t, "warnings", len(a.Warnings), 1)
	check(t, c.Alerts.Delete(ctx, a.ID))
	_, err := c.Alerts.Get(ctx, a.ID)
	isGone(t, "the alert", err)
}

func useProviders(t *testing.T, c *client.Client) {
	ctx := t.Context()
	made := must(c.Providers.Set(ctx, "own", client.ProviderInput{BaseURL: client.Ptr("https://models.example.com/v1"), Model: client.Ptr("m"), DailyCalls: client.Ptr(int64(5))}))(t)
	equal(t, "made", []any{made.Name, made.Type, made.BaseURL, made.Model, made.DailyCalls, made.HasKey}, []any{"own", "openai", "https://models.example.com/v1", "m", int64(5), false})
	list := must(c.Providers.List(ctx))(t)
	equal(t, "list", list, []client.Provider{*made})
	usePlayground(t, c)
	check(t, c.Providers.Delete(ctx, "own"))
	isGone(t, "the provider", c.Providers.Delete(ctx, "own"))
}

func useQueues(t *testing.T, c *client.Client) {
	ctx := t.Context()
	must(c.Metrics.Create(ctx, client.MetricDefinition{Name: "taste", Type: client.MetricHuman}))(t)
	var events []string
	for range 2 {
		events = append(events, must(c.Events.Create(ctx, client.EventInput{EventType: "tool", EventName: "to judge"}))(t))
	}
	before := must(c.Queues.List(ctx, client.QueueQuery{}))(t).Total
	q := must(c.Queues.Create(ctx, client.QueueInput{Name: "by hand", AddEventIDs: events, AnnotatorsPerItem: 2, LeaseSeconds: 60, Metrics: []string{"taste"}}))(t)
	equal(t, "counts", q.Counts, client.QueueCounts{Waiting: 2})
	q = must(c.Queues.Update(ctx, q.ID, client.QueueInput{Description: client.Ptr("text"), RemoveEventIDs: events[1:]}))(t)
	equal(t, "read", must(c.Queues.Get(ctx, q.ID))(t), q)
	filters := client.EventFilters{FilterArray: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "to judge"}}}
	other := must(c.Queues.Create(ctx, client.QueueInput{Name: "by filter", Filters: &filters, Enabled: client.Ptr(false)}))(t)
	filters.FilterArray[0].Type = client.TypeString // that of a filter without one
	equal(t, "filters", other.Filters, filters)
	equal(t, "all", len(collect(t, c.Queues.All(ctx, client.QueueQuery{}))), before+2)
	equal(t, "enabled", must(c.Queues.List(ctx, client.QueueQuery{Enabled: client.Ptr(false)}))(t).Items, []client.Queue{*other})
	items := must(c.Queues.Items(ctx, other.ID, client.ItemWaiting, client.Page{Limit: 1}))(t)
	if len(items.Items) != 1 || items.Total < 2 || !items.CaughtUp {
		t.Errorf("items: %+v", items)
	}

	for i, who := range []string{"ann", "bob"} {
		next := must(c.Queues.Next(ctx, q.ID, who))(t)
		equal(t, "event", next.Event.EventID, events[0])
		equal(t, "claims", next.Item.Claims[0].Annotator, who)
		must(c.Queues.Release(ctx, q.ID, events[0], who, false))(t)
		item := must(c.Queues.Annotate(ctx, q.ID, events[0], client.Annotation{Annotator: who, Scores: client.Object{"taste": 4 + i}, Comment: "good"}))(t)
		equal(t, "annotated", item.AnnotatorsDone, i+1)
	}
	next := must(c.Queues.Next(ctx, q.ID, "cid"))(t)
	if next.Item != nil || next.Event != nil || !next.CaughtUp || next.Counts != (client.QueueCounts{Done: 1}) {
		t.Errorf("nothing is left: %+v", next)
	}
	items = must(c.Queues.Items(ctx, q.ID, "", client.Page{}))(t)
	equal(t, "scores", items.Items[0].Scores, client.Object{"taste": number("4.5")})
	equal(t, "comment", items.Items[0].Annotations[1].Comment, "good")
	equal(t, "annotators", len(must(c.Queues.Annotators(ctx, q.ID, client.Page{}))(t).Items), 2)
	equal(t, "differences", must(c.Queues.Differences(ctx, q.ID, client.Unsettled, client.Page{}))(t).Items[0].EventID, events[0])
	claimed := must(c.Queues.Claim(ctx, q.ID, events[0], "ann"))(t)
	equal(t, "what ann said", claimed.Annotation.Scores, client.Object{"taste": number("4")})
	equal(t, "progress", claimed.Progress, client.QueueProgress{Annotated: 1})
	settled := must(c.Queues.Settle(ctx, q.ID, events[0], client.Annotation{Annotator: "lead", Scores: client.Object{"taste": 1}}))(t)
	equal(t, "settled", []any{settled.Settlement.Annotator, settled.Scores}, []any{"lead", client.Object{"taste": number("1")}})
	equal(t, "settled ones", must(c.Queues.Differences(ctx, q.ID, client.Settled, client.Page{}))(t).Total, 1)
	equal(t, "unsettled", must(c.Queues.Unsettle(ctx, q.ID, events[0]))(t).Scores, client.Object{"taste": number("4.5")})
	equal(t, "withdrawn", must(c.Queues.Withdraw(ctx, q.ID, events[0], "bob"))(t).State, client.ItemWaiting)
	must(c.Queues.Annotate(ctx, q.ID, events[0], client.Annotation{Annotator: "bob", Scores: client.Object{"taste": 5}}))(t)
	agreements := must(c.Queues.Agreement(ctx, q.ID))(t)
	equal(t, "pairs", agreements[0].Pairs, 1)
	equal(t, "kappa", *agreements[0].Of[0].Kappa, 0)
	for _, id := range []string{q.ID, other.ID} {
		check(t, c.Queues.Delete(ctx, id))
	}
	_, err := c.Queues.Get(ctx, q.ID)
	isGone(t, "the queue", err)
}

func useProjects(t *testing.T, c *client.Client) {
	ctx := t.Context()
	p := must(c.Projects.Create(ctx, client.ProjectInput{Name: "shop", Description: "of books"}))(t)
	p = must(c.Projects.Update(ctx, p.ID, client.ProjectUpdate{Name: client.Ptr("book shop")}))(t)
	equal(t, "name", p.Name, "book shop")
	equal(t, "description", p.Description, "of books")
	equal(t, "by name", must(c.Projects.List(ctx, client.ProjectQuery{Name: "book shop"}))(t).Items, []client.Project{*p})
	equal(t, "all", len(collect(t, c.Projects.All(ctx, client.ProjectQuery{Page: client.Page{Limit: 1}}))), 2)

	limits := must(c.Projects.SetLimits(ctx, p.ID, client.Limits{RequestsPerSecond: client.Ptr(50.5), StoredBytes: client.Ptr(int64(1e9))}))(t)
	equal(t, "limits", limits.Own, client.Limits{RequestsPerSecond: client.Ptr(50.5), StoredBytes: client.Ptr(int64(1e9))})
	equal(t, "effective limit", *limits.Effective.RequestsPerSecond, 50.5)
	limits = must(c.Projects.SetLimits(ctx, p.ID, client.Limits{EvaluationSlots: client.Ptr(int64(2))}, "requests_per_second"))(t)
	equal(t, "limits", limits.Own, client.Limits{EvaluationSlots: client.Ptr(int64(2)), StoredBytes: client.Ptr(int64(1e9))})
	equal(t, "limits read", must(c.Projects.Limits(ctx, p.ID))(t), limits)

	rule := must(c.Projects.SetRetention(ctx, p.ID, client.Retention{EventDays: client.Ptr(int64(90)), PayloadDays: client.Ptr(int64(30))}))(t)
	equal(t, "rule", rule.Own, client.Retention{EventDays: client.Ptr(int64(90)), PayloadDays: client.Ptr(int64(30))})
	rule = must(c.Projects.SetRetention(ctx, p.ID, client.Retention{}, "payload_days"))(t)
	equal(t, "rule", rule.Own, client.Retention{EventDays: client.Ptr(int64(90))})
	equal(t, "payload is kept", *rule.Effective.PayloadDays, 0)
	removal := must(c.Projects.PreviewRetention(ctx, p.ID, client.Retention{Bytes: client.Ptr(int64(1)), PayloadFirst: client.Ptr(true)}, "event_days"))(t)
	equal(t, "rule to look at", *removal.Rule.Bytes, 1)
	equal(t, "nothing to remove", removal.Removes.Events, 0)
	equal(t, "events", must(c.Projects.Usage(ctx, p.ID))(t).Events, 0)
	space := must(c.Projects.ListUsage(ctx, client.Page{Limit: 10}))(t)
	if len(space.Projects) != 2 || space.Projects[1].ProjectID != p.ID || space.DatabaseBytes == 0 {
		t.Errorf("%+v", space)
	}
	equal(t, "index", *must(c.Projects.Index(ctx, p.ID))(t), client.Index{ProjectID: p.ID, Name: p.Name})
	equal(t, "index built anew", *must(c.Projects.RebuildIndex(ctx, p.ID))(t), client.Index{ProjectID: p.ID, Name: p.Name})
	equal(t, "rule read", must(c.Projects.Retention(ctx, p.ID))(t), rule)

	expires := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	reader := must(c.Keys.Create(ctx, p.ID, client.KeyInput{Name: "reader", Scope: client.ScopeRead, ExpiresAt: expires}))(t)
	equal(t, "scope", reader.Scope, client.ScopeRead)
	equal(t, "expires", reader.ExpiresAt, expires)
	ingest := must(c.Keys.CreateIngestion(ctx, p.ID, "web", "the site"))(t)
	equal(t, "project", ingest.ProjectID, p.ID)
	other := must(client.New(c.Server(), ingest.Value))(t)
	t.Cleanup(other.CloseIdleConnections)
	must(other.Sessions.Start(ctx, client.SessionInput{}))(t)
	_, err := other.Events.Search(ctx, client.EventQuery{})
	equal(t, "status of a read with a key of scope ingest", status(err), http.StatusForbidden)
	revoked := must(c.Keys.Revoke(ctx, p.ID, ingest.ID))(t)
	if revoked.RevokedAt.IsZero() || revoked.InForce {
		t.Errorf("the key is revoked: %+v", revoked)
	}
	_, err = other.Sessions.Start(ctx, client.SessionInput{})
	equal(t, "status with a revoked key", status(err), http.StatusUnauthorized)
	must(c.Refusals(ctx))(t) // of the first project, whose requests may have been refused anyway
	looking := must(client.New(c.Server(), reader.Value))(t)
	t.Cleanup(looking.CloseIdleConnections)
	refusals := must(looking.Refusals(ctx))(t)
	for i := range refusals {
		if time.Since(refusals[i].Time) > time.Hour {
			t.Errorf("%+v", refusals[i])
		}
		refusals[i].Time = time.Time{}
	}
	equal(t, "refusals", refusals, []client.Refusal{
		{Method: "POST", Path: "/v1/session/start", Status: 401, Message: "unknown API key", KeyPrefix: ingest.Prefix, Count: 1},
		{Method: "POST", Path: "/v1/events/search", Status: 403, Message: `this needs a key of scope "read"; the key has "ingest"`, KeyPrefix: ingest.Prefix, Count: 1},
	})
	equal(t, "keys", must(c.Keys.List(ctx, p.ID, client.KeyQuery{Prefix: reader.Prefix}))(t).Total, 1)
	equal(t, "all keys", len(collect(t, c.Keys.All(ctx, p.ID, client.KeyQuery{Page: client.Page{Limit: 1}}))), 2)
	check(t, c.Projects.Delete(ctx, p.ID))
	isGone(t, "the project", c.Projects.Delete(ctx, p.ID))

	var done []string
	for _, e := range collect(t, c.Audit.All(ctx, client.AuditQuery{ProjectID: p.ID, Range: client.Last("1h"), Page: client.Page{Limit: 2}})) {
		done = append(done, e.Action+" "+e.Outcome)
		if e.Action == "key.revoke" {
			if e.Target != ingest.ID || e.RemoteAddress == "" || e.KeyID == "" || e.Count != 1 || time.Since(e.Time) > time.Hour {
				t.Errorf("%+v", e)
			}
		}
	}
	equal(t, "audit", done, []string{"project.delete SUCCESS", "sign_in KEY_NOT_IN_FORCE", "key.revoke SUCCESS", "key.create SUCCESS", "key.create SUCCESS",
		"retention.set SUCCESS", "retention.set SUCCESS", "limits.set SUCCESS", "limits.set SUCCESS", "project.update SUCCESS", "project.create SUCCESS"})
	equal(t, "audit of one action", must(c.Audit.List(ctx, client.AuditQuery{Action: "key.create", ProjectID: p.ID}))(t).Total, 2)
}

func useOTLP(t *testing.T, c *client.Client) {
	ctx := t.Context()
	s := must(c.Sessions.Start(ctx, client.SessionInput{SessionName: "to move", Metadata: client.Object{"digits": number("1.50")}}))(t)
	tool := must(c.Events.Create(ctx, client.EventInput{SessionID: s.SessionID, EventType: client.EventTool, EventName: "tool to move", Outputs: "x"}))(t)
	before := must(c.Sessions.Get(ctx, s.SessionID))(t)
	for _, e := range []client.Encoding{client.JSON, client.Protobuf} {
		whole := must(c.OTLP.Session(ctx, s.SessionID, e, client.Page{}))(t)
		equal(t, "spans", whole.Total, 2)
		message := must(io.ReadAll(whole))(t)
		check(t, whole.Close())
		check(t, c.Sessions.Delete(ctx, s.SessionID))
		must(c.OTLP.SendSpans(ctx, message, e))(t)
		equal(t, "the tree of "+string(e), must(c.Sessions.Get(ctx, s.SessionID))(t), before)
	}
	one := must(c.OTLP.Event(ctx, tool, client.JSON, client.Page{Limit: 1}))(t)
	equal(t, "spans of the event", one.Total, 1)
	check(t, one.Close())
	found := must(c.OTLP.Search(ctx, client.EventQuery{Filters: []client.Filter{{Field: "event_name", Operator: client.Is, Value: "tool to move"}}}, client.JSON))(t)
	text := must(io.ReadAll(found))(t)
	check(t, found.Close())
	if found.Total != 1 || !strings.Contains(string(text), "tool to move") {
		t.Errorf("%d spans: %s", found.Total, text)
	}
	must(c.OTLP.SendLogs(ctx, []byte(`{"resourceLogs": []}`), client.JSON))(t)
	must(c.OTLP.SendMetrics(ctx, nil, client.Protobuf))(t)
	for e, wrong := range map[client.Encoding]string{client.JSON: `{"resourceSpans": 1}`, client.Protobuf: "\xff\xff"} {
		_, err := c.OTLP.SendSpans(ctx, []byte(wrong), e)
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || len(refused.Message) < 10 || strings.ContainsRune(refused.Message, '\ufffd') {
			t.Errorf("what is no message in %s: %v", e, err)
		}
	}
}

// text reads a file to its end.
func text(t *testing.T, file io.ReadCloser) string {
	t.Helper()
	all := must(io.ReadAll(file))(t)
	check(t, file.Close())
	return string(all)
}

func useExport(t *testing.T, c *client.Client) {
	ctx := t.Context()
	source := []client.Filter{{Field: "source", Operator: client.Is, Value: "a file"}}
	id := uuid.NewString()
	_, err := c.Sessions.AddEvents(ctx, id, []client.EventInput{
		{EventType: client.EventTool, EventName: "a", Source: "a file", StartTime: 1767355200000}, {EventType: client.EventModel, EventName: "=b", Source: "a file", StartTime: 1767355201000},
	})
	check(t, err)
	q := client.EventSearch{EventQuery: client.EventQuery{Filters: append(source, client.Filter{Field: "event_type", Operator: client.IsNot, Value: "session"})}, Ascending: true}
	equal(t, "CSV", text(t, must(c.Events.ExportFile(ctx, q, client.File{Format: client.FormatCSV, Columns: []string{"event_name", "event_type"}}))(t)), "event_name,event_type\r\na,tool\r\n'=b,model\r\n")
	equal(t, "JSON lines", strings.Count(text(t, must(c.Events.ExportFile(ctx, q, client.File{}))(t)), "\n"), 2)
	equal(t, "sessions", text(t, must(c.Sessions.Export(ctx, client.SessionQuery{Filters: source}, client.File{Columns: []string{"session_id", "num_events"}}))(t)),
		`{"session_id":"`+id+`","num_events":2}`+"\n")
	_, err = c.Events.ExportFile(ctx, q, client.File{Columns: []string{"nope"}})
	equal(t, "an unknown column", status(err), http.StatusBadRequest)
}

func useDeletions(t *testing.T, c *client.Client) {
	ctx := t.Context()
	source := client.Filter{Field: "source", Operator: client.Is, Value: "deleted at once"}
	for range 3 {
		_, err := c.Sessions.AddEvents(ctx, uuid.NewString(), []client.EventInput{{EventType: client.EventTool, EventName: "a", Source: "deleted at once"}, {EventType: client.EventModel, EventName: "b", Source: "deleted at once"}})
		check(t, err)
	}
	events := client.EventQuery{Filters: []client.Filter{source, {Field: "event_name", Operator: client.Is, Value: "a"}}}
	n := must(c.Events.CountMatching(ctx, events))(t)
	equal(t, "events, and the session events that are named after them", *n, client.Matching{Events: 3, SessionEvents: 3})
	_, err := c.Events.DeleteMatching(ctx, events, &client.Matching{Events: 2})
	equal(t, "more than expected", status(err), http.StatusConflict)
	begun := must(c.Events.DeleteMatching(ctx, events, n))(t)
	d := must(c.Deletions.Get(ctx, begun.ID))(t)
	for !d.Ended() {
		d = must(c.Deletions.Get(ctx, d.ID))(t)
	}
	equal(t, "deleted", d.DeletedEvents, 3)
	sessions := client.SessionQuery{Filters: []client.Filter{source}}
	n = must(c.Sessions.CountMatching(ctx, sessions))(t)
	equal(t, "sessions", *n, client.Matching{Sessions: 3, Events: 6})
	d = must(c.Sessions.DeleteMatching(ctx, sessions, n))(t)
	for !d.Ended() {
		d = must(c.Deletions.Get(ctx, d.ID))(t)
	}
	equal(t, "deleted", []int64{d.DeletedSessions, d.DeletedEvents, d.KeptSessions}, []int64{3, 6, 0})
	equal(t, "listed", len(collect(t, c.Deletions.All(ctx))) >= 2, true)
	_, err = c.Deletions.Cancel(ctx, d.ID)
	equal(t, "cancelled after its end", status(err), http.StatusConflict)
	for !cancelled(t, c) { // it ended before
	}
}

// cancelled deletes events in several transactions, and reports whether that could be ended before it was done.
func cancelled(t *testing.T, c *client.Client) bool {
	t.Helper()
	ctx := t.Context()
	many := make([]client.EventInput, 900)
	for i := range many {
		many[i] = client.EventInput{EventType: client.EventTool, EventName: "c", Source: "cancelled"}
	}
	check(t, second(c.Sessions.AddEvents(ctx, uuid.NewString(), many)))
	q := client.EventQuery{Filters: []client.Filter{{Field: "source", Operator: client.Is, Value: "cancelled"}}}
	n := must(c.Events.CountMatching(ctx, q))(t)
	before := must(c.Deletions.List(ctx, client.Page{Limit: 1}))(t).Items[0].ID
	begun := make(chan error, 1)
	go func() { begun <- second(c.Events.DeleteMatching(ctx, q, n)) }()
	for {
		last := must(c.Deletions.List(ctx, client.Page{Limit: 1}))(t).Items[0]
		if last.ID == before {
			continue
		}
		d, err := c.Deletions.Cancel(ctx, last.ID)
		check(t, <-begun)
		if err == nil {
			equal(t, "state", d.State, client.DeletionCancelled)
		}
		return err == nil
	}
}

func second[T any](_ T, err error) error { return err }
