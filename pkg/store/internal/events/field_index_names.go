package events

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/query"
)

// indexedNames are rows of a field index.
type indexedNames struct {
	paths map[nameKind]map[string]bool
	n     int // paths in all
}

// nameKind is where a path is listed: a scope, and the type and name of the events that have it.
type nameKind struct {
	scope string
	typ   int
	name  string
}

func newIndexedNames() *indexedNames { return &indexedNames{paths: map[nameKind]map[string]bool{}} }

func (n *indexedNames) put(k nameKind, path string) {
	if n.paths[k] == nil {
		n.paths[k] = map[string]bool{}
	}
	if !n.paths[k][path] {
		n.paths[k][path] = true
		n.n++
	}
}

func (n *indexedNames) add(other *indexedNames) {
	for k, paths := range other.paths {
		for path := range paths {
			n.put(k, path)
		}
	}
}

func (n *indexedNames) remove(k nameKind, path string) {
	if paths := n.paths[k]; paths[path] {
		n.n--
		if delete(paths, path); len(paths) == 0 {
			delete(n.paths, k)
		}
	}
}

// kindsOf returns the parts of a field index that may list keys of an event.
func kindsOf(e *scannedEvent) (kinds, datasets []nameKind) {
	typ := query.TypeCode(e.row.Type)
	for _, scope := range e.scopes {
		// The empty name has the keys of events whose own names did not fit into their scope.
		kinds = append(kinds, nameKind{scope, typ, e.row.Name}, nameKind{scope, typ, ""})
		datasets = append(datasets, nameKind{scope: scope})
	}
	return kinds, datasets
}

// mayHave reports whether one of the names may be an event's, of which the payload is not read yet.
func (n *indexedNames) mayHave(e *scannedEvent) bool {
	kinds, datasets := kindsOf(e)
	return slices.ContainsFunc(append(kinds, datasets...), func(k nameKind) bool { return len(n.paths[k]) > 0 })
}

// each calls f for the names that are those of an event, whose payload is read.
func (n *indexedNames) each(e *scannedEvent, f func(k nameKind, path string)) {
	kinds, datasets := kindsOf(e)
	for _, path := range keysOf(&e.row.Event) {
		for _, k := range kinds {
			if n.paths[k][path] {
				f(k, path)
			}
		}
	}
	for _, k := range datasets {
		if id := e.row.asHead().datasetID; n.paths[k][id] {
			f(k, id)
		}
	}
}
