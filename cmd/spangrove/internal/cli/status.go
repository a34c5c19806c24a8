package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// status is the command "status".
func (a *app) status() *cobra.Command {
	var diagnosis, space, retention bool
	cmd := command("status", "Show how the server is", `
		spangrove status
		spangrove status --output json
		spangrove status --space --retention
		spangrove status --diagnosis`, nil)
	cmd.Long = "It exits with 1 if something is wrong, such as a store that cannot be written or a disk that is nearly full. Warnings do not count. " +
		"A key of scope admin sees all projects; others see all of it while the server has a single project."
	flags := cmd.Flags()
	flags.BoolVar(&diagnosis, "diagnosis", false, "print it as a text for a report of a fault, without names, secrets and content; JSON with --output json")
	flags.BoolVar(&space, "space", false, "also count what takes the space of the database, by kind")
	flags.BoolVar(&retention, "retention", false, "also list the rules of retention, and count what each would remove now")
	cmd.MarkFlagsMutuallyExclusive("diagnosis", "space")
	cmd.MarkFlagsMutuallyExclusive("diagnosis", "retention")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if diagnosis {
			return a.diagnosis(ctx)
		}
		answer, err := a.call(ctx, get("/v1/server/status"))
		if err != nil {
			return err
		}
		parts := statusParts{status: answer}
		if space {
			if parts.space, err = a.call(ctx, get("/v1/server/space")); err != nil {
				return err
			}
		}
		if retention {
			if parts.retention, err = a.removals(ctx); err != nil {
				return err
			}
		}
		if err := a.showStatus(&parts); err != nil {
			return err
		}
		return wrong(answer)
	}
	return cmd
}

// statusParts are answers about the server; nil if not asked for.
type statusParts struct {
	status, space json.RawMessage
	retention     []json.RawMessage
}

// wrong returns an error that names what is wrong by a status; warnings are not.
func wrong(status json.RawMessage) error {
	var messages []string
	for _, p := range rawjson.Array(rawjson.Get(status, "problems")) {
		if textOf(p, "severity") == "error" {
			messages = append(messages, textOf(p, "message"))
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &Failure{strings.Join(messages, "; "), ExitFailed}
}

// diagnosis prints the text for a report, and succeeds also if it names an error: that is what it is for.
func (a *app) diagnosis(ctx context.Context) error {
	if a.format != formatTable {
		r := get("/v1/server/diagnosis")
		r.Query = url.Values{"format": {"json"}}
		answer, err := a.call(ctx, r)
		if err != nil {
			return err
		}
		return a.one(answer)
	}
	text, err := a.api.Diagnosis(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.results, text)
	return err
}

// removals lists the rules of retention, each with what it would remove now as "removes".
func (a *app) removals(ctx context.Context) (list []json.RawMessage, err error) {
	for page := 1; ; page++ {
		r := get("/v1/server/retention")
		r.Query = url.Values{"limit": {strconv.Itoa(most)}, "page": {strconv.Itoa(page)}}
		answer, err := a.call(ctx, r)
		if err != nil {
			return nil, err
		}
		n := 0
		for _, project := range rawjson.Array(rawjson.Get(answer, "projects")) {
			n++
			preview := post(path("projects", textOf(project, "project_id"), "retention", "preview"), json.RawMessage("{}"))
			preview.Repeatable = true
			removed, err := a.call(ctx, preview)
			if err != nil {
				return nil, err
			}
			var b rawjson.Builder
			for name, value := range rawjson.Object(project) {
				b.Raw(name, value)
			}
			b.Raw("removes", rawjson.Get(removed, "removes"))
			list = append(list, b.Bytes())
		}
		if n < most {
			return list, nil
		}
	}
}

// showStatus shows the status, and what else was asked for: in a table below it, else beside it in one object.
func (a *app) showStatus(p *statusParts) error {
	if a.format != formatTable {
		if p.space == nil && p.retention == nil {
			return a.one(p.status)
		}
		var b rawjson.Builder
		b.Raw("status", p.status)
		if p.space != nil {
			b.Raw("space", p.space)
		}
		if p.retention != nil {
			list, err := json.Marshal(p.retention)
			if err != nil {
				return err
			}
			b.Raw("retention", list)
		}
		return a.one(b.Bytes())
	}
	if err := a.statusTable(p.status); err != nil {
		return err
	}
	if p.space != nil {
		fmt.Fprintln(a.results)
		t := table{columns: []column{{title: "kind", path: "kind", whole: true}, {title: "bytes", path: "bytes", right: true}}}
		for _, kind := range rawjson.Array(rawjson.Get(p.space, "kinds")) {
			t.add(kind)
		}
		if err := t.write(a.output); err != nil {
			return err
		}
	}
	if p.retention != nil {
		fmt.Fprintln(a.results)
		t := table{columns: []column{
			{title: "project", path: "name"},
			{title: "event days", path: "effective.event_days", right: true},
			{title: "payload days", path: "effective.payload_days", right: true},
			{title: "bytes", path: "effective.bytes", right: true},
			{title: "would remove sessions", path: "removes.sessions", right: true},
			{title: "events", path: "removes.events", right: true},
			{title: "payloads", path: "removes.payloads", right: true},
			{title: "bytes", path: "removes.bytes", right: true},
		}}
		for _, rule := range p.retention {
			t.add(rule)
		}
		return t.write(a.output)
	}
	return nil
}

// statusTable shows a status in lines.
func (a *app) statusTable(answer json.RawMessage) error {
	var s client.ServerStatus
	if err := json.Unmarshal(answer, &s); err != nil {
		return fmt.Errorf("the server's answer is not a status: %w", err)
	}
	t := table{columns: []column{{whole: true}, {}}, bare: true}
	line := func(name, format string, args ...any) {
		t.rows = append(t.rows, []string{name, clean(fmt.Sprintf(format, args...))})
	}
	if len(s.Problems) == 0 {
		line("problems", "none")
	}
	for _, p := range s.Problems {
		line(p.Severity, "%s (%s)", p.Message, p.Code)
	}
	line("version", "%s, %s/%s, %s", s.Server.Version, s.Server.OS, s.Server.Arch, s.Server.GoVersion)
	line("started", "%s, %s ago", showTime(s.Server.StartedAt), span(json.RawMessage(strconv.FormatFloat(s.Server.UptimeS*1000, 'f', 0, 64))))
	line("process", "%s of memory, %d goroutines, %d of %d processors", size(s.Server.MemoryBytes), s.Server.Goroutines, s.Server.GOMAXPROCS, s.Server.CPUs)
	if d := s.Store; d != nil {
		text := d.Kind + " " + d.Version
		if d.DatabaseBytes != nil {
			text += ", " + size(*d.DatabaseBytes)
		}
		line("store", "%s", text)
		if d.Directory != "" {
			line("directory", "%s", d.Directory)
		}
		if d.Disk != nil {
			line("disk", "%s free of %s", size(d.Disk.FreeBytes), size(d.Disk.TotalBytes))
		}
	}
	if c := s.Contents; c != nil {
		line("stored", "events %s, sessions %s, projects %s, %s", grouped(c.Events), grouped(c.Sessions), grouped(c.Projects), size(c.StoredBytes))
	}
	if i := s.Ingest; i != nil {
		line("ingest", "%.1f events/s over a minute, %.1f over five; %s since the start, %s spans and %s native",
			i.Events.PerSecond1m, i.Events.PerSecond5m, grouped(i.Events.Total), grouped(i.Spans.Total), grouped(i.Native.Total))
	}
	if c := s.Commits; c != nil {
		text := "none in five minutes"
		if c.P50MS != nil && c.P99MS != nil {
			text = fmt.Sprintf("p50 %.1f ms, p99 %.1f ms over five minutes", *c.P50MS, *c.P99MS)
		}
		if c.Count != nil && c.Total != nil && c.Failed != nil {
			text += fmt.Sprintf("; %s in that time, %s since the start, %s failed", grouped(*c.Count), grouped(*c.Total), grouped(*c.Failed))
		}
		if c.MeanEvents != nil {
			text += fmt.Sprintf("; %.1f events each", *c.MeanEvents)
		}
		line("commits", "%s", text)
	}
	if q := s.Queue; q != nil {
		line("queue", "requests %s of %s, events %s, %s of %s; refused %s", grouped(q.Requests), grouped(q.MaxRequests), grouped(q.Events), size(q.Bytes),
			size(q.MaxBytes), grouped(q.Refused))
	}
	if w := s.Waiting; w != nil {
		line("waiting", "updates %s of %s, parts of logs %s", grouped(w.Updates), grouped(w.MaxUpdates), grouped(w.LogParts))
	}
	if e := s.Evaluations; e != nil {
		line("evaluations", "waiting %s, delayed %s, events to look at %s, failed %s, dead %s", grouped(e.Waiting), grouped(e.Delayed), grouped(e.NewEvents),
			grouped(e.Failed), grouped(e.Dead))
	}
	if x := s.Index; x != nil {
		line("index", "segments %s, to build anew %s, without words %s; events not sealed %s, changed %s", grouped(x.Segments), grouped(x.WaitingSegments),
			grouped(x.WaitingWords), grouped(x.UnsealedEvents), grouped(x.ChangedEvents))
	}
	if p := s.Packer; p != nil {
		line("packer", "sessions to pack %s, of them at rest %s", grouped(p.Sessions), grouped(p.Due))
	}
	for _, r := range s.Refusals {
		line("refused", "%s (%d): %s, last at %s", r.Reason, r.Status, grouped(r.Count), showTime(r.LastAt))
	}
	if s.Covers == "project" {
		line("covers", "the key's project; a key of scope admin sees all")
	}
	return t.write(a.output)
}

// size shows bytes in the unit that suits them.
func size(n int64) string {
	units := []string{"KB", "MB", "GB", "TB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/1024, 0
	for ; x >= 1024 && i < len(units)-1; i++ {
		x /= 1024
	}
	return fmt.Sprintf("%.1f %s", x, units[i])
}
