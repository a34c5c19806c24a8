package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// importBytes bounds the events of a request, which stand in memory a few times.
const importBytes = 4 << 20

func (a *app) eventImport() *cobra.Command {
	var format string
	var resume bool
	cmd := command("import FILE", "Store the events of a file, - for standard input", `
		spangrove events import events.jsonl
		spangrove events import events.jsonl --resume
		gunzip < events.jsonl.gz | spangrove events import -
		spangrove events import spans.jsonl --format otlp`, nil)
	cmd.Long = "The file is one of spangrove events export, or of any program that writes an event a line as the API shows it. " +
		"Each event has its event_id and session_id: what is stored already stays as it is, so a file can be imported again without harm. " +
		"With --format otlp a line is a message of OpenTelemetry in JSON, as the Collector's file exporter writes it.\n\n" +
		"Events are sent in requests of up to 1000, each stored whole or not at all. The progress of an import is kept next to the file, " +
		"in FILE.import until it is done: after an interruption --resume goes on from there."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkBulk(format); err != nil {
			return err
		}
		if resume && args[0] == "-" {
			return usage("--resume needs a file")
		}
		i := &importing{app: a, name: args[0], format: format}
		return i.run(cmd, resume)
	}
	bulkFlag(cmd, &format)
	cmd.Flags().BoolVar(&resume, "resume", false, "go on where an interrupted import of this file has stopped")
	return cmd
}

// importing is an import on its way.
type importing struct {
	*app
	name   string
	format string
	chunk  requestChunk
	state  importState
	keep   bool // the state next to the file
	sent   int64
	bar    *progress
	// known is how many events of those that were sent the server had, if countsNew is set.
	countsNew bool
	known     int
	// What the server refused of spans that it otherwise took.
	refused int64
	why     string
}

// importState is how far an import has come.
type importState struct {
	Server string `json:"server"`
	Key    string `json:"key"`    // masked, enough to tell another one
	Offset int64  `json:"offset"` // in the file, of the first line that is not stored
	Lines  int    `json:"lines"`  // before it
}

// requestChunk is what the next request carries.
type requestChunk struct {
	events []json.RawMessage // or
	spans  []client.Span
	lines  []int // in which each stands
	size   int
	offset int64 // behind the last line that is wholly in this chunk or one before; 0: none is
	line   int   // its number
}

func (i *importing) run(cmd *cobra.Command, resume bool) (err error) {
	in, size, err := i.open(cmd, resume)
	if err != nil {
		return err
	}
	defer in.Close()
	i.bar = i.progress("importing", "events", size)
	file := &lineReader{from: bufio.NewReaderSize(in, 256<<10), n: i.state.Lines, offset: i.state.Offset}
	err = i.send(cmd.Context(), file)
	i.bar.clear()
	switch {
	case err != nil && i.keep && i.state.Offset > 0:
		return after(err, "imported %d events of %s; go on with --resume", i.sent, i.name)
	case err != nil:
		return after(err, "imported %d events of %s", i.sent, i.name)
	}
	if i.keep {
		if err := os.Remove(i.stateFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", i.stateFile(), err)
		}
	}
	if i.refused > 0 {
		return &Failure{fmt.Sprintf("the server refused %d of %d spans of %s: %s", i.refused, i.sent, i.name, oneLine(i.why)), ExitFailed}
	}
	var b rawjson.Builder
	b.Int("events", i.sent)
	b.String("file", i.name)
	return i.changed(b.Bytes(), "imported %d events of %s", i.sent, i.name)
}

func (i *importing) stateFile() string { return i.name + ".import" }

// open opens the file where the import begins. size is 0 if it is not known.
func (i *importing) open(cmd *cobra.Command, resume bool) (in io.ReadCloser, size int64, err error) {
	i.state = importState{Server: i.api.Server(), Key: mask(i.settings[settingKey].text)}
	if i.name == "-" {
		return io.NopCloser(cmd.InOrStdin()), 0, nil
	}
	file, err := os.Open(i.name)
	if err != nil {
		return nil, 0, usage("read %s: %s", i.name, cause(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory")
	}
	if err == nil && info.Mode().IsRegular() {
		size, i.keep = info.Size(), true
	}
	if err == nil && resume {
		err = i.goOn(file, size)
	}
	if err != nil {
		_ = file.Close() // the error that matters is the first one
		var f *Failure
		if !errors.As(err, &f) {
			err = usage("read %s: %s", i.name, cause(err))
		}
		return nil, 0, err
	}
	return file, size, nil
}

// goOn reads the state and goes to where it says.
func (i *importing) goOn(file *os.File, size int64) error {
	text, err := os.ReadFile(i.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		i.remark("nothing of %s is to be skipped: there is no %s", i.name, i.stateFile())
		return nil
	}
	if err != nil {
		return err
	}
	const without = "import without --resume, which does no harm to what is stored already"
	var was importState
	if json.Unmarshal(text, &was) != nil || was.Offset < 0 || was.Lines < 0 {
		return usage("%s does not belong to an import; %s", i.stateFile(), without)
	}
	if was.Server != i.state.Server || was.Key != i.state.Key {
		return usage("%s is of an import to %s with the key %s; %s", i.stateFile(), was.Server, was.Key, without)
	}
	before := make([]byte, 1)
	if was.Offset > 0 {
		if _, err := file.ReadAt(before, was.Offset-1); was.Offset > size || err != nil || before[0] != '\n' && was.Offset != size {
			return usage("%s is not the file that it was when its import stopped; %s", i.name, without)
		}
	}
	i.state = was
	_, err = file.Seek(was.Offset, io.SeekStart)
	return err
}

// remember writes the state next to the file: the old one is there until the new one is.
func (i *importing) remember() {
	if i.chunk.offset == 0 {
		return
	}
	if i.state.Offset, i.state.Lines = i.chunk.offset, i.chunk.line; !i.keep {
		return
	}
	text, err := json.Marshal(i.state)
	if err == nil {
		err = os.WriteFile(i.stateFile()+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(i.stateFile()+".new", i.stateFile())
	}
	if err != nil {
		i.keep = false
		i.remark("--resume will not work: write %s: %s", i.stateFile(), cause(err))
	}
}

// send sends the file chunk by chunk. Where a line is wrong, what stands before it is sent.
func (i *importing) send(ctx context.Context, file *lineReader) error {
	for {
		line, err := file.next()
		if errors.Is(err, io.EOF) {
			return i.flush(ctx)
		}
		if err == nil && file.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if err == nil && len(line) > 0 {
			err = i.add(ctx, line, file.n)
		}
		var wrong *wrongLine
		switch {
		case errors.As(err, &wrong), errors.Is(err, errLongLine):
			if sent := i.flush(ctx); sent != nil {
				return sent
			}
			return usage("%s: line %d: %s", i.name, file.n, oneLine(err.Error()))
		case err != nil:
			return err
		}
		i.chunk.offset, i.chunk.line = file.offset, file.n
	}
}

// wrongLine is a mistake in a line of the file.
type wrongLine struct{ text string }

func (w *wrongLine) Error() string { return w.text }

// add adds what a line has to the chunk, and sends chunks that are full.
func (i *importing) add(ctx context.Context, line []byte, n int) error {
	if i.format == bulkJSONL {
		event, err := importable(line)
		if err != nil {
			return err
		}
		if err := i.room(ctx, len(event)); err != nil {
			return err
		}
		i.chunk.events = append(i.chunk.events, event)
		i.chunk.lines = append(i.chunk.lines, n)
		return nil
	}
	spans, err := client.SplitSpans(bytes.Clone(line))
	if err != nil {
		return &wrongLine{err.Error()}
	}
	for _, span := range spans {
		if err := i.room(ctx, len(span.Span)+len(span.Resource)); err != nil {
			return err
		}
		i.chunk.spans = append(i.chunk.spans, span)
		i.chunk.lines = append(i.chunk.lines, n)
	}
	return nil
}

// room makes room for so many bytes.
func (i *importing) room(ctx context.Context, size int) error {
	c := &i.chunk
	if len(c.lines) > 0 && (len(c.lines) == requestRows || c.size+size > importBytes) {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	c.size += size
	return nil
}

// importable returns an event of a line as a request has it.
func importable(line []byte) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, &wrongLine{"no JSON object: " + err.Error()}
	}
	if members["resourceSpans"] != nil {
		return nil, &wrongLine{"is a message of OpenTelemetry; import it with --format otlp"}
	}
	for _, id := range []string{"event_id", "session_id"} {
		if text, _ := rawjson.Text(members[id]); text == "" {
			return nil, &wrongLine{id + ": is missing; spangrove events batch makes ids for events without"}
		}
	}
	var b rawjson.Builder
	for name, value := range rawjson.Object(line) {
		if !placeOf[name] && name != payloadExpired {
			b.Raw(name, value)
		}
	}
	if members["inputs"] == nil {
		b.Raw("inputs", json.RawMessage("{}"))
	}
	return b.Bytes(), nil
}

// flush sends the chunk, if there is something in it.
func (i *importing) flush(ctx context.Context) (err error) {
	c := &i.chunk
	if len(c.lines) > 0 {
		if i.format == bulkJSONL {
			err = i.flushEvents(ctx)
		} else {
			err = i.flushSpans(ctx)
		}
		if err != nil {
			return i.locate(err)
		}
		i.sent += int64(len(c.lines))
	}
	i.remember()
	i.bar.at(i.state.Offset, i.sent)
	*c = requestChunk{offset: c.offset, line: c.line}
	return nil
}

// countKnown counts which events of the chunk the server has already. A key that may not read counts none.
func (i *importing) countKnown(ctx context.Context) error {
	var ids []string
	for _, event := range i.chunk.events {
		id, _ := rawjson.Text(rawjson.Get(event, "event_id"))
		ids = append(ids, id)
	}
	const atOnce = 100 // values of a filter
	for part := range slices.Chunk(ids, atOnce) {
		found, err := i.api.Events.Search(ctx, client.EventQuery{
			Filters:     []client.Filter{{Field: "event_id", Operator: client.IsAnyOf, Value: part}},
			Projections: []string{"event_id"}, Page: client.Page{Limit: atOnce},
		})
		var e *client.Error
		switch {
		case errors.As(err, &e) && e.Status < http.StatusInternalServerError: // an id that is wrong is told when it is stored
			return nil
		case err != nil:
			return err
		}
		i.known += len(found.Items)
	}
	return nil
}

func (i *importing) flushEvents(ctx context.Context) error {
	if i.countsNew {
		if err := i.countKnown(ctx); err != nil {
			return err
		}
	}
	body := make([]byte, 0, i.chunk.size+len(i.chunk.events)+len(`{"events":[]}`))
	body = append(body, `{"events":`...)
	body = append(rawjson.AppendArray(body, i.chunk.events), '}')
	r := post("/v1/events/batch", body)
	r.Repeatable = true
	return i.api.Call(ctx, r, nil)
}

func (i *importing) flushSpans(ctx context.Context) error {
	message, err := client.JoinSpans(i.chunk.spans)
	if err != nil {
		return err
	}
	answer, err := i.api.OTLP.SendSpans(ctx, message, client.JSON)
	if err != nil {
		return err
	}
	var partial struct {
		Success struct {
			Refused int64  `json:"rejectedSpans,string"`
			Why     string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &partial); err != nil {
			return fmt.Errorf("the answer of %s is not one of OpenTelemetry's: %w", i.api.Server(), err)
		}
	}
	if n := partial.Success.Refused; n > 0 {
		i.refused += n
		i.why = partial.Success.Why
	}
	return nil
}

// payloadExpired is the member of an event whose payload a rule of retention has removed. No event is created with it.
const payloadExpired = "payload_expired"

var inChunk = regexp.MustCompile(`^events\[(\d+)\]\.?`)

// locate adds to an error the line that the server refuses.
func (i *importing) locate(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 400 {
		return err
	}
	first, last := i.chunk.lines[0], i.chunk.lines[len(i.chunk.lines)-1]
	where := fmt.Sprintf("line %d", first)
	if last != first {
		where = fmt.Sprintf("lines %d to %d", first, last)
	}
	what := e.Message
	if e.Field != "" {
		what = e.Field + ": " + e.Message
	}
	if m := inChunk.FindStringSubmatch(what); m != nil {
		if at, _ := strconv.Atoi(m[1]); at < len(i.chunk.lines) {
			where = fmt.Sprintf("line %d", i.chunk.lines[at])
			what = strings.TrimPrefix(what, m[0])
		}
	}
	return usage("%s: %s: %s", i.name, where, oneLine(what))
}
