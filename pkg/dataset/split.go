package dataset

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of what is counted by value. What is over them is counted, too, and said.
const (
	MaxSplitFields  = 100 // fields that are found by themselves
	maxSplitValues  = 1000
	maxSplitText    = 200 // characters of a value
	showSplitValues = 100
)

// Splits counts the datapoints of a dataset by the values of fields, such as metadata.split or metadata.tags: a datapoint whose field is an array
// counts for each of its elements. Without names of fields it finds those of metadata by itself, one level deep.
type Splits struct {
	Total  int // datapoints
	Fields []*SplitField
	More   int // fields that were found past the bound
	fixed  bool
	at     map[string]*SplitField
	over   map[string]bool
}

// SplitField is what a field has.
type SplitField struct {
	Name   string
	With   int // datapoints that have a value
	Many   bool
	counts map[string]int
}

// SplitValue is a value with how many datapoints have it.
type SplitValue struct {
	Value string
	Count int
}

// NewSplits begins to count by these fields; none: those of metadata.
func NewSplits(fields []string) *Splits {
	s := &Splits{at: map[string]*SplitField{}, over: map[string]bool{}, fixed: len(fields) > 0}
	for _, f := range fields {
		s.field(f)
	}
	return s
}

func (s *Splits) field(name string) *SplitField {
	f := s.at[name]
	switch {
	case f != nil:
	case len(s.Fields) == MaxSplitFields:
		if len(s.over) < maxSplitValues {
			s.over[name] = true
			s.More = len(s.over)
		}
	default:
		f = &SplitField{Name: name, counts: map[string]int{}}
		s.at[name], s.Fields = f, append(s.Fields, f)
	}
	return f
}

// Add counts a datapoint.
func (s *Splits) Add(p *Datapoint) {
	s.Total++
	if s.fixed {
		for _, f := range s.Fields {
			f.add(slices.Collect(p.Values(f.Name)))
		}
		return
	}
	for key, raw := range rawjson.Object(p.Metadata) {
		values := slices.Collect(valuesOf(raw))
		if len(values) == 0 || len(key) > maxFieldPath {
			continue
		}
		if f := s.field("metadata." + key); f != nil {
			f.add(values)
		}
	}
}

func (f *SplitField) add(values []string) {
	counted := false
	for _, v := range values {
		_, there := f.counts[v]
		if !there && (len(f.counts) == maxSplitValues || utf8.RuneCountInString(v) > maxSplitText) {
			f.Many, counted = true, true
			continue
		}
		f.counts[v]++
		counted = true
	}
	if counted {
		f.With++
	}
}

// Values returns the most frequent values, and how many others there are; Many is set if there are more than were kept apart.
func (f *SplitField) Values() (list []SplitValue, more int) {
	for _, v := range slices.Sorted(maps.Keys(f.counts)) {
		list = append(list, SplitValue{v, f.counts[v]})
	}
	slices.SortStableFunc(list, func(a, b SplitValue) int { return cmp.Compare(b.Count, a.Count) })
	if more = len(list) - showSplitValues; more > 0 {
		return list[:showSplitValues], more
	}
	return list, 0
}
