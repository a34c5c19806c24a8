package sqldb

import "context"

func (d *Postgres) Describe(ctx context.Context) (x Description, err error) {
	x.Kind = "postgresql"
	_, err = One(ctx, d.Quick(), `SELECT current_setting('server_version')`, nil, &x.Version)
	return x, err
}

// Disk knows nothing: the files are the server's.
func (d *Postgres) Disk(context.Context) (free, total int64, ok bool, err error) {
	return 0, 0, false, nil
}

// TableBytes asks for the sizes of the files; those of partitions count for their table.
func (d *Postgres) TableBytes(ctx context.Context) (list []TableBytes, err error) {
	err = Each(ctx, d, `SELECT root.relname, CAST(sum(pg_table_size(c.oid)) AS bigint), CAST(sum(pg_indexes_size(c.oid)) AS bigint)
		FROM pg_class AS c
		JOIN pg_class AS root ON root.oid = coalesce(CAST(pg_partition_root(c.oid) AS oid), c.oid)
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
		GROUP BY root.relname`, nil, func(scan func(...any) error) error {
		var t TableBytes
		err := scan(&t.Name, &t.Table, &t.Indexes)
		list = append(list, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	elsewhere, err := d.distributedBytes(ctx)
	for i := range list {
		if list[i].Name == elsewhere.Name {
			list[i].Table += elsewhere.Table
			list[i].Indexes += elsewhere.Indexes
		}
	}
	return list, err
}
