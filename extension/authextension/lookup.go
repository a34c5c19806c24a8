package authextension

import (
	"context"
	"crypto/sha256"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

// cacheSize bounds each of the two caches: 4,096 entries are about 1 MB. Unknown keys have a
// cache of their own, so that a flood of wrong keys cannot push the right ones out.
const cacheSize = 4096

// lookup resolves keys through the store, and remembers the answers for a short time.
type lookup struct {
	keys    keyStore
	ttl     time.Duration
	now     func() time.Time
	known   *lru.Cache[[sha256.Size]byte, knownKey]
	unknown *lru.Cache[[sha256.Size]byte, time.Time] // until when
}

type knownKey struct {
	key     project.Key
	project project.Project
	until   time.Time
}

func newLookup(keys keyStore, ttl time.Duration, now func() time.Time) *lookup {
	l := &lookup{keys: keys, ttl: ttl, now: now}
	l.known, _ = lru.New[[sha256.Size]byte, knownKey](cacheSize)
	l.unknown, _ = lru.New[[sha256.Size]byte, time.Time](cacheSize)
	return l
}

// errUnknownKey is the answer to keys that were never there, expired or revoked alike.
var errUnknownKey = &fault.Error{Kind: fault.Unauthorized, Msg: "unknown API key"}

// identity gives what secret stands for.
func (l *lookup) identity(ctx context.Context, secret string) (project.Identity, error) {
	hash := [sha256.Size]byte(project.HashSecret(secret))
	now := l.now()
	found, ok := l.known.Get(hash)
	if !ok || !now.Before(found.until) {
		if until, ok := l.unknown.Get(hash); ok && now.Before(until) {
			return project.Identity{}, errUnknownKey
		}
		k, p, err := l.keys.KeyByHash(ctx, hash[:])
		switch {
		case isKind(err, fault.NotFound):
			l.known.Remove(hash)
			l.unknown.Add(hash, now.Add(l.ttl))
			return project.Identity{}, errUnknownKey
		case err != nil:
			return project.Identity{}, unavailable(err)
		}
		found = knownKey{key: k, project: p, until: now.Add(l.ttl)}
		l.known.Add(hash, found)
	}
	if !found.key.InForce(now) {
		return project.Identity{}, errUnknownKey
	}
	return project.Identity{Project: found.project, KeyID: found.key.ID, Scope: found.key.Scope}, nil
}

// unavailable keeps an error of the store from looking like a wrong key, which senders would
// not try again.
func unavailable(err error) error {
	if kind := fault.Of(err); kind == fault.Unavailable || kind == fault.Timeout {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Msg: "keys cannot be checked now", Err: err}
}
