package project

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	allows := map[Scope]string{ScopeIngest: "ingest", ScopeRead: "read", ScopeFull: "ingest read full", ScopeAdmin: "ingest read full admin", "": "", "other": ""}
	for scope, want := range allows {
		var got []string
		for _, s := range Scopes() {
			if scope.Allows(s) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q allows %v, want %s", scope, got, want)
		}
	}
}

func TestScopeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		permissions string
		want        Scope
		err         string
	}{
		{"ingest", ScopeIngest, ""},
		{"read read", ScopeRead, ""},
		{"ingest read full", ScopeFull, ""},
		{"admin ingest", ScopeAdmin, ""},
		{"read full", ScopeFull, ""},
		{"ingest read", "", "ingest and read together"},
		{"", "", "must name one"},
		{"read Full", "", "[1]: \"Full\" is not one of"},
	} {
		got, err := ScopeOf(strings.Fields(tt.permissions))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%q: %q, %v", tt.permissions, got, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for kind, form := range map[Kind]string{
		KindPlain:     `^sg_[a-z2-7]{32}$`,
		KindIngestion: `^hh_ingst_[0-9A-Za-z]{24}_[0-9A-Za-z_-]{64}$`,
		KindDataPlane: `^hh_fgdp_[0-9A-Za-z]{24}_[0-9A-Za-z_-]{64}$`,
	} {
		secret := kind.Secret()
		if !regexp.MustCompile(form).MatchString(secret) || secret == kind.Secret() {
			t.Errorf("%s: %s", kind, secret)
		}
		if p := Prefix(secret); p != secret[:len(kind)+7] {
			t.Errorf("%s shows %s", kind, p)
		}
	}
	for secret, want := range map[string]string{"": "", "abc": "", "0123456789abcdef": "0123", "hh_fgdp_abc": "hh"} {
		if got := Prefix(secret); got != want {
			t.Errorf("%q shows %q, want %q", secret, got, want)
		}
	}
}

func TestHeaderPrefix(t *testing.T) {
	t.Parallel()
	secret := NewSecret()
	for header, want := range map[string]string{
		"Bearer " + secret: secret[:10], "bearer%20" + secret: secret[:10], secret: secret[:10], "  Bearer   " + secret + " ": secret[:10],
		"": "", " ": "", "Bearer": "", "bearer ": "", "Bearer password": "pa", "Basic Zm9vOmJhcjpiYXI6YmFy": "Zm9v",
	} {
		if got := HeaderPrefix(header); got != want {
			t.Errorf("of %q: %q, want %q", header, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_000)
	for _, tt := range []struct {
		err  error
		want string // empty: none
	}{
		{(&Project{Name: "Größe 2 ☃", Type: TypeEvaluation}).Validate(), ""},
		{(&Project{Name: strings.Repeat("ß", 200)}).Validate(), ""},
		{(&Project{Name: strings.Repeat("ß", 201)}).Validate(), "name: must have at most 200 characters"},
		{(&Project{}).Validate(), "name: must not be empty"},
		{(&Project{Name: "a\tb"}).Validate(), "name: must not hold control characters"},
		{(&Project{Name: "a", Type: "b"}).Validate(), "type: must be one of evaluation, completion"},
		{(&Project{Name: "a", Description: strings.Repeat("x", 10_001)}).Validate(), "description: must have at most 10000 characters"},
		{(&Key{Name: "a"}).Validate(now), ""},
		{(&Key{Name: "a", ExpiresAt: now.Add(time.Millisecond)}).Validate(now), ""},
		{(&Key{Name: "a", ExpiresAt: now}).Validate(now), "expires_at: must be in the future"},
		{(&Key{}).Validate(now), "name: must not be empty"},
		{(&Key{Name: "a", Description: strings.Repeat("x", 10_001)}).Validate(now), "description: must have at most 10000 characters"},
	} {
		switch {
		case tt.want == "" && tt.err == nil:
		case tt.err == nil || tt.err.Error() != tt.want || fault.Of(tt.err) != fault.Invalid:
			t.Errorf("%v, want %q", tt.err, tt.want)
		}
	}
}

func TestInForce(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_790_000_000_000)
	for _, tt := range []struct {
		key  Key
		want bool
	}{
		{Key{}, true},
		{Key{ExpiresAt: now.Add(1)}, true},
		{Key{ExpiresAt: now}, false},
		{Key{RevokedAt: now.Add(-1)}, false},
	} {
		if got := tt.key.InForce(now); got != tt.want {
			t.Errorf("%+v: %t", tt.key, got)
		}
	}
}
