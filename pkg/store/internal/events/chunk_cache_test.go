package events

import "testing"

func TestChunkCacheCountsBytes(t *testing.T) {
	t.Parallel()
	c := newChunkCache(1000)
	count := func() (n int) {
		for _, v := range c.lru.Values() {
			n += len(v)
		}
		return n
	}
	for i := range 500 {
		id := int64(i % 37)
		switch i % 5 {
		case 4:
			c.drop(id)
		case 3:
			c.put(id, make([]byte, 251)) // too large a part of the cache
		default:
			c.put(id, make([]byte, i%200))
			if _, ok := c.get(id); !ok {
				t.Fatalf("step %d: just put, and gone", i)
			}
		}
		if got := count(); got != c.bytes || got > c.limit {
			t.Fatalf("step %d: %d bytes counted, %d held, limit %d", i, c.bytes, got, c.limit)
		}
	}
	for i := range 37 {
		c.drop(int64(i))
	}
	if c.bytes != 0 {
		t.Errorf("%d bytes in an empty cache", c.bytes)
	}
}
