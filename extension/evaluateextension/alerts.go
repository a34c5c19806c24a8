package evaluateextension

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/alerting"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
)

// AlertsConfig is about alerts on figures of events, and where their notices may go.
type AlertsConfig struct {
	// Enabled says whether this server evaluates alerts and sends notices. Where it does not, another one that shares the
	// database may. Default true.
	Enabled bool `mapstructure:"enabled"`

	// PollInterval is how often a server looks for alerts and notices that are due. Default 2s.
	PollInterval time.Duration `mapstructure:"poll_interval"`

	// AllowAddresses are the networks (10.0.0.0/8) and addresses (127.0.0.1) in which webhooks may be, in addition to public
	// ones; an element may name several with commas between them, or none. Default none.
	AllowAddresses []string `mapstructure:"allow_addresses"`

	// PublicURL is where people open the pages, such as https://spangrove.example.com, for the links in notices. Default none:
	// notices have no links.
	PublicURL string `mapstructure:"public_url"`

	// SMTP is the server that sends e-mail. Without an address no e-mail is sent.
	SMTP SMTPConfig `mapstructure:"smtp"`
}

// SMTPConfig is about the server that sends e-mail.
type SMTPConfig struct {
	// Address is host:port. Default none.
	Address string `mapstructure:"address"`
	// From is the sender, such as alerts@example.com.
	From string `mapstructure:"from"`
	// Username and Password sign in; without a name nobody does. A password is best named by reference: ${env:NAME} or ${file:PATH}.
	Username string              `mapstructure:"username"`
	Password configopaque.String `mapstructure:"password"`
	// TLS is starttls, tls for a connection that is encrypted from its begin, or none. Default starttls.
	TLS string `mapstructure:"tls"`
	// Recipients are who may get e-mail: addresses, and domains with all of theirs; an element may name several with commas
	// between them, or none. Default everybody.
	Recipients []string `mapstructure:"recipients"`
}

func defaultAlerts() AlertsConfig {
	return AlertsConfig{Enabled: true, PollInterval: 2 * time.Second, SMTP: SMTPConfig{TLS: alerting.STARTTLS}}
}

// Validate reports the first setting that cannot work.
func (c *AlertsConfig) Validate() error {
	if c.PollInterval < 10*time.Millisecond || c.PollInterval > time.Minute {
		return fmt.Errorf("poll_interval: must be between 10ms and 1m, not %s", c.PollInterval)
	}
	if _, err := egress.Networks(c.AllowAddresses); err != nil {
		return fmt.Errorf("allow_addresses: %w", err)
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("public_url: must be a URL such as https://spangrove.example.com, not %q", c.PublicURL)
	}
	m, err := c.SMTP.mail()
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	return nil
}

func (c *SMTPConfig) mail() (alerting.Mail, error) {
	to, err := alerting.ParseRecipients(c.Recipients)
	if err != nil {
		return alerting.Mail{}, fmt.Errorf("recipients: %w", err)
	}
	return alerting.Mail{
		Address: c.Address, From: c.From, Username: c.Username, Password: string(c.Password), TLS: strings.ToLower(c.TLS), Recipients: to,
	}, nil
}

// alertStore is what alerts need of the store.
type alertStore interface {
	alerting.Store
	CreateAlert(ctx context.Context, projectID int64, a alert.Alert) (alert.Alert, error)
	ChangeAlert(ctx context.Context, projectID int64, id string, change func(*alert.Alert) error) (alert.Alert, error)
}

const alertingScope = "github.com/spangrove/spangrove/pkg/alerting"

// alerter keeps alerts, and runs them.
type alerter struct {
	store      alertStore
	keys       *keeper
	guard      egress.Guard
	recipients alerting.Recipients
	runner     *alerting.Runner
}

// newAlerter returns an alerter, which works once its runner is started.
func (e *evaluateExtension) newAlerter(host component.Host) (*alerter, error) {
	s, err := mount.StoreOf[alertStore](host, e.cfg.Store, fmt.Sprintf("extensions::%s::store", e.set.ID))
	if err != nil {
		return nil, err
	}
	networks, err := egress.Networks(e.cfg.Alerts.AllowAddresses)
	if err != nil {
		return nil, err
	}
	mail, err := e.cfg.Alerts.SMTP.mail()
	if err != nil {
		return nil, err
	}
	a := &alerter{store: s, keys: e.keys, guard: egress.Guard{Allowed: networks}, recipients: mail.Recipients}
	a.runner, err = alerting.New(s, alerting.Options{
		Open: a.open, Allowed: networks, Mail: mail, URL: e.cfg.Alerts.PublicURL, Poll: e.cfg.Alerts.PollInterval,
		Logger: e.set.Logger, Meter: e.set.MeterProvider.Meter(alertingScope),
	})
	return a, err
}

// open opens the address and the secret of a channel.
func (a *alerter) open(projectID int64, c *alert.Channel) (address, secret string, err error) {
	box, err := a.keys.openAlerts(false)
	if err != nil {
		return "", "", fault.Wrap(fault.Conflict, err, "the address of the webhook cannot be opened: this server has no secret for keys")
	}
	address, secret, ok := box.Open(projectID, c)
	if !ok || c.URL == nil {
		return "", "", fault.New(fault.Conflict,
			"the address of the webhook cannot be opened: this server has another secret than the one that it was stored with; set it again")
	}
	return address, secret, nil
}

// openAlerts returns the box for alerts, made of the same secret as that of the providers' keys.
func (k *keeper) openAlerts(make bool) (*alert.Box, error) {
	if _, err := k.open(make); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return alert.NewBox(k.secret)
}

// What tells operators which setting lets notices go elsewhere.
const (
	howToAllow           = "the operator of this server must allow it: " + alerting.HowToAllow
	howToAllowRecipients = "the operator of this server must allow it: " + alerting.HowToAllowRecipients
)

// setChannels puts new channels in the place of an alert's old ones. A channel keeps of the one with its id what is not given.
func (a *alerter) setChannels(projectID int64, to *alert.Alert, list []alert.NewChannel) error {
	var box *alert.Box
	channels := make([]alert.Channel, 0, len(list))
	for i := range list {
		n := &list[i]
		c := alert.Channel{ID: rand.Text()[:12], Type: n.Type, Mail: n.Mail}
		if n.ID != "" {
			old := to.Channel(n.ID)
			if old == nil || slices.ContainsFunc(channels, func(c alert.Channel) bool { return c.ID == n.ID }) {
				return fault.InvalidField(fmt.Sprintf("channels[%d].id", i), "the alert has no such channel; a new one has no id")
			}
			if n.Type == "" || n.Type == old.Type {
				mail := c.Mail
				if c = *old; mail != nil {
					c.Mail = mail
				}
			}
		}
		for _, address := range n.Mail {
			if !a.recipients.Allow(address) {
				return fault.InvalidField(fmt.Sprintf("channels[%d].to", i), "%.100q may get no e-mail; %s", address, howToAllowRecipients)
			}
		}
		if n.URL != "" || n.Secret != "" {
			if err := a.checkSecrets(n); err != nil {
				return fault.In(fmt.Sprintf("channels[%d]", i), err)
			}
			var err error
			if box, err = a.keys.openAlerts(true); errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.Conflict, "this server cannot keep addresses of webhooks: set secret or secret_file of spangrove_evaluate")
			} else if err != nil {
				return fmt.Errorf("secret of webhooks: %w", err)
			}
		}
		if n.URL != "" {
			c.Host, c.URL = alert.HostOf(n.URL), box.SealURL(projectID, c.ID, n.URL)
		}
		if n.Secret != "" && c.Type == alert.Webhook {
			c.Secret = box.SealSecret(projectID, c.ID, n.Secret)
		}
		channels = append(channels, c)
	}
	to.To = channels
	return nil
}

// checkSecrets checks the address and the secret of a channel, as they were given.
func (a *alerter) checkSecrets(n *alert.NewChannel) error {
	if n.URL != "" {
		err := alert.CheckURL(n.URL)
		if err == nil {
			err = a.guard.Check(n.URL, howToAllow)
		}
		if err != nil {
			return fault.In("url", err)
		}
	}
	if n.Secret == "" {
		return nil
	}
	_, err := alert.SigningKey(n.Secret)
	return fault.In("secret", err)
}

// apply changes an alert by an update and checks the result. saved is the chart that the update names, nil if it names none.
func (a *alerter) apply(projectID int64, to *alert.Alert, u *alert.Update, saved *chart.Chart) error {
	another := saved != nil && to.ChartID != saved.ID
	to.Apply(u)
	if another && u.MinEvents == nil {
		to.MinEvents = alert.MinEventsOf(saved.Func)
	}
	if u.Channels != nil {
		if err := a.setChannels(projectID, to, *u.Channels); err != nil {
			return err
		}
	}
	return to.Validate()
}

// chartOf returns the chart that an update names, nil if it names none.
func (a *alerter) chartOf(ctx context.Context, projectID int64, u *alert.Update) (*chart.Chart, error) {
	if u.ChartID == nil || *u.ChartID == "" {
		return nil, nil
	}
	c, err := a.store.SavedChart(ctx, projectID, *u.ChartID)
	if fault.IsNotFound(err) {
		return nil, fault.InvalidField("chart_id", "no chart %.60q", *u.ChartID)
	}
	return &c, err
}

// CreateAlert implements httpapi.AlertKeeper, as the two methods below.
func (e *evaluateExtension) CreateAlert(ctx context.Context, projectID int64, u alert.Update) (alert.Alert, error) {
	k, err := e.alerter()
	if err != nil {
		return alert.Alert{}, err
	}
	saved, err := k.chartOf(ctx, projectID, &u)
	if err != nil {
		return alert.Alert{}, err
	}
	a := alert.New()
	if err := k.apply(projectID, &a, &u, saved); err != nil {
		return alert.Alert{}, err
	}
	return k.store.CreateAlert(ctx, projectID, a)
}

// UpdateAlert changes an alert and returns the updated one.
func (e *evaluateExtension) UpdateAlert(ctx context.Context, projectID int64, id string, u alert.Update) (alert.Alert, error) {
	k, err := e.alerter()
	if err != nil {
		return alert.Alert{}, err
	}
	saved, err := k.chartOf(ctx, projectID, &u)
	if err != nil {
		return alert.Alert{}, err
	}
	return k.store.ChangeAlert(ctx, projectID, id, func(a *alert.Alert) error { return k.apply(projectID, a, &u, saved) })
}

// TestAlert measures an alert now and sends a notice to each of its channels.
func (e *evaluateExtension) TestAlert(ctx context.Context, projectID int64, id string) (alert.Reading, []alert.Notice, error) {
	k, err := e.alerter()
	if err != nil {
		return alert.Reading{}, nil, err
	}
	return k.runner.Test(ctx, projectID, id)
}

// alerter is there between Start and Shutdown.
func (e *evaluateExtension) alerter() (*alerter, error) {
	e.background.Lock()
	defer e.background.Unlock()
	if e.alerts == nil {
		return nil, fault.New(fault.Unavailable, "alerts do not run now: the server is starting or stopping, or has no store")
	}
	return e.alerts, nil
}
