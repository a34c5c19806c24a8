package alert

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Notice is what one channel is told of an alert, and what became of it. It is sent until the receiver takes it, at most MaxAttempts times,
// each time with the same id: one that is sent again after a crash can be told from a new one.
type Notice struct {
	ID       string      `json:"-"`
	AlertID  string      `json:"-"`
	Created  int64       `json:"-"` // Unix milliseconds
	State    NoticeState `json:"-"`
	Attempts int         `json:"-"`
	Due      int64       `json:"-"` // of one that waits: when it is tried next

	ChannelID string `json:"channel"`
	Type      string `json:"type"`           // of the channel
	Host      string `json:"host,omitempty"` // of the channel, or its addresses
	Kind      string `json:"kind"`
	Incident  string `json:"incident,omitempty"`

	// The alert as it was then.
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Condition   string  `json:"condition"`
	Threshold   float64 `json:"threshold"`
	Compare     string  `json:"compare"`
	Measures    string  `json:"measures,omitempty"`
	Filter      string  `json:"filter,omitempty"` // of which events, as the filter bar of the pages has it
	Unit        Unit    `json:"unit,omitempty"`   // of the reading
	At          int64   `json:"at"`               // the due time
	From        int64   `json:"from"`             // the window
	To          int64   `json:"to"`
	Reading     Record  `json:"reading"`

	Finished int64  `json:"finished,omitempty"` // Unix milliseconds
	Status   int    `json:"status,omitempty"`   // the last HTTP status; 0: there was none
	Error    string `json:"error,omitempty"`    // of the last attempt that failed; of e-mail that was sent, who did not get it and why
	// Reached are the e-mail addresses that have received the notice. Further attempts leave them out.
	Reached []string `json:"reached,omitempty"`
	// Refused are the addresses for which the mail server takes nothing, whenever it is asked. Further attempts leave them out, too.
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal is an e-mail address that the mail server refused, and what it said.
type Refusal struct {
	Address string `json:"address"`
	Status  int    `json:"status"`
	Error   string `json:"error"`
}

// NoticeState is what became of a notice.
type NoticeState string

// The states of a notice.
const (
	Waiting NoticeState = "waiting"
	Sent    NoticeState = "sent"
	Failed  NoticeState = "failed"
)

// NewNotice returns the notice of a reading for a channel. m says what is measured.
func NewNotice(a *Alert, c *Channel, r *Reading, tell Told, m Measures) Notice {
	window, _ := a.Measured(r.At)
	return Notice{
		AlertID: a.ID, State: Waiting, ChannelID: c.ID, Type: c.Type, Host: c.Where(), Kind: tell.Kind, Incident: tell.Incident,
		Name: a.Name, Description: a.Description, Condition: a.ConditionIn(m.Unit), Threshold: a.Threshold, Compare: a.Compare,
		Measures: m.Name, Filter: m.Filter, Unit: m.Unit,
		At: r.At, From: window.From, To: window.To,
		Reading: Record{Value: r.Value, Events: r.Events, Before: r.Before, EventsBefore: r.EventsBefore, Error: r.Error},
	}
}

// Receiver names who takes a notice: a host, or the server for all e-mail.
func (n *Notice) Receiver() string {
	if n.Type == Email {
		return Email
	}
	return n.Host
}

// TextOfReceiver returns a text that of all notices those to a receiver have in what Doc writes, where quotes in texts have a backslash.
func TextOfReceiver(receiver string) string {
	if receiver == Email {
		return `"type":"` + Email + `"`
	}
	host, _ := json.Marshal(receiver) // a text
	return `"host":` + string(host)
}

// Where says for people where a channel leads.
func (c *Channel) Where() string {
	if c.Type == Email {
		return strings.Join(c.Mail, ", ")
	}
	return c.Host
}

// Doc writes a notice down, and NoticeFromDoc reads it.
func (n *Notice) Doc() json.RawMessage {
	doc, err := json.Marshal(n)
	if err != nil {
		return json.RawMessage("{}")
	}
	return doc
}

// NoticeFromDoc reads what Doc wrote.
func NoticeFromDoc(doc json.RawMessage) (n Notice) {
	_ = json.Unmarshal(doc, &n)
	return n
}

// MaxAttempts is how often a notice is sent, over about three and a half hours. One older than maxAge is sent fewAttempts times: it has waited
// for an earlier notice, or no server has run.
const (
	MaxAttempts = 12
	fewAttempts = 3
	maxAge      = 4 * time.Hour
)

// MaxPause is the longest time between two attempts.
const MaxPause = time.Hour

// Pause returns how long to wait after a number of attempts: 10 seconds, twice as long each time, at most MaxPause.
func Pause(attempts int) time.Duration {
	return min(10*time.Second<<min(max(attempts-1, 0), 20), MaxPause)
}

// Outcome is what became of an attempt to send a notice.
type Outcome struct {
	Status  int       // HTTP status; 0: there was none
	Error   string    // empty: the receiver took it
	Final   bool      // another attempt would not help
	Reached []string  // the e-mail addresses that have received it by this attempt
	Refused []Refusal // those that were refused for good in this attempt
}

// Tried records the outcome of an attempt. now is Unix milliseconds. After the last attempt, e-mail counts as sent if at least one address has
// received it; Error then names those that have not.
func (n *Notice) Tried(o Outcome, now int64) {
	n.Status, n.Error = o.Status, o.Error
	n.Reached, n.Refused = append(n.Reached, o.Reached...), append(n.Refused, o.Refused...)
	switch {
	case o.Error == "":
		n.State, n.Finished, n.Due = Sent, now, 0
	case n.over(o, now) && len(n.Reached) > 0:
		n.State, n.Finished, n.Due = Sent, now, 0
	case n.over(o, now):
		n.State, n.Finished, n.Due = Failed, now, 0
	default:
		n.State, n.Due = Waiting, now+Pause(n.Attempts).Milliseconds()
	}
}

// over reports whether an attempt that failed was the last one.
func (n *Notice) over(o Outcome, now int64) bool {
	return o.Final || n.Attempts >= MaxAttempts || n.Attempts >= fewAttempts && now-n.Created > maxAge.Milliseconds()
}

// Title is the notice in a few words.
func (n *Notice) Title() string {
	switch n.Kind {
	case KindFiring:
		return "Alert: " + n.Name
	case KindResolved:
		return "Resolved: " + n.Name
	case KindNoData:
		return "No data: " + n.Name
	}
	return "Test: " + n.Name
}

// Text is the notice in a sentence.
func (n *Notice) Text() string {
	var b strings.Builder
	what := n.Measures
	if what == "" {
		what = "the figure"
	}
	if n.Filter != "" {
		what += " (" + n.Filter + ")"
	}
	switch {
	case n.Reading.Error != "":
		b.WriteString("Could not be measured: " + n.Reading.Error)
	case n.Reading.Value == nil:
		b.WriteString("No event had a value of " + what)
	default:
		value, before := *n.Reading.Value, n.Reading.Before
		if n.Compare == WeekBefore && before != nil {
			b.WriteString(what + " is " + n.Unit.FigureBeside(value, *before) + ", a week before it was " + n.Unit.FigureBeside(*before, value))
		} else {
			b.WriteString(what + " is " + n.Unit.FigureBeside(value, n.Threshold))
		}
	}
	b.WriteString(" (" + number(float64(n.Reading.Events)) + " events). It fires when " + n.Condition + ".")
	first, size := utf8.DecodeRuneInString(b.String())
	return string(unicode.ToUpper(first)) + b.String()[size:]
}
