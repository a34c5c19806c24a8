// Package audit has the entries of the audit log: who did what that an operator may have to
// account for. Entries hold ids, never content.
package audit

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The actions.
const (
	SignIn = "sign_in" // a request whose key was refused

	KeyCreate = "key.create"
	KeyRevoke = "key.revoke"

	ProjectCreate = "project.create"
	ProjectUpdate = "project.update"
	ProjectDelete = "project.delete"
	ProjectSwitch = "project.switch" // a browser acts in another project from now on
	LimitsSet     = "limits.set"
	RetentionSet  = "retention.set"

	ProviderSet    = "provider.set"
	ProviderDelete = "provider.delete"

	ConfigurationCreate = "configuration.create"
	ConfigurationUpdate = "configuration.update" // also a deployment: then the target names the environments behind the id

	MetricCreate  = "metric.create" // also one of the library that is enabled
	MetricUpdate  = "metric.update"
	MetricVersion = "metric.create_version" // the target is the metric, and the version if there is one
	MetricDeploy  = "metric.deploy"         // the target is the metric and the version

	PlaygroundRun = "playground.run" // a model was asked, which costs money; the target is the provider and the model
	AlertCreate   = "alert.create"
	AlertUpdate   = "alert.update"
	AlertDelete   = "alert.delete"
	AlertTest     = "alert.test"

	SessionDelete       = "session.delete"
	SessionsDelete      = "session.delete_matching" // the target is the deletion
	EventsDelete        = "event.delete_matching"   // as of SessionsDelete
	DeletionCancel      = "deletion.cancel"
	EventDelete         = "event.delete"
	DatasetDelete       = "dataset.delete"
	DatasetRemove       = "dataset.remove_datapoint"
	DatapointDelete     = "datapoint.delete"
	MetricDelete        = "metric.delete"
	ConfigurationDelete = "configuration.delete"
	ToolDelete          = "tool.delete"
	ChartDelete         = "chart.delete"
	QueueDelete         = "queue.delete"
	RunDelete           = "run.delete"
	ViewDelete          = "view.delete"
	CommentDelete       = "comment.delete"
	AnnotationRemove    = "queue.remove_annotation"
	SettlementRemove    = "queue.remove_settlement"
	DashboardDelete     = "dashboard.delete"
	SampleDelete        = "sample.delete" // of all sample sessions at once; has no target
)

// Actions lists all actions, sorted.
func Actions() []string {
	return []string{
		AlertCreate, AlertDelete, AlertTest, AlertUpdate,
		ChartDelete, CommentDelete, ConfigurationCreate, ConfigurationDelete, ConfigurationUpdate, DashboardDelete, DatapointDelete, DatasetDelete, DatasetRemove, DeletionCancel, EventDelete, EventsDelete, KeyCreate, KeyRevoke,
		LimitsSet, MetricCreate, MetricVersion, MetricDelete, MetricDeploy, MetricUpdate, PlaygroundRun, ProjectCreate, ProjectDelete, ProjectSwitch, ProjectUpdate, ProviderDelete, ProviderSet, QueueDelete,
		AnnotationRemove, SettlementRemove, RetentionSet, RunDelete,
		SampleDelete, SessionDelete, SessionsDelete, SignIn, ToolDelete, ViewDelete,
	}
}

// IsAction reports whether there is an action of this name.
func IsAction(name string) bool { return slices.Contains(Actions(), name) }

// Outcomes in addition to the error codes of the API, which are the outcome of an action that failed.
const (
	Success = "SUCCESS"

	NoKey         = "NO_KEY"           // of SignIn: no Authorization header
	MalformedKey  = "MALFORMED_HEADER" // of SignIn: an Authorization header of another form
	UnknownKey    = "UNKNOWN_KEY"      // of SignIn: a key that was never there
	KeyNotInForce = "KEY_NOT_IN_FORCE" // of SignIn: a key that is revoked or has expired
)

// Entry is one entry of the log.
type Entry struct {
	At        time.Time // to the microsecond; of several alike, the first
	ProjectID string    // public id of the project that the action was about, or the caller's if it failed; empty: none is known
	KeyID     string    // id of the caller's key; empty: none, or an unknown one
	KeyName   string    // of the caller's key, as it is stored when the entry is read; empty: it is not any more
	KeyPrefix string    // the first characters of the caller's key, likewise
	Address   string    // of the connection, without its port; empty where Count is of many
	Action    string
	Target    string // id of what the action was about; of several alike, the first one's; empty: none
	Outcome   string // Success, or why it failed
	Count     int64  // how many times, from 1
}

// Counted reports whether entries like this one are added up in memory and written once a minute: those of failures, which
// anybody can cause, and models that were asked in the playground, where one table of prompts asks hundreds of times.
func (e Entry) Counted() bool { return e.Outcome != Success || e.Action == PlaygroundRun }

// maxText bounds each text of an entry, in bytes.
const maxText = 200

// Bounded returns the entry with its texts cut to 200 bytes, and in them U+FFFD for what a
// database does not store as text.
func (e Entry) Bounded() Entry {
	for _, text := range []*string{&e.ProjectID, &e.KeyID, &e.Address, &e.Action, &e.Target, &e.Outcome} {
		*text = bounded(*text)
	}
	e.Count = max(e.Count, 1)
	return e
}

func bounded(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
		for range utf8.UTFMax - 1 { // the last character may be cut
			if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
				break
			}
			text = text[:len(text)-1]
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// alike is what entries have in common that are one with a count. Failures have no target in it, since anybody can make up targets.
type alike struct{ project, key, address, action, target, outcome string }

// Notes adds up entries that are alike but for time, and failures also but for target, so that a flood of them is few.
// The zero value is ready for use; it is not safe for concurrent use.
type Notes struct {
	// Max bounds the entries with an address of their own until Renew; those beyond it are one
	// entry for each action and outcome, without project, key, address and target.
	Max   int
	begun int
	list  []*Entry
	byKey map[alike]*Entry
}

// Add adds an entry.
func (n *Notes) Add(e Entry) {
	e = e.Bounded()
	k := alike{project: e.ProjectID, key: e.KeyID, address: e.Address, action: e.Action, outcome: e.Outcome}
	if e.Outcome == Success {
		k.target = e.Target
	}
	if n.byKey[k] == nil && n.begun >= n.Max {
		k = alike{action: e.Action, outcome: e.Outcome}
		e.ProjectID, e.KeyID, e.Address, e.Target = "", "", "", ""
	}
	if known := n.byKey[k]; known != nil {
		known.Count += e.Count
		return
	}
	if n.begun < n.Max {
		n.begun++
	}
	if n.byKey == nil {
		n.byKey = map[alike]*Entry{}
	}
	n.byKey[k] = &e
	n.list = append(n.list, &e)
}

// Take returns what was added since the last Take, oldest first.
func (n *Notes) Take() []Entry {
	out := make([]Entry, len(n.list))
	for i, e := range n.list {
		out[i] = *e
	}
	n.list, n.byKey = nil, nil
	return out
}

// Renew lets Max entries begin anew.
func (n *Notes) Renew() { n.begun = 0 }

// Query chooses entries.
type Query struct {
	From, To  *float64 // bounds of the time in Unix milliseconds, both included; nil: open
	Action    string   // empty: any
	ProjectID string   // empty: any
	Limit     int
	Page      int // from 1
}
