package project

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Key is an API key as it is stored: never the key itself, only its hash and first characters.
type Key struct {
	ID          string
	ProjectID   int64
	Name        string
	Description string
	Prefix      string // the first characters, to recognise the key in a list
	Hash        []byte // SHA-256 of the key; keys are long and random, so no slow hash is needed
	Scope       Scope
	Origin      Origin
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	RevokedAt   time.Time // zero: active
	LastUsed    time.Time // of the last request that it was good for, to a minute; zero: never
	LastFrom    string    // the address of that request's connection, without its port
}

// Origin says where a key came from, and so who takes it back.
type Origin string

// The origins.
const (
	OriginAPI        Origin = "api"        // made by a request
	OriginConfigured Origin = "configured" // given by the server's configuration, which alone takes it back
	OriginGenerated  Origin = "generated"  // made at the first start
)

// InForce reports whether the key may be used at the given time.
func (k *Key) InForce(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Validate reports the first broken rule of a key that is to be made at the given time, as a
// fault.Invalid naming the field.
func (k *Key) Validate(now time.Time) error {
	if err := CheckName(k.Name); err != nil {
		return fault.In("name", err)
	}
	if utf8.RuneCountInString(k.Description) > MaxDescription {
		return fault.InvalidField("description", "must have at most %d characters", MaxDescription)
	}
	if !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) {
		return fault.InvalidField("expires_at", "must be in the future")
	}
	return nil
}

// Kind is the form of a key's text. What a key may do is its Scope alone; the published clients
// look at the form before they send a key.
type Kind string

// The kinds.
const (
	KindPlain     Kind = "sg_"       // 160 bits in lower-case letters and digits
	KindIngestion Kind = "hh_ingst_" // 24 letters and digits, "_", 64 characters of base64url
	KindDataPlane Kind = "hh_fgdp_"  // likewise
)

// prefixLength is how many characters of a key are kept readable behind its kind.
const prefixLength = 7

// NewSecret returns a random plain key.
func NewSecret() string { return KindPlain.Secret() }

// Secret returns a random key of the kind.
func (k Kind) Secret() string {
	if k == KindPlain {
		return string(k) + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random(20)))
	}
	return string(k) + hex.EncodeToString(random(12)) + "_" + base64.RawURLEncoding.EncodeToString(random(48))
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	return b
}

// HashSecret returns the form in which a key is stored and looked up.
func HashSecret(secret string) []byte {
	h := sha256.Sum256([]byte(secret))
	return h[:]
}

// Prefix returns the readable part of a key: the first characters of one that the server made. Of
// another one, which may be short, it is a quarter, at most 4 characters.
func Prefix(secret string) string {
	if len(secret) >= len(KindPlain)+32 {
		for _, k := range []Kind{KindPlain, KindIngestion, KindDataPlane} {
			if strings.HasPrefix(secret, string(k)) {
				return secret[:len(k)+prefixLength]
			}
		}
	}
	return secret[:min(4, len(secret)/4)]
}

// HeaderPrefix returns the readable part of the key in an Authorization header, also in one that lacks the word Bearer; empty if
// there is none.
func HeaderPrefix(authorization string) string {
	words := strings.Fields(strings.ReplaceAll(authorization, "%20", " "))
	if len(words) == 0 || strings.EqualFold(words[len(words)-1], "bearer") {
		return ""
	}
	return Prefix(words[len(words)-1])
}

// ScopeOf returns the one of permissions, which are scopes, that includes all the others, so that
// nobody gets more than was asked for. Invalid, naming the element, if there is none.
func ScopeOf(permissions []string) (Scope, error) {
	if len(permissions) == 0 {
		return "", fault.New(fault.Invalid, "must name one of ingest, read, full, admin")
	}
	for i, name := range permissions {
		if !Scope(name).Valid() {
			return "", fault.InvalidField(fmt.Sprintf("[%d]", i), "%.40q is not one of ingest, read, full, admin", name)
		}
	}
	for _, widest := range permissions {
		if !slices.ContainsFunc(permissions, func(other string) bool { return !Scope(widest).Allows(Scope(other)) }) {
			return Scope(widest), nil
		}
	}
	return "", fault.New(fault.Invalid, "ingest and read together are less than full: make two keys, or one of full")
}
