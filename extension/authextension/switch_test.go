package authextension

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// withOther is a store that has the project "other", too.
func withOther() *fakeKeys {
	return &fakeKeys{projects: []project.Project{{ID: 2, PublicID: "p-other", Name: "Other"}, {ID: 3, PublicID: "p-third", Name: "Third"}}}
}

// change changes the store as this server would.
func (f *fakeKeys) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.revision++
}

// actsIn returns the public id of the project that a credential acts in, and whether the identity says that it is not the key's own.
func actsIn(t *testing.T, e *authExtension, credential string) (id string, elsewhere bool) {
	t.Helper()
	ctx, err := e.Resume(t.Context(), credential)
	if err != nil {
		t.Fatal(err)
	}
	who, _ := project.IdentityFrom(ctx)
	if auth, ok := client.FromContext(ctx).Auth.(project.Identity); !ok || auth.Project.ID != who.Project.ID {
		t.Errorf("the Collector is told of %+v, the API of %+v", auth, who)
	}
	if who.Own != nil && who.Own.PublicID != "p-default" {
		t.Errorf("the key's project is %+v", who.Own)
	}
	return who.Project.PublicID, who.Own != nil
}

func signedIn(t *testing.T, e *authExtension, secret string) mount.Credential {
	t.Helper()
	c, err := e.SignInWithKey(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSwitchProject(t *testing.T) {
	t.Parallel()
	keys := withOther()
	e, now, notices := start(t, keys, nil)
	first := signedIn(t, e, notices[mount.TopicKey])
	*now = now.Add(time.Hour)
	other, err := e.SwitchProject(t.Context(), first.Value, "p-other")
	if err != nil || other.Identity.Project.Name != "Other" {
		t.Fatalf("%+v, %v", other, err)
	}
	if !other.Expires.Equal(first.Expires) {
		t.Errorf("the switch has moved the end of the sign-in from %s to %s", first.Expires, other.Expires)
	}
	for credential, want := range map[string]string{first.Value: "p-default", other.Value: "p-other"} {
		if got, elsewhere := actsIn(t, e, credential); got != want || elsewhere != (want == "p-other") {
			t.Errorf("acts in %s, want %s", got, want)
		}
	}

	// From there to a third one, and back by name or without one.
	third, err := e.SwitchProject(t.Context(), other.Value, "p-third")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "p-default"} {
		back, err := e.SwitchProject(t.Context(), third.Value, id)
		if err != nil || back.Value != first.Value {
			t.Errorf("back to %q: %+v, %v", id, back, err)
		}
	}

	// What the audit log has of it: whose key, and where it acts from then on.
	var got []string
	for _, a := range keys.audit {
		if a.Action != audit.ProjectSwitch || a.KeyID != first.Identity.KeyID || a.Outcome != audit.Success {
			t.Errorf("%+v", a)
		}
		got = append(got, a.ProjectID+" "+a.Target)
	}
	if want := []string{"p-other p-other", "p-third p-third", "p-default p-default", "p-default p-default"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q", got)
	}
}

func TestSwitchIsRefused(t *testing.T) {
	t.Parallel()
	keys := withOther()
	e, now, notices := start(t, keys, nil)
	secrets := map[project.Scope]string{}
	for _, scope := range project.Scopes() {
		secrets[scope] = project.NewSecret()
		keys.keys = append(keys.keys, project.Key{ID: "key-" + string(scope), ProjectID: 1, Scope: scope, Hash: project.HashSecret(secrets[scope])})
	}
	admin := signedIn(t, e, notices[mount.TopicKey])
	for scope, secret := range secrets {
		c := signedIn(t, e, secret)
		_, err := e.SwitchProject(t.Context(), c.Value, "p-other")
		who, _ := project.CallerOf(err)
		refused := fault.Of(err) == fault.Forbidden && who.KeyID == "key-"+string(scope)
		if allowed := scope == project.ScopeAdmin; (err == nil) != allowed || refused == allowed || c.Identity.MaySwitch() != allowed {
			t.Errorf("%s: %v of %q; the identity says %t", scope, err, who.KeyID, c.Identity.MaySwitch())
		}
	}
	if _, err := e.SwitchProject(t.Context(), admin.Value, "p-none"); fault.Of(err) != fault.NotFound || err.Error() != "id: no such project" {
		t.Errorf("an unknown project: %v", err)
	}
	last := keys.audit[len(keys.audit)-1]
	if last.Outcome != "NOT_FOUND" || last.Target != "p-none" || last.ProjectID != "p-default" {
		t.Errorf("the audit log has %+v", last)
	}
	if ctx, err := e.Authenticate(t.Context(), bearerHeader(secrets[project.ScopeAdmin])); err != nil {
		t.Error(err)
	} else if who, _ := project.IdentityFrom(ctx); who.MaySwitch() {
		t.Error("a key in the header may switch")
	}
	*now = now.Add(credentialTTL)
	for _, credential := range []string{"", "x", admin.Value} {
		if _, err := e.SwitchProject(t.Context(), credential, "p-other"); fault.Of(err) != fault.Unauthorized {
			t.Errorf("%q: %v", credential, err)
		}
	}
	e.lookup.Store(nil)
	if _, err := e.SwitchProject(t.Context(), admin.Value, "p-other"); fault.Of(err) != fault.Unavailable {
		t.Errorf("not started: %v", err)
	}
}

// Whoever changes the project in a credential, or takes the signature of another one, has no signature for it.
func TestForgedProject(t *testing.T) {
	t.Parallel()
	keys := withOther()
	e, _, notices := start(t, keys, nil)
	reader := project.NewSecret()
	keys.keys = append(keys.keys, project.Key{ID: "reader", ProjectID: 1, Scope: project.ScopeRead, Hash: project.HashSecret(reader)})
	own := signedIn(t, e, notices[mount.TopicKey])
	other, err := e.SwitchProject(t.Context(), own.Value, "p-other")
	if err != nil {
		t.Fatal(err)
	}
	signature := func(credential string) string { return credential[strings.LastIndexByte(credential, '.')+1:] }
	granted := strings.TrimSuffix(own.Value, "."+signature(own.Value))
	read := signedIn(t, e, reader)
	for name, forged := range map[string]string{
		"another project":            strings.Replace(other.Value, "p-other", "p-third", 1),
		"no project":                 strings.Replace(other.Value, ".p-other", "", 1),
		"a project more":             strings.Replace(other.Value, ".p-other", ".p-third.p-other", 1),
		"an empty project":           granted + ".." + signature(own.Value),
		"a project without its own":  granted + ".p-other." + signature(own.Value),
		"the project in the seconds": granted + "p-other." + signature(other.Value),
		"the signature of another":   granted + "." + signature(other.Value),
		"another key":                strings.Replace(other.Value, own.Identity.KeyID, "reader", 1),
		"a key that only reads":      strings.Replace(read.Value, "."+signature(read.Value), ".p-other."+signature(read.Value), 1),
		"cut":                        other.Value[:len(other.Value)-1],
		"long":                       strings.Replace(other.Value, "p-other", strings.Repeat("p", 10_000), 1),
	} {
		for what, use := range map[string]func(context.Context, string) error{
			"acts":     func(ctx context.Context, c string) error { _, err := e.Resume(ctx, c); return err },
			"switches": func(ctx context.Context, c string) error { _, err := e.SwitchProject(ctx, c, "p-third"); return err },
		} {
			if err := use(t.Context(), forged); fault.Of(err) != fault.Unauthorized {
				t.Errorf("%s: %q %s: %v", name, forged, what, err)
			}
		}
	}
	// One that is signed, of a key that may not: its scope was admin when it was made.
	g, _ := parseCredential(read.Value)
	g.projectID = "p-other"
	if _, err := e.Resume(t.Context(), sign(g, project.HashSecret(reader))); fault.Of(err) != fault.Unauthorized {
		t.Errorf("a key that only reads acts in another project: %v", err)
	}
}

// A credential that was made before there were projects in them is taken, as the key's own project.
func TestCredentialWithoutProject(t *testing.T) {
	t.Parallel()
	keys := withOther()
	secret := "sg_of-a-test-that-never-changes"
	keys.keys = []project.Key{{ID: "k", ProjectID: 1, Scope: project.ScopeAdmin, Hash: project.HashSecret(secret)}}
	e, _, _ := start(t, keys, nil)
	const made = "k.1802592000.39-qGqoHGRqMGgXdNlZq98nlqB4_XjSi0d99Bgm2_Bo"
	if c := signedIn(t, e, secret); c.Value != made {
		t.Errorf("the credential is %s, and was %s", c.Value, made)
	}
	if got, elsewhere := actsIn(t, e, made); got != "p-default" || elsewhere {
		t.Errorf("acts in %s", got)
	}
}

// switched returns the credential of a key, and the one by which it acts in the project p-other.
func switched(t *testing.T, e *authExtension, key string) (own, other mount.Credential) {
	t.Helper()
	own = signedIn(t, e, key)
	other, err := e.SwitchProject(t.Context(), own.Value, "p-other")
	if err != nil {
		t.Fatal(err)
	}
	actsIn(t, e, other.Value)
	return own, other
}

func TestDeletedProject(t *testing.T) {
	t.Parallel()
	keys := withOther()
	e, now, notices := start(t, keys, nil)
	own, c := switched(t, e, notices[mount.TopicKey])
	audited := len(keys.audit)
	kept := keys.projects
	keys.change(func() { keys.projects = nil })
	_, err := e.Resume(t.Context(), c.Value)
	who, _ := project.CallerOf(err)
	if fault.Of(err) != fault.Unauthorized || !strings.HasPrefix(err.Error(), "project: ") || who.KeyID != own.Identity.KeyID {
		t.Errorf("%v of %q", err, who.KeyID)
	}
	if len(keys.audit) != audited {
		t.Errorf("a key that is good was refused: %+v", keys.audit[audited:])
	}
	if back, err := e.SwitchProject(t.Context(), c.Value, ""); err != nil || back.Value != own.Value {
		t.Errorf("back to the key's own: %+v, %v", back, err)
	}

	// While the store is away, a project that was there a moment ago still is; not for long.
	keys.change(func() { keys.projects = kept })
	actsIn(t, e, c.Value)
	keys.mu.Lock()
	keys.down = true
	keys.mu.Unlock()
	*now = now.Add(e.cfg.CacheTTL + time.Second)
	actsIn(t, e, c.Value)
	*now = now.Add(2 * maxStale)
	if _, err := e.Resume(t.Context(), c.Value); fault.Of(err) != fault.Unavailable {
		t.Errorf("the store is away: %v", err)
	}
}

func TestSwitchEndsWithTheKey(t *testing.T) {
	t.Parallel()
	keys := withOther()
	e, now, notices := start(t, keys, nil)
	own, c := switched(t, e, notices[mount.TopicKey])
	keys.change(func() { keys.keys[0].RevokedAt = *now })
	for _, credential := range []string{own.Value, c.Value} {
		if _, err := e.Resume(t.Context(), credential); fault.Of(err) != fault.Unauthorized {
			t.Errorf("the key is revoked: %v", err)
		}
		if _, err := e.SwitchProject(t.Context(), credential, "p-third"); fault.Of(err) != fault.Unauthorized {
			t.Errorf("the key is revoked, and switches: %v", err)
		}
	}
}

// What a browser asks for counts against the project that it acts in.
func TestSwitchedRequestsCount(t *testing.T) {
	t.Parallel()
	keys := withOther()
	one, burst := float64(1), int64(1)
	keys.projects[0].Limits = project.Limits{RequestsPerSecond: &one, RequestBurst: &burst}
	e, _, notices := start(t, keys, nil)
	own, c := switched(t, e, notices[mount.TopicKey])
	if _, err := e.Resume(t.Context(), c.Value); fault.Of(err) != fault.Limited {
		t.Errorf("over the limit: %v", err)
	}
	actsIn(t, e, own.Value)
	if _, err := e.SwitchProject(t.Context(), c.Value, ""); err != nil {
		t.Errorf("a browser cannot leave a project that is over its limit: %v", err)
	}
}
