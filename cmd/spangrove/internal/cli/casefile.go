package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/webui"
)

// A case file holds chosen sessions and runs. It is JSON lines: first {"spangrove_case": 1}, then objects of one member each, whose name
// tells what it is, and at last {"end": N} with the number of lines before it, so that a file that was cut off is known for what it is.
//
//	{"metric": {…}}    a definition, by which results are read
//	{"run": {…}}       as GET /v1/runs/{id} shows it
//	{"event": {…}}     as events export writes it
//
// As a file of its own it is compressed with zstd. In a page it is compressed with gzip, which browsers read, and has in addition what
// the page shows and an import leaves out:
//
//	{"tree": {…}, "session": ID}    the answer of GET /v1/sessions/{id}/tree
//	{"previews": {…}}               of events, by their ids
//	{"result": {…}, "run_id": ID}   the answer of GET /v1/runs/{id}/result
const caseVersion = 1

// Bounds of a case file that is read: of what it holds when it is decompressed, and of what decompressing it takes.
const (
	maxCaseBytes  = 16 << 30
	maxCaseWindow = 32 << 20
)

// caseWriter writes lines.
type caseWriter struct {
	to    io.Writer
	lines int
}

func newCaseWriter(to io.Writer) (*caseWriter, error) {
	w := &caseWriter{to: to}
	_, err := fmt.Fprintf(to, "{\"spangrove_case\":%d}\n", caseVersion)
	w.lines++
	return w, err
}

// add writes a line of a thing and, with names and values in turn, what it belongs to.
func (w *caseWriter) add(kind string, thing json.RawMessage, of ...string) error {
	var b rawjson.Builder
	b.Raw(kind, thing)
	for i := 0; i+1 < len(of); i += 2 {
		b.String(of[i], of[i+1])
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b.Bytes()); err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	if line.Len() > maxLine {
		return &Failure{fmt.Sprintf("a line of the file, %s, would be longer than 32 MB", kind), ExitFailed}
	}
	line.WriteByte('\n')
	w.lines++
	_, err := w.to.Write(line.Bytes())
	return err
}

func (w *caseWriter) end() error {
	_, err := fmt.Fprintf(w.to, "{\"end\":%d}\n", w.lines)
	return err
}

// writeCase writes a compressed case file, under its name only when it is complete.
func writeCase(name string, write func(*caseWriter) error) error {
	return writeAside(name, func(to io.Writer) error {
		z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		w, err := newCaseWriter(z)
		if err == nil {
			err = write(w)
		}
		if err == nil {
			err = w.end()
		}
		return errors.Join(err, z.Close())
	})
}

// maxCasePage bounds what a page holds, before it is compressed: a browser has all of it in memory.
const maxCasePage = 200 << 20

var errLargePage = &Failure{"a page holds at most 200 MB, or a browser could not open it; write a file that does not end in .html", ExitFailed}

// writeCasePage writes a case file as a page, under its name only when it is complete.
func writeCasePage(name string, write func(*caseWriter) error) error {
	return writeAside(name, func(to io.Writer) error {
		return webui.WriteCase(to, func(to io.Writer) error {
			w, err := newCaseWriter(&boundedWriter{to, maxCasePage})
			if err == nil {
				err = write(w)
			}
			if err == nil {
				err = w.end()
			}
			return err
		})
	})
}

// boundedWriter refuses what is more than so many bytes in all.
type boundedWriter struct {
	to   io.Writer
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errLargePage
	}
	return b.to.Write(p)
}

// writeAside lets a file be written next to where it belongs, and puts it there when it is complete. Only its user reads it: prompts
// and answers are nobody else's.
func writeAside(name string, write func(io.Writer) error) error {
	problem := func(err error) error {
		return &Failure{fmt.Sprintf("write %s: %s", name, cause(err)), ExitFailed}
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return problem(err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // gone after the rename
	buffered := bufio.NewWriterSize(file, 256<<10)
	if err := write(buffered); err != nil {
		_ = file.Close() // the error that matters is the first one
		return err
	}
	if err := errors.Join(buffered.Flush(), file.Close()); err != nil {
		return problem(err)
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return problem(err)
	}
	return nil
}

// caseLine is a line of a case file.
type caseLine struct {
	kind  string
	value json.RawMessage
	n     int // its number
}

// readCase calls each for the lines of a case file, plain, compressed or in a page, but for the first and the last one. A line holds
// until the next one. Errors of the file name it and the line.
func readCase(name string, in io.Reader, each func(caseLine) error) error {
	wrong := func(line int, format string, args ...any) error {
		where := name
		if line > 0 {
			where = fmt.Sprintf("%s: line %d", name, line)
		}
		return usage("%s: %s", where, oneLine(fmt.Sprintf(format, args...)))
	}
	text, done, err := caseText(bufio.NewReaderSize(in, 256<<10))
	if err != nil {
		return wrong(0, "%s", err)
	}
	defer done()
	limited := &io.LimitedReader{R: text, N: maxCaseBytes + 1}
	lines := &lineReader{from: bufio.NewReaderSize(limited, 256<<10)}
	for ended := false; ; {
		line, err := lines.next()
		switch {
		case limited.N == 0:
			return wrong(lines.n, "the file holds more than 16 GB")
		case errors.Is(err, io.EOF) && ended:
			return nil
		case errors.Is(err, io.EOF):
			return wrong(0, "is not complete: it has no last line that says so")
		case err != nil:
			return wrong(max(1, lines.n), "%s", err)
		case len(line) == 0:
			continue
		case ended:
			return wrong(lines.n, "stands behind the end")
		case !json.Valid(line) || rawjson.KindOf(line) != '{':
			return wrong(lines.n, "is not a JSON object")
		}
		var l caseLine
		for member, value := range rawjson.Object(line) { // the first member tells
			l = caseLine{member, value, lines.n}
			break
		}
		switch {
		case lines.n == 1 && l.kind != "spangrove_case":
			return wrong(1, "this is not a case file of Spangrove")
		case lines.n == 1 && string(l.value) != fmt.Sprint(caseVersion):
			return wrong(1, "the file has version %.20s; this program reads version %d", l.value, caseVersion)
		case lines.n == 1:
		case l.kind == "end" && string(l.value) != fmt.Sprint(lines.n-1):
			return wrong(lines.n, "there are %d lines before it, not %.20s", lines.n-1, l.value)
		case l.kind == "end":
			ended = true
		default:
			if err := each(l); err != nil {
				return err
			}
		}
	}
}

// caseText returns the lines of a case file, however it is packed. done gives back what reading takes.
func caseText(in *bufio.Reader) (text io.Reader, done func(), err error) {
	done = func() {}
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.Equal(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxCaseWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(in)
		return z, done, err
	case bytes.HasPrefix(head, []byte("<")):
		if err := skipTo(in, webui.CaseScript); err != nil {
			return nil, nil, err
		}
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, &untilTag{in}))
		return z, done, err
	}
	return in, done, nil
}

// skipTo reads up to and with a line that is a text.
func skipTo(in *bufio.Reader, line string) error {
	for {
		got, err := in.ReadSlice('\n')
		if string(bytes.TrimSpace(got)) == line {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return errors.New("this page is not a case file of Spangrove")
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// untilTag reads up to the next tag.
type untilTag struct{ in *bufio.Reader }

func (u *untilTag) Read(p []byte) (int, error) {
	if _, err := u.in.Peek(1); err != nil {
		return 0, err
	}
	ready, _ := u.in.Peek(min(len(p), u.in.Buffered())) // it is buffered
	at := bytes.IndexByte(ready, '<')
	if at == 0 {
		return 0, io.EOF
	}
	if at > 0 {
		ready = ready[:at]
	}
	return u.in.Read(p[:len(ready)])
}
