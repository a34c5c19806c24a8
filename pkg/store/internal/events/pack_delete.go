package events

import (
	"context"
	"maps"
	"slices"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// dropChunks deletes chunks, of which none may be named by an event any more. The texts of those that stand in packs leave
// their packs, and a pack goes with the last of them. Chunks that are not there are left out.
//
// Rows are locked in the order of their ids, chunks before packs, as the packer does.
func (s *Store) dropChunks(ctx context.Context, tx *Commit, ids ...int64) error {
	slices.Sort(ids)
	gone := map[int64][]record.Place{} // by pack
	for group := range slices.Chunk(ids, purgeRows) {
		list := group
		if len(group) > 1 {
			list = padded(group, func(id int64) int64 { return id })
		}
		cond, args := tx.AnyNumber("id", 1, list)
		err := sqldb.Each(ctx, tx, `DELETE FROM chunk WHERE `+cond+` RETURNING pack, CASE WHEN pack IS NOT NULL THEN data END`, args,
			func(scan func(...any) error) error {
				var pack *int64
				var z []byte
				if err := scan(&pack, &z); err != nil || pack == nil {
					return err
				}
				p, err := record.ReadPlace(z)
				gone[*pack] = append(gone[*pack], p)
				return err
			})
		if err != nil {
			return err
		}
		// Dropped before the commit: if that fails, the chunk is read again when somebody asks for it.
		for _, id := range group {
			s.chunks.drop(id)
			s.configs.drop(id)
		}
	}
	for _, pack := range slices.Sorted(maps.Keys(gone)) {
		if err := s.leavePack(ctx, tx, pack, gone[pack]); err != nil {
			return err
		}
	}
	return nil
}

// leavePack removes texts from a pack.
func (s *Store) leavePack(ctx context.Context, tx *Commit, pack int64, gone []record.Place) error {
	var z []byte
	ok, err := sqldb.One(ctx, tx, `SELECT data FROM chunk WHERE id = $1`+tx.ForUpdate(""), []any{pack}, &z)
	if err != nil || !ok {
		return err
	}
	s.packs.drop(pack)
	chunks, text, err := record.DecompressPack(z)
	for _, p := range gone {
		if err == nil {
			var part []byte
			part, _, err = p.In(text)
			clear(part)
		}
	}
	// What is damaged cannot be read without the text that is to go. It is of no use to anybody, and goes whole.
	if err != nil || chunks <= len(gone) {
		_, err = tx.Exec(ctx, `DELETE FROM chunk WHERE id = $1`, pack)
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE chunk SET data = $2 WHERE id = $1`, pack, record.CompressPack(chunks-len(gone), text))
	return err
}
