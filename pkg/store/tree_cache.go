package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of what is kept of trees.
const (
	// maxTreeSpans is how many spans of one session the corrections look at: beyond any trace,
	// and below what a service that never ends its session piles up.
	maxTreeSpans = 50_000
	// treeCacheSpans bounds what is kept in memory of sessions written lately, in spans: some
	// 25 MB. What is not kept is read again when the session is written again.
	treeCacheSpans = 200_000
)

// treeCache keeps the trees of sessions that were written lately.
type treeCache struct {
	mu    sync.Mutex
	lru   *lru.Cache[idKey, *sessionTree]
	nodes int
}

func newTreeCache() *treeCache {
	c := &treeCache{}
	c.lru, _ = lru.NewWithEvict(treeCacheSpans, func(_ idKey, k *sessionTree) { c.nodes -= len(k.nodes) + 1 }) // the size is positive: no error
	return c
}

// take gives a session's tree if it is of this version of the session's row, and takes it
// out: whoever has it may change it, and puts it back once its changes are committed.
func (c *treeCache) take(key idKey, version int64) *sessionTree {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.lru.Peek(key)
	if !ok {
		return nil
	}
	c.lru.Remove(key)
	if k.version != version {
		return nil
	}
	return k
}

// put keeps a tree, unless a later one is there.
func (c *treeCache) put(key idKey, k *sessionTree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.lru.Peek(key); ok {
		if old.version > k.version {
			return
		}
		c.lru.Remove(key)
	}
	c.lru.Add(key, k)
	c.nodes += len(k.nodes) + 1
	for c.nodes > treeCacheSpans {
		c.lru.RemoveOldest()
	}
}

func (c *treeCache) drop(key idKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}

// loadTree reads a session's tree: of its newest spans, if there are too many.
func (s *Store) loadTree(ctx context.Context, tx writeTx, key idKey) (*sessionTree, error) {
	k := &sessionTree{}
	var marked []uuid.UUID
	err := each(ctx, tx, `SELECT event_id, parent_id, trace, start_ms, end_ms, type, spill, twin, span FROM ev
		WHERE `+s.db.frag().bySession+` AND trace IS NOT NULL ORDER BY start_ms DESC, event_id LIMIT $3`,
		[]any{key.project, tx.id(key.id), maxTreeSpans}, func(scan func(...any) error) error {
			var n node
			var typ, spill int
			var twin []byte
			var span uuid.UUID
			if err := scan(scanID{&n.id}, scanID{&n.parent}, &n.trace, &n.start, &n.end, &typ, &spill, &twin, scanID{&span}); err != nil {
				return err
			}
			n.flags = nodeFlags(typeOf(typ), spill)
			n.setDuplicateKey(twin)
			if n.flags&nodeDuplicate != 0 {
				marked = append(marked, n.id)
			}
			k.add(n, span)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the tree of session %s: %w", key.id, err)
	}
	k.partial = len(k.nodes) == maxTreeSpans
	slices.Reverse(k.nodes) // oldest first: those are left out when it grows
	k.reindex()
	for _, id := range marked {
		e, err := s.find(ctx, tx, key.project, id)
		if err != nil {
			return nil, fmt.Errorf("read duplicate %s: %w", id, err)
		}
		k.setDuplicate(id, e.DuplicateOf())
	}
	return k, nil
}

// setDuplicate notes that a node's event is marked as the duplicate of another one, zero: of none.
func (k *sessionTree) setDuplicate(id, of uuid.UUID) {
	if of == uuid.Nil {
		delete(k.duplicates, id)
		return
	}
	if k.duplicates == nil {
		k.duplicates = map[uuid.UUID]uuid.UUID{}
	}
	k.duplicates[id] = of
}
