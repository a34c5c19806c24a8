package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.uber.org/zap"
)

// Limits are the settings that every listener has in addition to those of the Collector.
type Limits struct {
	// MaxConnections bounds the open connections of one listener; at the bound the one that has been
	// idle longest is closed. Default 2048.
	MaxConnections int `mapstructure:"max_connections"`
	// MinBodyRate is how many bytes of a body must come in a second, as they are sent, after
	// BodyGrace; a slower one is cut. 0: any rate. Default 1024.
	MinBodyRate int64 `mapstructure:"min_body_rate"`
	// BodyGrace is how long a body may come at any rate. Default 10s.
	BodyGrace time.Duration `mapstructure:"body_grace"`
}

// DefaultLimits returns the settings of a listener that says nothing.
func DefaultLimits() Limits {
	return Limits{MaxConnections: 2048, MinBodyRate: 1024, BodyGrace: 10 * time.Second}
}

// Validate reports all settings that cannot work.
func (l *Limits) Validate() error {
	var errs []error
	if l.MaxConnections < 1 {
		errs = append(errs, fmt.Errorf("max_connections: must be at least 1, not %d", l.MaxConnections))
	}
	if l.MinBodyRate < 0 {
		errs = append(errs, fmt.Errorf("min_body_rate: must not be negative, is %d", l.MinBodyRate))
	}
	if l.BodyGrace < time.Second {
		errs = append(errs, fmt.Errorf("body_grace: must be at least 1s, not %s", l.BodyGrace))
	}
	return errors.Join(errs...)
}

// Bounds of every listener.
const (
	// MaxStreams is how many streams a connection of HTTP/2 may have open.
	MaxStreams = 100
	// maxHeader is how large the headers of a request may be, in bytes.
	maxHeader = 128 << 10
)

// Listen binds the address of cfg, with its TLS, and bounds the connections to s.
func (l *Limits) Listen(ctx context.Context, cfg *confighttp.ServerConfig, s *http.Server) (net.Listener, error) {
	ln, err := cfg.NetAddr.Listen(ctx)
	if err != nil {
		return nil, err
	}
	var settings *tls.Config
	if cfg.TLS.HasValue() {
		if settings, err = cfg.TLS.Get().LoadTLSConfig(ctx); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
		settings.NextProtos = []string{"h2", "http/1.1"}
	}
	return l.Bound(ln, settings, s), nil
}

// Bound bounds the connections from ln to s, and its streams and headers. settings may be nil: no TLS.
func (l *Limits) Bound(ln net.Listener, settings *tls.Config, s *http.Server) net.Listener {
	connections := NewConnections(l.MaxConnections)
	connections.Attach(s)
	s.MaxHeaderBytes = maxHeader
	if s.HTTP2 == nil {
		s.HTTP2 = &http.HTTP2Config{}
	}
	if s.HTTP2.MaxConcurrentStreams == 0 {
		s.HTTP2.MaxConcurrentStreams = MaxStreams
	}
	ln = connections.Listen(ln)
	if settings != nil {
		ln = tls.NewListener(ln, settings)
	}
	return ln
}

// Secure sets the headers of every answer: it is not stored anywhere, is what its content type says,
// shows nowhere in a frame and loads nothing. A handler that serves pages may set its own.
func Secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// OnLoopback reports whether only this machine can reach an endpoint. A name other than localhost
// is not looked up: what it means may change.
func OnLoopback(endpoint, transport string) bool {
	if transport == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// WarnUnencrypted logs a warning if other machines reach an endpoint that has no TLS.
func WarnUnencrypted(log *zap.Logger, endpoint, transport string, encrypted bool) {
	if encrypted || OnLoopback(endpoint, transport) {
		return
	}
	log.Warn(
		"keys and data cross the network in the clear: set tls (SPANGROVE_TLS_CERT_FILE and SPANGROVE_TLS_KEY_FILE), or put a proxy with TLS before it",
		zap.String("endpoint", endpoint),
	)
}
