package apiextension

import (
	"errors"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
)

// Config is the configuration of the extension.
type Config struct {
	// HTTP is the server: endpoint, tls, cors, auth, max_request_body_size,
	// compression_algorithms, timeouts and keepalive, as in any HTTP receiver. Defaults:
	// endpoint 127.0.0.1:7420, auth::authenticator spangrove_auth, bodies up to 20971520
	// bytes (20 MiB) after decompression, read_header_timeout 10s, read_timeout 5m,
	// write_timeout 5m.
	//
	// The field has a name on purpose: embedded, its Unmarshal method would swallow the keys
	// beside it.
	HTTP confighttp.ServerConfig `mapstructure:",squash"`

	// Store is the store extension to read from. Default spangrove_store.
	Store component.ID `mapstructure:"store"`

	// Evaluate is the extension that runs metrics, such as spangrove_evaluate. Default none: only
	// metrics that need nothing but the event can be run.
	Evaluate *component.ID `mapstructure:"evaluate"`

	// DrainTimeout is how long requests under way may take after the order to stop, before
	// their connections are cut. Default 10s.
	DrainTimeout time.Duration `mapstructure:"drain_timeout"`
}

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
	if !c.HTTP.Auth.HasValue() && !c.onLoopback() {
		return fmt.Errorf("endpoint: %s can be reached from other machines, which needs keys; set auth::authenticator, or listen on 127.0.0.1", c.HTTP.NetAddr.Endpoint)
	}
	if c.HTTP.Auth.HasValue() && len(c.HTTP.Auth.Get().RequestParameters) > 0 {
		return errors.New("auth::request_params: keys are taken from the Authorization header only")
	}
	return nil
}

// onLoopback says that only this machine can reach the endpoint. A name other than localhost
// is not looked up: what it means may change.
func (c *Config) onLoopback() bool {
	if c.HTTP.NetAddr.Transport == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(c.HTTP.NetAddr.Endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
