package sqldb

import (
	"os"
	"time"

	"go.uber.org/zap"
)

// checkpoints copies the log's pages back to the database in the background, and cuts the
// log's file when nothing is written for a while.
//
//   - Quiet for checkpointIdle: all is copied back and the file is cut, so that a server at rest has no log.
//   - From walCheckpointBytes on, and if the log has grown since the last look: pages are copied back.
//   - From walRestartPages on: the writer is asked to let the log begin anew after its next commit, which only the one who
//     writes can do without keeping others waiting.
func (d *SQLite) checkpoints() {
	defer d.done.Done()
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	var last int64
	quiet := time.Now()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		info, err := os.Stat(d.wal)
		if err != nil || info.Size() == 0 {
			continue
		}
		if d.dirty.Swap(false) {
			quiet = time.Now()
		} else if time.Since(quiet) > checkpointIdle {
			d.checkpointFailed(d.cut())
			continue
		}
		if info.Size() < walCheckpointBytes || info.Size() == last {
			last = info.Size()
			if info.Size() < walRestartBytes {
				continue
			}
		}
		last = info.Size()
		pages, _, err := d.copyBack()
		d.checkpointFailed(err)
		if pages > walRestartPages { // not by the file's size, which stays when the log begins anew
			d.restart.Store(true)
		}
	}
}

// checkpointFailed logs why pages could not be copied back, if so. That the disk is full is said by the store, once: the
// next commit meets it, too.
func (d *SQLite) checkpointFailed(err error) {
	if err != nil && !d.Full(err) {
		d.log.Warn("checkpoint", zap.Error(err))
	}
}

// copyBack copies what it can of the log's pages back, without keeping anybody waiting. It returns how
// many the log has since it began anew, and how many of them are copied by now.
func (d *SQLite) copyBack() (pages, copied int, err error) {
	var busy int
	err = d.check.QueryRow("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
	return pages, copied, err
}

// cut copies all of the log back and cuts its file. Only the cut itself, when nothing is left to
// copy, keeps writers out; it waits for nobody, so a reader that stands on the log puts it off until the next tick.
func (d *SQLite) cut() error {
	pages, copied, err := d.copyBack()
	if err == nil && copied >= pages {
		_, err = d.check.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err
}
