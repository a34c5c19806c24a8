package events

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// textOfPacked returns the text of a chunk that stands in a pack, by the place that its row has. errNoChunk if the chunk has left the
// pack since its row was read.
func (s *Store) textOfPacked(ctx context.Context, c sqldb.Conn, day int32, pack int64, place []byte) ([]byte, error) {
	p, err := record.ReadPlace(place)
	if err != nil {
		return nil, err
	}
	text, err := s.packText(ctx, c, day, pack)
	if err != nil {
		return nil, err
	}
	return partOf(p, text)
}

// partOf returns a copy of a chunk's text: what is cached of the chunk must not keep all of the pack in memory.
func partOf(p record.Place, text []byte) ([]byte, error) {
	part, gone, err := p.In(text)
	if err == nil && gone {
		err = errNoChunk
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(part), nil
}

// packText reads and decompresses a pack. The last few are kept, for who reads events of a session one by one.
func (s *Store) packText(ctx context.Context, c sqldb.Conn, day int32, pack int64) ([]byte, error) {
	if text, ok := s.packs.get(pack); ok {
		return text, nil
	}
	text, args := `SELECT data FROM chunk WHERE id = $1`, []any{pack}
	if s.bulk.chunksByDay() {
		text, args = text+` AND day = $2`, append(args, day)
	}
	var z []byte
	ok, err := sqldb.One(ctx, c, text, args, &z)
	if err != nil {
		return nil, fmt.Errorf("read pack %d: %w", pack, err)
	}
	if !ok {
		return nil, fmt.Errorf("pack %d: %w", pack, errNoChunk)
	}
	_, raw, err := record.DecompressPack(z)
	if err != nil {
		return nil, fmt.Errorf("pack %d: %w", pack, err)
	}
	s.packs.put(pack, raw)
	return raw, nil
}
