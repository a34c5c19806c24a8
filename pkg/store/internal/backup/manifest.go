package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/durable"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Sum is the SHA-256 of a block. As text it is hexadecimal.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText implements encoding.TextMarshaler.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("a checksum of %d characters", len(text))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// Manifest is a backup: what is needed to make the database anew, but for the content of the blocks.
type Manifest struct {
	Name     string    `json:"name"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
	Program  string    `json:"program"`
	Database string    `json:"database"`
	sqldb.Layout
	Rows []Rows `json:"rows"` // of the tables, in their order
}

// Rows are those of a table.
type Rows struct {
	Table  string `json:"table"`
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	Sum    string `json:"sum"` // of the SHA-256 of each row, and of what stands before and after them
	Blocks []Sum  `json:"blocks"`
}

// Events returns how many events it has.
func (m *Manifest) Events() (n int64) {
	for i := range m.Rows {
		if m.Rows[i].Table == "event" {
			n += m.Rows[i].Count
		}
	}
	return n
}

func (m *Manifest) bytes() (n int64) {
	for i := range m.Rows {
		n += m.Rows[i].Bytes
	}
	return n
}

// blocks returns the blocks of all tables; one that is in several places comes as often.
func (m *Manifest) blocks() iter.Seq[Sum] {
	return func(yield func(Sum) bool) {
		for i := range m.Rows {
			for _, sum := range m.Rows[i].Blocks {
				if !yield(sum) {
					return
				}
			}
		}
	}
}

const (
	manifestSuffix = ".json"
	sumSuffix      = ".sha256"
	nameLayout     = "20060102T150405.000Z"
)

// newName returns the name of a backup, which stands behind all names that there are: also where the clock was ahead when one of them was given, the
// newest backup is the last one.
func newName(now time.Time, names []string) string {
	for _, name := range slices.Backward(names) {
		if last, err := time.Parse(nameLayout, name); err == nil {
			if next := last.Add(time.Millisecond); next.After(now) {
				now = next
			}
			break
		}
	}
	return now.Format(nameLayout)
}

func (d *directory) manifest(name string) string {
	return filepath.Join(d.path, backupsName, name+manifestSuffix)
}

// names lists the backups, the oldest first.
func (d *directory) names() (list []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.path, backupsName))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), manifestSuffix); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, nil
}

// writeManifest stores a backup whose blocks are on disk, its checksum first. It returns what it takes on disk.
func (d *directory) writeManifest(m *Manifest) (size int64, err error) {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return 0, err
	}
	path := d.manifest(m.Name)
	sum := fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(text), filepath.Base(path))
	if err := durable.WriteFile(path+sumSuffix, sum); err != nil {
		return 0, err
	}
	if err := durable.WriteFile(path, text); err != nil {
		return 0, err
	}
	return int64(len(sum) + len(text)), durable.SyncDirectory(filepath.Dir(path))
}

// readManifest reads a backup and holds it against its checksum.
func (d *directory) readManifest(name string) (*Manifest, error) {
	path := d.manifest(name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no backup %q", name)
	}
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(path + sumSuffix)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(sum, fmt.Appendf(nil, "%x ", sha256.Sum256(text))) {
		return nil, fmt.Errorf("%s is damaged: its checksum is not the one in %s", path, filepath.Base(path)+sumSuffix)
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(m.Rows) != len(m.Tables) {
		return nil, fmt.Errorf("%s has rows of %d tables, and %d tables", path, len(m.Rows), len(m.Tables))
	}
	return m, nil
}

// find reads the backup of a name, or the newest one if the name is empty.
func (d *directory) find(name string) (*Manifest, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	if name == "" && len(names) > 0 {
		name = names[len(names)-1]
	}
	if name == "" {
		return nil, fmt.Errorf("%s has no backup yet", d.path)
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("there is no backup %q in %s; there are %s", name, d.path, strings.Join(names, ", "))
	}
	return d.readManifest(name)
}

// expected returns about how many bytes of rows a backup will have: those of the last one, or what the tables take.
func (d *directory) expected(names []string, l sqldb.Layout) (n int64) {
	if len(names) > 0 {
		if m, err := d.readManifest(names[len(names)-1]); err == nil {
			return m.bytes()
		}
	}
	for _, t := range l.Tables {
		n += t.Bytes
	}
	return n
}
