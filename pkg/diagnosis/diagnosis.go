// Package diagnosis is the noun "finding": what was seen when a store was examined, what it means for an operator, and what
// to do about it. It does no I/O: checks stand beside what they look at, and hand their findings over here.
package diagnosis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	OK    Severity = "ok"    // nothing wrong
	Warn  Severity = "warn"  // nothing is lost or answered wrongly, and somebody should look
	Error Severity = "error" // something is lost, or answered wrongly, or soon will be
)

// Finding is what one check saw.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`               // in plain words
	Count    int64    `json:"count,omitempty"`    // of what is wrong
	Examples []string `json:"examples,omitempty"` // the first few ids of it
	Advice   string   `json:"advice,omitempty"`   // what to do
	Mendable bool     `json:"mendable"`           // --mend puts it right
}

// Mended is what was done about the findings of one check.
type Mended struct {
	Check string `json:"check"`
	Text  string `json:"text"`
	Error string `json:"error,omitempty"` // why it was not done
}

// Report is the result of an examination.
type Report struct {
	Place    string    `json:"place"` // a directory, or a database without its password
	Full     bool      `json:"full"`  // everything was looked at
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	Mended   []Mended  `json:"mended,omitempty"`
	Findings []Finding `json:"findings"` // after what was mended
}

// Worst returns the severity of the worst finding.
func (r *Report) Worst() Severity {
	worst := OK
	for i := range r.Findings {
		switch r.Findings[i].Severity {
		case Error:
			return Error
		case Warn:
			worst = Warn
		}
	}
	return worst
}

// Mendable returns the names of the checks that found something that can be mended.
func Mendable(list []Finding) map[string]bool {
	names := map[string]bool{}
	for i := range list {
		if list[i].Mendable {
			names[list[i].Check] = true
		}
	}
	return names
}

// Check looks at one thing.
type Check struct {
	Name string
	// Run records what it finds. An error is that it could not look.
	Run func(ctx context.Context, r *Recorder) error
}

// Mend puts right what some checks found.
type Mend struct {
	Checks []string // by name
	// Run says what it did.
	Run func(ctx context.Context) (done string, err error)
}

// Progress is told how far a check is: done of about total things, which is 0 if that is not known.
type Progress func(check string, done, total int64)

// Examine runs checks one after another. A check that cannot look is a finding of its own, and the next ones go on; only the end
// of ctx ends all.
func Examine(ctx context.Context, checks []Check, progress Progress) ([]Finding, error) {
	var all []Finding
	for _, c := range checks {
		r := &Recorder{check: c.Name, progress: progress}
		r.Progress(0, 0)
		err := c.Run(ctx, r)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.Add(Unseen(c.Name, err))
		}
		all = append(all, r.findings...)
	}
	return all, nil
}

// Unseen is the finding of a check that could not look.
func Unseen(check string, err error) Finding {
	return Finding{Check: check, Severity: Error, Text: "could not be looked at: " + err.Error(),
		Advice: "see what the error names; if it says that the database is malformed, restore a backup"}
}

// Recorder takes the findings of one check.
type Recorder struct {
	check    string
	progress Progress
	findings []Finding
}

// Add records a finding, of this check unless it names another one.
func (r *Recorder) Add(f Finding) {
	if f.Check == "" {
		f.Check = r.check
	}
	r.findings = append(r.findings, f)
}

// OK records that nothing is wrong, and what was looked at.
func (r *Recorder) OK(format string, args ...any) {
	r.Add(Finding{Severity: OK, Text: fmt.Sprintf(format, args...)})
}

// Progress tells how far the check is.
func (r *Recorder) Progress(done, total int64) {
	if r.progress != nil {
		r.progress(r.check, done, total)
	}
}

// maxExamples is how many ids of what is wrong a finding has.
const maxExamples = 5

// Cases counts what is wrong in one way, and keeps the first few ids of it.
type Cases struct {
	N        int64
	Examples []string
}

// Add counts one.
func (c *Cases) Add(id string) {
	c.N++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, id)
	}
}

// Finding returns f with the cases in it; %d in its text is their number.
func (c *Cases) Finding(f Finding) Finding {
	f.Text = strings.ReplaceAll(f.Text, "%d", strconv.FormatInt(c.N, 10))
	f.Count, f.Examples = c.N, c.Examples
	return f
}

// Bytes returns a number of bytes for people.
func Bytes(n int64) string {
	units := []string{"bytes", "KB", "MB", "GB", "TB", "PB"}
	f, u := float64(n), 0
	for f >= 1000 && u < len(units)-1 {
		f, u = f/1000, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
