package spangrovereceiver

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/spangrove/spangrove/pkg/ingress"
)

// Config is the configuration of the receiver.
type Config struct {
	// Protocols are the receiver's own OTLP listeners. One that is not listed, or whose
	// endpoint is empty, is off.
	Protocols Protocols `mapstructure:"protocols"`
	// API is the mount on the API extension's port.
	API APIConfig `mapstructure:"api"`
	// MaxInFlightMiB bounds the memory of the bodies and messages under way at any time, on all
	// ports together, in MiB: what has come of them, decompressed, and what decoding makes of it.
	// Past it a request is told to come back later. Default 96.
	MaxInFlightMiB int `mapstructure:"max_in_flight_mib"`
	// MaxInFlightPerProjectMiB is what one project may have of it. Default 0: two thirds.
	MaxInFlightPerProjectMiB int `mapstructure:"max_in_flight_per_project_mib"`
	// MaxItems bounds the spans, or log records, of one OTLP request; more is refused as too large.
	// Default 50000.
	MaxItems int `mapstructure:"max_items"`
	// BodyTimeout is for a whole body or message on the receiver's own listeners; read_timeout of
	// protocols::http goes before it. Default 2m.
	BodyTimeout time.Duration `mapstructure:"body_timeout"`
	// Limits are max_connections, min_body_rate and body_grace of the receiver's own listeners.
	Limits ingress.Limits `mapstructure:",squash"`
	// AllowAnonymous allows listeners without keys on addresses that other machines can reach:
	// whoever reaches them writes to the default project. Default false.
	AllowAnonymous bool `mapstructure:"allow_anonymous"`
}

// Protocols are the listeners for OTLP.
type Protocols struct {
	// GRPC serves OTLP/gRPC. Default endpoint localhost:4317, messages up to 20 MiB, keys by
	// spangrove_auth, 100 streams a connection.
	GRPC configoptional.Optional[configgrpc.ServerConfig] `mapstructure:"grpc"`
	// HTTP serves OTLP/HTTP. Default endpoint localhost:4318, bodies up to 20 MiB after
	// decompression, keys by spangrove_auth.
	HTTP configoptional.Optional[confighttp.ServerConfig] `mapstructure:"http"`
}

// APIConfig defines where native writes are served.
type APIConfig struct {
	// Enabled serves the native write paths, and OTLP/HTTP, on the API extension's port.
	// Default true.
	Enabled bool `mapstructure:"enabled"`
	// Extension is the API extension. Default spangrove_api.
	Extension component.ID `mapstructure:"extension"`
}

const (
	mebibyte              = 1 << 20
	defaultMaxInFlightMiB = 96
	defaultMaxItems       = 50_000
	defaultBodyTimeout    = 2 * time.Minute
	// defaultHeaderTimeout is how long the headers of a request may take, on both listeners.
	defaultHeaderTimeout = 10 * time.Second
	defaultIdleTimeout   = 5 * time.Minute // of a connection over gRPC without a call
	// defaultMaxBody is the largest request after decompression, the bound of the API.
	defaultMaxBody = 20 * mebibyte
)

// createDefaultConfig returns the configuration of a receiver of which nothing is said: its own listeners are off until
// they are listed, and the API's port is on.
func createDefaultConfig() component.Config {
	keys := component.MustNewID("spangrove_auth")
	grpc := configgrpc.NewDefaultServerConfig()
	grpc.NetAddr.Endpoint = "localhost:4317"
	grpc.MaxConcurrentStreams = ingress.MaxStreams
	grpc.Auth = configoptional.Some(configauth.Config{AuthenticatorID: keys})
	grpc.MaxRecvMsgSizeMiB = defaultMaxBody / mebibyte
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = "localhost:4318"
	http.MaxRequestBodySize = defaultMaxBody
	http.ReadHeaderTimeout = defaultHeaderTimeout
	http.WriteTimeout = 5 * time.Minute // from the headers on: the body has its own time
	http.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: keys}})
	return &Config{
		Protocols:      Protocols{GRPC: configoptional.Default(grpc), HTTP: configoptional.Default(http)},
		API:            APIConfig{Enabled: true, Extension: component.MustNewID("spangrove_api")},
		MaxInFlightMiB: defaultMaxInFlightMiB,
		MaxItems:       defaultMaxItems,
		BodyTimeout:    defaultBodyTimeout,
		Limits:         ingress.DefaultLimits(),
	}
}

// Validate implements component.Config. Errors have the path of their setting. A request as
// large as a listener allows must fit into what one project may have in flight: it could never be taken otherwise.
func (c *Config) Validate() error {
	var errs []error
	if c.grpc() == nil && c.http() == nil && !c.API.Enabled {
		errs = append(errs, errors.New("nothing to listen on: set protocols::grpc::endpoint or protocols::http::endpoint, or api::enabled"))
	}
	if c.MaxInFlightMiB <= 0 {
		return errors.Join(append(errs, errors.New("max_in_flight_mib: must be at least 1"))...)
	}
	if c.MaxInFlightPerProjectMiB < 0 || c.MaxInFlightPerProjectMiB > c.MaxInFlightMiB {
		return errors.Join(append(errs, fmt.Errorf("max_in_flight_per_project_mib: must be at most max_in_flight_mib, %d, not %d",
			c.MaxInFlightMiB, c.MaxInFlightPerProjectMiB))...)
	}
	name, setting := "max_in_flight_per_project_mib", c.MaxInFlightPerProjectMiB
	// The setting that decides the share is the one that the error names.
	if setting == 0 {
		name, setting = "max_in_flight_mib", c.MaxInFlightMiB
	}
	// The largest request of each listener must fit into a project's share.
	share := c.share()
	if s := c.grpc(); s != nil {
		if int64(s.MaxRecvMsgSizeMiB)*mebibyte > share {
			errs = append(errs, fmt.Errorf("%s: %d is less than protocols::grpc::max_recv_msg_size_mib, %d",
				name, setting, s.MaxRecvMsgSizeMiB))
		}
		if !s.Auth.HasValue() {
			errs = append(errs, c.needsKeys("grpc", s.NetAddr))
		}
	}
	if s := c.http(); s != nil {
		if s.MaxRequestBodySize > share {
			errs = append(errs, fmt.Errorf("%s: %d MiB is less than protocols::http::max_request_body_size, %d bytes",
				name, setting, s.MaxRequestBodySize))
		}
		if err := ingress.CheckAlgorithms(s.CompressionAlgorithms); err != nil {
			errs = append(errs, fmt.Errorf("protocols::http::%w", err))
		}
		if !s.Auth.HasValue() {
			errs = append(errs, c.needsKeys("http", s.NetAddr))
		}
	}
	if c.MaxItems <= 0 {
		errs = append(errs, fmt.Errorf("max_items: must be at least 1, not %d", c.MaxItems))
	}
	if c.BodyTimeout <= 0 {
		errs = append(errs, fmt.Errorf("body_timeout: must be more than 0s, not %s", c.BodyTimeout))
	}
	return errors.Join(errs...)
}

// share returns what one project may have of the budget, in bytes.
func (c *Config) share() int64 {
	var largest int64
	if s := c.grpc(); s != nil {
		largest = int64(s.MaxRecvMsgSizeMiB) * mebibyte
	}
	if s := c.http(); s != nil {
		largest = max(largest, s.MaxRequestBodySize)
	}
	return ingress.Share(c.MaxInFlightMiB, c.MaxInFlightPerProjectMiB, largest)
}

// needsKeys returns the error of a listener without keys that other machines can reach.
func (c *Config) needsKeys(protocol string, address confignet.AddrConfig) error {
	if c.AllowAnonymous || ingress.OnLoopback(address.Endpoint, string(address.Transport)) {
		return nil
	}
	return fmt.Errorf("protocols::%s::endpoint: %s can be reached from other machines, which needs keys; "+
		"set protocols::%s::auth::authenticator, listen on 127.0.0.1, or, if everybody may write, "+
		"set allow_anonymous to true", protocol, address.Endpoint, protocol)
}

// grpc returns the gRPC listener's configuration, or nil if it is off.
func (c *Config) grpc() *configgrpc.ServerConfig {
	if s := c.Protocols.GRPC.Get(); s != nil && s.NetAddr.Endpoint != "" {
		return s
	}
	return nil
}

// http returns the HTTP listener's configuration, or nil if it is off.
func (c *Config) http() *confighttp.ServerConfig {
	if s := c.Protocols.HTTP.Get(); s != nil && s.NetAddr.Endpoint != "" {
		return s
	}
	return nil
}
