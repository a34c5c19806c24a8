package alerting

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Verify is how a receiver checks a notice, as docs/alerts.md shows it.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return errors.New("too old")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("Webhook-Id") + "." + h.Get("Webhook-Timestamp") + "."))
	mac.Write(body)
	for signature := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		if text, ok := strings.CutPrefix(signature, "v1,"); ok {
			if sum, err := base64.StdEncoding.DecodeString(text); err == nil && hmac.Equal(sum, mac.Sum(nil)) {
				return nil
			}
		}
	}
	return errors.New("signed by somebody else")
}
