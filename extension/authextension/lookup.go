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

// A key that was known is good for maxStale longer where the store does not answer within askTime. A
// key that this server revoked is not: that is known at once.
const (
	maxStale = time.Minute
	askTime  = 2 * time.Second
)

// lookup resolves keys through the store, and remembers the answers for a short time: other
// servers' changes are seen after that time, this one's at once.
type lookup struct {
	keys    keyStore
	ttl     time.Duration
	now     func() time.Time
	known   *lru.Cache[[sha256.Size]byte, knownKey]
	byID    *lru.Cache[string, [sha256.Size]byte] // hashes of keys that have been seen
	unknown *lru.Cache[[sha256.Size]byte, validity]
	// projects are those that browsers have switched to, by public id.
	projects *lru.Cache[string, knownProject]
}

// validity is how long an answer is good: until a time, and while the keys have a revision.
type validity struct {
	until    time.Time
	revision uint64
}

func (v validity) holds(now time.Time, revision uint64) bool {
	return now.Before(v.until) && v.revision == revision
}

type knownKey struct {
	validity
	key     project.Key
	project project.Project
}

func (k *knownKey) identity() project.Identity {
	return project.Identity{Project: k.project, KeyID: k.key.ID, KeyPrefix: k.key.Prefix, Scope: k.key.Scope}
}

type knownProject struct {
	validity
	project project.Project
}

func newLookup(keys keyStore, ttl time.Duration, now func() time.Time) *lookup {
	l := &lookup{keys: keys, ttl: ttl, now: now}
	l.known, _ = lru.New[[sha256.Size]byte, knownKey](cacheSize)
	l.byID, _ = lru.New[string, [sha256.Size]byte](cacheSize)
	l.unknown, _ = lru.New[[sha256.Size]byte, validity](cacheSize)
	l.projects, _ = lru.New[string, knownProject](cacheSize)
	return l
}

// errUnknownKey is the answer to keys that were never there, expired or revoked alike.
var errUnknownKey = &fault.Error{Kind: fault.Unauthorized, Msg: "unknown API key"}

// identity returns whom secret identifies, also with the error that its key is not valid.
func (l *lookup) identity(ctx context.Context, secret string) (project.Identity, error) {
	return l.identityByHash(ctx, project.HashSecret(secret))
}

// identityByID returns a key by its id, with whom it identifies. The hash of a key never changes, so it is remembered for good.
func (l *lookup) identityByID(ctx context.Context, id string) (project.Key, project.Identity, error) {
	hash, ok := l.byID.Get(id)
	if !ok {
		k, _, err := l.keys.KeyByID(ctx, id)
		switch {
		case isKind(err, fault.NotFound):
			return project.Key{}, project.Identity{}, errUnknownKey
		case err != nil:
			return project.Key{}, project.Identity{}, unavailable(err)
		}
		hash = [sha256.Size]byte(k.Hash)
		l.byID.Add(id, hash)
	}
	who, err := l.identityByHash(ctx, hash[:])
	return project.Key{ID: id, Hash: hash[:]}, who, err
}

// identityByHash returns whom the key with a hash identifies, as identity does.
func (l *lookup) identityByHash(ctx context.Context, keyHash []byte) (project.Identity, error) {
	hash := [sha256.Size]byte(keyHash)
	// Read before the key: a change between the two makes what is remembered here old.
	now, revision := l.now(), l.keys.KeysRevision()
	found, ok := l.known.Get(hash)
	if !ok || !found.holds(now, revision) {
		if v, ok := l.unknown.Get(hash); ok && v.holds(now, revision) {
			return project.Identity{}, errUnknownKey
		}
		fresh := validity{now.Add(l.ttl), revision}
		asking, cancel := ctx, func() {}
		stale := ok && found.revision == revision && found.key.InForce(now) && now.Before(found.until.Add(maxStale))
		if stale {
			asking, cancel = context.WithTimeout(ctx, askTime)
		}
		k, p, err := l.keys.KeyByHash(asking, hash[:])
		cancel()
		switch {
		case err != nil && stale && ctx.Err() == nil && !isKind(err, fault.NotFound):
			// The store is slow or away: a key that was good a moment ago still is.
			return found.identity(), nil
		case isKind(err, fault.NotFound):
			l.known.Remove(hash)
			l.unknown.Add(hash, fresh)
			return project.Identity{}, errUnknownKey
		case err != nil:
			return project.Identity{}, unavailable(err)
		}
		found = knownKey{fresh, k, p}
		l.known.Add(hash, found)
	}
	who := found.identity()
	if !found.key.InForce(now) {
		return who, errUnknownKey
	}
	return who, nil
}

// actingIn returns a caller, who acts in the project of its key, acting in the one with a public id. errProjectGone if there is none;
// errUnknownCredential if the key may not: it did when the credential was made.
func (l *lookup) actingIn(ctx context.Context, who project.Identity, id string) (project.Identity, error) {
	if !who.MaySwitch() {
		return who, errUnknownCredential
	}
	p, err := l.projectByID(ctx, id)
	if err != nil || p.ID == who.Project.ID {
		return who, err
	}
	own := who.Project
	who.Project, who.Own = p, &own
	return who, nil
}

// projectByID returns the project with a public id, remembered as a key's is. One that is not there is not remembered: who asks has
// signed in by a key of scope admin.
func (l *lookup) projectByID(ctx context.Context, id string) (project.Project, error) {
	now, revision := l.now(), l.keys.KeysRevision()
	found, ok := l.projects.Get(id)
	if ok && found.holds(now, revision) {
		return found.project, nil
	}
	asking, cancel := ctx, func() {}
	stale := ok && found.revision == revision && now.Before(found.until.Add(maxStale))
	if stale {
		asking, cancel = context.WithTimeout(ctx, askTime)
	}
	p, err := l.keys.ProjectByPublicID(asking, id)
	cancel()
	switch {
	case isKind(err, fault.NotFound):
		l.projects.Remove(id)
		return p, errProjectGone
	case err != nil && stale && ctx.Err() == nil:
		return found.project, nil
	case err != nil:
		return p, unavailable(err)
	}
	l.projects.Add(id, knownProject{validity{now.Add(l.ttl), revision}, p})
	return p, nil
}

// unavailable keeps an error of the store from looking like a wrong key, which senders would
// not try again.
func unavailable(err error) error {
	if kind := fault.Of(err); kind.Later() || kind == fault.Timeout {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Msg: "keys cannot be checked now", Err: err}
}
