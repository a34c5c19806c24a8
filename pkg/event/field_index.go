package event

// FieldIndex is which keys events have, and which datasets they name.
type FieldIndex struct {
	Keys     []Key
	Datasets []string // ids
}

// Key is a dotted path below one of an event's objects, such as "metadata.cost", that events of
// a type and name have. The name is empty where names are not distinguished.
type Key struct {
	Type       Type
	Name, Path string
}
