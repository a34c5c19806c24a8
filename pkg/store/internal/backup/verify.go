package backup

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/spangrove/spangrove/pkg/diagnosis"
)

// Verified is what a directory of backups has.
type Verified struct {
	Directory   string           `json:"directory"`
	Backups     []VerifiedBackup `json:"backups"` // the oldest first
	Blocks      int              `json:"blocks"`
	Bytes       int64            `json:"bytes"`        // that the blocks take on disk
	Unused      int              `json:"unused"`       // blocks that belong to no backup, such as of one that was interrupted
	UnusedBytes int64            `json:"unused_bytes"` // that those take
}

// VerifiedBackup is a backup that was read.
type VerifiedBackup struct {
	Name     string   `json:"name"`
	Database string   `json:"database,omitempty"`
	Program  string   `json:"program,omitempty"`
	Events   int64    `json:"events"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems,omitempty"`
}

// Damaged returns how many backups cannot be restored.
func (v *Verified) Damaged() (n int) {
	for i := range v.Backups {
		if len(v.Backups[i].Problems) > 0 {
			n++
		}
	}
	return n
}

// Verify reads all backups of a directory, and every block once.
func Verify(ctx context.Context, path string, tell diagnosis.Progress) (*Verified, error) {
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	v := &Verified{Directory: path, Backups: make([]VerifiedBackup, len(names))}
	users := map[Sum][]int{} // backups, each once
	for i, name := range names {
		b := &v.Backups[i]
		b.Name = name
		m, err := d.readManifest(name)
		if err != nil {
			b.Problems = []string{err.Error()}
			continue
		}
		b.Database, b.Program, b.Events, b.Bytes = m.Database, m.Program, m.Events(), m.bytes()
		for sum := range m.blocks() {
			if of := users[sum]; len(of) == 0 || of[len(of)-1] != i {
				users[sum] = append(of, i)
			}
		}
	}
	err = d.walk(func(sum Sum, size int64) error {
		v.Blocks++
		v.Bytes += size
		if len(users[sum]) == 0 {
			v.Unused++
			v.UnusedBytes += size
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return v, v.readBlocks(ctx, d, users, newProgress(tell, "reading, blocks", int64(len(users))))
}

// readBlocks reads all blocks, and says of the backups which of theirs are missing or damaged.
func (v *Verified) readBlocks(ctx context.Context, d *directory, users map[Sum][]int, p *progress) error {
	var mu sync.Mutex
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for sum, of := range users {
		if ctx.Err() != nil {
			break
		}
		workers.Go(func() error {
			_, err := d.read(sum)
			mu.Lock()
			defer mu.Unlock()
			p.add(1)
			if err != nil {
				for _, i := range of {
					v.Backups[i].Problems = append(v.Backups[i].Problems, err.Error())
				}
			}
			return nil
		})
	}
	_ = workers.Wait() // they return none
	for i := range v.Backups {
		slices.Sort(v.Backups[i].Problems)
	}
	return ctx.Err()
}
