//go:build unix

package sqldb

import (
	"io/fs"
	"os"
	"testing"

	"go.uber.org/zap"
)

func TestASharedDirectoryIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := keepPrivate(dir, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
