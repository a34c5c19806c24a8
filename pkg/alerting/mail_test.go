package alerting

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
)

// postbox is a mail server that takes mails, but for the recipients for whom refuse has another answer.
type postbox struct {
	addr  string
	taken func() // what it does when it has taken a mail and the sender has gone on, if it is set

	mu     sync.Mutex
	refuse map[string]string
	lines  []string
	mails  []string
}

// newPostbox returns a server that takes no mail if refuse is not empty.
func newPostbox(t *testing.T, refuse string) *postbox {
	p := &postbox{refuse: map[string]string{}}
	if refuse != "" {
		p.refuse["ann@example.com"] = refuse
	}
	p.start(t)
	return p
}

func (p *postbox) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
}

// recipients returns to whom the mails that it has taken are.
func (p *postbox) recipients() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.mails {
		m, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			return []string{err.Error()}
		}
		list = append(list, m.Header.Get("To"))
	}
	return list
}

func (p *postbox) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	say := func(s string) { _, _ = fmt.Fprintf(c, "%s\r\n", s) }
	say("220 here")
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		line := lines.Text()
		p.mu.Lock()
		p.lines = append(p.lines, line)
		p.mu.Unlock()
		switch command, _, _ := strings.Cut(strings.ToUpper(line), " "); command {
		case "EHLO":
			say("250 here")
		case "RCPT":
			p.mu.Lock()
			answer := p.refuse[strings.Trim(line[len("RCPT TO:"):], "<>")]
			p.mu.Unlock()
			say(cmp.Or(answer, "250 ok"))
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for lines.Scan() && lines.Text() != "." {
				text.WriteString(lines.Text() + "\r\n")
			}
			p.mu.Lock()
			p.mails = append(p.mails, text.String())
			p.mu.Unlock()
			say("250 taken")
		case "QUIT":
			if p.taken != nil {
				p.taken()
			}
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func notice1() *alert.Notice {
	return &alert.Notice{ID: "65a1b2c3d4e5f60718293a4b", Kind: alert.KindFiring, Name: "langsam\r\nBcc: all@example.com é", Condition: "above 1", At: noon.UnixMilli()}
}

func TestMail(t *testing.T) {
	t.Parallel()
	box := newPostbox(t, "")
	m := Mail{Address: box.addr, From: "Spangrove <alerts@example.com>", TLS: NoTLS}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if o := m.send(t.Context(), []string{"ann@example.com", "bob@example.com"}, notice1(), "default", "https://s/"); o.Error != "" {
		t.Fatalf("%+v", o)
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.mails) != 1 || !strings.Contains(strings.Join(box.lines, "\n"), "RCPT TO:<ann@example.com>\nRCPT TO:<bob@example.com>") {
		t.Fatalf("%q", box.lines)
	}
	got, err := mail.ReadMessage(strings.NewReader(box.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || subject != "Alert: langsam Bcc: all@example.com é (default)" || got.Header.Get("Bcc") != "" {
		t.Errorf("subject %q, %v; %v", subject, err, got.Header)
	}
	if id := got.Header.Get("Message-ID"); id != "<65a1b2c3d4e5f60718293a4b@example.com>" {
		t.Errorf("id %s", id)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(body), "\r\n", "\n"), "Project: default\nMeasured from 1970-01-01T00:00:00.000Z") {
		t.Errorf("%s, %v", body, err)
	}
}

// TestMailLines has a mail to as many addresses as a channel may have: no line of it is longer than SMTP allows.
func TestMailLines(t *testing.T) {
	t.Parallel()
	box := newPostbox(t, "")
	m := Mail{Address: box.addr, From: "a@b.c", TLS: NoTLS}
	var to []string
	for i := range 20 {
		to = append(to, fmt.Sprintf("%s%d@example.com", strings.Repeat("a", 50), i))
	}
	n := notice1()
	n.Name, n.Description = strings.Repeat("ä", alert.MaxName), strings.Repeat("b", alert.MaxText)
	if o := m.send(t.Context(), to, n, strings.Repeat("p", 200), ""); o.Error != "" {
		t.Fatal(o)
	}
	for _, line := range strings.Split(box.mails[0], "\r\n") {
		if len(line) > 998 {
			t.Errorf("a line of %d bytes: %.60s", len(line), line)
		}
	}
	if got := box.recipients(); !slices.Equal(got, []string{strings.Join(to, ", ")}) {
		t.Errorf("to %q", got)
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	some, err := ParseRecipients([]string{"Example.com, ops@example.org", ""})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"ann@example.com": true, "ANN@EXAMPLE.COM": true, "ops@example.org": true,
		"bob@example.org": false, "ann@sub.example.com": false, "ann@badexample.com": false, "ann@example.com.evil.net": false,
	} {
		if some.Allow(address) != want {
			t.Errorf("%s: %t", address, !want)
		}
	}
	if none, err := ParseRecipients([]string{""}); err != nil || !none.Allow("ann@example.com") {
		t.Error("without recipients not everybody gets e-mail", err)
	}
	for _, wrong := range []string{"@example.com", "Ann <ann@example.com>", "a b", "ann@"} {
		if _, err := ParseRecipients([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestMailToSome has a channel with addresses that get no e-mail: the others are told all the same, once, and the notice names those.
func TestMailToSome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box := &postbox{refuse: map[string]string{"cid@example.com": "451 later", "dan@example.com": "550 no such mailbox"}}
	box.start(t)
	w.r = w.runner(Options{Mail: Mail{Address: box.addr, From: "a@b.c", TLS: NoTLS, Recipients: Recipients{"example.com"}}})
	a := w.alert(func(a *alert.Alert) {
		a.To = []alert.Channel{{ID: "mail", Type: alert.Email,
			Mail: []string{"eve@example.org", "ann@example.com", "bob@example.com", "cid@example.com", "dan@example.com"}}}
	})
	w.put(time.Minute, 500)
	w.run()
	equal := func(what string, want, got []string) {
		t.Helper()
		if !slices.Equal(want, got) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	const barred = "; eve@example.org may get no e-mail from this server (" + HowToAllowRecipients + ")"
	equal("the first attempt", []string{"ann@example.com, bob@example.com"}, box.recipients())
	equal("cid's is to be tried again", []string{"firing waiting 1 the mail server said 451 later (cid@example.com); " +
		"the mail server said 550 no such mailbox (dan@example.com)" + barred}, w.notices(a.ID))

	box.mu.Lock()
	delete(box.refuse, "cid@example.com")
	box.lines = nil
	box.mu.Unlock()
	w.move(10 * time.Second)
	w.run()
	equal("the second one", []string{"ann@example.com, bob@example.com", "cid@example.com"}, box.recipients())
	box.mu.Lock()
	asked := strings.Join(slices.DeleteFunc(box.lines, func(line string) bool { return !strings.HasPrefix(line, "RCPT") }), " ")
	box.mu.Unlock()
	equal("which asks for nobody else", []string{"RCPT TO:<cid@example.com>"}, []string{asked})
	equal("it is sent, and names who has not got it",
		[]string{"firing sent 2 the mail server said 550 no such mailbox (dan@example.com)" + barred}, w.notices(a.ID))

	_, notices, err := w.r.Test(t.Context(), w.project.ID, a.ID)
	if err != nil || len(notices) != 1 || notices[0].State != alert.Sent || !strings.Contains(notices[0].Error, "eve@example.org may get no e-mail") {
		t.Errorf("a test: %+v, %v", notices, err)
	}
}

// TestMailAsTheRunnerStops has a runner that stops while a mail is on its way to two people, one of whom the server takes no mail for now. The other
// has received it, and gets it once.
func TestMailAsTheRunnerStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	box := &postbox{refuse: map[string]string{"cid@example.com": "451 later"}, taken: stop}
	box.start(t)
	server := Mail{Address: box.addr, From: "a@b.c", TLS: NoTLS}
	w.r = w.runner(Options{Mail: server})
	a := w.alert(func(a *alert.Alert) {
		a.To = []alert.Channel{{ID: "mail", Type: alert.Email, Mail: []string{"ann@example.com", "cid@example.com"}}}
	})
	w.put(time.Minute, 500)
	w.all(w.r.claimAlerts)
	tasks, err := w.r.claimNotices(ctx, 10)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d notices, %v", len(tasks), err)
	}
	if err := tasks[0](ctx); err != nil || ctx.Err() == nil {
		t.Fatal(err, ctx.Err())
	}
	box.mu.Lock()
	clear(box.refuse)
	box.mu.Unlock()
	w.r = w.runner(Options{Mail: server})
	w.move(10 * time.Second)
	w.run()
	if got := box.recipients(); !slices.Equal(got, []string{"ann@example.com", "cid@example.com"}) {
		t.Errorf("mails to %q", got)
	}
	if got := w.notices(a.ID); !slices.Equal(got, []string{"firing sent 2"}) {
		t.Errorf("notices %q", got)
	}
}

// TestMailToNone has a channel none of whose addresses may get e-mail.
func TestMailToNone(t *testing.T) {
	t.Parallel()
	box := newPostbox(t, "")
	m := Mail{Address: box.addr, From: "a@b.c", TLS: NoTLS, Recipients: Recipients{"example.com"}}
	n := notice1()
	o := m.send(t.Context(), []string{"eve@example.org", "fay@example.org"}, n, "p", "")
	if !o.Final || !strings.HasPrefix(o.Error, "eve@example.org, fay@example.org may get no e-mail from this server (") || len(box.recipients()) != 0 {
		t.Errorf("%+v", o)
	}
	if n.Tried(o, 1); n.State != alert.Failed {
		t.Errorf("the notice is %s", n.State)
	}
}

func TestMailRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, tt := range []struct {
		m    Mail
		want string
		last bool
	}{
		{Mail{}, "this server sends no e-mail", true},
		{Mail{Address: "127.0.0.1:1", From: "a@b.c", Recipients: Recipients{"example.org"}}, "ann@example.com may get no e-mail from this server", true},
		{Mail{Address: newPostbox(t, "550 no such mailbox").addr, From: "a@b.c", TLS: NoTLS}, "the mail server said 550 no such mailbox", true},
		{Mail{Address: newPostbox(t, "451 later").addr, From: "a@b.c", TLS: NoTLS}, "the mail server said 451 later", false},
		{Mail{Address: newPostbox(t, "").addr, From: "a@b.c"}, "the mail server offers no STARTTLS", true},
		{Mail{Address: "127.0.0.1:1", From: "a@b.c"}, "the mail server did not take it: dial: the connection failed", false},
		{Mail{Address: newPostbox(t, "").addr, From: "a@b.c", TLS: ImplicitTLS}, "the mail server did not take it", false},
	} {
		if o := tt.m.send(ctx, []string{"ann@example.com"}, notice1(), "p", ""); !strings.HasPrefix(o.Error, tt.want) || o.Final != tt.last {
			t.Errorf("%+v, want %s", o, tt.want)
		}
	}
	for want, m := range map[string]Mail{
		"address: must be host:port": {Address: "mail.example.com", From: "a@b.c"},
		"from: must be an address":   {Address: "mail:25", From: "nobody"},
		"tls: must be starttls":      {Address: "mail:25", From: "a@b.c", TLS: "maybe"},
	} {
		if err := m.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
