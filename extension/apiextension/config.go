package apiextension

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/scrub"
)

// Config is the configuration of the extension.
type Config struct {
	// HTTP is the server: endpoint, tls, cors, auth, max_request_body_size,
	// compression_algorithms, timeouts and keepalive, as in any HTTP receiver. Defaults:
	// endpoint 127.0.0.1:7420, auth::authenticator spangrove_auth, bodies up to 20971520
	// bytes (20 MiB) after decompression, gzip and zstd, read_header_timeout 10s, read_timeout
	// 2m, write_timeout 5m.
	//
	// The field has a name on purpose: embedded, its Unmarshal method would swallow the keys
	// next to it.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`

	// Limits are max_connections, min_body_rate and body_grace.
	Limits ingress.Limits `mapstructure:",squash"`

	// MaxInFlightMiB bounds the memory of the bodies under way on this port, in MiB, after
	// decompression; past it a request is told to come back later. Those of write paths count for
	// the receiver that serves them instead, so that neither keeps the other waiting. Default 64.
	MaxInFlightMiB int `mapstructure:"max_in_flight_mib"`

	// MaxInFlightPerProjectMiB is what one project may have of it. Default 0: two thirds.
	MaxInFlightPerProjectMiB int `mapstructure:"max_in_flight_per_project_mib"`

	// Store is the store extension to read from. Default spangrove_store.
	Store component.ID `mapstructure:"store"`

	// Evaluate is the extension that runs metrics, such as spangrove_evaluate. Default none: only
	// metrics that need nothing but the event can be run.
	Evaluate *component.ID `mapstructure:"evaluate"`

	// Scrub are the rules by which secrets are replaced in updates of events, which take no pipeline and so
	// no processor; as rules of spangrove_scrub. Default off.
	Scrub []string `mapstructure:"scrub"`

	// ForwardUpdates is the server that has the events, for one that passes on what it takes and keeps none: updates of events go
	// there, after Scrub, and are answered as it answers. Fields are those of confighttp's clients, such as endpoint, the address of
	// its API, and headers with a key. Default off; timeout 10s.
	ForwardUpdates configoptional.Optional[confighttp.ClientConfig] `mapstructure:"forward_updates"`

	// DrainTimeout is how long requests under way may take after the order to stop, before
	// their connections are cut. Default 10s.
	DrainTimeout time.Duration `mapstructure:"drain_timeout"`

	// ShutdownDelay is how long requests are still taken after the order to stop, while health checks say already that the server is
	// not ready: a load balancer needs it to notice. Default 0s, at most 5m.
	ShutdownDelay time.Duration `mapstructure:"shutdown_delay"`
}

// maxShutdownDelay is longer than anybody waits for a load balancer.
const maxShutdownDelay = 5 * time.Minute

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.HTTP.NetAddr.Endpoint == "" {
		return errors.New("endpoint: must not be empty")
	}
	if c.HTTP.MaxRequestBodySize <= 0 {
		return fmt.Errorf("max_request_body_size: must be more than 0, not %d", c.HTTP.MaxRequestBodySize)
	}
	if c.DrainTimeout <= 0 {
		return fmt.Errorf("drain_timeout: must be more than 0s, not %s", c.DrainTimeout)
	}
	if c.ShutdownDelay < 0 || c.ShutdownDelay > maxShutdownDelay {
		return fmt.Errorf("shutdown_delay: must be between 0s and %s, not %s", maxShutdownDelay, c.ShutdownDelay)
	}
	if _, err := scrub.New(c.Scrub, nil); err != nil {
		return fmt.Errorf("scrub: %s", strings.TrimPrefix(err.Error(), "rules: "))
	}
	if f := c.ForwardUpdates.Get(); f != nil {
		if u, err := url.Parse(f.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("forward_updates::endpoint: must be an address such as https://traces.example.com, not %q", f.Endpoint)
		}
	}
	if err := ingress.CheckAlgorithms(c.HTTP.CompressionAlgorithms); err != nil {
		return err
	}
	switch share := c.share(); {
	case c.MaxInFlightMiB < 1:
		return fmt.Errorf("max_in_flight_mib: must be at least 1, not %d", c.MaxInFlightMiB)
	case c.MaxInFlightPerProjectMiB < 0 || c.MaxInFlightPerProjectMiB > c.MaxInFlightMiB:
		return fmt.Errorf(
			"max_in_flight_per_project_mib: must be at most max_in_flight_mib, %d, not %d",
			c.MaxInFlightMiB,
			c.MaxInFlightPerProjectMiB,
		)
	case share < c.HTTP.MaxRequestBodySize:
		return fmt.Errorf(
			"max_in_flight_mib: %d bytes for one project are less than max_request_body_size, %d bytes",
			share,
			c.HTTP.MaxRequestBodySize,
		)
	}
	if !c.HTTP.Auth.HasValue() && !ingress.OnLoopback(c.HTTP.NetAddr.Endpoint, string(c.HTTP.NetAddr.Transport)) {
		return fmt.Errorf(
			"endpoint: %s can be reached from other machines, which needs keys; set auth::authenticator, or listen on 127.0.0.1",
			c.HTTP.NetAddr.Endpoint,
		)
	}
	if c.HTTP.Auth.HasValue() && len(c.HTTP.Auth.Get().RequestParameters) > 0 {
		return errors.New("auth::request_params: keys are taken from the Authorization header only")
	}
	return nil
}

// share returns what one project may have of the budget, in bytes.
func (c *Config) share() int64 {
	return ingress.Share(c.MaxInFlightMiB, c.MaxInFlightPerProjectMiB, c.HTTP.MaxRequestBodySize)
}
