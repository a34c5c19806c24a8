package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of what a program may say.
const (
	maxPrinted    = 16 << 20 // on standard output; the server takes little more in a request
	maxComplaint  = 16 << 10 // the end of standard error, which is shown if it fails
	afterlifeTime = time.Second
)

// program is a command line of the shell that reads JSON from standard input and prints JSON.
type program struct {
	line    string
	timeout time.Duration // 0: none
	env     []string      // in addition to the environment of this program
}

// programError is why a program gave no answer.
type programError struct {
	what      string
	complaint string // the end of its standard error
}

// Error has the last line of the complaint, which mostly says what it is about.
func (e *programError) Error() string {
	lines := strings.Split(strings.TrimSpace(e.complaint), "\n")
	if last := clean(lines[len(lines)-1]); last != "" {
		return e.what + ": " + last
	}
	return e.what
}

// run returns the one JSON value that the program prints when it is given in. The program has a
// process group of its own, nothing of which is left when run comes back.
func (p *program) run(ctx context.Context, in []byte, env ...string) (json.RawMessage, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if p.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, p.timeout)
	}
	defer cancel()
	cmd := exec.CommandContext(limited, "sh", "-c", p.line)
	cmd.Env = append(append(os.Environ(), p.env...), env...)
	cmd.Stdin = bytes.NewReader(append(in, '\n'))
	var printed bounded
	var complaint tailBuffer
	cmd.Stdout, cmd.Stderr = &printed, &complaint
	cmd.WaitDelay = afterlifeTime // for what it leaves behind with its output open
	inGroup(cmd)
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
		endGroup(cmd.Process.Pid)
	}
	fail := func(format string, args ...any) error {
		return &programError{fmt.Sprintf(format, args...), string(complaint)}
	}
	text := bytes.TrimSpace(printed.text)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, fail("it was ended after %s", p.timeout)
	case printed.over:
		return nil, fail("it printed more than %d MB", maxPrinted>>20)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fail("%s", err)
	case !json.Valid(text):
		return nil, fail("it must print one JSON value, not %q", shorten(clean(string(text)), 60))
	}
	if _, _, err := rawjson.Clean(text); err != nil { // what the server refuses
		return nil, fail("it must print another JSON value: %s", err)
	}
	return text, nil
}

// bounded keeps what is written to it, up to maxPrinted.
type bounded struct {
	text []byte
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || len(b.text)+len(p) > maxPrinted; b.over {
		return 0, errors.New("too much")
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer []byte

func (t *tailBuffer) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if over := len(*t) - maxComplaint; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(p), nil
}
