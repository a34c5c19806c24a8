package authextension

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeKeys is a store of keys in memory that can be switched off.
type fakeKeys struct {
	mu       sync.Mutex
	keys     []project.Key
	down     bool
	lookups  int
	revision uint64
	limits   project.Bounds
	projects []project.Project // besides the default one
	audit    []audit.Entry
	used     []string // ids of keys, each with an address
}

func (f *fakeKeys) RecordAudit(_ context.Context, e audit.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.audit = append(f.audit, e)
}

func (f *fakeKeys) RecordKeyUse(id string, _ time.Time, from string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = append(f.used, id+" "+from)
}

func (f *fakeKeys) DefaultLimits() project.Bounds {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.limits
}

func (f *fakeKeys) EnsureProject(_ context.Context, name string) (project.Project, error) {
	return project.Project{ID: 1, PublicID: "p-" + name, Name: name}, nil
}

func (f *fakeKeys) ProjectByPublicID(_ context.Context, id string) (project.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookups++
	if f.down {
		return project.Project{}, &fault.Error{Kind: fault.Internal, Msg: "disk on fire"}
	}
	for _, p := range append([]project.Project{{ID: 1, PublicID: "p-default", Name: "default"}}, f.projects...) {
		if p.PublicID == id {
			return p, nil
		}
	}
	return project.Project{}, &fault.Error{Kind: fault.NotFound, Msg: "no such project"}
}

func (f *fakeKeys) HasAdminKey(context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.keys, func(k project.Key) bool { return k.Scope == project.ScopeAdmin && k.RevokedAt.IsZero() }), nil
}

func (f *fakeKeys) KeysRevision() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision
}

func (f *fakeKeys) ConfigureKey(_ context.Context, k *project.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = slices.DeleteFunc(f.keys, func(have project.Key) bool { return k != nil && string(have.Hash) == string(k.Hash) })
	for i := range f.keys {
		if f.keys[i].Origin == project.OriginConfigured {
			f.keys[i].RevokedAt = time.Unix(1, 0)
		}
	}
	if k != nil {
		f.keys = append(f.keys, *k)
	}
	return nil
}

func (f *fakeKeys) InsertKey(_ context.Context, k project.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, have := range f.keys {
		if string(have.Hash) == string(k.Hash) {
			return nil
		}
	}
	f.keys = append(f.keys, k)
	return nil
}

func (f *fakeKeys) KeyByHash(_ context.Context, hash []byte) (project.Key, project.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookups++
	if f.down {
		return project.Key{}, project.Project{}, &fault.Error{Kind: fault.Internal, Msg: "disk on fire"}
	}
	for _, k := range f.keys {
		if string(k.Hash) == string(hash) {
			return k, project.Project{ID: k.ProjectID, PublicID: "p-default"}, nil
		}
	}
	return project.Key{}, project.Project{}, &fault.Error{Kind: fault.NotFound, Msg: "no such key"}
}

func (f *fakeKeys) KeyByID(_ context.Context, id string) (project.Key, project.Project, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return project.Key{}, project.Project{}, &fault.Error{Kind: fault.Internal, Msg: "disk on fire"}
	}
	for _, k := range f.keys {
		if k.ID == id {
			return k, project.Project{ID: k.ProjectID, PublicID: "p-default"}, nil
		}
	}
	return project.Key{}, project.Project{}, &fault.Error{Kind: fault.NotFound, Msg: "no such key"}
}

type storeExtension struct {
	component.Component
	store any
}

func (s storeExtension) Store() any { return s.store }

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

func hostOf(store any) host {
	return host{component.MustNewID("spangrove_store"): storeExtension{store: store}}
}

// start returns a started extension whose clock stands at *now, and what it announced.
func start(t *testing.T, keys *fakeKeys, change func(*Config)) (*authExtension, *time.Time, map[mount.Topic]string) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.KeyFile = filepath.Join(t.TempDir(), "data", "api-key")
	if change != nil {
		change(cfg)
	}
	e, err := newExtension(extensiontest.NewNopSettings(componentType), cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	e.now = func() time.Time { return now }
	notices := map[mount.Topic]string{}
	ctx := mount.WithBoard(t.Context(), func(n mount.Notice) { notices[n.Topic] = n.Text })
	if err := e.Start(ctx, hostOf(keys)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
	return e, &now, notices
}

func bearerHeader(key string) map[string][]string {
	return map[string][]string{"Authorization": {"Bearer " + key}}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	ext, err := NewFactory().Create(t.Context(), extensiontest.NewNopSettings(componentType), createDefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := ext.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown before Start: %v", err)
	}
	keys := &fakeKeys{}
	e, _, _ := start(t, keys, nil)
	if err := e.Start(t.Context(), hostOf(keys)); err != nil {
		t.Errorf("second Start: %v", err)
	}
	if len(keys.keys) != 1 {
		t.Errorf("%d keys after two starts, want 1", len(keys.keys))
	}
	for range 2 {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	_, err = e.Authenticate(t.Context(), bearerHeader("whatever-key-it-is"))
	if fault.Of(err) != fault.Unavailable {
		t.Errorf("after Shutdown: %v, want Unavailable", err)
	}
}

func TestStartNamesTheSetting(t *testing.T) {
	t.Parallel()
	occupied := filepath.Join(t.TempDir(), "api-key")
	if err := os.WriteFile(occupied, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		host   component.Host
		change func(*Config)
		want   string
	}{
		{"no store", componenttest.NewNopHost(), nil, `extensions::spangrove_auth::store: no extension "spangrove_store" runs`},
		{"no keys in it", hostOf(42), nil, `extensions::spangrove_auth::store: the store of the extension "spangrove_store" lacks`},
		{"not open", hostOf(nil), nil, `extensions::spangrove_auth::store: the extension "spangrove_store" has not opened`},
		{"no way to a key", hostOf(&fakeKeys{}), func(c *Config) { c.KeyFile = "" }, "extensions::spangrove_auth::api_key: no key is stored; set api_key, or key_file"},
		{"file of something else", hostOf(&fakeKeys{}), func(c *Config) { c.KeyFile = occupied }, "extensions::spangrove_auth::key_file: the file " + occupied + " holds no key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := createDefaultConfig().(*Config)
			if tt.change != nil {
				tt.change(cfg)
			}
			set := extension.Settings{ID: component.NewID(componentType), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
			e, err := newExtension(set, cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = e.Start(t.Context(), tt.host)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Start: %v, want %q…", err, tt.want)
			}
		})
	}
}

func TestGeneratedKey(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	e, _, notices := start(t, keys, nil)
	secret := notices[mount.TopicKey]
	if !strings.HasPrefix(secret, "sg_") {
		t.Fatalf("announced key %q", secret)
	}
	text, err := os.ReadFile(e.cfg.KeyFile)
	if err != nil || string(text) != secret+"\n" {
		t.Errorf("key file: %q, %v", text, err)
	}
	if info, err := os.Stat(e.cfg.KeyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file mode: %v, %v", info.Mode(), err)
	}
	if _, err := e.Authenticate(t.Context(), bearerHeader(secret)); err != nil {
		t.Errorf("generated key refused: %v", err)
	}
	if got := keys.keys[0]; got.Scope != project.ScopeAdmin || got.Origin != project.OriginGenerated || strings.Contains(secret[len(got.Prefix):], got.Prefix) {
		t.Errorf("stored key: %+v", got)
	}

	// The next start does not show the key, and a new database takes the key that is there.
	_, _, notices = start(t, keys, func(c *Config) { c.KeyFile = e.cfg.KeyFile })
	if _, shown := notices[mount.TopicKey]; shown || notices[mount.TopicKeyFile] != e.cfg.KeyFile {
		t.Errorf("second start announced %v", notices)
	}
	_, _, notices = start(t, &fakeKeys{}, func(c *Config) { c.KeyFile = e.cfg.KeyFile })
	if notices[mount.TopicKey] != secret {
		t.Errorf("new database: key %q, want the one in the file", notices[mount.TopicKey])
	}
}

func TestConfiguredKey(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	e, _, notices := start(t, keys, func(c *Config) { c.APIKey = "my-own-key-of-enough-length" })
	if len(notices) != 0 {
		t.Errorf("announced %v", notices)
	}
	if _, err := os.Stat(e.cfg.KeyFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("key file written: %v", err)
	}
	ctx, err := e.Authenticate(t.Context(), bearerHeader("my-own-key-of-enough-length"))
	if err != nil {
		t.Fatal(err)
	}
	id, ok := project.IdentityFrom(ctx)
	if !ok || id.Scope != project.ScopeAdmin || id.Project.PublicID != "p-default" {
		t.Errorf("identity %+v, %v", id, ok)
	}
	if got, ok := client.FromContext(ctx).Auth.(project.Identity); !ok || got != id {
		t.Errorf("client.Info's Auth = %+v", got)
	}
}

func TestConfiguredKeyChanges(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	first, second := "the-first-key-of-the-configuration", "the-second-key-of-the-configuration"
	configured := func(key string) (*authExtension, map[mount.Topic]string) {
		e, _, notices := start(t, keys, func(c *Config) { c.APIKey = configopaque.String(key) })
		return e, notices
	}
	opens := func(e *authExtension, key string) bool {
		_, err := e.Authenticate(t.Context(), bearerHeader(key))
		return err == nil
	}
	for _, now := range []string{first, second, first} {
		e, _ := configured(now)
		for _, key := range []string{first, second} {
			if opens(e, key) != (key == now) {
				t.Errorf("configured %s: %s opens is %t", now, key, opens(e, key))
			}
		}
	}
	e, notices := configured("")
	if opens(e, first) || opens(e, second) {
		t.Error("a key that is configured no longer opens")
	}
	if !opens(e, notices[mount.TopicKey]) {
		t.Errorf("no key is generated where none is left: %v", notices)
	}
}

func TestGeneratedKeyWasRevoked(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	e, _, notices := start(t, keys, nil)
	old := notices[mount.TopicKey]
	keys.keys[0].RevokedAt = time.Unix(1, 0)
	e, _, notices = start(t, keys, func(c *Config) { c.KeyFile = e.cfg.KeyFile })
	fresh := notices[mount.TopicKey]
	if fresh == old || fresh == "" {
		t.Fatalf("after its key was revoked the server announced %v", notices)
	}
	if text, err := os.ReadFile(e.cfg.KeyFile); err != nil || string(text) != fresh+"\n" {
		t.Errorf("key file: %q, %v", text, err)
	}
	for key, want := range map[string]fault.Kind{old: fault.Unauthorized, fresh: fault.Internal} {
		if _, err := e.Authenticate(t.Context(), bearerHeader(key)); fault.Of(err) != want || (err == nil) != (key == fresh) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	const good = "my-own-key-of-enough-length"
	e, _, _ := start(t, &fakeKeys{}, func(c *Config) { c.APIKey = good })
	for _, tt := range []struct {
		name    string
		headers map[string][]string
		want    string // empty: accepted
	}{
		{"http", map[string][]string{"Authorization": {"Bearer " + good}}, ""},
		{"grpc", map[string][]string{"authorization": {"Bearer " + good}}, ""},
		{"http, percent-encoded", map[string][]string{"Authorization": {"Bearer%20" + good}}, ""},
		{"grpc, percent-encoded", map[string][]string{"authorization": {"Bearer%20" + good}}, ""},
		{"percent-encoded, no key", map[string][]string{"Authorization": {"Bearer%20"}}, "the Authorization header must be: Bearer <key>"},
		{"any case", map[string][]string{"AUTHORIZATION": {"bEARER  " + good + " "}}, ""},
		{"none", nil, "no API key: send the header Authorization: Bearer <key>"},
		{"empty", map[string][]string{"Authorization": {""}}, "no API key: send the header Authorization: Bearer <key>"},
		{"basic", map[string][]string{"Authorization": {"Basic Zm9vOmJhcg=="}}, "the Authorization header must be: Bearer <key>"},
		{"bare", map[string][]string{"Authorization": {good}}, "the Authorization header must be: Bearer <key>"},
		{"no key", map[string][]string{"Authorization": {"Bearer "}}, "the Authorization header must be: Bearer <key>"},
		{"wrong", map[string][]string{"Authorization": {"Bearer " + good + "x"}}, "unknown API key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := e.Authenticate(t.Context(), tt.headers)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if s, _ := status.FromError(err); s.Code() != codes.Unauthenticated || s.Message() != tt.want {
				t.Errorf("status %v, want Unauthenticated %q", s, tt.want)
			}
			if fault.Of(err) != fault.Unauthorized {
				t.Errorf("kind of %v is not Unauthorized", err)
			}
		})
	}
}

// Who may revoke a key can see that it is used: what was admitted is noted, what was refused is not.
func TestUsesOfKeysAreNoted(t *testing.T) {
	t.Parallel()
	const good = "my-own-key-of-enough-length"
	keys := &fakeKeys{}
	e, _, _ := start(t, keys, func(c *Config) { c.APIKey = good })
	ctx := client.NewContext(t.Context(), client.Info{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711}})
	for _, secret := range []string{good, "wrong"} {
		_, _ = e.Authenticate(ctx, map[string][]string{"Authorization": {"Bearer " + secret}})
	}
	keys.mu.Lock()
	defer keys.mu.Unlock()
	if want := []string{keys.keys[0].ID + " 192.0.2.7"}; !slices.Equal(keys.used, want) {
		t.Errorf("noted %q, want %q", keys.used, want)
	}
}

func TestRefusedKeysAreAudited(t *testing.T) {
	t.Parallel()
	const good = "my-own-key-of-enough-length"
	keys := &fakeKeys{}
	e, _, _ := start(t, keys, func(c *Config) { c.APIKey = good })
	keys.keys = append(keys.keys, project.Key{ID: "old", ProjectID: 1, Hash: project.HashSecret("an-old-key"), Scope: project.ScopeRead, RevokedAt: time.UnixMilli(1)})
	for _, tt := range []struct {
		header  map[string][]string
		addr    net.Addr
		want    string // outcome; empty: no entry
		key     string
		address string
	}{
		{bearerHeader(good), &net.IPAddr{IP: net.IPv4(192, 0, 2, 1)}, "", "", ""},
		{nil, nil, audit.NoKey, "", ""},
		{map[string][]string{"Authorization": {"Basic x"}}, &net.IPAddr{IP: net.IPv4(192, 0, 2, 1)}, audit.MalformedKey, "", "192.0.2.1"},
		{bearerHeader("wrong"), &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 4}, audit.UnknownKey, "", "2001:db8::1"},
		{bearerHeader("an-old-key"), &net.UnixAddr{Name: "@", Net: "unix"}, audit.KeyNotInForce, "old", "@"},
	} {
		keys.audit = nil
		_, _ = e.Authenticate(client.NewContext(t.Context(), client.Info{Addr: tt.addr}), tt.header)
		var want []audit.Entry
		if tt.want != "" {
			want = []audit.Entry{{Action: audit.SignIn, Outcome: tt.want, KeyID: tt.key, Address: tt.address}}
		}
		if tt.key != "" {
			want[0].ProjectID = "p-default"
		}
		if !slices.Equal(keys.audit, want) {
			t.Errorf("%v: %+v, want %+v", tt.header, keys.audit, want)
		}
	}
	keys.audit, keys.down = nil, true
	if _, err := e.Authenticate(t.Context(), bearerHeader("another")); err == nil || keys.audit != nil {
		t.Errorf("%v %+v: a store that is away refuses no key", err, keys.audit)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	const good = "my-own-key-of-enough-length"
	keys := &fakeKeys{}
	e, now, _ := start(t, keys, func(c *Config) { c.APIKey = good })
	check := func(step string, want fault.Kind, lookups int) {
		t.Helper()
		before := keys.lookups
		_, err := e.Authenticate(t.Context(), bearerHeader(good))
		if want == fault.Internal && err != nil || want != fault.Internal && fault.Of(err) != want {
			t.Errorf("%s: %v", step, err)
		}
		if got := keys.lookups - before; got != lookups {
			t.Errorf("%s: %d look-ups, want %d", step, got, lookups)
		}
	}
	const ok = fault.Internal
	check("first", ok, 1)
	check("again", ok, 0)
	*now = now.Add(e.cfg.CacheTTL)
	check("after the TTL", ok, 1)
	keys.keys[0].RevokedAt = *now
	check("revoked elsewhere, still remembered", ok, 0)
	*now = now.Add(e.cfg.CacheTTL)
	check("revoked", fault.Unauthorized, 1)
	if _, err := e.Authenticate(t.Context(), bearerHeader(good)); err != nil {
		if who, ok := project.CallerOf(err); !ok || who.KeyPrefix != "my-o" {
			t.Errorf("a revoked key is one of %+v, %v", who, ok)
		}
	}
	keys.keys[0].RevokedAt, keys.keys[0].ExpiresAt = time.Time{}, now.Add(e.cfg.CacheTTL+time.Second)
	*now = now.Add(e.cfg.CacheTTL)
	check("expires soon", ok, 1)
	*now = now.Add(time.Second)
	check("expired, though remembered", fault.Unauthorized, 0)
	*now = now.Add(e.cfg.CacheTTL)
	keys.down = true
	check("store down", fault.Unavailable, 1)
	keys.down, keys.keys = false, nil
	check("deleted", fault.Unauthorized, 1)
	check("deleted, remembered", fault.Unauthorized, 0)
	keys.keys = []project.Key{e.newKey(project.Project{ID: 1}, project.OriginAPI, good)}
	keys.revision++
	check("made here, though remembered as unknown", ok, 1)
	check("again", ok, 0)
	keys.down = true
	*now = now.Add(e.cfg.CacheTTL)
	check("store down a moment after it was known", ok, 1)
	*now = now.Add(maxStale)
	check("store down for long", fault.Unavailable, 1)
	keys.down = false
	check("store back", ok, 1)
	keys.keys[0].RevokedAt = *now
	keys.revision++
	check("revoked here", fault.Unauthorized, 1)
	check("revoked here, remembered", fault.Unauthorized, 0)
}

func TestRatesAreHeld(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{limits: project.Bounds{RequestsPerSecond: 1, RequestBurst: 2, BytesPerSecond: 1 << 20}}
	e, now, notices := start(t, keys, nil)
	header := bearerHeader(notices[mount.TopicKey])
	var ctx context.Context
	for range 2 {
		var err error
		if ctx, err = e.Authenticate(t.Context(), header); err != nil {
			t.Fatal(err)
		}
	}
	_, err := e.Authenticate(t.Context(), header)
	if who, ok := project.CallerOf(err); !ok || who.Project.PublicID != "p-default" || who.KeyPrefix != notices[mount.TopicKey][:10] {
		t.Errorf("the error tells of %+v, want the project and the key that are over their rate", who)
	}
	if fault.Of(err) != fault.Limited || status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 1 {
		t.Errorf("the third request at once: %v", err)
	}
	_, err = e.Authenticate(t.Context(), bearerHeader("a-wrong-key-of-somebody"))
	if _, ok := project.CallerOf(err); ok || fault.Of(err) != fault.Unauthorized {
		t.Errorf("a wrong key: %v", err)
	}
	*now = now.Add(2 * time.Second)
	if _, err = e.Authenticate(t.Context(), header); err != nil {
		t.Errorf("two seconds later: %v", err)
	}
	limit.Charge(ctx, 3<<20)
	_, err = e.Authenticate(t.Context(), header)
	if f := new(fault.Error); !errors.As(err, &f) || f.Kind != fault.Limited || f.RetryAfter != 2*time.Second {
		t.Errorf("after 2 MiB too many: %v", err)
	}
}
