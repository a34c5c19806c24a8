package alerting

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
)

// postbox is a mail server that takes mails, unless refuse says what it answers instead.
type postbox struct {
	addr   string
	refuse string

	mu    sync.Mutex
	lines []string
	mails []string
}

func newPostbox(t *testing.T, refuse string) *postbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a test
	if err != nil {
		t.Fatal(err)
	}
	p := &postbox{addr: l.Addr().String(), refuse: refuse}
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
	return p
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
			if p.refuse != "" {
				say(p.refuse)
				continue
			}
			say("250 ok")
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
	if o := m.send(t.Context(), []string{"ann@example.com", "bob@example.com"}, notice1(), "default", "https://s/"); o != (alert.Outcome{}) {
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
