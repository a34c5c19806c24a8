package backup

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/durable"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

const (
	formatName  = "spangrove-backups.json"
	backupsName = "backups"
	blocksName  = "blocks"
	blockSuffix = ".zst"
	format      = 1
	maxDecoded  = 2 << 30 // of a block: twice the largest value that a database takes
)

// directory is one of backups.
type directory struct {
	path   string
	dec    *zstd.Decoder
	enc    *zstd.Encoder // the others are for the one that writes
	unlock func()

	mu         sync.Mutex
	blocks     map[Sum]struct{} // that are there, or are being written
	touched    map[string]bool  // directories with blocks of this backup
	added      int
	addedBytes int64
}

// open opens a directory to read it.
func open(path string) (*directory, error) {
	text, err := os.ReadFile(filepath.Join(path, formatName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no directory of backups: there is no file %s", path, formatName)
	}
	if err != nil {
		return nil, err
	}
	var x struct{ Format int }
	if err := json.Unmarshal(text, &x); err != nil || x.Format < 1 {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, formatName), errors.Join(errors.New("not the file of a directory of backups"), err))
	}
	if x.Format > format {
		return nil, fmt.Errorf("%s has backups in form %d, and this program knows form %d: it was written by a newer one", path, x.Format, format)
	}
	d := &directory{path: path}
	d.dec, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDecoded), zstd.WithDecoderConcurrency(0))
	return d, err
}

// openToWrite opens a directory, which is made if there is none, and takes it for this process. What another one left unfinished is removed.
func openToWrite(ctx context.Context, path string) (_ *directory, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := makeFormat(path); err != nil {
		return nil, err
	}
	unlock, err := sqldb.LockDirectory(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	d.unlock, d.blocks, d.touched = unlock, map[Sum]struct{}{}, map[string]bool{}
	if d.enc, err = zstd.NewWriter(nil); err != nil {
		return nil, err
	}
	for _, pattern := range []string{backupsName + "/*", blocksName + "/*/*"} {
		unfinished, err := fs.Glob(os.DirFS(path), pattern+durable.TempSuffix)
		for _, file := range unfinished {
			err = errors.Join(err, os.Remove(filepath.Join(path, filepath.FromSlash(file))))
		}
		if err != nil {
			return nil, err
		}
	}
	return d, d.walk(func(sum Sum, _ int64) error {
		d.blocks[sum] = struct{}{}
		return nil
	})
}

// makeFormat makes an empty directory one of backups.
func makeFormat(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch e.Name() {
		case formatName:
			return nil
		case "lock.db", "lock.db-journal", backupsName, blocksName:
		default:
			if !strings.HasSuffix(e.Name(), durable.TempSuffix) {
				return fmt.Errorf("%s is no directory of backups, and not empty: there is %s", path, e.Name())
			}
		}
	}
	for _, name := range []string{backupsName, blocksName} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return err
		}
	}
	err = durable.WriteFile(filepath.Join(path, formatName), fmt.Appendf(nil, "{\"format\": %d}\n", format))
	return errors.Join(err, durable.SyncDirectory(path))
}

// walk calls f for each block that there is, with the size of its file.
func (d *directory) walk(f func(sum Sum, size int64) error) error {
	return filepath.WalkDir(filepath.Join(d.path, blocksName), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		var sum Sum
		name, ok := strings.CutSuffix(e.Name(), blockSuffix)
		if !ok || sum.UnmarshalText([]byte(name)) != nil {
			return nil // something else
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return f(sum, info.Size())
	})
}

func (d *directory) block(sum Sum) string {
	name := sum.String()
	return filepath.Join(d.path, blocksName, name[:2], name+blockSuffix)
}

// store writes a block, unless it is there.
func (d *directory) store(content []byte) (sum Sum, err error) {
	sum = sha256.Sum256(content)
	path := d.block(sum)
	dir := filepath.Dir(path)
	d.mu.Lock()
	_, there := d.blocks[sum]
	d.blocks[sum] = struct{}{}
	d.touched[dir] = true // also if it is there: of a backup that was interrupted, its name may not be on disk
	d.mu.Unlock()
	if there {
		return sum, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return sum, err
	}
	packed := d.enc.EncodeAll(content, nil)
	if err := durable.WriteFile(path, packed); err != nil {
		return sum, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added++
	d.addedBytes += int64(len(packed))
	return sum, nil
}

// syncBlocks has the names of blocks put on disk.
func (d *directory) syncBlocks() error {
	for dir := range d.touched {
		if err := durable.SyncDirectory(dir); err != nil {
			return err
		}
	}
	if len(d.touched) == 0 {
		return nil
	}
	return durable.SyncDirectory(filepath.Join(d.path, blocksName))
}

// read returns the content of a block.
func (d *directory) read(sum Sum) ([]byte, error) {
	packed, err := os.ReadFile(d.block(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("block %s is missing", sum)
	}
	if err != nil {
		return nil, err
	}
	content, err := d.dec.DecodeAll(packed, nil)
	if err != nil || sha256.Sum256(content) != sum {
		return nil, fmt.Errorf("block %s is damaged", sum)
	}
	return content, nil
}

// writeTo writes blocks one after the other.
func (d *directory) writeTo(ctx context.Context, w io.Writer, blocks []Sum) error {
	for _, sum := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		content, err := d.read(sum)
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// prune removes all backups but the newest, then the blocks that only those had. If one that stays cannot be read, no block is removed.
func (d *directory) prune(keep int) (removed []string, err error) {
	names, err := d.names()
	if err != nil || len(names) <= keep {
		return nil, err
	}
	old, kept := names[:len(names)-keep], names[len(names)-keep:]
	used := map[Sum]bool{}
	for _, name := range kept {
		m, err := d.readManifest(name)
		if err != nil {
			return nil, err
		}
		for sum := range m.blocks() {
			used[sum] = true
		}
	}
	for _, name := range old {
		if err := errors.Join(os.Remove(d.manifest(name)), os.RemoveAll(d.manifest(name)+sumSuffix)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	if err := durable.SyncDirectory(filepath.Join(d.path, backupsName)); err != nil {
		return removed, err
	}
	return removed, d.walk(func(sum Sum, _ int64) error {
		if used[sum] {
			return nil
		}
		return os.Remove(d.block(sum))
	})
}
