package authextension

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// keyStore is what the extension asks of the store.
type keyStore interface {
	// EnsureProject returns the project of that name, created if it does not exist.
	EnsureProject(ctx context.Context, name string) (project.Project, error)
	// HasAdminKey reports whether there is a valid key of scope admin, in any project.
	HasAdminKey(ctx context.Context) (bool, error)
	// InsertKey stores a key. A key whose hash is stored already changes nothing.
	InsertKey(ctx context.Context, k project.Key) error
	// ConfigureKey makes k valid and every other key of the configuration invalid; nil
	// puts all of them out of force.
	ConfigureKey(ctx context.Context, k *project.Key) error
	// KeyByHash returns a key and its project. fault.NotFound if there is none.
	KeyByHash(ctx context.Context, hash []byte) (project.Key, project.Project, error)
	// KeyByID returns a key and its project, in force or not. fault.NotFound if there is none.
	KeyByID(ctx context.Context, id string) (project.Key, project.Project, error)
	// ProjectByPublicID returns a project. fault.NotFound if there is none.
	ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error)
	// KeysRevision returns another number after each change of a key or a project that this process
	// made.
	KeysRevision() uint64
	// DefaultLimits returns the limits of projects that set none of their own.
	DefaultLimits() project.Bounds
	// RecordKeyUse notes that a request with a key was admitted, from the address of its connection.
	RecordKeyUse(id string, at time.Time, from string)
	// RecordAudit adds an entry to the audit log; one of a failure writes nothing now.
	RecordAudit(ctx context.Context, e audit.Entry)
}

type authExtension struct {
	set     extension.Settings
	cfg     *Config
	metrics *telemetry
	now     func() time.Time
	lookup  atomic.Pointer[lookup] // nil: not started
	limiter *limit.Limiter
	codes   signInCodes
}

var (
	_ extensionauth.Server            = (*authExtension)(nil)
	_ extensioncapabilities.Dependent = (*authExtension)(nil)
	_ mount.StoreUser                 = (*authExtension)(nil)
)

func newExtension(set extension.Settings, cfg *Config) (*authExtension, error) {
	metrics, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	e := &authExtension{set: set, cfg: cfg, metrics: metrics, now: time.Now}
	e.limiter = limit.New(func() time.Time { return e.now() })
	return e, nil
}

// Dependencies makes the collector start the store first.
func (e *authExtension) Dependencies() []component.ID { return []component.ID{e.cfg.Store} }

// StoreID implements mount.StoreUser.
func (e *authExtension) StoreID() component.ID { return e.cfg.Store }

// Start makes sure that the first project and a key exist. A second Start changes nothing.
func (e *authExtension) Start(ctx context.Context, host component.Host) error {
	if e.lookup.Load() != nil {
		return nil
	}
	s, err := mount.StoreOf[keyStore](host, e.cfg.Store, e.key("store"))
	if err != nil {
		return err
	}
	if err := e.bootstrap(ctx, s); err != nil {
		return err
	}
	e.lookup.Store(newLookup(s, e.cfg.CacheTTL, e.now))
	return nil
}

// Shutdown forgets the store; from then on every request is answered as unavailable.
func (e *authExtension) Shutdown(context.Context) error {
	e.lookup.Store(nil)
	return nil
}

// Authenticate finds the bearer key among headers (or gRPC metadata) and returns a context
// with the caller's project.Identity, both as client.Info's Auth and for project.IdentityFrom, and
// with the meter to which package limit charges what the request sends.
// Errors are *fault.Error within a gRPC status: Unauthorized for a missing, malformed,
// unknown, expired or revoked key, Unavailable if the store cannot be asked, Limited if the key or
// its project is over its rate. Where the key is known, project.CallerOf tells whose it is.
func (e *authExtension) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	identity, meter, err := e.admit(ctx, headers)
	e.metrics.count(ctx, err)
	e.record(ctx, &identity, err)
	if err != nil {
		return ctx, verdict.GRPC(err)
	}
	return e.identified(ctx, &identity, meter), nil
}

// record adds to the audit log a request whose key was refused. identity is the key's if it is known.
func (e *authExtension) record(ctx context.Context, identity *project.Identity, err error) {
	l := e.lookup.Load()
	if l == nil || !isKind(err, fault.Unauthorized) || errors.Is(err, errProjectGone) { // its key is good
		return
	}
	outcome := audit.UnknownKey
	switch {
	case errors.Is(err, errNoKey):
		outcome = audit.NoKey
	case errors.Is(err, errMalformed):
		outcome = audit.MalformedKey
	case identity.KeyID != "":
		outcome = audit.KeyNotInForce
	}
	l.keys.RecordAudit(ctx, audit.Entry{Action: audit.SignIn, Outcome: outcome, ProjectID: identity.Project.PublicID, KeyID: identity.KeyID,
		Address: remoteAddress(ctx)})
}

// remoteAddress returns the address of the connection, without its port; empty if the listener does not tell.
func remoteAddress(ctx context.Context) string {
	addr := client.FromContext(ctx).Addr
	if addr == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(addr.String()); err == nil {
		return host
	}
	return addr.String()
}

// admit identifies the caller and counts the request.
func (e *authExtension) admit(ctx context.Context, headers map[string][]string) (project.Identity, *limit.Meter, error) {
	identity, err := e.identify(ctx, headers)
	if err != nil {
		return identity, nil, withCaller(&identity, err)
	}
	l := e.lookup.Load()
	if l == nil {
		return identity, nil, errNotReady
	}
	meter, err := e.meter(l, &identity)
	return identity, meter, err
}

// meter counts a request of a caller, and returns what its bytes are charged to.
func (e *authExtension) meter(l *lookup, who *project.Identity) (*limit.Meter, error) {
	bounds := who.Project.Limits.Over(l.keys.DefaultLimits())
	m, err := e.limiter.Admit(who, &bounds)
	return m, withCaller(who, err)
}

// withCaller returns an error that tells who the caller is, if the key is known. nil stays nil.
func withCaller(who *project.Identity, err error) error {
	if err == nil || who.KeyID == "" {
		return err
	}
	return &project.CallerError{Caller: *who, Err: err}
}

var errNotReady = &fault.Error{Kind: fault.Unavailable, Msg: "not ready to check keys"}

func (e *authExtension) identify(ctx context.Context, headers map[string][]string) (project.Identity, error) {
	secret, err := bearer(headers)
	if err != nil {
		return project.Identity{}, err
	}
	l := e.lookup.Load()
	if l == nil {
		return project.Identity{}, errNotReady
	}
	return l.identity(ctx, secret)
}

var (
	errNoKey     = &fault.Error{Kind: fault.Unauthorized, Msg: "no API key: send the header Authorization: Bearer <key>"}
	errMalformed = &fault.Error{Kind: fault.Unauthorized, Msg: "the Authorization header must be: Bearer <key>"}
)

// bearer returns the key of "Authorization: Bearer <key>". HTTP writes the header's name
// capitalised, gRPC in lower case.
func bearer(headers map[string][]string) (string, error) {
	values, ok := headers["Authorization"]
	if !ok {
		values, ok = headers["authorization"]
	}
	if !ok {
		for name, v := range headers {
			if strings.EqualFold(name, "authorization") {
				values = v
				break
			}
		}
	}
	if len(values) == 0 || values[0] == "" {
		return "", errNoKey
	}
	// OTEL_EXPORTER_OTLP_HEADERS holds values percent-encoded, and some SDKs send them as they are.
	value := strings.Replace(strings.TrimSpace(values[0]), "%20", " ", 1)
	scheme, secret, _ := strings.Cut(value, " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "bearer") || secret == "" {
		return "", errMalformed
	}
	return secret, nil
}

// key returns the YAML path of a setting of this extension, for errors.
func (e *authExtension) key(name string) string {
	return fmt.Sprintf("extensions::%s::%s", e.set.ID, name)
}

// isKind reports whether err is a fault of kind k.
func isKind(err error, k fault.Kind) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == k
}
