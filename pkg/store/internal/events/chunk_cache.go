package events

import (
	"context"
	"errors"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// errNoChunk is returned if a chunk is not there: its event was changed or deleted since its row was
// read, or the database is damaged.
var errNoChunk = errors.New("payload is missing")

// payload fills in the payload of a row that was read a while ago; where the event has changed
// since, the row is read again. What was deleted since keeps its head and has no payload.
func (s *Store) payload(ctx context.Context, r *Stored) error {
	err := s.fillFrom(ctx, s.db, r)
	if !errors.Is(err, errNoChunk) {
		return err
	}
	// The row names a chunk that is gone, so the event has changed. Find returns it with the payload that it has now.
	now, err := s.Find(ctx, s.db, r.project, r.ID)
	if fault.IsNotFound(err) {
		r.gone = true
		return nil
	}
	if err == nil {
		*r = *now
	}
	return err
}

// fillFrom reads the payload of a row by the connection that has read the row. errNoChunk if it is not there any more.
func (s *Store) fillFrom(ctx context.Context, c sqldb.Conn, r *Stored) error {
	if r.chunk == nil {
		return nil
	}
	raw, err := s.chunk(ctx, c, r.Day, *r.chunk)
	if err != nil {
		return err
	}
	return r.fill(raw)
}

// chunk reads and decompresses one chunk.
func (s *Store) chunk(ctx context.Context, c sqldb.Conn, day int32, id int64) ([]byte, error) {
	if raw, ok := s.chunks.get(id); ok {
		return raw, nil
	}
	var z []byte
	var pack *int64
	// On PostgreSQL the day chooses the partition: without it the statement would look into each of them.
	text, args := `SELECT data, pack FROM chunk WHERE id = $1`, []any{id}
	if s.bulk.chunksByDay() {
		text, args = text+` AND day = $2`, append(args, day)
	}
	ok, err := sqldb.One(ctx, c, text, args, &z, &pack)
	if err != nil {
		return nil, fmt.Errorf("read chunk %d: %w", id, err)
	}
	if !ok {
		return nil, fmt.Errorf("chunk %d: %w", id, errNoChunk)
	}
	var raw []byte
	if pack != nil {
		raw, err = s.textOfPacked(ctx, c, day, *pack, z)
	} else {
		raw, err = record.Decompress(z)
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", id, err)
	}
	s.chunks.put(id, raw)
	return raw, nil
}

// chunkCache keeps recently read chunks, bounded in bytes. A chunk never changes under its id: one that is rewritten gets
// another id, so what is cached is never wrong, only perhaps of no use any more.
type chunkCache struct {
	mu    sync.Mutex
	lru   *lru.Cache[int64, []byte] // by id, uncompressed
	bytes int                       // of all that is cached
	limit int                       // bytes; a chunk of more than a quarter of it is not cached
}

func newChunkCache(limit int) *chunkCache {
	c := &chunkCache{limit: limit}
	c.lru, _ = lru.NewWithEvict(1<<16, func(_ int64, v []byte) { c.bytes -= len(v) }) // the size is positive: no error
	return c
}

func (c *chunkCache) get(id int64) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(id)
}

func (c *chunkCache) put(id int64, raw []byte) {
	// A single large payload would otherwise push out hundreds of small ones that are read more often.
	if len(raw) > c.limit/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Two readers may have read the same chunk at once; without this its bytes would be counted twice.
	c.lru.Remove(id)
	c.lru.Add(id, raw)
	c.bytes += len(raw)
	for c.bytes > c.limit {
		c.lru.RemoveOldest()
	}
}

func (c *chunkCache) drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(id)
}
