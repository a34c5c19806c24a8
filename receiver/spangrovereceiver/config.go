package spangrovereceiver

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

// Config is the configuration of the receiver.
type Config struct {
	// Protocols are the receiver's own OTLP listeners. One that is not listed, or whose
	// endpoint is empty, is off.
	Protocols Protocols `mapstructure:"protocols"`
	// API is the mount on the API extension's port.
	API APIConfig `mapstructure:"api"`
	// MaxInFlightMiB bounds the bodies and messages under way at any time, on all ports
	// together, in MiB of uncompressed input. Past it a request is told to come back later.
	// Default 64.
	MaxInFlightMiB int `mapstructure:"max_in_flight_mib"`
}

// Protocols are the listeners for OTLP.
type Protocols struct {
	// GRPC serves OTLP/gRPC. Default endpoint localhost:4317, messages up to 20 MiB.
	GRPC configoptional.Optional[configgrpc.ServerConfig] `mapstructure:"grpc"`
	// HTTP serves OTLP/HTTP. Default endpoint localhost:4318, bodies up to 20 MiB after
	// decompression.
	HTTP configoptional.Optional[confighttp.ServerConfig] `mapstructure:"http"`
}

// APIConfig says where native writes are served.
type APIConfig struct {
	// Enabled serves the native write paths, and OTLP/HTTP, on the API extension's port.
	// Default true.
	Enabled bool `mapstructure:"enabled"`
	// Extension is the API extension. Default spangrove_api.
	Extension component.ID `mapstructure:"extension"`
}

const (
	mebibyte              = 1 << 20
	defaultMaxInFlightMiB = 64
	// defaultMaxBody is the largest request after decompression, the bound of the API.
	defaultMaxBody = 20 * mebibyte
	grpcBufferSize = 512 << 10
)

func createDefaultConfig() component.Config {
	grpc := configgrpc.NewDefaultServerConfig()
	grpc.NetAddr.Endpoint = "localhost:4317"
	grpc.ReadBufferSize = grpcBufferSize
	grpc.MaxRecvMsgSizeMiB = defaultMaxBody / mebibyte
	http := confighttp.NewDefaultServerConfig()
	http.NetAddr.Endpoint = "localhost:4318"
	http.MaxRequestBodySize = defaultMaxBody
	return &Config{
		Protocols:      Protocols{GRPC: configoptional.Default(grpc), HTTP: configoptional.Default(http)},
		API:            APIConfig{Enabled: true, Extension: component.MustNewID("spangrove_api")},
		MaxInFlightMiB: defaultMaxInFlightMiB,
	}
}

// Validate implements component.Config.
func (c *Config) Validate() error {
	var errs []error
	if c.grpc() == nil && c.http() == nil && !c.API.Enabled {
		errs = append(errs, errors.New("nothing to listen on: set protocols::grpc::endpoint or protocols::http::endpoint, or api::enabled"))
	}
	limit := int64(c.MaxInFlightMiB) * mebibyte
	if c.MaxInFlightMiB <= 0 {
		return errors.Join(append(errs, errors.New("max_in_flight_mib: must be at least 1"))...)
	}
	if s := c.grpc(); s != nil && int64(s.MaxRecvMsgSizeMiB)*mebibyte > limit {
		errs = append(errs, fmt.Errorf("max_in_flight_mib: %d is less than protocols::grpc::max_recv_msg_size_mib, %d", c.MaxInFlightMiB, s.MaxRecvMsgSizeMiB))
	}
	if s := c.http(); s != nil && s.MaxRequestBodySize > limit {
		errs = append(errs, fmt.Errorf("max_in_flight_mib: %d MiB is less than protocols::http::max_request_body_size, %d bytes", c.MaxInFlightMiB, s.MaxRequestBodySize))
	}
	return errors.Join(errs...)
}

// grpc is the gRPC listener's configuration, nil if it is off.
func (c *Config) grpc() *configgrpc.ServerConfig {
	if s := c.Protocols.GRPC.Get(); s != nil && s.NetAddr.Endpoint != "" {
		return s
	}
	return nil
}

// http is the HTTP listener's configuration, nil if it is off.
func (c *Config) http() *confighttp.ServerConfig {
	if s := c.Protocols.HTTP.Get(); s != nil && s.NetAddr.Endpoint != "" {
		return s
	}
	return nil
}
