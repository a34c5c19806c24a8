package evaluateextension

import (
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/alerting"
)

// An alert writes to nobody to whom the operator lets no e-mail go.
func TestRecipients(t *testing.T) {
	t.Parallel()
	a := &alerter{recipients: alerting.Recipients{"example.com"}}
	to := &alert.Alert{}
	list := []alert.NewChannel{{Type: alert.Email, Mail: []string{"ann@example.com"}}}
	if err := a.setChannels(1, to, list); err != nil || len(to.To) != 1 {
		t.Fatal(to.To, err)
	}
	list = append(list, alert.NewChannel{Type: alert.Email, Mail: []string{"bob@example.com", "bob@example.org"}})
	err := a.setChannels(1, to, list)
	if err == nil || !strings.Contains(err.Error(), `channels[1].to: "bob@example.org" may get no e-mail; the operator of this server must allow it: alerts::smtp::recipients`) {
		t.Errorf("%v", err)
	}
	if len(to.To) != 1 {
		t.Errorf("the alert has changed: %+v", to.To)
	}
}
