package segment

import (
	"container/list"
	"sync"
)

// headerNumber is the number by which the cache has headers; no column has it.
const headerNumber = -1

type key struct {
	segment  int64  // 0: many
	number   int    // of a column
	question string // of what a question has made of the segment; "" of a column
}

// Cache holds decoded columns and headers, or what questions have made of segments: what was used last, up to a number of bytes. It is safe
// for concurrent use.
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

// Answer returns what a question has made of a segment, or else what work returns, with its size in bytes, which is kept then unless it is more than most.
// An answer must not be changed.
func (c *Cache) Answer(segment int64, question string, most int, work func() (any, int, error)) (any, error) {
	return c.get(key{segment: segment, question: question}, func() (any, int, error) {
		v, size, err := work()
		if size += len(question) + 200; size > most {
			size = c.bound + 1
		}
		return v, size, err
	})
}

// Known returns what was made of many segments to answer a question; nil if it is not kept.
func (c *Cache) Known(question string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key{question: question}]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).value
}

// Keep keeps what was made of many segments to answer a question, with its size in bytes. question must tell these segments from what they
// become later: nothing drops the value but that others are used.
func (c *Cache) Keep(question string, value any, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key{question: question}, value, size+len(question)+200)
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
	c.put(k, v, size)
	return v, nil
}

// put keeps a value unless one is kept under its key. The caller holds mu.
func (c *Cache) put(k key, value any, size int) {
	if c.entries[k] != nil || size > c.bound {
		return
	}
	c.entries[k] = c.order.PushFront(&entry{k, value, size})
	c.bytes += size
	for c.bytes > c.bound {
		c.remove(c.order.Back())
	}
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
