package project

// Index is what a project has in segments, which answer searches and charts, and what is read from rows instead.
type Index struct {
	Segments, Events               int64 // events that are in segments
	WaitingSegments, WaitingEvents int64 // those of them that wait to be built anew; until then their events are read from rows
	UnsealedEvents                 int64 // that came after the last segment
	ChangedEvents                  int64 // that were changed or deleted since their segment was built
	WaitingTextEvents              int64 // of segments that wait for an index of words; a search for a text reads their payloads
	Bytes                          int64
}

// Rebuilding reports whether segments wait to be built anew.
func (x *Index) Rebuilding() bool { return x.WaitingSegments > 0 }
