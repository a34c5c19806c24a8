package price

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// packed is the built-in table, made by internal/gen: lines as line.go describes them.
//
//go:embed litellm/prices.txt.gz
var packed []byte

//go:embed litellm/source.json
var sourceJSON []byte

// Licence is the text under which the built-in table's source is published.
//
//go:embed litellm/LICENSE
var Licence string

// Source describes where the built-in table comes from.
type Source struct {
	Name    string   `json:"name"`    // the publisher's project
	Version string   `json:"version"` // its release
	Earlier []string `json:"earlier"` // releases that have the last prices of models it has dropped
	Date    string   `json:"date"`    // the day it was taken, YYYY-MM-DD
	File    string   `json:"file"`    // the file inside the release
	Licence string   `json:"licence"` // SPDX identifier; the text is Licence
	Models  int      `json:"models"`  // names in the table
}

// BuiltIn describes the built-in table.
var BuiltIn = sync.OnceValue(func() (s Source) {
	if err := json.Unmarshal(sourceJSON, &s); err != nil {
		return Source{}
	}
	return s
})

// table is a list of lines, searched where it lies.
type table struct {
	text  string
	start []uint32 // where each line begins
}

// builtIn unpacks the table at its first use: a server that maps no model call never does.
var builtIn = sync.OnceValue(func() *table {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return &table{}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return &table{}
	}
	return newTable(string(text))
})

func newTable(text string) *table {
	t := &table{text: text, start: make([]uint32, 0, strings.Count(text, "\n"))}
	for at := 0; at < len(text); {
		t.start = append(t.start, uint32(at)) //nolint:gosec // the table is less than 4 GB
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return t
}

// line returns line i: its name, and what follows it.
func (t *table) line(i int) (name, rest string) {
	line := t.text[t.start[i]:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	name, rest, _ = strings.Cut(line, "\t")
	return name, rest
}

// find returns the prices under exactly this name, in lower case.
func (t *table) find(name string) (provider string, r Rates, ok bool) {
	low, high := 0, len(t.start)
	for low < high {
		mid := int(uint(low+high) / 2)
		at, rest := t.line(mid)
		switch {
		case at == name:
			return parseLine(rest)
		case at < name:
			low = mid + 1
		default:
			high = mid
		}
	}
	return "", Rates{}, false
}
