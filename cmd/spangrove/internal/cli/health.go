package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

// healthPause is how long health waits before it asks again.
const healthPause = 100 * time.Millisecond

func (a *app) health() *cobra.Command {
	var wait time.Duration
	cmd := command("health", "Ask whether the server is ready", `
		spangrove health
		spangrove health --wait 30s
		spangrove health --server https://grove.example.com`,
		func(ctx context.Context, _ []string) error {
			if wait < 0 {
				return usage("--wait must not be negative")
			}
			api, err := a.client("", client.Retries{}) // once, and without a key
			if err != nil {
				return err
			}
			a.api = api
			if err := a.ready(ctx, wait); err != nil {
				return err
			}
			a.remark("%s is ready", a.api.Server())
			return nil
		})
	cmd.Long = "The exit status is 0 if it is. No key is needed, and it is asked once, unless --wait gives it time to start.\n\n" +
		"Where no server is named, the one whose settings are in this environment is asked, as by all commands: " +
		"at the address in SPANGROVE_ADDR, and with TLS if SPANGROVE_TLS_CERT_FILE is set; its certificate must then be the one in that file, for whatever name it is."
	cmd.Flags().DurationVar(&wait, "wait", 0, "for how long to ask again until it is ready")
	return cmd
}

// pinnedTransport returns a transport that trusts the server with the first certificate of a file and
// no other. The name in it does not matter: it is the one under which others know the server.
func pinnedTransport(file string) (*http.Transport, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var block *pem.Block
	for rest := text; ; {
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("%s has no certificate", file)
		}
		if block.Type == "CERTIFICATE" {
			break
		}
	}
	return &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the whole certificate instead
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return fmt.Errorf("its certificate is not the one in %s", file)
			}
			return nil
		},
	}}, nil
}

// ready asks until the server is ready, for so long at most.
func (a *app) ready(ctx context.Context, wait time.Duration) error {
	for deadline := time.Now().Add(wait); ; {
		err := a.api.Ready(ctx)
		var answer *client.Error
		if err == nil || ctx.Err() != nil || !time.Now().Add(healthPause).Before(deadline) ||
			errors.As(err, &answer) && answer.Status < http.StatusInternalServerError {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(healthPause):
		}
	}
}
