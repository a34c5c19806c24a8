package store

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of what is kept of trees.
const (
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
	// The size is positive: no error.
	c.lru, _ = lru.NewWithEvict(treeCacheSpans, func(_ idKey, k *sessionTree) { c.nodes -= len(k.nodes) + 1 })
	return c
}

// take returns a session's tree if it is of this version of the session's row, and takes it
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
