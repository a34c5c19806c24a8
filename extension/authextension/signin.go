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
	who.Cookie = true
	return mount.Credential{Value: sign(grant{keyID: who.KeyID, expires: expires}, hash), Expires: expires, Identity: who}, nil
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
	g, who, _, err := e.verify(ctx, l, credential)
	if err != nil {
		return who, nil, err
	}
	if g.projectID != "" {
		if who, err = l.actingIn(ctx, who, g.projectID); err != nil {
			return who, nil, withCaller(&who, err)
		}
	}
	meter, err = e.meter(l, &who)
	return who, meter, err
}

// verify returns what a credential grants, whom its key identifies in the key's own project, and the hash of the key.
func (e *authExtension) verify(ctx context.Context, l *lookup, credential string) (g grant, who project.Identity, hash []byte, err error) {
	g, ok := parseCredential(credential)
	if !ok || !e.now().Before(g.expires) {
		return g, who, nil, errUnknownCredential
	}
	k, who, err := l.identityByID(ctx, g.keyID)
	switch {
	case isKind(err, fault.Unauthorized):
		return g, who, nil, errUnknownCredential
	case err != nil:
		return g, who, nil, err
	case !hmac.Equal([]byte(sign(g, k.Hash)), []byte(credential)):
		return g, project.Identity{}, nil, errUnknownCredential
	}
	who.Cookie = true
	return g, who, k.Hash, nil
}

// identified returns a context with the caller and its meter, for the Collector and for the API.
func (e *authExtension) identified(ctx context.Context, who *project.Identity, meter *limit.Meter) context.Context {
	info := client.FromContext(ctx)
	info.Auth = *who
	if l := e.lookup.Load(); l != nil {
		l.keys.RecordKeyUse(who.KeyID, e.now(), remoteAddress(ctx))
	}
	return limit.WithMeter(project.WithIdentity(client.NewContext(ctx, info), *who), meter)
}

// grant is what a credential says.
type grant struct {
	keyID     string
	expires   time.Time // to the second
	projectID string    // public id of the project to act in; empty: the key's own
}

// sign returns the credential of a grant: the key's id, when it expires in Unix seconds, the project if it is not the key's own, and a
// signature over all of it. It is signed with the stored hash of the key, so there is no secret to keep besides, every server on one
// database can check it, and it ends with the key. The two forms have signatures of two sorts, so that neither can be made of the other.
func sign(g grant, hash []byte) string {
	text, form := g.keyID+"."+strconv.FormatInt(g.expires.Unix(), 10), 1
	if g.projectID != "" {
		text, form = text+"."+g.projectID, 2
	}
	mac := hmac.New(sha256.New, hash)
	fmt.Fprintf(mac, "spangrove sign-in %d %s", form, text)
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// parseCredential returns what a credential says, signed or not.
func parseCredential(credential string) (g grant, ok bool) {
	keyID, rest, _ := strings.Cut(credential, ".")
	seconds, rest, _ := strings.Cut(rest, ".")
	projectID := ""
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		projectID = rest[:at] // what follows is the signature
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	return grant{keyID, time.Unix(n, 0), projectID}, err == nil && len(credential) <= maxCredential
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
