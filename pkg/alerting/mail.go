package alerting

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/egress"
)

// Mail is the server that sends e-mail. It is the operator's, and so no address of it is refused.
type Mail struct {
	Address  string // host:port; empty: none is sent
	From     string // such as alerts@example.com, or "Spangrove <alerts@example.com>"
	Username string // empty: nobody signs in
	Password string
	TLS      string // STARTTLS, which is the default, ImplicitTLS or NoTLS
	// Recipients are who may get e-mail.
	Recipients Recipients
}

// Recipients are addresses, and domains with all of theirs but not those of subdomains, in lower case. Empty: everybody.
type Recipients []string

// ParseRecipients reads elements of which each may name several with commas between them, or none.
func ParseRecipients(list []string) (Recipients, error) {
	var out Recipients
	for _, s := range egress.Elements(list) {
		address := s
		if !strings.Contains(s, "@") {
			address = "somebody@" + s
		}
		if a, err := mail.ParseAddress(address); err != nil || a.Address != address {
			return nil, fmt.Errorf("%q is neither an address such as ann@example.com nor a domain such as example.com", s)
		}
		out = append(out, strings.ToLower(s))
	}
	return out, nil
}

// Allow reports whether an address may get e-mail.
func (r Recipients) Allow(address string) bool {
	address = strings.ToLower(address)
	return len(r) == 0 || slices.Contains(r, address) || slices.Contains(r, address[strings.LastIndexByte(address, '@')+1:])
}

// HowToAllowRecipients tells operators which setting lets e-mail go to more people.
const HowToAllowRecipients = "alerts::smtp::recipients of spangrove_evaluate, or SPANGROVE_SMTP_RECIPIENTS"

// How the connection to the server is encrypted.
const (
	STARTTLS    = "starttls"
	ImplicitTLS = "tls"
	NoTLS       = "none"
)

// Check reports the first setting that cannot work.
func (m *Mail) Check() error {
	if m.Address == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(m.Address); err != nil {
		return fmt.Errorf("address: must be host:port, not %q", m.Address)
	}
	if _, err := mail.ParseAddress(m.From); err != nil {
		return fmt.Errorf("from: must be an address such as alerts@example.com, not %q", m.From)
	}
	if !slices.Contains([]string{"", STARTTLS, ImplicitTLS, NoTLS}, m.TLS) {
		return fmt.Errorf("tls: must be %s, %s or %s, not %q", STARTTLS, ImplicitTLS, NoTLS, m.TLS)
	}
	return nil
}

// send sends a notice by mail to those of the addresses that have not received it, may get e-mail, and were not refused for good before. The
// outcome names those that get none.
func (m *Mail) send(ctx context.Context, to []string, n *alert.Notice, projectName, link string) alert.Outcome {
	if m.Address == "" {
		return alert.Outcome{Error: "this server sends no e-mail: the operator must set alerts::smtp of spangrove_evaluate, or SPANGROVE_SMTP_ADDRESS",
			Final: true}
	}
	var allowed, barred, without []string
	status := 0 // of those that were refused before
	for _, address := range to {
		before := slices.IndexFunc(n.Refused, func(r alert.Refusal) bool { return r.Address == address })
		switch {
		case slices.Contains(n.Reached, address):
		case before >= 0:
			without, status = append(without, n.Refused[before].Error), n.Refused[before].Status
		case m.Recipients.Allow(address):
			allowed = append(allowed, address)
		default:
			barred = append(barred, address)
		}
	}
	if len(barred) > 0 {
		without = append(without, fmt.Sprintf("%s may get no e-mail from this server (%s)", strings.Join(barred, ", "), HowToAllowRecipients))
	}
	o := alert.Outcome{Final: true}
	if len(allowed) > 0 {
		o = m.sendTo(ctx, allowed, n, projectName, link)
	}
	if len(without) > 0 {
		if o.Error == "" {
			o.Final, o.Status = true, status
		} else {
			without = append([]string{o.Error}, without...)
		}
		o.Error = strings.Join(without, "; ")
	}
	return o
}

// sendTo sends a notice to addresses that may get e-mail.
func (m *Mail) sendTo(ctx context.Context, to []string, n *alert.Notice, projectName, link string) (o alert.Outcome) {
	taken, refused, err := m.talk(ctx, to, n, projectName, link)
	for _, r := range refused {
		if r.Status >= 500 {
			o.Refused = append(o.Refused, r)
		}
	}
	var said *textproto.Error
	switch {
	case errors.As(err, &said):
		o.Status, o.Error, o.Final = said.Code, saying(said), said.Code >= 500
	case errors.Is(err, errNoTLS):
		o.Error, o.Final = err.Error(), true
	case err != nil:
		o.Error = "the mail server did not take it: " + plainError(err)
	default:
		o.Reached = taken
		var texts []string
		for _, r := range refused {
			texts = append(texts, r.Error)
		}
		if len(refused) > 0 {
			o.Status, o.Error, o.Final = refused[0].Status, strings.Join(texts, "; "), len(o.Refused) == len(refused)
		}
	}
	return o
}

func saying(said *textproto.Error) string {
	return fmt.Sprintf("the mail server said %d %.200s", said.Code, said.Msg)
}

var errNoTLS = errors.New("the mail server offers no STARTTLS; set alerts::smtp::tls of spangrove_evaluate")

// plainError returns an error without the addresses that package net puts into it.
func plainError(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": the connection failed"
	}
	return err.Error()
}

// talk speaks SMTP. taken are the addresses for which the server has taken the mail. Its header does not name those that were refused, which are
// there also with an error.
func (m *Mail) talk(ctx context.Context, to []string, n *alert.Notice, projectName, link string) (taken []string, refused []alert.Refusal, err error) {
	host, _, err := net.SplitHostPort(m.Address)
	if err != nil {
		return nil, nil, err
	}
	secure := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	var conn net.Conn
	dialer := &net.Dialer{}
	if m.TLS == ImplicitTLS {
		conn, err = (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", m.Address)
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", m.Address)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, nil, err
	}
	if m.TLS == "" || m.TLS == STARTTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, nil, errNoTLS
		}
		if err := c.StartTLS(secure); err != nil {
			return nil, nil, err
		}
	}
	if m.Username != "" {
		if err := c.Auth(smtp.PlainAuth("", m.Username, m.Password, host)); err != nil {
			return nil, nil, err
		}
	}
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Mail(from.Address); err != nil {
		return nil, nil, err
	}
	for _, address := range to {
		err := c.Rcpt(address)
		var said *textproto.Error
		switch {
		case err == nil:
			taken = append(taken, address)
		case errors.As(err, &said):
			refused = append(refused, alert.Refusal{Address: address, Status: said.Code, Error: saying(said) + " (" + address + ")"})
		default:
			return nil, refused, err
		}
	}
	if len(taken) == 0 {
		return nil, refused, nil
	}
	w, err := c.Data()
	if err != nil {
		return nil, refused, err
	}
	if _, err := w.Write(message822(from, taken, n, projectName, link)); err != nil {
		return nil, refused, err
	}
	if err := w.Close(); err != nil {
		return nil, refused, err
	}
	_ = c.Quit() // the mail is taken
	return taken, refused, nil
}

// message822 writes a mail. Its Message-ID is made of the notice's id, so that a mail that comes twice is seen to be one.
func message822(from *mail.Address, to []string, n *alert.Notice, projectName, link string) []byte {
	_, domain, _ := strings.Cut(from.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", from.String()},
		{"To", strings.Join(to, ","+fold)},
		{"Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", oneLine(n.Title()+" ("+projectName+")")), "?= =?", "?="+fold+"=?")},
		{"Date", time.UnixMilli(max(n.Created, n.At)).UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + n.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	text := n.Text() + "\n\nProject: " + projectName + "\nMeasured from " + stamp(n.From) + " to " + stamp(n.To) + "\n"
	if n.Description != "" {
		text += "\n" + n.Description + "\n"
	}
	if link != "" {
		text += "\n" + link + "\n"
	}
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // into memory
	_ = w.Close()
	return b.Bytes()
}

// fold continues a header on the next line: a line has at most 998 bytes.
const fold = "\r\n "

// oneLine returns a text without what would end a header.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
