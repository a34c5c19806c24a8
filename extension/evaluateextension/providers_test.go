package evaluateextension

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
)

// startKeeping starts an extension on a host's store.
func startKeeping(t *testing.T, h host, change func(*Config)) *evaluateExtension {
	t.Helper()
	e := newTest(1)
	e.cfg.Online.Enabled = false
	change(e.cfg)
	if err := e.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func text(s string) *string { return &s }

func TestProviderKeys(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	file := filepath.Join(t.TempDir(), "below", "secret")
	e := startKeeping(t, h, func(c *Config) { c.SecretFile = file })
	p, err := e.SetProvider(t.Context(), 1, provider.Update{Name: "own", BaseURL: text("https://a.example.com/v1")})
	if err != nil || p.SealedKey != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a secret was made before there was a key")
	}
	set := func(u provider.Update) provider.Provider {
		t.Helper()
		u.Name = "own"
		p, err := e.SetProvider(t.Context(), 1, u)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p = set(provider.Update{APIKey: text("sk-very-secret")})
	if p.SealedKey == nil || bytes.Contains(p.Doc(), []byte("very-secret")) {
		t.Errorf("stored as %s", p.Doc())
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v, %v", info, err)
	}

	// Another process with the same file opens it, one with another secret does not.
	again := startKeeping(t, h, func(c *Config) { c.SecretFile = file })
	if key, err := again.keys.Open(1, &p); key != "sk-very-secret" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	other := startKeeping(t, h, func(c *Config) { c.Secret = "another-secret-of-32-characters-x" })
	if key, err := other.keys.Open(1, &p); key != "" || fault.Of(err) != fault.Conflict {
		t.Errorf("%q, %v", key, err)
	}
	none := startKeeping(t, h, func(*Config) {})
	if key, err := none.keys.Open(1, &p); key != "" || fault.Of(err) != fault.Conflict {
		t.Errorf("%q, %v", key, err)
	}
	if _, err := none.SetProvider(t.Context(), 1, provider.Update{Name: "own", APIKey: text("k")}); fault.Of(err) != fault.Conflict {
		t.Errorf("a key without a secret: %v", err)
	}

	if p = set(provider.Update{Model: text("m")}); p.SealedKey == nil {
		t.Error("a change of the model takes the key away")
	}
	if p = set(provider.Update{BaseURL: text("https://b.example.com/v1")}); p.SealedKey != nil {
		t.Error("a change of the address keeps the key")
	}
	p = set(provider.Update{BaseURL: text("https://c.example.com/v1"), APIKey: text("new")})
	if key, err := e.keys.Open(1, &p); key != "new" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if p = set(provider.Update{APIKey: text("")}); p.SealedKey != nil {
		t.Error("an empty key does not take it away")
	}
	for _, u := range []provider.Update{{Name: "own", APIKey: text("a b")}, {Name: "Own"}, {Name: "own", Type: text("x")}} {
		if _, err := e.SetProvider(t.Context(), 1, u); fault.Of(err) != fault.Invalid {
			t.Errorf("%+v: %v", u, err)
		}
	}
	if list, err := e.Providers(t.Context(), 1); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := e.DeleteProvider(t.Context(), 1, "own"); err != nil {
		t.Error(err)
	}
}

func TestSecretIsChecked(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	short := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Secret = "short" }, "extensions::spangrove_evaluate::secret: must have at least 32 characters, not 5"},
		{func(c *Config) { c.SecretFile = short }, "extensions::spangrove_evaluate::secret_file: " + short + ": must have at least 32 characters, not 5"},
		{func(c *Config) { c.SecretFile = t.TempDir() }, "extensions::spangrove_evaluate::secret_file: read "},
	} {
		e := newTest(1)
		tt.change(e.cfg)
		if err := e.Start(t.Context(), h); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestSecretOfTwo has two servers make the file at the same time.
func TestSecretOfTwo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	first, err := writeSecret(file)
	if err != nil {
		t.Fatal(err)
	}
	second, err := writeSecret(file)
	if err != nil || !bytes.Equal(bytes.TrimSpace(first), bytes.TrimSpace(second)) || len(bytes.TrimSpace(first)) != 64 {
		t.Errorf("%q, %q, %v", first, second, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".secret-*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestNoProviders(t *testing.T) {
	t.Parallel()
	e := newTest(1)
	if _, err := e.Providers(t.Context(), 1); fault.Of(err) != fault.Unavailable {
		t.Errorf("before Start: %v", err)
	}
	e.cfg.Online.Enabled = false
	if err := e.Start(t.Context(), host{}); err != nil {
		t.Fatal(err)
	}
	_, set := e.SetProvider(t.Context(), 1, provider.Update{Name: "a"})
	if deleted := e.DeleteProvider(t.Context(), 1, "a"); fault.Of(set) != fault.Unavailable || fault.Of(deleted) != fault.Unavailable {
		t.Errorf("without a store: %v", errors.Join(set, deleted))
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
