package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// ErrTooLarge says that a session has more bytes than were allowed for.
var ErrTooLarge = errors.New("the session is too large")

// SessionText returns the session event with all events below it under "children", as WriteTree sends it,
// in at most about max bytes. ErrTooLarge if it has more.
func SessionText(ctx context.Context, set *event.Set, p *project.Project, max int) (json.RawMessage, error) {
	w := &boundedText{max: max}
	s := NewStream(w)
	defer s.Discard()
	if err := WriteTree(ctx, s, set, Tree{}, p); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return w.Bytes(), nil
}

// boundedText is a http.ResponseWriter that keeps the body, and fails once it would have more than max bytes: so the tree
// is not built any further.
type boundedText struct {
	bytes.Buffer
	max int
}

func (w *boundedText) Header() http.Header { return http.Header{} }
func (w *boundedText) WriteHeader(int)     {}

func (w *boundedText) Write(b []byte) (int, error) {
	if w.Len()+len(b) > w.max {
		return 0, ErrTooLarge
	}
	return w.Buffer.Write(b)
}
