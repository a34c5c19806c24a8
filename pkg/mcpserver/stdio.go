package mcpserver

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves the protocol on an input and an output, a line a message, until the input or ctx ends. What was asked before the end of the
// input is answered. A line that is no message gets an error as answer.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	to := &lockedWriter{w: out}
	from := &messages{in: bufio.NewReader(in), out: to}
	return New(o).Run(ctx, &stdio{mcp.IOTransport{Reader: io.NopCloser(from), Writer: to}})
}

// stdio is the SDK's transport, but that the end of its input comes after the last answer: the SDK drops what is under way then.
type stdio struct{ mcp.IOTransport }

// Connect implements mcp.Transport.
func (s *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := s.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answering{Connection: c, waiting: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}, nil
}

// answering is a connection that knows which requests wait for an answer.
type answering struct {
	mcp.Connection
	once   sync.Once
	closed chan struct{}

	mu      sync.Mutex
	waiting map[jsonrpc.ID]bool
	done    chan struct{} // closed when nothing waits; nil: nobody wants to know
}

// Read implements mcp.Connection.
func (a *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := a.Connection.Read(ctx)
	if err != nil {
		select {
		case <-a.settled():
		case <-ctx.Done():
		case <-a.closed:
		}
		return m, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() {
		a.mu.Lock()
		a.waiting[r.ID] = true
		a.mu.Unlock()
	}
	return m, nil
}

// settled returns a channel that is closed when nothing waits.
func (a *answering) settled() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	done := make(chan struct{})
	if len(a.waiting) == 0 {
		close(done)
	} else {
		a.done = done
	}
	return done
}

// Write implements mcp.Connection.
func (a *answering) Write(ctx context.Context, m jsonrpc.Message) error {
	err := a.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, r.ID)
		if len(a.waiting) == 0 && a.done != nil {
			close(a.done)
			a.done = nil
		}
	}
	return err
}

// Close implements mcp.Connection.
func (a *answering) Close() error {
	a.once.Do(func() { close(a.closed) })
	return a.Connection.Close()
}
