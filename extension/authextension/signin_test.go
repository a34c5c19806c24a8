package authextension

import (
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// resumes reports whether a credential identifies a key.
func resumes(t *testing.T, e *authExtension, credential string) bool {
	t.Helper()
	ctx, err := e.Resume(t.Context(), credential)
	if err != nil {
		if fault.Of(err) != fault.Unauthorized {
			t.Errorf("refused as %v, want Unauthorized", err)
		}
		return false
	}
	who, ok := project.IdentityFrom(ctx)
	return ok && who.Scope == project.ScopeAdmin && who.Project.PublicID == "p-default"
}

func TestSignInWithKey(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	e, now, notices := start(t, keys, nil)
	c, err := e.SignInWithKey(t.Context(), notices[mount.TopicKey])
	if err != nil || !resumes(t, e, c.Value) {
		t.Fatalf("credential %+v, %v", c, err)
	}
	if strings.Contains(c.Value, notices[mount.TopicKey]) || !c.Expires.Equal(now.Add(credentialTTL)) {
		t.Errorf("credential %s until %s", c.Value, c.Expires)
	}
	if _, err := e.SignInWithKey(t.Context(), "sg_wrong"); fault.Of(err) != fault.Unauthorized {
		t.Errorf("a wrong key: %v", err)
	}

	// Another server on the same database knows it, too; one on another does not.
	other, _, _ := start(t, keys, func(c *Config) { c.KeyFile = e.cfg.KeyFile })
	if !resumes(t, other, c.Value) {
		t.Error("another server on the database refuses the credential")
	}
	stranger, _, _ := start(t, &fakeKeys{}, nil)
	if resumes(t, stranger, c.Value) {
		t.Error("a server that does not have the key takes the credential")
	}

	// It says which key and until when: whoever changes that has no signature for it.
	id, rest, _ := strings.Cut(c.Value, ".")
	_, signature, _ := strings.Cut(rest, ".")
	for _, forged := range []string{
		"", ".", "..", id, id + ".9999999999." + signature, strings.Replace(c.Value, id, "x"+id[1:], 1), c.Value[:len(c.Value)-1],
		c.Value + "x", c.Value + strings.Repeat("x", 10_000), id + ".." + signature, id + ".-1." + signature,
	} {
		if resumes(t, e, forged) {
			t.Errorf("%.80q is taken", forged)
		}
	}

	*now = now.Add(credentialTTL - time.Second)
	if !resumes(t, e, c.Value) {
		t.Error("refused a second before its end")
	}
	*now = now.Add(time.Second)
	if resumes(t, e, c.Value) {
		t.Error("taken at its end")
	}
}

func TestCredentialEndsWithItsKey(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	e, now, notices := start(t, keys, func(c *Config) { c.CacheTTL = 0 })
	c, err := e.SignInWithKey(t.Context(), notices[mount.TopicKey])
	if err != nil || !resumes(t, e, c.Value) {
		t.Fatal(err)
	}
	keys.mu.Lock()
	keys.keys[0].RevokedAt = *now
	keys.mu.Unlock()
	if resumes(t, e, c.Value) {
		t.Error("the credential of a revoked key is taken")
	}
	keys.mu.Lock()
	keys.keys[0].RevokedAt = time.Time{}
	keys.down = true
	keys.mu.Unlock()
	fresh, _, _ := start(t, &fakeKeys{keys: keys.keys}, func(c *Config) { c.KeyFile = e.cfg.KeyFile })
	if !resumes(t, fresh, c.Value) {
		t.Error("the key is in force again, and its credential is refused")
	}
	*now = now.Add(2 * maxStale)
	if _, err := e.Resume(t.Context(), c.Value); fault.Of(err) != fault.Unavailable {
		t.Errorf("the store is away: %v, want Unavailable", err)
	}
}

func TestSignInWithCode(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"generated":  nil,
		"configured": func(c *Config) { c.APIKey = "my-own-key-of-enough-length" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, now, _ := start(t, &fakeKeys{}, change)
			code := e.NewCode()
			c, err := e.SignInWithCode(t.Context(), code)
			if err != nil || !resumes(t, e, c.Value) {
				t.Fatalf("code %q: %v", code, err)
			}
			if _, err := e.SignInWithCode(t.Context(), code); fault.Of(err) != fault.Unauthorized {
				t.Errorf("a second time: %v", err)
			}
			late := e.NewCode()
			*now = now.Add(codeTTL)
			for _, code := range []string{late, "", "0123"} {
				if _, err := e.SignInWithCode(t.Context(), code); fault.Of(err) != fault.Unauthorized {
					t.Errorf("%q: %v", code, err)
				}
			}
			for range 10 * maxCodes {
				e.NewCode()
			}
			if n := len(e.codes.waiting); n > maxCodes {
				t.Errorf("%d codes wait", n)
			}
		})
	}
}

// A server that was started again has the key in its file, and makes codes for it.
func TestCodeOfAKeyInAFile(t *testing.T) {
	t.Parallel()
	keys := &fakeKeys{}
	first, _, _ := start(t, keys, nil)
	again, _, _ := start(t, keys, func(c *Config) { c.KeyFile = first.cfg.KeyFile })
	if c, err := again.SignInWithCode(t.Context(), again.NewCode()); err != nil || !resumes(t, again, c.Value) {
		t.Errorf("%+v, %v", c, err)
	}
	without, _, _ := start(t, keys, nil) // its file is not there
	if code := without.NewCode(); code != "" {
		t.Errorf("a server that knows no key of its own made the code %s", code)
	}
}
