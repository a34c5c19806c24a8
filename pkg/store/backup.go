package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/backup"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// BackupOptions are those of a backup.
type BackupOptions struct {
	Program  string // version of the program, which stands in the backup
	Keep     int    // how many backups stay in the directory, the newest; 0: all
	Progress diagnosis.Progress
}

// BackupReport is what a backup has stored.
type BackupReport = backup.Report

// VerifiedBackups are the backups of a directory, each with what is wrong with it.
type VerifiedBackups = backup.Verified

// Backup is one backup of a directory.
type Backup = backup.Manifest

// VerifyBackups reads all of a directory of backups, and holds it against the checksums.
func VerifyBackups(ctx context.Context, dir string, progress diagnosis.Progress) (*VerifiedBackups, error) {
	return backup.Verify(ctx, dir, progress)
}

// writeBackup stores a backup of what is read.
func writeBackup(ctx context.Context, source sqldb.Dump, kind, dir string, o BackupOptions) (*BackupReport, error) {
	return backup.Write(ctx, dir, source, backup.Options{Kind: kind, Program: o.Program, Keep: o.Keep, Progress: o.Progress})
}
