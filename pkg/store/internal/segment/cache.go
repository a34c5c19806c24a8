package segment

import (
	"container/list"
	"sync"
)

// headerNumber is the number by which the cache has headers; no column has it.
const headerNumber = -1

type key struct {
	segment int64
	number  int
}

// Cache holds decoded columns and headers, those that were used last, up to a number of bytes. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	bound   int
	bytes   int
	entries map[key]*list.Element
	order   *list.List // of *entry, the one used last in front
}

type entry struct {
	key   key
	value any
	bytes int
}

// NewCache returns an empty cache of at most so many bytes.
func NewCache(bound int) *Cache {
	return &Cache{bound: bound, entries: map[key]*list.Element{}, order: list.New()}
}

// get returns what is kept under a key, or else what load returns, with its size in bytes, which is kept then. Two callers may load the
// same thing at once.
func (c *Cache) get(k key, load func() (any, int, error)) (any, error) {
	c.mu.Lock()
	if e := c.entries[k]; e != nil {
		c.order.MoveToFront(e)
		v := e.Value.(*entry).value
		c.mu.Unlock()
		return v, nil
	}
	c.mu.Unlock()
	v, size, err := load()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[k] == nil && size <= c.bound {
		c.entries[k] = c.order.PushFront(&entry{k, v, size})
		c.bytes += size
		for c.bytes > c.bound {
			c.remove(c.order.Back())
		}
	}
	return v, nil
}

func (c *Cache) remove(e *list.Element) {
	old := c.order.Remove(e).(*entry)
	delete(c.entries, old.key)
	c.bytes -= old.bytes
}

// Drop forgets a segment.
func (c *Cache) Drop(segment int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.entries {
		if k.segment == segment {
			c.remove(e)
		}
	}
}

// Bytes returns how much is kept.
func (c *Cache) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
