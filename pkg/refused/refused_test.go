package refused_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/refused"
)

// clock ticks a second at every look.
func clock() func() time.Time {
	now := time.Unix(1_790_000_000, 0)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func bad(message string) refused.Request {
	return refused.Request{Method: "POST", Path: "/v1/events", Status: 400, Message: message, KeyPrefix: "sg_abcdefg"}
}

// messages returns the messages with their counts, in the order of the answer.
func messages(list []refused.Request) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s×%d ", r.Message, r.Count)
	}
	return strings.TrimSpace(b.String())
}

func TestAlikeAreCounted(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(clock())
	for _, message := range []string{"a", "b", "a", "c", "a"} {
		l.Add("p", bad(message))
	}
	got := l.Of("p", false)
	if messages(got) != "a×3 c×1 b×1" {
		t.Errorf("%s, want the last one first, and those alike counted", messages(got))
	}
	if want := time.Unix(1_790_000_005, 0); !got[0].Time.Equal(want) {
		t.Errorf("the time is %s, want that of the last one, %s", got[0].Time, want)
	}
	for _, change := range []func(*refused.Request){
		func(r *refused.Request) { r.Method = "PUT" }, func(r *refused.Request) { r.Path = "/events" }, func(r *refused.Request) { r.Status = 403 },
		func(r *refused.Request) { r.KeyPrefix = "sg_other00" },
	} {
		r := bad("a")
		change(&r)
		l.Add("p", r)
	}
	if got := l.Of("p", false); len(got) != 7 {
		t.Errorf("%d entries, want 7: what differs in one thing is another", len(got))
	}
}

func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(clock())
	l.Add("p", bad("of p"))
	l.Add("q", bad("of q"))
	l.Add("", bad("of nobody"))
	l.Add("p", bad("of p, too"))
	for _, tt := range []struct {
		id      string
		unknown bool
		want    string
	}{
		{"p", false, "of p, too×1 of p×1"},
		{"q", false, "of q×1"},
		{"p", true, "of p, too×1 of nobody×1 of p×1"},
		{"r", false, ""},
		{"r", true, "of nobody×1"},
		{"", false, ""},
	} {
		if got := messages(l.Of(tt.id, tt.unknown)); got != tt.want {
			t.Errorf("of %q, unknown %v: %q, want %q", tt.id, tt.unknown, got, tt.want)
		}
	}
}

// Reasons go on where entries are pushed out, and tell nothing of other projects.
func TestReasons(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(clock())
	for i := range 3 * refused.MaxOfProject {
		l.Add("p", bad(fmt.Sprint("p", i)))
	}
	forbidden := bad("no")
	forbidden.Status = 403
	l.Add("q", forbidden)
	l.Add("", forbidden)
	show := func(list []refused.Reason) (out string) {
		for _, r := range list {
			out += fmt.Sprintf("%d×%d at %d, ", r.Status, r.Count, r.Last.Unix()-1_790_000_000)
		}
		return out
	}
	for _, tt := range []struct{ got, want string }{
		{show(l.Reasons()), "400×600 at 600, 403×2 at 602, "},
		{show(l.ReasonsOf("p")), "400×600 at 600, "},
		{show(l.ReasonsOf("q")), "403×1 at 601, "},
		{show(l.ReasonsOf("r")), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(clock())
	for i := range 3 * refused.MaxOfProject {
		l.Add("p", bad(fmt.Sprint("p", i)))
		l.Add("", bad(fmt.Sprint("nobody", i)))
	}
	got := l.Of("p", false)
	if len(got) != refused.MaxOfProject || got[0].Message != "p599" || got[len(got)-1].Message != "p400" {
		t.Errorf("%d entries from %s to %s, want the last %d", len(got), got[0].Message, got[len(got)-1].Message, refused.MaxOfProject)
	}
	if got := len(l.Of("other", true)); got != refused.MaxUnknown {
		t.Errorf("%d entries of unknown callers, want %d", got, refused.MaxUnknown)
	}
	l.Add("p", bad("p0")) // was pushed out
	if got := l.Of("p", false)[0]; got.Count != 1 {
		t.Errorf("what had been pushed out counts on: %+v", got)
	}
	for i := range refused.MaxProjects {
		l.Add(fmt.Sprint(i), bad("x"))
		l.Add("0", bad("y")) // stays in use
	}
	if got := l.Of("p", false); got != nil {
		t.Errorf("the project refused longest ago still has %d entries", len(got))
	}
	if messages(l.Of("0", false)) != "y×100 x×1" || messages(l.Of("99", false)) != "x×1" {
		t.Error("projects refused lately are forgotten")
	}
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(clock())
	long := strings.Repeat("é", 5000)
	l.Add("p", refused.Request{Method: long, Path: "/" + long, Status: 400, Message: "\xff" + long, KeyPrefix: long})
	r := l.Of("p", false)[0]
	for name, text := range map[string]string{"method": r.Method, "path": r.Path, "message": r.Message, "key": r.KeyPrefix} {
		if len(text) > 300 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("the %s has %d bytes: %q", name, len(text), text)
		}
	}
	if len(r.Path) > refused.MaxPath || len(r.Message) > refused.MaxMessage {
		t.Errorf("path of %d, message of %d bytes", len(r.Path), len(r.Message))
	}
}

func TestNoKeysWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"/v1/sg_abcdefghijklmnopqrstuvwxyz234567/x", "/v1/sg_abcdefg…/x"},
		{"key sg_abcdefghijklmnopqrstuvwxyz234567 and hh_ingst_0123456789abcdef01234567_" + strings.Repeat("aB-_", 16), "key sg_abcdefg… and hh_ingst_0123456…"},
		{"/v1/msg_abcdefghijklmnopqrstuvwxyz", "/v1/msg_abcdefg…"},
		{"sg_short and hh_fgdp_x", "sg_short and hh_fgdp_x"},
	} {
		l := refused.NewLog(nil)
		l.Add("p", refused.Request{Path: tt.text, Status: 404, Message: tt.text})
		if r := l.Of("p", false)[0]; r.Path != tt.want || r.Message != tt.want {
			t.Errorf("%q became %q and %q, want %q", tt.text, r.Path, r.Message, tt.want)
		}
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int // 0: no refusal
		text   string
	}{
		{fault.InvalidField("events[1].inputs", "must be an object"), 400, "events[1].inputs: must be an object"},
		{fmt.Errorf("wrapped: %w", fault.New(fault.Limited, "too many")), 429, "too many"},
		{fault.Wrap(fault.Unauthorized, errors.New("the cause"), "unknown API key"), 401, "unknown API key"},
		{fault.New(fault.Unavailable, "busy"), 0, ""},
		{fault.New(fault.Internal, "secret"), 0, ""},
		{errors.New("any"), 0, ""},
		{nil, 0, ""},
	} {
		r, ok := refused.From(tt.err)
		if ok != (tt.status != 0) || ok && (r.Status != tt.status || r.Message != tt.text) {
			t.Errorf("%v: %+v, %v", tt.err, r, ok)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				l.Add(fmt.Sprint("p", (i+j)%3), bad(fmt.Sprint(j%10)))
				l.Of("p0", true)
			}
		})
	}
	all.Wait()
	sum := int64(0)
	for i := range 3 {
		for _, r := range l.Of(fmt.Sprint("p", i), false) {
			sum += r.Count
		}
	}
	if sum != 8*500 {
		t.Errorf("%d are counted, want %d", sum, 8*500)
	}
}

// Whatever is added to what a caller sees changes the number, also where an entry of the same request only counts on.
func TestAdded(t *testing.T) {
	t.Parallel()
	l := refused.NewLog(nil)
	seen := func() [3]int64 { return [3]int64{l.Added("a", false), l.Added("a", true), l.Added("b", false)} }
	for _, tt := range []struct {
		project string
		changes [3]bool
	}{{"a", [3]bool{true, true, false}}, {"a", [3]bool{true, true, false}}, {"", [3]bool{false, true, false}}} {
		before := seen()
		l.Add(tt.project, refused.Request{Message: "wrong"})
		after := seen()
		for i := range before {
			if (before[i] != after[i]) != tt.changes[i] {
				t.Errorf("a request of %q: %v to %v", tt.project, before, after)
			}
		}
	}
}
