package sqldb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// privateFiles are SQLite's files in a data directory. It makes those beside the database with the
// permissions of the database itself.
var privateFiles = []string{sqliteFile, sqliteFile + "-wal", sqliteFile + "-shm", "lock.db", "lock.db-journal"}

// keepPrivate makes sure that only the owner of the data directory can read what is in it, whatever
// the umask is and whoever made it: the directory has mode 0700 and the files 0600. What belongs to
// somebody else is left as it is, with a warning. The database and the lock are made if they are
// not there, since SQLite would make them by the umask.
func keepPrivate(dir string, log *zap.Logger) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	// A sticky directory, such as /tmp, is for all.
	if info.Mode().Perm()&0o077 != 0 && (info.Mode()&fs.ModeSticky != 0 || os.Chmod(dir, 0o700) != nil) {
		log.Warn("other users of this machine can look into the data directory; give it mode 0700",
			zap.String("directory", dir), zap.Stringer("mode", info.Mode()))
	}
	for _, name := range []string{sqliteFile, "lock.db"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	for _, name := range privateFiles {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && os.Chmod(path, 0o600) != nil {
			log.Warn("other users of this machine can read the data; give the file mode 0600",
				zap.String("file", path), zap.Stringer("mode", info.Mode()))
		}
	}
	return nil
}
