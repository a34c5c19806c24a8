package authextension

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// How long a credential and a code are good.
const (
	credentialTTL = 30 * 24 * time.Hour
	codeTTL       = 15 * time.Minute
)

// maxCodes bounds the codes that wait to be used. The server makes one at a start.
const maxCodes = 16

var _ mount.SignIn = (*authExtension)(nil)

// SignInWithKey implements mount.SignIn.
func (e *authExtension) SignInWithKey(ctx context.Context, secret string) (mount.Credential, error) {
	return e.signIn(ctx, func(l *lookup) (project.Identity, []byte, error) {
		hash := project.HashSecret(secret)
		who, err := l.identityByHash(ctx, hash)
		return who, hash, err
	})
}

// SignInWithCode implements mount.SignIn.
func (e *authExtension) SignInWithCode(ctx context.Context, code string) (mount.Credential, error) {
	return e.signIn(ctx, func(l *lookup) (project.Identity, []byte, error) {
		hash, ok := e.codes.take(code, e.now())
		if !ok {
			return project.Identity{}, nil, errUnknownCode
		}
		who, err := l.identityByHash(ctx, hash)
		return who, hash, err
	})
}

var (
	errUnknownCode       = &fault.Error{Kind: fault.Unauthorized, Msg: "this sign-in link was used or is too old: restart the server for a new one, or sign in with a key"}
	errUnknownCredential = &fault.Error{Kind: fault.Unauthorized, Msg: "signed out: sign in again"}
)

func (e *authExtension) signIn(ctx context.Context, find func(*lookup) (project.Identity, []byte, error)) (c mount.Credential, err error) {
	l := e.lookup.Load()
	if l == nil {
		return c, errNotReady
	}
	who, hash, err := find(l)
	e.metrics.count(ctx, err)
	e.record(ctx, &who, err)
	if err != nil {
		return c, err
	}
	expires := e.now().Add(credentialTTL).Truncate(time.Second)
	return mount.Credential{Value: sign(who.KeyID, expires, hash), Expires: expires, Identity: who}, nil
}

// Resume implements mount.SignIn.
func (e *authExtension) Resume(ctx context.Context, credential string) (context.Context, error) {
	who, meter, err := e.resume(ctx, credential)
	e.metrics.count(ctx, err)
	e.record(ctx, &who, err)
	if err != nil {
		return ctx, verdict.GRPC(err)
	}
	return e.identified(ctx, &who, meter), nil
}

func (e *authExtension) resume(ctx context.Context, credential string) (who project.Identity, meter *limit.Meter, err error) {
	l := e.lookup.Load()
	if l == nil {
		return who, nil, errNotReady
	}
	id, expires, ok := parseCredential(credential)
	if !ok || !e.now().Before(expires) {
		return who, nil, errUnknownCredential
	}
	k, who, err := l.identityByID(ctx, id)
	switch {
	case isKind(err, fault.Unauthorized):
		return who, nil, errUnknownCredential
	case err != nil:
		return who, nil, err
	case !hmac.Equal([]byte(sign(id, expires, k.Hash)), []byte(credential)):
		return project.Identity{}, nil, errUnknownCredential
	}
	meter, err = e.meter(l, &who)
	return who, meter, err
}

// identified returns a context with the caller and its meter, for the Collector and for the API.
func (e *authExtension) identified(ctx context.Context, who *project.Identity, meter *limit.Meter) context.Context {
	info := client.FromContext(ctx)
	info.Auth = *who
	return limit.WithMeter(project.WithIdentity(client.NewContext(ctx, info), *who), meter)
}

// sign returns a credential: the key's id, when it expires in Unix seconds, and a signature over both. It is signed with the stored
// hash of the key, so there is no secret to keep besides, every server on one database can check it, and it ends with the key.
func sign(keyID string, expires time.Time, hash []byte) string {
	text := keyID + "." + strconv.FormatInt(expires.Unix(), 10)
	mac := hmac.New(sha256.New, hash)
	fmt.Fprintf(mac, "spangrove sign-in 1 %s", text)
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// parseCredential returns what a credential says, signed or not.
func parseCredential(credential string) (keyID string, expires time.Time, ok bool) {
	keyID, rest, _ := strings.Cut(credential, ".")
	seconds, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return keyID, time.Unix(n, 0), err == nil && len(credential) <= maxCredential
}

// maxCredential is more than sign returns, in bytes.
const maxCredential = 200

// NewCode implements mount.SignIn.
func (e *authExtension) NewCode() string {
	e.codes.mu.Lock()
	own := e.codes.own
	e.codes.mu.Unlock()
	if own == nil {
		return ""
	}
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand aborts the program instead
	code := hex.EncodeToString(b)
	e.codes.add(code, own, e.now())
	return code
}

// signInCodes are the one-time codes that wait to be used: in memory only, by their hash, so that comparing takes no time that tells.
type signInCodes struct {
	mu      sync.Mutex
	own     []byte // hash of the key that codes stand for; nil: there is none that the server knows
	waiting map[[sha256.Size]byte]waitingCode
}

type waitingCode struct {
	keyHash []byte
	until   time.Time
}

// ownKey sets the key that new codes stand for.
func (c *signInCodes) ownKey(hash []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = hash
}

func (c *signInCodes) add(code string, keyHash []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, w := range c.waiting {
		if !now.Before(w.until) || len(c.waiting) >= maxCodes {
			delete(c.waiting, k)
		}
	}
	if c.waiting == nil {
		c.waiting = map[[sha256.Size]byte]waitingCode{}
	}
	c.waiting[sha256.Sum256([]byte(code))] = waitingCode{keyHash, now.Add(codeTTL)}
}

// take returns the hash of the key that a code stands for, once.
func (c *signInCodes) take(code string, now time.Time) (keyHash []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := sha256.Sum256([]byte(code))
	w, ok := c.waiting[k]
	delete(c.waiting, k)
	return w.keyHash, ok && now.Before(w.until)
}
