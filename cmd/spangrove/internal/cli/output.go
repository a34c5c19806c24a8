package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The formats of results.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatJSONL = "jsonl"
	formatYAML  = "yaml"
)

var formats = []string{formatTable, formatJSON, formatJSONL, formatYAML}

// output is where results and remarks go.
type output struct {
	results io.Writer
	errs    io.Writer
	format  string
	width   int    // of the terminal that shows the results; 0 if none does
	colour  bool   // of results
	wipe    string // takes away a progress bar that a remark would stand behind; empty if there has been none
}

func newOutput(results, errs io.Writer, format string, noColor bool) *output {
	o := &output{results: results, errs: errs, format: format}
	if fd, ok := terminal(results); ok {
		if width, _, err := term.GetSize(fd); err == nil {
			o.width = width
		}
		o.results = escapingWriter{results.(*os.File)}
		o.colour = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// escapingWriter writes JSON to a terminal. JSON itself escapes only the control characters below the
// space; the others that clean removes are escaped here.
type escapingWriter struct{ screen *os.File }

var commands = regexp.MustCompile(`[\x{7f}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

func (h escapingWriter) Write(p []byte) (int, error) {
	escaped := commands.ReplaceAllFunc(p, func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, `\u%04x`, r)
	})
	if _, err := h.screen.Write(escaped); err != nil {
		return 0, err
	}
	return len(p), nil
}

// terminal reports whether a stream is a terminal, and returns its file.
func terminal(stream any) (fd int, ok bool) {
	f, ok := stream.(*os.File)
	if h, is := stream.(escapingWriter); is {
		f, ok = h.screen, true
	}
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// remark prints something for people that is not a result. It is written at once, so that several
// goroutines may.
func (o *output) remark(format string, args ...any) { fmt.Fprintf(o.errs, o.wipe+format+"\n", args...) }

// bold marks a heading.
func (o *output) bold(text string) string {
	if !o.colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// one shows one thing. In a table, each of its members has a line.
func (o *output) one(thing json.RawMessage) error {
	switch o.format {
	case formatTable:
		return o.members(thing)
	case formatJSON:
		return o.indented(thing, "")
	case formatJSONL:
		return o.line(thing)
	}
	return o.yaml(thing, false)
}

// made shows the answer to a change. In a table, it is only what the caller must know to go on,
// so that a script can take it as it is: mostly the id of what was made.
func (o *output) made(answer json.RawMessage, id string) error {
	if o.format != formatTable {
		return o.one(answer)
	}
	o.warn(answer)
	_, err := fmt.Fprintln(o.results, clean(id))
	return err
}

// warn prints the warnings of an answer: what was stored and may not work.
func (o *output) warn(answer json.RawMessage) {
	for _, w := range rawjson.Array(rawjson.Get(answer, "warnings")) {
		text, _ := rawjson.Text(w)
		o.remark("warning: %s", clean(text))
	}
}

// changed shows the answer to a change that makes nothing: in a table, a remark.
func (o *output) changed(answer json.RawMessage, format string, args ...any) error {
	if o.format != formatTable {
		return o.one(answer)
	}
	o.remark(format, args...)
	o.warn(answer)
	return nil
}

func (o *output) indented(thing json.RawMessage, prefix string) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(thing), prefix, "  "); err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	if prefix == "" {
		b.WriteByte('\n')
	}
	_, err := o.results.Write(b.Bytes())
	return err
}

func (o *output) line(thing json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Compact(&b, thing); err != nil {
		return fmt.Errorf("the server's answer is not JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := o.results.Write(b.Bytes())
	return err
}

// listOutput shows things one after the other. A table is shown at its end, when all widths are known.
type listOutput struct {
	*output
	table table
	n     int
}

// items begins a list. columns are those of the table.
func (o *output) items(columns []column) *listOutput {
	return &listOutput{output: o, table: table{columns: columns}}
}

// ids begins a list of which a table shows only one member, so that a script can take it as it is.
func (o *output) ids(member string) *listOutput {
	return &listOutput{output: o, table: table{columns: []column{{path: member, whole: true}}, bare: true}}
}

func (l *listOutput) add(item json.RawMessage) error {
	l.n++
	switch l.format {
	case formatTable:
		l.table.add(item)
		return nil
	case formatJSON:
		begin := ",\n  "
		if l.n == 1 {
			begin = "[\n  "
		}
		if _, err := io.WriteString(l.results, begin); err != nil {
			return err
		}
		return l.indented(item, "  ")
	case formatJSONL:
		return l.line(item)
	}
	return l.yaml(item, true)
}

// end ends the list. An empty one is one in every format, and a table without its heading.
func (l *listOutput) end() error {
	text := ""
	switch {
	case l.format == formatTable:
		return l.table.write(l.output)
	case l.format == formatJSON && l.n == 0, l.format == formatYAML && l.n == 0:
		text = "[]\n"
	case l.format == formatJSON:
		text = "\n]\n"
	}
	_, err := io.WriteString(l.results, text)
	return err
}

// members shows each member of an object in a line of its own; children, which are objects of
// the same kind, by their number.
func (o *output) members(thing json.RawMessage) error {
	t := table{columns: []column{{}, {}}, bare: true}
	for name, value := range rawjson.Object(thing) {
		text := cell(value)
		switch name {
		case "children":
			n := 0
			for range rawjson.Array(value) {
				n++
			}
			text = strconv.Itoa(n)
		case "start_time", "end_time":
			text = millis(value)
		case "duration":
			text = span(value)
		}
		t.rows = append(t.rows, []string{clean(name), text})
	}
	return t.write(o)
}

// cell returns a value as a table shows it: text as it is, all else as JSON.
func cell(value json.RawMessage) string {
	if rawjson.Null(value) {
		return "-"
	}
	text, ok := rawjson.Text(value)
	if !ok {
		var b bytes.Buffer
		if json.Compact(&b, value) != nil {
			return "-"
		}
		text = b.String()
	}
	if text = clean(text); text == "" {
		return "-"
	}
	return text
}

// joined shows an array of texts.
func joined(list json.RawMessage) string {
	var texts []string
	for _, element := range rawjson.Array(list) {
		texts = append(texts, cell(element))
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, ",")
}

// clean makes one line of a text. What a terminal would take for a command is left out:
// names and errors come from whoever sends telemetry.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' ||
			r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' // which turn the direction of what follows
	}), " ")
}

// millis shows Unix milliseconds as a time.
func millis(value json.RawMessage) string {
	ms, ok := rawjson.Number(value)
	if !ok {
		return "-"
	}
	return showTime(time.UnixMilli(int64(ms)))
}

// date shows an ISO 8601 time.
func date(value json.RawMessage) string {
	text, _ := rawjson.Text(value)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return cell(value)
	}
	return showTime(t)
}

// showTime shows a time where the user is.
func showTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// span shows milliseconds in the unit that suits them.
func span(value json.RawMessage) string {
	ms, ok := rawjson.Number(value)
	switch {
	case !ok:
		return "-"
	case ms < 0 || ms >= 1e15:
		return cell(value)
	case ms < 1000:
		return strconv.FormatFloat(math.Round(ms*10)/10, 'f', -1, 64) + "ms"
	case ms < 60_000:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + "s"
	}
	return (time.Duration(ms/1000) * time.Second).String()
}
