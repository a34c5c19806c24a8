package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// MaxMessage is how many bytes a message may have.
const MaxMessage = 4 << 20

// The codes of JSON-RPC 2.0 for what is no request (section 5.1).
const (
	parseError     = -32700
	invalidRequest = -32600
)

// messages reads the messages of an input, a line each. A line that is none is answered with an error at once and left out: the SDK
// would end the session.
type messages struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the message that is being handed on
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, isLong, err := m.line()
		if err != nil {
			return 0, err
		}
		if code, problem := checkMessage(line, isLong); problem != "" {
			if err := m.refuse(code, problem); err != nil {
				return 0, err
			}
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			m.rest = append(line, '\n')
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line. Of one that has more than MaxMessage bytes the rest is left out.
func (m *messages) line() (line []byte, isLong bool, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		if isLong = isLong || len(line)+len(part) > MaxMessage; !isLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(line) == 0 && !isLong:
			return nil, false, err
		default: // an error comes again
			return line, isLong, nil
		}
	}
}

// checkMessage returns what is wrong with a line, if it is no message.
func checkMessage(line []byte, isLong bool) (code int, problem string) {
	line = bytes.TrimSpace(line)
	switch {
	case isLong:
		return invalidRequest, fmt.Sprintf("a message has at most %d bytes", MaxMessage)
	case len(line) == 0:
		return 0, ""
	case !json.Valid(line):
		return parseError, "the line is not JSON"
	}
	list := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &list); err != nil || len(list) == 0 {
			return invalidRequest, "the list has no messages"
		}
	}
	for _, one := range list {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return invalidRequest, "the line is no message of JSON-RPC 2.0"
		}
	}
	return 0, ""
}

func (m *messages) refuse(code int, problem string) error {
	_, err := fmt.Fprintf(m.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, problem)
	return err
}

// lockedWriter is a writer that stays open, of which each Write, a message, is done alone.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close implements io.Closer.
func (l *lockedWriter) Close() error { return nil }
