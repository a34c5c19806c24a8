package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

// seen is what a test compares of an import.
func seen(m *Import) string {
	var b strings.Builder
	for _, c := range m.Columns {
		fmt.Fprintf(&b, "%s>%s ", c.Name, c.To)
	}
	for _, p := range m.Points {
		fmt.Fprintf(&b, "\n%s %s %s %s", p.Inputs, p.GroundTruth, p.Metadata, p.History)
	}
	for _, e := range m.Errors {
		fmt.Fprintf(&b, "\nrow %d line %d %s: %s", e.Row, e.Line, e.Field, e.Text)
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, format, text string
		columns            []Column
		want               string
	}{
		{"names say what columns become", "csv", "inputs.q,ground_truth.a,note\n1+1,2,x\n", nil,
			"inputs.q>inputs.q ground_truth.a>ground_truth.a note>metadata.note \n" + `{"q":"1+1"} {"a":"2"} {"note":"x"} []`},
		{"a mapping", "csv", "Frage;Antwort;weg\r\n\"a;\"\"b\"\"\nc\";2;3\r\n", []Column{{"Frage", "inputs.question"}, {"Antwort", "ground_truth.answer"}, {"weg", ""}},
			"Frage>inputs.question Antwort>ground_truth.answer weg> \n" + `{"question":"a;\"b\"\nc"} {"answer":"2"} {} []`},
		{"a byte order mark, tabs, an empty cell", "csv", "\ufeffinputs.q\thistory\n\t\n", nil, "inputs.q>inputs.q history>history \n" + `{"q":""} {} {} []`},
		{"wrong rows of CSV", "csv", "inputs.q,history\na\nb,[1]\nc,\"[{\"\"r\"\":1}]\"\nd\"e,\n\"f", nil,
			"inputs.q>inputs.q history>history \n" + `{"q":"c"} {} {} [{"r":1}]` +
				"\nrow 1 line 2 history: has 1 cells, the line of names has 2" +
				"\nrow 2 line 3 history: must be an array of objects, not \"[1]\"" +
				"\nrow 4 line 5 : a quote stands in a cell that does not begin with one, at line 5, column 2" +
				"\nrow 5 line 6 : a cell that begins with a quote does not end with one, at line 6, column 3"},
		{"JSON lines", "jsonl", `{"inputs":{"q":1.50},"metadata":{"a":1},"metadata.b":2,"id":"x","other":null}` + "\n\n" + `{"inputs":{"q":2},"history":[{"role":"user"}]}`, nil,
			"inputs>inputs metadata>metadata metadata.b>metadata.b id> other>metadata.other history>history \n" +
				`{"q":1.50} {} {"a":1,"b":2,"other":null} []` + "\n" + `{"q":2} {} {} [{"role":"user"}]`},
		{"wrong rows of JSON lines", "jsonl", "{\"inputs\":1}\n{\"a\"\n[]\n{\"inputs.q\":1,\"inputs\":{\"q\":2}}", nil,
			"inputs>inputs inputs.q>inputs.q \n" + `{"q":1} {} {} []` +
				"\nrow 1 line 1 inputs: must be an object, not \"1\"" +
				"\nrow 2 line 2 : not valid JSON: it ends at byte 4" +
				"\nrow 3 line 3 : must be an object, not \"[]\""},
		{"an array", "jsonl", "[\n{\"inputs.q\":\"\\u0000\"},\n{\"inputs.q\":2}\n]", nil,
			"inputs.q>inputs.q \n" + `{"q":"` + "\ufffd" + `"} {} {} []` + "\n" + `{"q":2} {} {} []`},
		{"two columns become the same", "csv", "a,b\n1,2\n", []Column{{"a", "inputs.q"}, {"b", "inputs.q"}},
			"a>inputs.q b>inputs.q \nrow 1 line 2 b: becomes inputs.q, as \"a\" does"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadFile(tt.text, tt.format, tt.columns)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, seen(got)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if err := got.Err(); (err != nil) != (got.Bad > 0) {
				t.Errorf("%d rows are bad, the error is %v", got.Bad, err)
			}
		})
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format, text string
		columns      []Column
		want         string
	}{
		{"xlsx", "", nil, "format: must be one of csv, jsonl"},
		{"csv", "", nil, "text: has no rows"},
		{"csv", "a,b\n", nil, "text: has no rows"},
		{"csv", "a,a\n1,2\n", nil, `the column "a" is there twice`},
		{"csv", "a,\n1,2\n", nil, "column 2 has no name"},
		{"csv", "a\n1\n", []Column{{"a", "outputs.x"}}, "columns[0].to: must be inputs"},
		{"csv", "a\n1\n", []Column{{"b", "inputs.x"}}, `columns[0].name: the file has no column "b"`},
		{"csv", "a\n1\n", []Column{{"a", ""}, {"a", ""}}, "columns[1].name: the column"},
		{"jsonl", strings.Repeat("{}\n", MaxRows+1), nil, "more than 10000 rows"},
		{"jsonl", `{"inputs.q":"` + strings.Repeat("x", MaxBatchBytes) + `"}`, nil, "take more than"},
	} {
		if _, err := ReadFile(tt.text, tt.format, tt.columns); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %.20q: got %v, want %q", tt.format, tt.text, err, tt.want)
		}
	}
}

// What is exported as CSV and imported again is what it was, but for values that are no texts: these come back as texts.
// Rows that are wrong become no datapoints, and yet each is built with all names of the columns, in time that nobody can cut short.
func TestReadFileBoundsWrongRows(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range MaxColumns - 1 {
		fmt.Fprintf(&text, "%0*d,", 9_000, i)
	}
	text.WriteString("history\n" + strings.Repeat(strings.Repeat("1,", MaxColumns-1)+"no array\n", 20))
	if _, err := ReadFile(text.String(), FormatCSV, nil); fault.Of(err) != fault.TooLarge {
		t.Errorf("20 rows of 9 MB of names each: %v", err)
	}
}

func TestTableRoundTrip(t *testing.T) {
	t.Parallel()
	p := Datapoint{ID: "1", Inputs: []byte(`{"q":"a, \"b\"\n c","n":-2.50}`), Metadata: []byte(`{"tags":["x"]}`), History: []byte(`[{"r":1}]`)}
	p.Complete()
	q := Datapoint{ID: "2", GroundTruth: []byte(`{"f":"=1+1"}`)}
	q.Complete()
	var table Table
	for _, p := range []*Datapoint{&p, &q} {
		if err := table.Columns(p); err != nil {
			t.Fatal(err)
		}
	}
	file := string(table.AppendRow(table.AppendRow(table.AppendHead(nil), &p), &q))
	want := "id,inputs.q,inputs.n,ground_truth.f,metadata.tags,history\r\n" +
		"1,\"a, \"\"b\"\"\n c\",-2.50,,\"[\"\"x\"\"]\",\"[{\"\"r\"\":1}]\"\r\n2,,,'=1+1,,\r\n"
	if d := cmp.Diff(want, file); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	m, err := ReadFile(file, FormatCSV, nil)
	if err != nil || m.Err() != nil || len(m.Points) != 2 {
		t.Fatal(m, err)
	}
	if d := cmp.Diff(`{"q":"a, \"b\"\n c","n":"-2.50"}`, string(m.Points[0].Inputs)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add("a,b\n1,\"2\"\n", "csv", "inputs.q")
	f.Add("{\"a\":1}\n{", "jsonl", "")
	f.Add("[{}]", "jsonl", "history")
	f.Fuzz(func(t *testing.T, text, format, to string) {
		m, err := ReadFile(text, format, []Column{{"a", to}})
		if err == nil && len(m.Points)+m.Bad != m.Rows {
			t.Errorf("%d datapoints and %d bad rows of %d", len(m.Points), m.Bad, m.Rows)
		}
	})
}
