package sqldb

import (
	"context"

	"github.com/shirou/gopsutil/v4/disk"
)

func (d *SQLite) Describe(ctx context.Context) (x Description, err error) {
	x = Description{Kind: "sqlite", Directory: d.dir, Synchronous: d.synchronous}
	_, err = One(ctx, d.Quick(), `SELECT sqlite_version()`, nil, &x.Version)
	return x, err
}

// Disk returns what this user may still write, which may be less than what is free.
func (d *SQLite) Disk(ctx context.Context) (free, total int64, ok bool, err error) {
	u, err := disk.UsageWithContext(ctx, d.dir)
	if err != nil {
		return 0, 0, true, err
	}
	return int64(u.Free), int64(u.Total), true, nil
}

// TableBytes counts the pages of each table and index. It reads all of the file.
func (d *SQLite) TableBytes(ctx context.Context) (list []TableBytes, err error) {
	err = Each(ctx, d, `SELECT coalesce(m.tbl_name, ''),
			sum(CASE WHEN m.type IS NOT 'index' THEN s.pgsize ELSE 0 END),
			sum(CASE WHEN m.type IS 'index' THEN s.pgsize ELSE 0 END)
		FROM dbstat AS s
		LEFT JOIN sqlite_schema AS m ON m.name = s.name
		WHERE s.aggregate = 1
		GROUP BY 1`, nil, func(scan func(...any) error) error {
		var t TableBytes
		err := scan(&t.Name, &t.Table, &t.Indexes)
		list = append(list, t)
		return err
	})
	return list, err
}
