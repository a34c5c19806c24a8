package event

// MaxFieldRows is how many keys and datasets of a project are listed. Further ones are not, but filters that name them find them.
const MaxFieldRows = 20_000

// FieldIndex is which keys events have, and which datasets they name.
type FieldIndex struct {
	Keys     []Key
	Datasets []string // ids
}

// Full reports whether there may be keys that are not listed.
func (f *FieldIndex) Full() bool { return len(f.Keys)+len(f.Datasets) >= MaxFieldRows }

// Key is a dotted path below one of an event's objects, such as "metadata.cost", that events of
// a type and name have. The name is empty where names are not distinguished.
type Key struct {
	Type       Type
	Name, Path string
}
