package events

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// dropChunks deletes chunks of some days, of which none may be named by an event any more. The texts of those that stand in packs leave
// their packs, and a pack goes with the last of them. Chunks that are not there are left out.
//
// Where chunks are distributed they are deleted after the transaction.
func (s *Store) dropChunks(ctx context.Context, tx *Commit, days []int32, ids ...int64) error {
	if s.removal != nil {
		return s.removal.add(ctx, tx, days, ids)
	}
	return s.deleteChunks(ctx, tx, days, ids)
}

// deleteChunks deletes chunks in a transaction. Rows are locked in the order of their ids, chunks before packs, as the packer does.
func (s *Store) deleteChunks(ctx context.Context, tx *Commit, days []int32, ids []int64) error {
	slices.Sort(ids)
	gone := map[int64][]record.Place{} // by pack
	for group := range slices.Chunk(ids, purgeRows) {
		list := group
		if len(group) > 1 {
			list = padded(s, purgeRows, group, func(id int64) int64 { return id })
		}
		cond, args := s.chunksOn(tx, days, list...)
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
		if err := s.leavePack(ctx, tx, days, pack, gone[pack]); err != nil {
			return err
		}
	}
	return nil
}

// holdChunks ends a read of chunks that a transaction is about to change. One that is the only one to change any needs no lock of
// rows, which Citus gives for a single shard alone.
func (c *Commit) holdChunks() string {
	if c.s.removal != nil {
		return ""
	}
	return c.ForUpdate("")
}

// leavePack removes texts from a pack, which is of one of some days.
func (s *Store) leavePack(ctx context.Context, tx *Commit, days []int32, pack int64, gone []record.Place) error {
	var z []byte
	cond, args := s.chunksOn(tx, days, pack)
	ok, err := sqldb.One(ctx, tx, `SELECT data FROM chunk WHERE `+cond+tx.holdChunks(), args, &z)
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
		_, err = tx.Exec(ctx, `DELETE FROM chunk WHERE `+cond, args...)
		return err
	}
	set := fmt.Sprintf(`UPDATE chunk SET data = $%d WHERE `, len(args)+1)
	_, err = tx.Exec(ctx, set+cond, append(args, record.CompressPack(chunks-len(gone), text))...)
	return err
}

// chunksOn returns the condition of chunks with some ids, and its arguments. Where a chunk is found by its day and id, only the partitions
// of its days are looked into; they must be those of its events.
func (s *Store) chunksOn(spell sqldb.Spelling, days []int32, ids ...int64) (cond string, args []any) {
	cond, args = spell.AnyNumber("id", 1, ids)
	if s.bulk.chunksByDay() {
		cond, args = cond+fmt.Sprintf(" AND day = ANY($%d)", len(args)+1), append(args, days)
	}
	return cond, args
}
