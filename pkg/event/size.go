package event

// MaxBytes bounds the fields of an event together. Each request is bounded, but updates, repeats and log records add to an event that is
// stored already: without a bound of the whole, a hundred small compressed requests would make one that no memory holds.
const MaxBytes = 64 << 20

// MaxLogBytes bounds the contents of the log parts that are merged into one event.
const MaxLogBytes = 32 << 20

// Bytes returns the size of the fields.
func (e *Event) Bytes() int {
	n := len(e.Name) + len(e.Source) + len(e.ChildrenIDs) + len(e.Config) + len(e.Inputs) + len(e.Outputs) + len(e.Metadata) + len(e.ColdMetadata) +
		len(e.Metrics) + len(e.Feedback) + len(e.UserProperties)
	if e.Error != nil {
		n += len(*e.Error)
	}
	return n
}

// Outgrown reports whether e is larger than an event may be, and larger than it was.
func (e *Event) Outgrown(before *Event) bool {
	n := e.Bytes()
	return n > MaxBytes && n > before.Bytes()
}
