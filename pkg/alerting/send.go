package alerting

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/fault"
)

// claimNotices claims at most limit of the notices that are due, few of one receiver, and returns what sends them.
func (r *Runner) claimNotices(ctx context.Context, limit int) (tasks []task, err error) {
	r.mu.Lock()
	busy := maps.Clone(r.busy)
	r.mu.Unlock()
	claims, err := r.store.ClaimNotices(ctx, alert.Places{Free: limit, Each: noticesToOne, Busy: busy}, noticeLease)
	for i := range claims {
		c := &claims[i]
		r.count(c, 1)
		tasks = append(tasks, func(ctx context.Context) error {
			defer r.count(c, -1)
			return r.send(ctx, c)
		})
	}
	return tasks, err
}

// count adds to the notices that are on their way to a receiver.
func (r *Runner) count(c *alert.NoticeClaim, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := c.Notice.Receiver()
	if r.busy[to] += n; r.busy[to] == 0 {
		delete(r.busy, to)
	}
}

// send makes one attempt to send a notice, and stores what became of it.
func (r *Runner) send(ctx context.Context, c *alert.NoticeClaim) error {
	outcome := r.deliver(ctx, c.Project, &c.Notice, nil)
	now := r.options.Now().UnixMilli()
	if ctx.Err() != nil && outcome.Error != "" && outcome.Status == 0 { // the runner stops before there is an answer: whoever comes next sends it
		c.Notice.Due = now
	} else {
		c.Notice.Tried(outcome, now)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	return r.store.FinishNotice(ctx, c.Project, c.Notice)
}

// Test measures an alert now and sends a notice of it to each of its channels, once, whatever its state is.
func (r *Runner) Test(ctx context.Context, projectID int64, id string) (reading alert.Reading, notices []alert.Notice, err error) {
	a, err := r.store.Alert(ctx, projectID, id)
	if err != nil {
		return reading, nil, err
	}
	at := r.options.Now().UnixMilli()
	reading, measures, err := r.measure(ctx, projectID, &a, at)
	if err != nil {
		return reading, nil, err
	}
	if notices, err = r.notices(ctx, projectID, &a, &reading, alert.Told{Kind: alert.KindTest, To: a.To}, measures); err != nil {
		return reading, nil, err
	}
	for i := range notices {
		notices[i].ID = "test-" + strconv.FormatInt(at, 10) + "-" + notices[i].ChannelID
	}
	var work sync.WaitGroup
	for i := range notices {
		work.Go(func() {
			n := &notices[i]
			outcome := r.deliver(ctx, projectID, n, &a)
			outcome.Final = true // nobody waits for a second attempt
			n.Attempts = 1
			n.Tried(outcome, r.options.Now().UnixMilli())
		})
	}
	work.Wait()
	if len(notices) > 0 {
		err = r.store.RecordNotices(ctx, projectID, id, notices)
	}
	return reading, notices, err
}

// deliver makes one attempt to send a notice. of is its alert; nil: it is read.
func (r *Runner) deliver(ctx context.Context, projectID int64, n *alert.Notice, of *alert.Alert) (o alert.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	defer func() { r.telemetry.sent(ctx, n.Type, &o) }()
	if of == nil {
		a, err := r.store.Alert(ctx, projectID, n.AlertID)
		if fault.IsNotFound(err) {
			return alert.Outcome{Error: "the alert is deleted", Final: true}
		}
		if err != nil {
			return alert.Outcome{Error: "the store did not answer"}
		}
		of = &a
	}
	c := of.Channel(n.ChannelID)
	if c == nil {
		return alert.Outcome{Error: "the alert no longer has this channel", Final: true}
	}
	p, err := r.store.ProjectByID(ctx, projectID)
	if err != nil {
		return alert.Outcome{Error: "the project cannot be read", Final: fault.IsNotFound(err)}
	}
	link := r.link(n)
	if c.Type == alert.Email {
		return r.options.Mail.send(ctx, c.Mail, n, p.Name, link)
	}
	address, secret, err := r.options.Open(projectID, c)
	if err != nil {
		return alert.Outcome{Error: message(err), Final: true}
	}
	body := slackBody(n, p.Name, link)
	var key []byte
	if c.Type == alert.Webhook {
		body = webhookBody(n, &p, link)
		if key, err = alert.SigningKey(secret); err != nil {
			return alert.Outcome{Error: "the secret " + message(err), Final: true}
		}
	}
	o, err = r.hooks.post(ctx, address, body, n.ID, key, r.options.Now())
	if err != nil {
		r.options.Logger.Warn("a notice was not delivered", zap.Int64("project", projectID), zap.String("alert", n.AlertID),
			zap.String("host", c.Host), zap.Error(err))
	}
	return o
}

// link returns the address of the page of a notice's alert, "" if Options.URL is not set.
func (r *Runner) link(n *alert.Notice) string {
	if r.options.URL == "" {
		return ""
	}
	return strings.TrimSuffix(r.options.URL, "/") + "/#/alerts?id=" + url.QueryEscape(n.AlertID)
}

// hooks posts to webhooks. It connects where its guard lets it, follows no redirect, and reads little of an answer.
type hooks struct {
	guard     egress.Guard
	transport *http.Transport
}

func newHooks(allowed []netip.Prefix) *hooks {
	h := &hooks{guard: egress.Guard{Allowed: allowed}}
	h.transport = h.guard.Transport()
	h.transport.MaxIdleConnsPerHost = 1
	return h
}

func (h *hooks) close() { h.transport.CloseIdleConnections() }

// maxAnswer is how much of an answer is read, maxShown how much of it is shown.
const (
	maxAnswer = 4 << 10
	maxShown  = 200
)

// post sends a body, signed if there is a key. The error is for the log, and tells more than the outcome, which everybody in the project sees.
func (h *hooks) post(ctx context.Context, address string, body []byte, id string, key []byte, now time.Time) (alert.Outcome, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return alert.Outcome{Error: "the address is no URL", Final: true}, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Spangrove")
	if key != nil {
		sign(req.Header, key, id, now, body)
	}
	res, err := h.transport.RoundTrip(egress.Mark(req))
	if err != nil {
		return alert.Outcome{Error: failure(err)}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	o := alert.Outcome{Status: res.StatusCode}
	switch {
	case res.StatusCode < 300:
		return o, nil
	case res.StatusCode < 400:
		o.Error, o.Final = fmt.Sprintf("answered %d, and redirects are not followed; set the address it points to", res.StatusCode), true
	default:
		o.Error = fmt.Sprintf("answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
		if said := shown(text, req.URL); said != "" {
			o.Error += ": " + said
		}
		o.Final = res.StatusCode == http.StatusGone
	}
	return o, nil
}

// failure says why there was no answer. Why nobody was reached is not told, since that would show a network to people who are not
// in it.
func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("did not answer within %s", sendTimeout)
	case egress.Unreachable(err):
		return "was not reached: there may be no such host, or nobody at that address, or the address is not allowed (" + HowToAllow + ")"
	}
	return "the connection broke off"
}

// HowToAllow tells operators which setting lets notices go elsewhere.
const HowToAllow = "allow_addresses of spangrove_evaluate::alerts, or SPANGROVE_ALLOW_NOTICE_ADDRESSES"

// shown returns the begin of an answer as one line, without the parts of the address that are secret.
func shown(text []byte, u *url.URL) string {
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	for _, secret := range []string{u.String(), u.RequestURI(), u.Path, u.EscapedPath(), u.RawQuery} {
		if len(secret) > 1 {
			s = strings.ReplaceAll(s, secret, "[hidden]")
		}
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

// sign adds the headers of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com): the HMAC-SHA256 of id, time and body.
func sign(h http.Header, key []byte, id string, now time.Time, body []byte) {
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
