package alert

import (
	"encoding/base64"
	"encoding/json"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxChannels bounds the channels of an alert, maxMail the addresses of one.
const (
	MaxChannels = 10
	maxMail     = 20
)

// The types of channels.
const (
	Webhook = "webhook" // any server: JSON, signed
	Slack   = "slack"   // Slack, and whatever takes the same requests
	Email   = "email"
)

// Channel is where notices go. Its address and its secret are sealed: they let whoever has them write there.
type Channel struct {
	ID     string   `doc:"id"`
	Type   string   `doc:"type"`
	Host   string   `doc:"host,omitzero"` // the address without what is secret in it, for people
	URL    []byte   `doc:"url,omitzero"`  // sealed
	Secret []byte   `doc:"secret,omitzero"`
	Mail   []string `doc:"to,omitzero"`
}

var channelFields = rawjson.FieldsOf[Channel]()

func writeChannels(list []Channel) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	out := []byte{'['}
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, channelFields.Object(&list[i])...)
	}
	return append(out, ']')
}

func readChannels(raw json.RawMessage) (list []Channel) {
	for _, one := range rawjson.Array(raw) {
		var c Channel
		channelFields.Read(one, &c)
		list = append(list, c)
	}
	return list
}

// NewChannel is a channel as a caller sends it: its address and its secret are not sealed.
type NewChannel struct {
	ID     string // of the channel that it replaces; empty: it is new
	Type   string
	URL    string // empty: that of the old one
	Secret string // empty: that of the old one
	Mail   []string
}

// Validate reports the first broken rule of a channel.
func (c *Channel) Validate() error {
	switch c.Type {
	case Webhook, Slack:
		if len(c.URL) == 0 {
			return fault.InvalidField("url", "is required")
		}
		if len(c.Mail) > 0 {
			return fault.InvalidField("to", "is for channels of type %s", Email)
		}
		if c.Type == Webhook && len(c.Secret) == 0 {
			return fault.InvalidField("secret", "is required: notices are signed with it")
		}
		return nil
	case Email:
		if len(c.Mail) == 0 {
			return fault.InvalidField("to", "is required: the addresses that are written to")
		}
		if len(c.Mail) > maxMail {
			return fault.InvalidField("to", "must be at most %d addresses", maxMail)
		}
		for _, to := range c.Mail {
			if err := checkMail(to); err != nil {
				return fault.In("to", err)
			}
		}
		return nil
	}
	return fault.InvalidField("type", "must be one of %s, %s, %s, not %.40q", Webhook, Slack, Email, c.Type)
}

// checkMail checks an address, which goes into a header and into SMTP's commands.
func checkMail(to string) error {
	a, err := mail.ParseAddress(to)
	if err != nil || a.Name != "" || a.Address != to || len(to) > 254 || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fault.New(fault.Invalid, "%.100q is no address such as ann@example.com", to)
	}
	return nil
}

// Channel returns the alert's channel with an id, nil if there is none.
func (a *Alert) Channel(id string) *Channel {
	if i := slices.IndexFunc(a.To, func(c Channel) bool { return c.ID == id }); i >= 0 {
		return &a.To[i]
	}
	return nil
}

// SigningKey reads a secret that notices are signed with: base64 of 24 to 64 bytes, which may have whsec_ before it, as the
// specification of Standard Webhooks has it. The error does not show it.
func SigningKey(secret string) ([]byte, error) {
	text := strings.TrimPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		key, err = base64.RawStdEncoding.DecodeString(text)
	}
	if err != nil || len(key) < 24 || len(key) > 64 {
		return nil, fault.New(fault.Invalid, "must be base64 of 24 to 64 bytes, such as `openssl rand -base64 32` prints")
	}
	return key, nil
}

// CheckURL checks the address of a webhook. The error does not show it.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > MaxText || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fault.New(fault.Invalid, "must be a URL such as https://example.com/hooks/1, at most %d bytes, without a user and a fragment", MaxText)
	}
	return nil
}

// HostOf returns the part of a webhook's address that may be shown: scheme and host. It is empty if the address is no URL.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/…"
}
