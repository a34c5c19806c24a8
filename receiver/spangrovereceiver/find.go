package spangrovereceiver

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/mount"
)

// find returns the first extension that is a T, or holds a store that is one: the preferred
// extension first, the others in order of their ids. The zero T if there is none. So the receiver works with any
// extension that has a store, and without one.
func find[T any](host component.Host, preferred component.ID) (none T) {
	extensions := host.GetExtensions()
	ids := slices.SortedFunc(maps.Keys(extensions), func(a, b component.ID) int {
		switch {
		case a == b:
			return 0
		case a == preferred:
			return -1
		case b == preferred:
			return 1
		default:
			return strings.Compare(a.String(), b.String())
		}
	})
	// The order makes the choice the same at every start.
	for _, id := range ids {
		if t, ok := extensions[id].(T); ok {
			return t
		}
		if holder, ok := extensions[id].(mount.StoreHolder); ok {
			if t, ok := holder.Store().(T); ok {
				return t
			}
		}
	}
	return none
}
