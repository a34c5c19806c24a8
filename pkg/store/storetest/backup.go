package storetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

var backupTests = []test{
	{"Backup/a restored store answers as the original did, and goes on by itself", backupAnswers},
	{"Backup/each stores only what is new, and all can be restored", backupIncremental},
	{"Backup/as of one moment while others write", backupWhileWriting},
	{"Backup/older ones are removed", backupKeep},
	{"Backup/damage is found, and nothing is made of it", backupDamage},
	{"Backup/interrupted, and done again", backupInterrupted},
	{"Backup/refusals", backupRefusals},
}

// backup stores a backup of the env's place.
func (e *env) backup(dir string, o store.BackupOptions) *store.BackupReport {
	e.Helper()
	r, err := e.place.Backup(e.ctx, dir, o)
	e.ok(err)
	return r
}

// restored opens what a backup is restored to.
func (e *env) restored(dir, name string) *env {
	e.Helper()
	to := e.place.Fresh(e.T)
	_, err := to.Restore(e.ctx, dir, name, nil)
	e.ok(err)
	return &env{T: e.T, ctx: e.ctx, place: to}
}

// wantDamaged verifies a directory of backups, and expects so many that cannot be restored.
func (e *env) wantDamaged(dir string, want int) *store.VerifiedBackups {
	e.Helper()
	v, err := store.VerifyBackups(e.ctx, dir, nil)
	e.ok(err)
	if v.Damaged() != want {
		e.Fatalf("%d damaged backups, want %d: %+v", v.Damaged(), want, v)
	}
	return v
}

func backupAnswers(e *env) {
	doctorFill(e)
	dir := filepath.Join(e.TempDir(), "backups")
	var told []string
	r := e.backup(dir, store.BackupOptions{Program: "1.2.3", Progress: func(what string, done, total int64) {
		if total > 0 && done > total {
			e.Errorf("%s: %d of %d", what, done, total)
		}
		told = append(told, what)
	}})
	if len(told) == 0 || r.NewBlocks == 0 || r.Events == 0 || !r.FirstOfAll {
		e.Errorf("told %d times of a first backup: %+v", len(told), r)
	}
	e.wantDamaged(dir, 0)
	original := e.answers()
	c := e.restored(dir, "")
	if d := cmp.Diff(original, c.answers()); d != "" {
		e.Errorf("answers (-original +restored):\n%s", d)
	}
	again, err := c.place.Backup(e.ctx, dir, store.BackupOptions{})
	e.ok(err)
	if again.Events != r.Events {
		e.Errorf("a backup of what was restored has %d events, and the first one %d", again.Events, r.Events)
	}
	// What numbers events, chunks and rows goes on behind those that were restored.
	c.open(optionsUnpacked)
	c.put(start("after", "stored in the restored store alone", 200, 210), step("after", "a", 201))
	c.ok(c.s.Seal(c.ctx))
	c.ok(c.s.Pack(c.ctx))
	c.ok(c.s.Close(c.ctx))
	c.wantFound("a restored store that events were stored in")
	if slices.Equal(original, c.answers()) {
		e.Error("what was stored in the restored store is not there")
	}
}

// fillBackup stores sessions "NAME 0", "NAME 1" …, of two events, with some KB of text that does not compress well.
func (e *env) fillBackup(name string, sessions int) {
	e.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(name))))
	var batch []event.Incoming
	for i := range sessions {
		session := fmt.Sprintf("%s %d", name, i)
		said := make([]byte, 4<<10)
		for i := range said {
			said[i] = byte(r.Uint32())
		}
		a := step(session, session+" step", 1)
		a.Outputs = text(`{"said":"%x"}`, said)
		batch = append(batch, start(session, session, 0, 10), a)
	}
	e.put(batch...)
}

// answersNow returns the answers of a store that is open.
func (e *env) answersNow() []string {
	e.Helper()
	e.ok(e.s.Close(e.ctx))
	defer e.open(optionsUnpacked)
	return e.answers()
}

func backupIncremental(e *env) {
	e.fillBackup("first", 400)
	dir := e.TempDir()
	before := e.answersNow()
	first := e.backup(dir, store.BackupOptions{})
	same := e.backup(dir, store.BackupOptions{})
	// Opening the store writes a few rows of its own.
	if same.NewBlocks > first.NewBlocks/2 || same.NewBytes > first.NewBytes/4 {
		e.Errorf("a second backup of the same events stores %d of %d blocks, %d of %d bytes", same.NewBlocks, same.Blocks, same.NewBytes, first.NewBytes)
	}
	e.fillBackup("second", 5)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("first 3")))
	e.namesErased()
	after := e.answersNow()
	second := e.backup(dir, store.BackupOptions{})
	if second.NewBlocks == 0 || second.NewBytes > first.NewBytes/2 || second.FirstOfAll {
		e.Errorf("a backup with 5 more and one less of 400 sessions stores %d of %d blocks, %d bytes; the first one stored %d",
			second.NewBlocks, second.Blocks, second.NewBytes, first.NewBytes)
	}
	e.wantDamaged(dir, 0)
	if d := cmp.Diff(before, e.restored(dir, first.Name).answers()); d != "" {
		e.Errorf("the first backup (-original +restored):\n%s", d)
	}
	if d := cmp.Diff(after, e.restored(dir, second.Name).answers()); d != "" {
		e.Errorf("the last backup (-original +restored):\n%s", d)
	}
}

func backupWhileWriting(e *env) {
	stop, before := e.writers()
	dir := e.TempDir()
	_, err := e.place.Backup(e.ctx, dir, store.BackupOptions{})
	stop()
	e.ok(err)
	c := e.restored(dir, "")
	c.open(optionsUnpacked)
	c.wantAcknowledged(before, "the backup")
	c.ok(c.s.Close(c.ctx))
	c.wantFound("a backup made while others wrote")
}

func backupKeep(e *env) {
	dir := e.TempDir()
	var reports []*store.BackupReport
	for _, name := range []string{"one", "two", "three"} {
		e.fillBackup(name, 20)
		reports = append(reports, e.backup(dir, store.BackupOptions{}))
	}
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("one 0")))
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("one 1")))
	e.namesErased()
	last := e.backup(dir, store.BackupOptions{Keep: 2})
	if want := []string{reports[0].Name, reports[1].Name}; !slices.Equal(last.Removed, want) {
		e.Errorf("removed %q, want %q", last.Removed, want)
	}
	v := e.wantDamaged(dir, 0)
	if len(v.Backups) != 2 || v.Backups[0].Name != reports[2].Name || v.Backups[1].Name != last.Name || v.Unused > 0 {
		e.Errorf("backups that are left: %+v", v)
	}
	if d := cmp.Diff(e.answersNow(), e.restored(dir, "").answers()); d != "" {
		e.Errorf("answers (-original +restored):\n%s", d)
	}
}

// blocks lists the files of a directory of backups that have blocks.
func (e *env) blocks(dir string) (list []string) {
	e.Helper()
	e.ok(filepath.WalkDir(filepath.Join(dir, "blocks"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	}))
	return list
}

func backupDamage(e *env) {
	e.fillBackup("sound", 10)
	dir := e.TempDir()
	first := e.backup(dir, store.BackupOptions{})
	sound := e.blocks(dir)
	e.fillBackup("damaged", 10)
	second := e.backup(dir, store.BackupOptions{})
	news := slices.DeleteFunc(e.blocks(dir), func(path string) bool { return slices.Contains(sound, path) })
	if len(news) == 0 {
		e.Fatal("the second backup has no block of its own")
	}
	content := func(path string) []byte {
		text, err := os.ReadFile(path)
		e.ok(err)
		return text
	}
	manifest := filepath.Join(dir, "backups", second.Name+".json")
	for _, damage := range []struct {
		what string
		path string
		do   func(path string, text []byte) error
	}{
		{"a block with another byte", news[0], func(path string, text []byte) error {
			text[len(text)/2] ^= 1
			return os.WriteFile(path, text, 0o600)
		}},
		{"a block that was cut off", news[0], func(path string, text []byte) error { return os.WriteFile(path, text[:len(text)/2], 0o600) }},
		{"another block in its place", news[0], func(path string, _ []byte) error { return os.WriteFile(path, content(sound[0]), 0o600) }},
		{"a block that is gone", news[0], func(path string, _ []byte) error { return os.Remove(path) }},
		{"a manifest with another number", manifest, func(path string, text []byte) error {
			return os.WriteFile(path, []byte(strings.Replace(string(text), `"count": `, `"count": 1`, 1)), 0o600)
		}},
		{"a manifest without its checksum", manifest + ".sha256", func(path string, _ []byte) error { return os.Remove(path) }},
	} {
		text := content(damage.path)
		e.ok(damage.do(damage.path, slices.Clone(text)))
		v := e.wantDamaged(dir, 1)
		if len(v.Backups[1].Problems) == 0 {
			e.Errorf("%s: found in another backup: %+v", damage.what, v)
		}
		to := e.place.Fresh(e.T)
		if _, err := to.Restore(e.ctx, dir, "", nil); err == nil {
			e.Errorf("%s: it was restored", damage.what)
		}
		if to.Shared() && damage.path == news[0] { // else nothing was begun, and what is opened is a new store
			if err := to.TryOpen(e.ctx); err == nil {
				e.Errorf("%s: a store that was restored in part can be opened", damage.what)
			}
		}
		e.ok(os.WriteFile(damage.path, text, 0o600))
	}
	e.wantDamaged(dir, 0)
	e.restored(dir, first.Name)
	e.restored(dir, second.Name)
}

func backupInterrupted(e *env) {
	e.fillBackup("kept", 100)
	dir := e.TempDir()
	ctx, cancel := context.WithCancel(e.ctx)
	_, err := e.place.Backup(ctx, dir, store.BackupOptions{Progress: func(_ string, done, _ int64) {
		if done > 100<<10 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		e.Fatalf("a backup that was cancelled: %v", err)
	}
	v, err := store.VerifyBackups(e.ctx, dir, nil)
	e.ok(err)
	if len(v.Backups) != 0 {
		e.Fatalf("an interrupted backup is listed: %+v", v)
	}
	left := v.Unused
	e.ok(os.WriteFile(filepath.Join(dir, "backups", "x.json.123.tmp"), nil, 0o600)) // as one that was killed leaves it
	r := e.backup(dir, store.BackupOptions{})
	if r.NewBlocks+left > r.Blocks || r.NewBlocks == r.Blocks && left > 1 {
		e.Errorf("of %d blocks %d were there, and %d were stored", r.Blocks, left, r.NewBlocks)
	}
	if _, err := os.Stat(filepath.Join(dir, "backups", "x.json.123.tmp")); !errors.Is(err, fs.ErrNotExist) {
		e.Errorf("what was left unfinished: %v", err)
	}

	ctx, cancel = context.WithCancel(e.ctx)
	to := e.place.Fresh(e.T)
	if _, err := to.Restore(ctx, dir, "", func(what string, done, _ int64) {
		if strings.HasPrefix(what, "comparing") && done > 100<<10 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		e.Errorf("a restore that was cancelled: %v", err)
	}
	if to.Shared() {
		if err := to.TryOpen(e.ctx); err == nil || !strings.Contains(err.Error(), "not finished") {
			e.Errorf("open a store that is not restored: %v", err)
		}
		if _, err := to.Backup(e.ctx, e.TempDir(), store.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "not finished") {
			e.Errorf("a backup of a store that is not restored: %v", err)
		}
		return
	}
	_, err = to.Restore(e.ctx, dir, "", nil) // nothing is in its way
	e.ok(err)
}

func backupRefusals(e *env) {
	e.fillBackup("kept", 3)
	dir := e.TempDir()
	wantError := func(what string, err error, text string) {
		e.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			e.Errorf("%s: %v, want %q", what, err, text)
		}
	}
	restore := func(to Place, dir, name string) error {
		_, err := to.Restore(e.ctx, dir, name, nil)
		return err
	}
	wantError("restore of nothing", restore(e.place.Fresh(e.T), dir, ""), "no directory of backups")
	_, err := store.VerifyBackups(e.ctx, dir, nil)
	wantError("verify nothing", err, "no directory of backups")
	_, err = e.place.Fresh(e.T).Backup(e.ctx, dir, store.BackupOptions{})
	if err == nil {
		e.Error("a backup of nothing is not refused")
	}
	other := e.TempDir()
	e.ok(os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600))
	_, err = e.place.Backup(e.ctx, other, store.BackupOptions{})
	wantError("a backup into a directory of something else", err, "letter.txt")

	r := e.backup(dir, store.BackupOptions{})
	wantError("a name that there is not", restore(e.place.Fresh(e.T), dir, "yesterday"), r.Name)
	to := e.place.Fresh(e.T)
	e.ok(restore(to, dir, r.Name))
	if err := restore(to, dir, r.Name); err == nil {
		e.Error("a backup is restored over a store")
	}
	e.ok(os.WriteFile(filepath.Join(dir, "spangrove-backups.json"), []byte(`{"format": 2}`), 0o600))
	_, err = e.place.Backup(e.ctx, dir, store.BackupOptions{})
	wantError("a directory of a newer program", err, "newer")
}
