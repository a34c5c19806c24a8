package events

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
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
	lru   *lru.Cache[writer.Key, *sessiontree.Tree]
	nodes int
}

func newTreeCache() *treeCache {
	c := &treeCache{}
	// The size is positive: no error.
	c.lru, _ = lru.NewWithEvict(treeCacheSpans, func(_ writer.Key, k *sessiontree.Tree) { c.nodes -= len(k.Nodes) + 1 })
	return c
}

// take returns a session's tree if it is of this version of the session's row, and takes it
// out: whoever has it may change it, and puts it back once its changes are committed.
func (c *treeCache) take(key writer.Key, version int64) *sessiontree.Tree {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.lru.Peek(key)
	if !ok {
		return nil
	}
	c.lru.Remove(key)
	if k.Version != version {
		return nil
	}
	return k
}

// put keeps a tree, unless a later one is there.
func (c *treeCache) put(key writer.Key, k *sessiontree.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.lru.Peek(key); ok {
		if old.Version > k.Version {
			return
		}
		c.lru.Remove(key)
	}
	c.lru.Add(key, k)
	c.nodes += len(k.Nodes) + 1
	for c.nodes > treeCacheSpans {
		c.lru.RemoveOldest()
	}
}

func (c *treeCache) drop(key writer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}

// purge forgets all trees.
func (c *treeCache) purge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Purge()
}
