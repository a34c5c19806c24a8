package query

import (
	"encoding/binary"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
)

// An index of parents would cost each event 35 bytes, and a column of their ids 5 to 16, since ids do not compress. So ParentColumn has a number of
// 16 bits, which says of most events that their parent is not the one that is asked for. The few others are read.

// parentNumber returns the number of a parent that is not the event's session: 1 to 65,535.
func parentNumber(id uuid.UUID) float64 {
	// All bits count: ids may begin with a time.
	a, b := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	a = (a ^ a>>29 ^ b) * 0x9e3779b97f4a7c15
	a = (a ^ a>>32) * 0xd6e8feb86659fd93
	return float64(1 + (a>>32)%65535)
}

// matchParent decides a condition on the parent's id, without its negation: of an event whose parent is its session by the session's id, of others
// by the parent's number, which only says that they may match.
func (c *cond) matchParent(b Block) (Decided, error) {
	d := Decided{column.NewSet(b.Len()), column.NewSet(b.Len())}
	parents, err := b.Column(ParentColumn)
	switch {
	case err != nil:
		return d, err
	case parents == nil: // the segment was built before there was this column
		d.Maybe.Fill(b.Len())
		return d, nil
	case !parents.IsNumeric(): // no event has a parent
		return d, nil
	case c.op == opExists:
		eachNumber(parents, func(row int, _ float64) { d.Match.Add(row) })
		return d, nil
	case c.typ != typeString && c.typ != typeID, len(c.ids()) == 0:
		return d, nil
	}
	sessions, err := b.Column(SessionColumn)
	if err == nil && (sessions == nil || sessions.IsNumeric()) {
		err = column.ErrDamaged // every event has a session
	}
	if err != nil {
		return d, err
	}
	ids, numbers := map[string]bool{}, map[float64]bool{}
	for _, id := range c.ids() {
		ids[string(id[:])], numbers[parentNumber(id)] = true, true
	}
	v := blockValues{c: &cond{name: SessionColumn}, column: sessions}
	ofSession := matchCodes(&v, func(session fieldValue) bool { return ids[session.text] }).Match
	eachNumber(parents, func(row int, number float64) {
		switch {
		case number == 0 && ofSession.Has(row):
			d.Match.Add(row)
		case numbers[number]:
			d.Maybe.Add(row)
		}
	})
	return d, nil
}
