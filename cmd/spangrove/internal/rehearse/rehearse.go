// Package rehearse tries an upgrade on a copy of a store: the program that runs today answers questions about the copy, then another one migrates it and answers
// the same questions, and the answers are compared.
package rehearse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Place is where the copy is: a database if there is a DSN, else a data directory.
type Place struct{ Directory, DSN string }

// Options say what is compared.
type Options struct {
	Before, After string // paths of the programs
	Place         Place
	Dir           string // for the configuration, key and log of the servers
	// Projects, Sessions and Runs are how many projects are asked about, of each how many sessions whole, and how many runs and datasets.
	Projects, Sessions, Runs int
	// Progress is told what is being done.
	Progress func(text string)
}

// Report is what came of it.
type Report struct {
	Before       Program  `json:"before"`
	After        Program  `json:"after"`
	Projects     int      `json:"projects"`
	ProjectsLeft int      `json:"projects_left"` // that were not asked about
	Questions    int      `json:"questions"`
	Answers      []Answer `json:"answers"` // one a question
	// Added are fields that only the later answers have.
	Added []string `json:"added,omitempty"`
}

// Program is one that was asked.
type Program struct {
	Version string  `json:"version"`
	Ready   float64 `json:"ready_seconds"` // from its start on, the migration included
}

// Answer is how two answers to one question compare. Milliseconds are those of the second time that the question was asked.
type Answer struct {
	Project      string  `json:"project"`
	Question     string  `json:"question"`
	BeforeMillis float64 `json:"before_ms"`
	AfterMillis  float64 `json:"after_ms"`
	// Unstable says that the program before has given two different answers itself, as while a deletion goes on; they are not compared.
	Unstable    bool         `json:"unstable,omitempty"`
	Differences []Difference `json:"differences,omitempty"` // the first few
	Differing   int          `json:"differing,omitempty"`   // places in all
}

// Different counts the answers that differ.
func (r *Report) Different() (n int) {
	for i := range r.Answers {
		if r.Answers[i].Differing > 0 {
			n++
		}
	}
	return n
}

// Run rehearses. The copy is changed: a key is made in each project that is asked about, their retention is switched off, and it is migrated.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := rehearsal{o: o, key: "sg_" + rand.Text(), report: &Report{}}
	var err error
	if r.report.Before.Version, err = versionOf(ctx, o.Before); err != nil {
		return nil, err
	}
	if r.report.After.Version, err = versionOf(ctx, o.After); err != nil {
		return nil, err
	}
	o.Progress("asking " + r.report.Before.Version)
	if err := r.with(ctx, o.Before, &r.report.Before, r.askBefore); err != nil {
		return nil, err
	}
	o.Progress("migrating, then asking " + r.report.After.Version)
	if err := r.with(ctx, o.After, &r.report.After, r.askAfter); err != nil {
		return nil, err
	}
	r.compare()
	return r.report, nil
}

// rehearsal is one that is under way.
type rehearsal struct {
	o         Options
	key       string            // of scope admin
	keys      map[string]string // a project's key of scope read, by its name
	questions []question
	before    [2][]answer // the first time and the second
	after     []answer
	report    *Report
}

// with runs a program as a server while f asks it.
func (r *rehearsal) with(ctx context.Context, program string, told *Program, f func(ctx context.Context, s *server) error) error {
	s, err := start(ctx, program, r.o.Dir, r.key, r.o.Place)
	if err != nil {
		return err
	}
	told.Ready = s.ready.Seconds()
	err = f(ctx, s)
	if stopped := s.stop(); stopped != nil {
		err = errors.Join(err, fmt.Errorf("stop %s: %w", program, stopped))
	}
	return err
}

// askBefore makes up the questions, and asks them twice.
func (r *rehearsal) askBefore(ctx context.Context, s *server) error {
	projects, err := listProjects(ctx, &s.client)
	if err != nil {
		return err
	}
	// The newest come last.
	n := min(len(projects), r.o.Projects)
	r.report.Projects, r.report.ProjectsLeft = n, len(projects)-n
	projects = projects[len(projects)-n:]
	r.keys = map[string]string{}
	for _, p := range projects {
		// Nothing shall expire between the two servers' answers.
		if err := s.get(ctx, http.MethodPut, "/v1/projects/"+url.PathEscape(p.ID)+"/retention", m{"event_days": 0, "payload_days": 0, "bytes": 0}, new(any)); err != nil {
			return err
		}
		if r.keys[p.Name], err = readKey(ctx, &s.client, p); err != nil {
			return err
		}
		a := asker{c: r.of(s, p.Name), of: p, o: &r.o}
		list, err := a.questions(ctx)
		if err != nil {
			return fmt.Errorf("project %s: %w", p.Name, err)
		}
		r.questions = append(r.questions, list...)
	}
	r.report.Questions = len(r.questions)
	for i := range r.before {
		if r.before[i], err = r.askAll(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// askAfter asks twice as well, so that times compare, and keeps the second answers.
func (r *rehearsal) askAfter(ctx context.Context, s *server) (err error) {
	if _, err = r.askAll(ctx, s); err == nil {
		r.after, err = r.askAll(ctx, s)
	}
	return err
}

// of returns a client with the key of a project.
func (r *rehearsal) of(s *server, project string) *client {
	c := s.client
	c.key = r.keys[project]
	return &c
}

func (r *rehearsal) askAll(ctx context.Context, s *server) ([]answer, error) {
	list := make([]answer, len(r.questions))
	for i := range r.questions {
		q := &r.questions[i]
		var err error
		if list[i], err = q.ask(ctx, r.of(s, q.project)); err != nil {
			return nil, fmt.Errorf("project %s: %s: %w", q.project, q.name, err)
		}
		if (i+1)%50 == 0 {
			r.o.Progress(fmt.Sprintf("asked %d of %d questions", i+1, len(list)))
		}
	}
	return list, nil
}

// compare fills the report.
func (r *rehearsal) compare() {
	added := map[string]bool{}
	for i, q := range r.questions {
		first, second, after := r.before[0][i], r.before[1][i], r.after[i]
		a := Answer{Project: q.project, Question: q.name, BeforeMillis: millis(second.took), AfterMillis: millis(after.took)}
		itself := comparison{added: map[string]bool{}, sums: q.sums}
		itself.all(first, second)
		if itself.n+len(itself.added) > 0 {
			a.Unstable = true
		} else {
			c := comparison{added: added, sums: q.sums}
			c.all(second, after)
			a.Differences, a.Differing = c.list, c.n
		}
		r.report.Answers = append(r.report.Answers, a)
	}
	r.report.Added = slices.Sorted(maps.Keys(added))
}

// all compares two answers with their statuses.
func (c *comparison) all(before, after answer) {
	if before.status != after.status {
		c.differ("status", strconv.Itoa(before.status), strconv.Itoa(after.status))
	}
	c.compare("", before.body, after.body)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// listProjects returns all projects, the oldest first.
func listProjects(ctx context.Context, c *client) (all []project, err error) {
	const limit = 100
	for page := 1; ; page++ {
		var list []project
		if err := c.get(ctx, http.MethodGet, fmt.Sprintf("/v1/projects?limit=%d&page=%d", limit, page), nil, &list); err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < limit {
			return all, nil
		}
	}
}

// readKey makes a key of scope read for a project, which ends in a day.
func readKey(ctx context.Context, c *client, p project) (string, error) {
	var made struct {
		Data struct {
			Value string `json:"key_value"`
		} `json:"data"`
	}
	err := c.get(ctx, http.MethodPost, "/v1/projects/"+url.PathEscape(p.ID)+"/fine_grained_api_keys",
		m{"name": "rehearsal of an upgrade", "permissions": []string{"read"}, "expires_at": time.Now().Add(24 * time.Hour).UnixMilli()}, &made)
	if err == nil && strings.TrimSpace(made.Data.Value) == "" {
		err = errors.New("the key that was made has no value")
	}
	return made.Data.Value, err
}
