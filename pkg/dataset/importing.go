package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Formats of a file that is imported.
const (
	FormatCSV   = "csv"   // RFC 4180 with a line of names; what separates cells is found out: comma, semicolon or tab
	FormatJSONL = "jsonl" // an object a line, or an array of objects
)

// The parts of a datapoint that a column may become as a whole; below the first three it may become a key.
const partHistory = "history"

// Column says what becomes of a column of a file: a key of a part ("inputs.question"), a whole part ("inputs", "history"), or nothing ("").
type Column struct {
	Name string
	To   string
}

// RowError is what is wrong with a row.
type RowError struct {
	Row   int    // counted from 1, without the line of names
	Line  int    // of the file, where the row begins
	Field string // name of the column; "": the whole row
	Text  string
}

// Import is a file read as datapoints. Rows that are wrong are in Errors, at most maxRowErrors of them, and counted in Bad.
type Import struct {
	Rows    int
	Columns []Column // of the file, in the order in which they came, with what they become
	Points  []Datapoint
	Errors  []RowError
	Bad     int
}

const maxRowErrors = 100

// maxCells bounds the bytes that are built of rows, also of wrong ones, which become no datapoints: each row has all names of the columns. It is
// more than datapoints of MaxBatchBytes take as text.
const maxCells = 4 * MaxBatchBytes

// Err returns what is wrong as one error, nil if nothing is.
func (m *Import) Err() error {
	if m.Bad == 0 {
		return nil
	}
	e := m.Errors[0]
	where := fmt.Sprintf("row %d (line %d)", e.Row, e.Line)
	if e.Field != "" {
		where += fmt.Sprintf(", column %.60q", e.Field)
	}
	more := ""
	if m.Bad > 1 {
		more = fmt.Sprintf("; %d rows are wrong in all", m.Bad)
	}
	return fault.InvalidField("text", "%s: %s%s; nothing was stored", where, e.Text, more)
}

func (m *Import) wrong(e RowError) {
	if m.Bad++; len(m.Errors) < maxRowErrors {
		m.Errors = append(m.Errors, e)
	}
}

// ReadFile reads a file as datapoints. Columns that the mapping does not name become what their own name says ("inputs.question", "history"), else a key
// of metadata; id, created_at and the like of an exported datapoint become nothing. An error is one of the mapping, of the format, or that the
// file has more rows than a request may store; what is wrong with rows is in the result.
func ReadFile(text, format string, mapping []Column) (*Import, error) {
	text = strings.TrimPrefix(text, "\ufeff") // spreadsheets begin so
	m := &importing{Import: &Import{}, to: map[string]target{}, jsonl: format == FormatJSONL}
	for i, c := range mapping {
		t, err := targetOf(c.To)
		if err != nil {
			return nil, fault.In(fmt.Sprintf("columns[%d]", i), err)
		}
		if _, twice := m.to[c.Name]; twice {
			return nil, fault.InvalidField(fmt.Sprintf("columns[%d].name", i), "the column %.60q is named twice", c.Name)
		}
		m.to[c.Name] = t
	}
	m.named = len(mapping)
	var err error
	switch format {
	case FormatCSV:
		err = m.csv(text)
	case FormatJSONL:
		err = m.jsonLines(text)
	default:
		err = fault.InvalidField("format", "must be one of csv, jsonl, not %.40q", format)
	}
	if err != nil {
		return nil, err
	}
	for i, c := range mapping {
		if !m.met[c.Name] && m.Rows > 0 {
			return nil, fault.InvalidField(fmt.Sprintf("columns[%d].name", i), "the file has no column %.60q", c.Name)
		}
	}
	if m.Rows == 0 && m.Bad == 0 {
		return nil, fault.InvalidField("text", "has no rows")
	}
	return m.Import, nil
}

// target is what a column becomes: a part, and the key in it; "" for all of the part. Without a part it becomes nothing.
type target struct{ part, key string }

func targetOf(to string) (t target, err error) {
	part, key, keyed := strings.Cut(to, ".")
	switch {
	case to == "", to == partHistory:
		return target{part: to}, nil
	case slices.Contains(keyedParts, part) && (!keyed || key != ""):
		return target{part, key}, nil
	}
	return t, fault.InvalidField("to", "must be inputs, ground_truth or metadata, with a key behind it or without, or history, not %.60q", to)
}

// ownFields are the fields of an exported datapoint that its copy does not take over.
var ownFields = []string{"id", "linked_event", "linked_datasets", "linked_evals", "saved", "type", "created_at", "updated_at"}

type importing struct {
	*Import
	to    map[string]target
	met   map[string]bool
	named int
	jsonl bool
	bytes int
	cells int // bytes of all cells and the names of their columns, those of wrong rows as well
}

// column returns what a column becomes. Without a mapping, a file that Spangrove has exported becomes what it was.
func (m *importing) column(name string) target {
	if m.met == nil {
		m.met = map[string]bool{}
	}
	t, known := m.to[name]
	if !known {
		var err error
		if t, err = targetOf(name); err != nil || name == "" {
			t = target{"metadata", name}
			if m.named == 0 && slices.Contains(ownFields, name) {
				t = target{}
			}
		}
		m.to[name] = t
	}
	if !m.met[name] {
		m.met[name] = true
		to := t.part
		if t.key != "" {
			to += "." + t.key
		}
		if len(m.Columns) < MaxColumns {
			m.Columns = append(m.Columns, Column{name, to})
		}
	}
	return t
}

// begin counts a row, and refuses what is more than a request may store.
func (m *importing) begin() error {
	if m.Rows++; m.Rows > MaxRows {
		return fault.InvalidField("text", "has more than %d rows, the most that are stored at once: split the file", MaxRows)
	}
	return nil
}

// add makes a datapoint of a row: parts by their names, each value as JSON.
func (m *importing) add(line int, row []cell) error {
	parts := map[string]*rawjson.Builder{}
	whole := map[string]json.RawMessage{}
	taken := map[target]string{}
	for _, c := range row {
		t := m.column(c.column)
		if t.part == "" || c.value == nil {
			continue
		}
		if other, twice := taken[t]; twice {
			m.wrong(RowError{m.Rows, line, c.column, fmt.Sprintf("becomes %s, as %.60q does", strings.Trim(t.part+"."+t.key, "."), other)})
			return nil
		}
		taken[t] = c.column
		if m.cells += len(c.column) + len(c.value); m.cells > maxCells {
			return fault.New(fault.TooLarge, "the rows of this file take more than %d bytes, each with the names of its columns: split it", maxCells)
		}
		if t.key != "" {
			if parts[t.part] == nil {
				parts[t.part] = &rawjson.Builder{}
			}
			parts[t.part].Raw(t.key, c.value)
			continue
		}
		value, text := wholePart(t.part, c.value)
		if text != "" {
			m.wrong(RowError{m.Rows, line, c.column, text})
			return nil
		}
		whole[t.part] = value
	}
	p := Datapoint{History: whole[partHistory]}
	for i, to := range []*json.RawMessage{&p.Inputs, &p.GroundTruth, &p.Metadata} {
		part := keyedParts[i]
		*to = whole[part]
		if b := parts[part]; b != nil {
			*to = rawjson.Merge(*to, b.Bytes())
		}
	}
	p.Complete()
	if m.bytes += p.Size(); m.bytes > MaxBatchBytes {
		return fault.New(fault.TooLarge, "the datapoints of this file take more than %d bytes: split it", MaxBatchBytes)
	}
	m.Points = append(m.Points, p)
	return nil
}

// wholePart reads a value as a whole part; a text as JSON. text says what is wrong.
func wholePart(part string, value json.RawMessage) (raw json.RawMessage, text string) {
	want, kind := "an object", rawjson.Kind('{')
	if part == partHistory {
		want, kind = "an array of objects", '['
	}
	if s, isText := rawjson.Text(value); isText {
		if strings.TrimSpace(s) == "" {
			return nil, ""
		}
		clean, _, err := rawjson.Clean([]byte(s))
		if err != nil {
			return nil, fmt.Sprintf("must be %s as JSON: %v", want, err)
		}
		value = clean
	}
	ok := rawjson.KindOf(value) == kind
	if ok && part == partHistory {
		for _, turn := range rawjson.Array(value) {
			ok = ok && rawjson.KindOf(turn) == '{'
		}
	}
	if rawjson.Null(value) {
		return nil, ""
	}
	if !ok {
		return nil, fmt.Sprintf("must be %s, not %.60q", want, string(value))
	}
	return value, ""
}

// cell is a value of a row under its column; nil: there is none.
type cell struct {
	column string
	value  json.RawMessage
}

// csv reads a file with a line of names. All values are texts; an empty cell of a whole part is none.
func (m *importing) csv(text string) error {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = Separator(text), -1, true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fault.InvalidField("text", "the line of names cannot be read: %v", err)
	}
	names := slices.Clone(head)
	if len(names) > MaxColumns {
		return fault.InvalidField("text", "has more than %d columns", MaxColumns)
	}
	for i, name := range names {
		if names[i], _ = rawjson.ValidText(strings.TrimSpace(name)); names[i] == "" {
			return fault.InvalidField("text", "column %d has no name", i+1)
		}
		if slices.Contains(names[:i], names[i]) {
			return fault.InvalidField("text", "the column %.60q is there twice", names[i])
		}
	}
	row := make([]cell, len(names))
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := m.begin(); err != nil {
			return err
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			m.wrong(RowError{m.Rows, broken.StartLine, "", csvText(broken)})
			continue
		}
		if err != nil {
			return fault.InvalidField("text", "cannot be read: %v", err)
		}
		line, _ := r.FieldPos(0)
		if len(record) != len(names) {
			e := RowError{Row: m.Rows, Line: line, Text: fmt.Sprintf("has %d cells, the line of names has %d", len(record), len(names))}
			if len(record) < len(names) {
				e.Field = names[len(record)]
			}
			m.wrong(e)
			continue
		}
		for i, name := range names {
			text, _ := rawjson.ValidText(record[i])
			row[i] = cell{name, rawjson.AppendString(nil, text)}
		}
		if err := m.add(line, row); err != nil {
			return err
		}
	}
}

func csvText(e *csv.ParseError) string {
	switch {
	case errors.Is(e.Err, csv.ErrBareQuote):
		return fmt.Sprintf("a quote stands in a cell that does not begin with one, at line %d, column %d", e.Line, e.Column)
	case errors.Is(e.Err, csv.ErrQuote):
		return fmt.Sprintf("a cell that begins with a quote does not end with one, at line %d, column %d", e.Line, e.Column)
	}
	return e.Err.Error()
}

// Separator returns what stands most often between the names of the first line, outside of quotes: a comma, a semicolon or a tab.
func Separator(text string) rune {
	counts := map[rune]int{}
	quoted := false
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '\n' || c == '\r'):
			return most(counts)
		case !quoted:
			counts[c]++
		}
	}
	return most(counts)
}

func most(counts map[rune]int) rune {
	best := ','
	for _, c := range ";\t" {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// jsonLines reads an object a line, or one array of objects.
func (m *importing) jsonLines(text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return m.jsonArray(text)
	}
	line := 0
	for one := range strings.SplitSeq(text, "\n") {
		line++
		if strings.TrimSpace(one) == "" {
			continue
		}
		if err := m.object(line, []byte(one)); err != nil {
			return err
		}
	}
	return nil
}

// jsonArray reads the elements up to the first that is no JSON: where the next would begin cannot be told then.
func (m *importing) jsonArray(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	lineAt := lines(text)
	if _, err := d.Token(); err != nil {
		return fault.InvalidField("text", "cannot be read: %v", err)
	}
	for d.More() {
		var raw json.RawMessage
		line := lineAt(d.InputOffset())
		if err := d.Decode(&raw); err != nil {
			m.Rows++
			m.wrong(RowError{m.Rows, line, "", "is no JSON: " + err.Error()})
			return nil
		}
		if err := m.object(line, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		m.Rows++
		m.wrong(RowError{m.Rows, lineAt(d.InputOffset()), "", "the array does not end"})
	}
	return nil
}

// lines returns the function that gives the line of an offset; offsets only grow.
func lines(text string) func(offset int64) int {
	line, at := 1, int64(0)
	return func(offset int64) int {
		offset = min(offset, int64(len(text)))
		line += strings.Count(text[at:offset], "\n")
		at = offset
		return line
	}
}

func (m *importing) object(line int, text []byte) error {
	if err := m.begin(); err != nil {
		return err
	}
	raw, _, err := rawjson.Clean(bytes.TrimSpace(text))
	if err != nil {
		m.wrong(RowError{m.Rows, line, "", err.Error()})
		return nil
	}
	if rawjson.KindOf(raw) != '{' {
		m.wrong(RowError{m.Rows, line, "", fmt.Sprintf("must be an object, not %.60q", string(raw))})
		return nil
	}
	var row []cell
	for key, v := range rawjson.Object(raw) {
		row = append(row, cell{key, slices.Clone(v)})
	}
	if len(row) > MaxColumns {
		m.wrong(RowError{m.Rows, line, "", fmt.Sprintf("has more than %d fields", MaxColumns)})
		return nil
	}
	return m.add(line, row)
}
