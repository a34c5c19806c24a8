package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/wire"
)

// ServerStatus is what the API asks of a store about itself. A project of 0 stands for all.
type ServerStatus interface {
	// Activity returns what memory knows. Of a project it says how many updates wait; all else is of the whole store. It costs next
	// to nothing.
	Activity(projectID int64) status.Activity
	// Database returns which database it is, what it takes on disk and what is free there; synchronous is how it syncs, where that can
	// be chosen.
	Database(ctx context.Context) (d status.Database, synchronous string, err error)
	// State returns how much is stored, by sums that are kept, and of all projects what waits for work in the background.
	State(ctx context.Context, projectID int64) (status.State, error)
	// EvaluationBacklog counts what waits to be evaluated and what gave no score. It is a heavy read.
	EvaluationBacklog(ctx context.Context, projectID int64) (status.Evaluations, error)
	// CheckWrite commits a row that nobody reads.
	CheckWrite(ctx context.Context) error
	// Space counts what takes the space of the database, by kind. It may read all of its files: it is a heavy read.
	Space(ctx context.Context) (status.Space, error)
}

var statusOperations = []apiOperation{
	{"getServerStatus", http.MethodGet, []string{"/server/status"}, project.ScopeRead, (*Server).getServerStatus},
	{"getServerDiagnosis", http.MethodGet, []string{"/server/diagnosis"}, project.ScopeRead, (*Server).getServerDiagnosis},
	{"getServerSpace", http.MethodGet, []string{"/server/space"}, project.ScopeAdmin, (*Server).getServerSpace},
	{"listRetention", http.MethodGet, []string{"/server/retention"}, project.ScopeRead, (*Server).listRetention},
}

const (
	// figuresFresh is for how long figures that were read of the database are shown again: several pages may ask every few seconds.
	figuresFresh = 4 * time.Second
	// writeCheckFresh is how often the store is written to find out whether it can be, at most.
	writeCheckFresh = 15 * time.Second
	writeCheckTime  = 5 * time.Second
	// spaceFresh is for how long a count of what takes space is shown again.
	spaceFresh = time.Minute
)

// kept is a value that is made by one caller at a time, and shown again for a while.
type kept[T any] struct {
	turn  chan struct{} // of one: held while the value is looked at
	at    time.Time     // when it was made; zero: never
	value T
}

func newKept[T any]() *kept[T] { return &kept[T]{turn: make(chan struct{}, 1)} }

// get returns the value, made anew if it is older than fresh. An error is not kept.
func (k *kept[T]) get(ctx context.Context, fresh time.Duration, read func() (T, error)) (T, error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-k.turn }()
	if !k.at.IsZero() && time.Since(k.at) < fresh {
		return k.value, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	k.at, k.value = time.Now(), v
	return v, nil
}

// statusCache is what the status shows again for a while.
type statusCache struct {
	figures *kept[figures]
	check   *kept[status.WriteCheck]
	space   *kept[status.Space]
}

func newStatusCache() *statusCache {
	return &statusCache{newKept[figures](), newKept[status.WriteCheck](), newKept[status.Space]()}
}

// figures are what was read of the database. What could not be read is nil, and failed has the code of why.
type figures struct {
	database    *status.Database
	synchronous string
	state       *status.State
	evaluations *status.Evaluations
	failed      string
}

// readFigures reads the figures of a project, or if it is 0 of all. It fails only if the caller has gone.
func (s *Server) readFigures(ctx context.Context, projectID int64) (f figures, err error) {
	for _, read := range []func() error{
		func() error {
			d, synchronous, err := s.Store.Database(ctx)
			if err == nil {
				f.database, f.synchronous = &d, synchronous
			}
			return err
		},
		func() error {
			x, err := s.Store.State(ctx, projectID)
			if err == nil {
				f.state = &x
			}
			return err
		},
		func() error {
			x, err := s.Store.EvaluationBacklog(ctx, projectID)
			if err == nil {
				f.evaluations = &x
			}
			return err
		},
	} {
		err := read()
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		if err != nil && fault.Of(err) != fault.Limited { // others read much: that says nothing of the store
			f.failed = fault.Of(err).Code()
		}
	}
	return f, nil
}

// checkWrite tries to write, whether the caller waits for it or not.
func (s *Server) checkWrite(ctx context.Context) (status.WriteCheck, error) {
	return s.status.check.get(ctx, writeCheckFresh, func() (status.WriteCheck, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeCheckTime)
		defer cancel()
		began := time.Now()
		w := status.WriteCheck{Time: s.Now().UTC(), OK: true}
		if err := s.Store.CheckWrite(ctx); err != nil {
			w.OK, w.Reason = false, fault.Of(err).Code()
		}
		w.TookMS = roundTo(float64(time.Since(began))/float64(time.Millisecond), 10)
		return w, nil
	})
}

// readStatus returns what the caller may see of the server: all of it with a key of scope admin, and with any key while the server has a
// single project, as there is nothing of others then. Else it leaves out what tells how much others store, and of what is stored it has
// the caller's project only.
func (s *Server) readStatus(c *call) (*status.Status, error) {
	whole, err := s.seesUnknown(c)
	if err != nil {
		return nil, err
	}
	out := &status.Status{Time: s.Now().UTC(), Covers: status.CoversProject, Server: s.process()}
	var projectID int64
	if whole {
		out.Covers = status.CoversServer
	} else {
		projectID = c.project.ID
	}
	var f figures
	if whole {
		f, err = s.status.figures.get(c.ctx(), figuresFresh, func() (figures, error) { return s.readFigures(c.ctx(), 0) })
	} else {
		f, err = s.readFigures(c.ctx(), projectID)
	}
	if err != nil {
		return nil, err
	}
	check, err := s.checkWrite(c.ctx())
	if err != nil {
		return nil, err
	}
	a := s.Store.Activity(projectID)
	out.Commits, out.Queue, out.Waiting, out.Evaluations = &a.Commits, &a.Queue, &a.Waiting, f.evaluations
	if f.state != nil {
		out.Contents = &f.state.Contents
	}
	if f.database != nil {
		d := *f.database // the kept one is others', too
		d.WriteCheck = &check
		out.Store = &d
		if !c.scope.Allows(project.ScopeAdmin) {
			d.Directory = ""
		}
	} else {
		out.Store = &status.Database{WriteCheck: &check}
	}
	out.Retention, err = s.ownRetention(c)
	if err != nil && c.ctx().Err() != nil {
		return nil, err
	}
	if whole {
		out.Ingest, out.Index = &a.Ingest, &a.Index
		if f.state != nil {
			a.Index.WaitingWords, a.Index.WaitingTextEvents = f.state.WaitingWords, f.state.WaitingTextEvents
			out.Packer = &f.state.Packer
		}
		s.configuration(c, &a.Configuration, f.synchronous)
		out.Configuration = &a.Configuration
	} else {
		out.Commits = &status.Commits{P50MS: a.Commits.P50MS, P99MS: a.Commits.P99MS}
		out.Queue.Refused = 0
		out.Store.Disk, out.Store.DatabaseBytes = nil, nil
	}
	if whole {
		out.Refusals = refusalsOf(s.Refusals.Reasons())
	} else {
		out.Refusals = refusalsOf(s.Refusals.ReasonsOf(c.project.PublicID))
	}
	out.Problems = []status.Problem{}
	if f.failed != "" {
		out.Problems = append(out.Problems, status.Problem{
			Code: status.NotReadable, Severity: status.Error, Message: "the store cannot be read (" + f.failed + ")",
		})
	}
	// Whatever the caller may see: that the disk is nearly full is for everybody who waits for data.
	judged := *out
	if f.database != nil {
		judged.Store = &status.Database{Disk: f.database.Disk, WriteCheck: &check}
	}
	judged.Index = &a.Index
	out.Problems = append(out.Problems, judged.Find()...)
	return out, nil
}

// refusalsOf returns why requests were refused as a status has it; not nil, also if there are none.
func refusalsOf(reasons []refused.Reason) []status.Refusals {
	out := []status.Refusals{}
	for _, r := range reasons {
		out = append(out, status.Refusals{
			Reason: strings.ToLower(fault.OfStatus(r.Status).Code()), Status: r.Status, Count: r.Count, Last: r.Last.UTC(),
		})
	}
	return out
}

// ownRetention returns the rule of the caller's project.
func (s *Server) ownRetention(c *call) (*status.Retention, error) {
	_, rule, err := s.Store.Retention(c.ctx(), c.project.ID)
	if err != nil {
		return nil, err
	}
	var r status.Retention
	if r.Rule, err = json.Marshal(rule); err != nil {
		return nil, err
	}
	if r.Default, err = json.Marshal(s.Store.DefaultRetention()); err != nil {
		return nil, err
	}
	return &r, nil
}

// configuration adds to that of the store what the API knows. Evaluators are left out while they cannot be read.
func (s *Server) configuration(c *call, to *status.Configuration, synchronous string) {
	to.Synchronous, to.MaxBody, to.Listeners, to.Evaluators = synchronous, s.MaxBody, []status.Listener{}, []string{}
	_, to.Keys = project.IdentityFrom(c.ctx())
	if s.Listeners != nil {
		for _, l := range s.Listeners() {
			to.Listeners = append(to.Listeners, status.Listener{Serves: serves[l.Topic], TLS: strings.HasPrefix(l.URL, "https://"), MaxBody: l.MaxBytes})
		}
	}
	available, err := s.Evaluator.Available(c.ctx(), c.project.ID)
	if err != nil {
		return
	}
	for _, t := range available.Types {
		to.Evaluators = append(to.Evaluators, string(t))
	}
	to.Providers = len(available.Providers)
}

// process returns the figures of the program and its process. None of them stops it, as runtime.ReadMemStats does.
func (s *Server) process() status.Server {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = 0
	}
	return status.Server{
		Version:     s.Version,
		GoVersion:   runtime.Version(),
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		Started:     s.started.UTC(),
		UptimeS:     roundTo(s.Now().Sub(s.started).Seconds(), 10),
		MemoryBytes: value(0) - value(1),
		HeapBytes:   value(2),
		MemoryLimit: limit,
		Goroutines:  value(3),
		GOMAXPROCS:  runtime.GOMAXPROCS(0),
		CPUs:        runtime.NumCPU(),
	}
}

func roundTo(x, parts float64) float64 { return math.Round(x*parts) / parts }

func (s *Server) getServerStatus(c *call) error {
	out, err := s.readStatus(c)
	if err != nil {
		return err
	}
	answer, err := wire.StatusAnswer(out)
	if err != nil {
		return err
	}
	return c.answer(answer)
}

// getServerDiagnosis answers with a text that may be shown to anybody who looks for a fault.
func (s *Server) getServerDiagnosis(c *call) error {
	var params struct {
		Format string `query:"format"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	if params.Format != "" && params.Format != "markdown" && params.Format != "json" {
		return fault.InvalidField("format", `must be one of markdown, json`)
	}
	out, err := s.readStatus(c)
	if err != nil {
		return err
	}
	if params.Format == "json" {
		answer, err := wire.DiagnosisJSON(out)
		if err != nil {
			return err
		}
		return c.answer(answer)
	}
	text, err := wire.DiagnosisMarkdown(out)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(text) // an error is the caller's connection, gone
	return nil
}

func (s *Server) getServerSpace(c *call) error {
	space, err := s.status.space.get(c.ctx(), spaceFresh, func() (status.Space, error) { return s.Store.Space(c.ctx()) })
	if err != nil {
		return err
	}
	answer, err := wire.SpaceAnswer(&space)
	if err != nil {
		return err
	}
	return c.answer(answer)
}

// listRetention lists the rules of the projects that the caller may know of: all of them for a key of scope admin, else the
// key's own. What they would remove, previewRetention counts.
func (s *Server) listRetention(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total := []project.Project{c.project}[min(page-1, 1):], 1
	if c.scope.Allows(project.ScopeAdmin) {
		if list, total, err = s.Store.Projects(c.ctx(), "", limit, page); err != nil {
			return err
		}
	}
	rules := make([]wire.ProjectRule, len(list))
	for i := range list {
		rules[i].Project = &list[i]
		if rules[i].Own, rules[i].Rule, err = s.Store.Retention(c.ctx(), list[i].ID); err != nil {
			return err
		}
	}
	c.total(total)
	answer, err := wire.RetentionListAnswer(rules)
	if err != nil {
		return err
	}
	return c.answer(answer)
}
