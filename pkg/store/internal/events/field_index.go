package events

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of the field index. What is past them is not listed; events are stored all the same.
const (
	// fieldIndexDepth is how many levels of objects are entered below a field such as metadata.
	fieldIndexDepth = 3
	// fieldIndexPaths bounds the members that one event adds.
	fieldIndexPaths = 256
	// fieldIndexName is the length in bytes up to which names of events, and ids of datasets and
	// runs, are listed.
	fieldIndexName = 256
	// fieldIndexNames is how many pairs of type and name are distinguished, in a project and in a run.
	// The keys of events with further names are listed without a name.
	fieldIndexNames = 1000
	// fieldIndexRows bounds the rows of a project, and fieldIndexRunRows those of one run. Where
	// several servers write, each counts for itself what the others add.
	fieldIndexRows    = event.MaxFieldRows
	fieldIndexRunRows = 2_000
	// fieldIndexRuns is how many further runs a server lists keys of in an hour.
	fieldIndexRuns = 2_000
	// fieldIndexEntries bounds what is kept in memory, at about 40 bytes each.
	fieldIndexEntries = 500_000
)

// Scopes of the field index.
const (
	ScopeAll  = ""
	ScopeRuns = "runs"
	ScopeRun  = "run:" // and the run's id
)

// FieldIndexDataset is the type of a row whose path is the id of a dataset.
const FieldIndexDataset = 0

// fieldIndex is this process's memory of its table, so that an event whose keys are listed costs
// no more than a look-up in memory.
type fieldIndex struct {
	mu      sync.RWMutex
	scopes  map[scopeKey]*scopeFields
	entries int // in all scopes
	clock   atomic.Int64

	hour int64 // the hour for which runs counts
	runs int
}

type scopeKey struct {
	project int64
	scope   string
}

// scopeFields is one scope of a project. Keys are hashes; two of 64 bits that meet would hide one path.
type scopeFields struct {
	rows   map[uint64]dayRange // by type, name and path
	shapes map[uint64]dayRange // by type, name and shape, if all of its paths are in rows
	names  map[uint64]bool     // by type and name
	used   atomic.Int64
	added  int // of rows, those that a transaction makes
}

// dayRange is a span of days, both ends in it.
type dayRange struct{ first, last int32 }

func (d dayRange) has(day int32) bool { return d.first <= day && day <= d.last }

// or returns the span from d to the one that a map holds, if it holds one.
func (d dayRange) or(m map[uint64]dayRange, k uint64) dayRange {
	if o, ok := m[k]; ok {
		return dayRange{min(d.first, o.first), max(d.last, o.last)}
	}
	return d
}

func newFieldIndex() *fieldIndex { return &fieldIndex{scopes: map[scopeKey]*scopeFields{}} }

func newScopeFields() *scopeFields {
	return &scopeFields{rows: map[uint64]dayRange{}, shapes: map[uint64]dayRange{}, names: map[uint64]bool{}}
}

func (b *scopeFields) size() int { return len(b.rows) + len(b.shapes) + len(b.names) }

// limit returns how many rows a scope may have.
func (k scopeKey) limit() int {
	if k.scope == ScopeAll || k.scope == ScopeRuns {
		return fieldIndexRows
	}
	return fieldIndexRunRows
}

var fieldIndexSeed = maphash.MakeSeed()

func hashName(typ int, name string) uint64 {
	return (maphash.String(fieldIndexSeed, name) ^ uint64(typ)) * 0x9e3779b97f4a7c15
}

func hashPath(name uint64, path string) uint64 {
	return (name ^ maphash.String(fieldIndexSeed, path)) * 0xd6e8feb86659fd93
}

func hashShape(name, shape uint64) uint64 { return (name ^ shape>>1) * 0xd6e8feb86659fd93 }

// has reports whether a scope is in memory.
func (c *fieldIndex) has(k scopeKey) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.scopes[k] != nil
}

// knows reports whether all keys of an event are listed for its day, under its name or, where names
// are not told apart any more, without one.
func (c *fieldIndex) knows(k scopeKey, typ int, name string, shape uint64, day int32) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b := c.scopes[k]
	if b == nil {
		return false
	}
	b.used.Store(c.clock.Add(1))
	h := b.nameOf(typ, name)
	span, ok := b.shapes[hashShape(h, shape)]
	return ok && span.has(day)
}

// nameOf returns the hash of the name under which an event's keys are listed.
func (b *scopeFields) nameOf(typ int, name string) uint64 {
	h := hashName(typ, name)
	if b.named(h, name) {
		return h
	}
	return hashName(typ, "")
}

func (b *scopeFields) named(h uint64, name string) bool {
	return len(name) <= fieldIndexName && (b.names[h] || len(b.names) < fieldIndexNames)
}

// allowRun counts a run whose keys are to be listed, false if there are too many in this hour.
func (c *fieldIndex) allowRun(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hour := now.Unix() / 3600; hour != c.hour {
		c.hour, c.runs = hour, 0
	}
	c.runs++
	return c.runs <= fieldIndexRuns
}

// shapeOf returns the shape of all that the field index lists of an event.
func shapeOf(e *event.Event, dataset string) uint64 {
	keys := rawjson.Keys{Depth: fieldIndexDepth, Left: fieldIndexPaths}
	var h uint64
	for _, f := range indexedFields(e) {
		h = keys.Shape(h, f.root, f.raw)
	}
	if dataset != "" {
		h = hashPath(h, dataset)
	}
	return h
}

type indexedField struct {
	root string
	raw  []byte
}

// indexedFields returns an event's fields with keys, first those that are searched most.
func indexedFields(e *event.Event) [8]indexedField {
	return [8]indexedField{{"metadata", e.Metadata}, {"metrics", e.Metrics}, {"feedback", e.Feedback}, {"user_properties", e.UserProperties},
		{"config", e.Config}, {"inputs", e.Inputs}, {"outputs", e.Outputs}, {"metadata", e.ColdMetadata}}
}

// keysOf returns the paths of an event, some of them perhaps twice.
func keysOf(e *event.Event) (paths []string) {
	keys := rawjson.Keys{Depth: fieldIndexDepth, Left: fieldIndexPaths}
	for _, f := range indexedFields(e) {
		keys.Paths(f.root, f.raw, func(path string) { paths = append(paths, path) })
	}
	return paths
}

// publish takes over what a transaction has stored.
func (c *fieldIndex) publish(scopes map[scopeKey]*scopeFields) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, came := range scopes {
		b := c.scopes[k]
		if b == nil {
			b = newScopeFields()
			b.used.Store(c.clock.Add(1))
			c.scopes[k] = b
		}
		c.entries -= b.size()
		if len(b.shapes) > k.limit() {
			clear(b.shapes) // they are learnt again
		}
		spans(b.rows, came.rows)
		spans(b.shapes, came.shapes)
		for name := range came.names {
			b.names[name] = true
		}
		c.entries += b.size()
	}
	for c.entries > fieldIndexEntries && len(c.scopes) > 1 {
		var oldest scopeKey
		at := int64(-1)
		for k, b := range c.scopes {
			if t := b.used.Load(); at < 0 || t < at {
				oldest, at = k, t
			}
		}
		c.entries -= c.scopes[oldest].size()
		delete(c.scopes, oldest)
	}
}

// spans adds spans. Rows and shapes are spans of days without gaps, since a row says no more.
func spans(to, from map[uint64]dayRange) {
	for k, d := range from {
		to[k] = d.or(to, k)
	}
}

// forget drops what is known of a project, or of one scope.
func (c *fieldIndex) forget(project int64, scope *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, b := range c.scopes {
		if k.project == project && (scope == nil || k.scope == *scope) {
			c.entries -= b.size()
			delete(c.scopes, k)
		}
	}
}
