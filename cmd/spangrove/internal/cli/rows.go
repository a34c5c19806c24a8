package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// rowsOf reads a file row by row, in the format that is named or that the file's name tells.
func rowsOf(in io.Reader, file, format string) iter.Seq2[json.RawMessage, error] {
	switch format = formatOf(file, format); format {
	case "csv":
		return csvRows(in, file)
	case "json", "jsonl":
		return jsonRows(in, file)
	}
	return func(yield func(json.RawMessage, error) bool) {
		yield(nil, usage("--format %s: must be csv or json", format))
	}
}

// formatOf returns the format that is named, or that the file's name tells.
func formatOf(file, format string) string {
	switch {
	case format != "":
		return format
	case strings.EqualFold(filepath.Ext(file), ".csv"):
		return "csv"
	default:
		return "json"
	}
}

// withoutMark passes over the byte order mark with which spreadsheets and editors begin a file.
func withoutMark(in io.Reader) *bufio.Reader {
	buffered := bufio.NewReader(in)
	if mark, _ := buffered.Peek(3); string(mark) == "\xef\xbb\xbf" { // an error comes again
		_, _ = buffered.Discard(3) // they have just been seen
	}
	return buffered
}

// jsonRows reads objects: one after the other, as JSON lines are, or the elements of one array.
// It holds one row in memory.
func jsonRows(in io.Reader, file string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		d := jsontext.NewDecoder(withoutMark(in), jsontext.AllowDuplicateNames(true))
		n, inArray := 0, d.PeekKind() == '['
		fail := func(err error) {
			yield(nil, usage("%s: row %d: %s", file, n+1, oneLine(strings.TrimPrefix(err.Error(), "jsontext: "))))
		}
		if inArray {
			if _, err := d.ReadToken(); err != nil {
				fail(err)
				return
			}
		}
		for ; ; n++ {
			if inArray && d.PeekKind() == ']' {
				_, _ = d.ReadToken() // it has just been seen
				if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
					fail(errors.New("there is text after the array"))
				}
				return
			}
			row, err := d.ReadValue()
			if errors.Is(err, io.EOF) && !inArray {
				return
			}
			if err != nil {
				fail(err)
				return
			}
			if row.Kind() != '{' {
				fail(errors.New("must be an object"))
				return
			}
			if !yield(json.RawMessage(slices.Clone(row)), nil) {
				return
			}
		}
	}
}

// csvRows reads rows under a line of names, with commas, semicolons or tabs between their cells; all values are texts.
func csvRows(in io.Reader, file string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		buffered := withoutMark(in)
		begin, _ := buffered.Peek(buffered.Size()) // an error comes again
		r := csv.NewReader(buffered)
		r.Comma = dataset.Separator(string(begin))
		names, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = checkUTF8(r, names)
		}
		if err != nil {
			yield(nil, usage("%s: %s", file, err))
			return
		}
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				yield(nil, usage("%s: the column %q appears twice", file, name))
				return
			}
		}
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = checkUTF8(r, record)
			}
			if err != nil {
				yield(nil, usage("%s: %s", file, err))
				return
			}
			var row rawjson.Builder
			for i, name := range names {
				row.String(name, record[i])
			}
			if !yield(row.Bytes(), nil) {
				return
			}
		}
	}
}

// checkUTF8 checks the record that a reader has read last.
func checkUTF8(r *csv.Reader, record []string) error {
	for i, cell := range record {
		if !utf8.ValidString(cell) {
			line, _ := r.FieldPos(i)
			return fmt.Errorf("line %d is not UTF-8: save the file as UTF-8", line)
		}
	}
	return nil
}

// withKeys returns rows of which the first has one of these keys at least, or all of them, as the columns of CSV: one that is misspelt
// would leave its part of all datapoints empty.
func withKeys(rows iter.Seq2[json.RawMessage, error], file string, all bool, keys []string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		first := true
		for row, err := range rows {
			if first && err == nil {
				err = checkKeys(row, file, all, keys)
			}
			first = false
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func checkKeys(row json.RawMessage, file string, all bool, keys []string) error {
	var has []string
	for key := range rawjson.Object(row) {
		has = append(has, key)
	}
	missing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(has, key) })
	if len(missing) > 0 && (all || len(missing) == len(keys)) {
		return usage("%s: the first row has no %s; it has %s", file, strings.Join(missing, ", "), strings.Join(has, ", "))
	}
	return nil
}

// inChunks hands rows to send in groups that a request can carry.
func inChunks(rows iter.Seq2[json.RawMessage, error], send func([]json.RawMessage) error) error {
	var chunk []json.RawMessage
	size := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		if len(chunk) > 0 && (len(chunk) == requestRows || size+len(row) > requestBytes) {
			if err := send(chunk); err != nil {
				return err
			}
			chunk, size = nil, 0
		}
		chunk, size = append(chunk, row), size+len(row)
	}
	if len(chunk) == 0 {
		return nil
	}
	return send(chunk)
}
