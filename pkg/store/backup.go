package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/backup"
)

// BackupOptions are those of a backup.
type BackupOptions = backup.Options

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
