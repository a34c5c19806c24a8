package move

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A table has its rows in one form on the way, whatever database they come from: a value for each column of PostgreSQL's table, which is nil, an
// int64 (also for boolean), a float64, a string (also for JSON, letter for letter) or a []byte (also for a UUID, 16 bytes). Two tables of SQLite
// differ: an event names its session by the row's number there, and a chunk of payloads has no day, which it gets from the event that names it.
type table struct {
	name    string
	columns []column
	key     []int // by which a row is named, as indexes of columns
}

// column is a column with its type as PostgreSQL calls it.
type column struct{ name, kind string }

const (
	eventTable    = "event"
	chunkTable    = "chunk"
	sessionTable  = "session"
	unpackedTable = "unpacked"
)

// notMoved are tables that the new database makes by itself: column segments follow from events and are built anew, and each setting is looked at by
// itself.
var notMoved = []string{"goose_db_version", "segment", "segment_column", "segment_progress", "segment_stale", settingTable}

const settingTable = "setting"

// ownSettings are those that say something of one database, and not of what it stores.
var ownSettings = []string{"archive_before", "write_check", "erase", movedSetting}

// prefix is that of all tables, functions and triggers that a move makes.
const prefix = sqldb.MovePrefix

const movedSetting = sqldb.MovedSetting

// notes is the table in which the source notes which rows of t have changed.
func (t *table) notes() string { return prefix + "_" + t.name }

// noted reports whether changes are noted. The list of sessions that wait for the packer is copied at the end, whole: SQLite cannot tell which session
// a row was about once that is gone.
func (t *table) noted() bool { return t.name != unpackedTable }

func (t *table) index(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
}

func (t *table) names() []string {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		list[i] = c.name
	}
	return list
}

func (t *table) keyNames() []string {
	list := make([]string, len(t.key))
	for i, k := range t.key {
		list[i] = t.columns[k].name
	}
	return list
}

// keyOf returns the key of a row.
func (t *table) keyOf(row []any) []any {
	key := make([]any, len(t.key))
	for i, k := range t.key {
		key[i] = row[k]
	}
	return key
}

// keyText is a key as that of a map.
func keyText(key []any) string { return string(appendRow(nil, key)) }

// arrange orders tables so that projects, to which keys refer, come first, and sessions before events. The key of a chunk is its id alone.
func arrange(tables []*table) {
	rank := map[string]int{"project": -2, sessionTable: -1, chunkTable: 1, eventTable: 2}
	slices.SortFunc(tables, func(a, b *table) int {
		return cmp.Or(cmp.Compare(rank[a.name], rank[b.name]), strings.Compare(a.name, b.name))
	})
	for _, t := range tables {
		if t.name == chunkTable {
			t.key = []int{t.index("id")}
		}
	}
}

func find(tables []*table, name string) *table {
	return tables[slices.IndexFunc(tables, func(t *table) bool { return t.name == name })]
}
