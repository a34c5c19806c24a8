package storeextension

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sqlite := createDefaultConfig().(*Config)
	sqlite.SQLite = SQLiteConfig{Directory: "/var/lib/spangrove", Synchronous: "normal"}
	sqlite.QueueBytes, sqlite.PendingTTL, sqlite.MaxPending = 1<<20, time.Hour, 10
	sqlite.Limits.RequestsPerSecond, sqlite.Limits.StoredBytes = 12.5, 0
	sqlite.Retention = RetentionConfig{EventDays: 90, PayloadDays: 30, Bytes: 5_000_000_000, PayloadFirst: true}
	postgres := createDefaultConfig().(*Config)
	postgres.Postgres = PostgresConfig{DSN: "postgres://grove:secret@db.example.com:5433/events?pool_max_conns=20", DirectDSN: "host=db2.example.com",
		ReadDSN: "host=db3.example.com", ReplicaWait: 250 * time.Millisecond, Writers: 2}

	times := createDefaultConfig().(*Config)
	times.StartTime = StartTimeConfig{Oldest: "2001-02-03", Ahead: 720 * time.Hour}

	rested := createDefaultConfig().(*Config)
	rested.PackAfter = 90 * time.Second

	audited := createDefaultConfig().(*Config)
	audited.Audit = AuditConfig{Retention: 24 * time.Hour, MaxEntries: 5000}

	for _, tt := range []struct {
		id      string
		want    *Config
		place   string
		wantErr string
	}{
		{id: "spangrove_store", want: createDefaultConfig().(*Config), place: "./spangrove-data"},
		{id: "spangrove_store/sqlite", want: sqlite, place: "/var/lib/spangrove"},
		{id: "spangrove_store/postgres", want: postgres, place: "PostgreSQL db.example.com/events"},
		{id: "spangrove_store/times", want: times, place: "./spangrove-data"},
		{id: "spangrove_store/audit", want: audited, place: "./spangrove-data"},
		{id: "spangrove_store/audit_retention", wantErr: "audit: retention: must be at least 1h0m0s, not 1s"},
		{id: "spangrove_store/audit_entries", wantErr: "audit: max_entries: must be between 1000 and 100000000, not 10"},
		{id: "spangrove_store/oldest", wantErr: `start_time: oldest: must be a date or a time in RFC 3339 from 1970 on, not "1969-12-31"`},
		{id: "spangrove_store/oldtext", wantErr: `start_time: oldest: must be a date or a time in RFC 3339 from 1970 on, not "last year"`},
		{id: "spangrove_store/ahead", wantErr: "start_time: ahead: must be between 0s and 8784h0m0s, not 9000h0m0s"},
		{id: "spangrove_store/nodir", wantErr: "sqlite: directory: must not be empty"},
		{id: "spangrove_store/sync", wantErr: `sqlite: synchronous: must be "full" or "normal", not "sometimes"`},
		{id: "spangrove_store/dsn", wantErr: "postgres: dsn: must be a PostgreSQL connection string, such as postgres://user:password@host:5432/database"},
		{id: "spangrove_store/direct", wantErr: "postgres: direct_dsn: must be a PostgreSQL connection string, such as postgres://user:password@host:5432/database"},
		{id: "spangrove_store/alone", wantErr: "postgres: direct_dsn: must be set together with dsn"},
		{id: "spangrove_store/replica", wantErr: "postgres: read_dsn: must be a PostgreSQL connection string, such as postgres://user:password@host:5432/database"},
		{id: "spangrove_store/replica_alone", wantErr: "postgres: read_dsn: must be set together with dsn"},
		{id: "spangrove_store/replica_wait", wantErr: "postgres: replica_wait: must be more than 0s and at most 10s, not 11s"},
		{id: "spangrove_store/writers", wantErr: "postgres: writers: must be between 1 and 64, not 0"},
		{id: "spangrove_store/queue", wantErr: "queue_bytes: must be at least 1048576, not 5"},
		{id: "spangrove_store/ttl", wantErr: "pending_ttl: must be more than 0s, not 0s"},
		{id: "spangrove_store/limits", wantErr: "limits: byte_burst: must be between 0 and 9007199254740992"},
		{id: "spangrove_store/retention", wantErr: "retention: payload_days: must not be more than event_days, which is 30"},
		{id: "spangrove_store/slow", wantErr: "slow_commit: must be at least 0s, not -1s"},
		{id: "spangrove_store/pack", wantErr: "pack_after: must be at least 0s, not -1s"},
		{id: "spangrove_store/rest", want: rested, place: "./spangrove-data"},
		{id: "spangrove_store/values", wantErr: "reads: value_events: must be between 1 and 1000000, not 0"},
		{id: "spangrove_store/pending", wantErr: "max_pending: must be between 1 and 10000000, not 0"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			t.Parallel()
			sub, err := file.Sub(tt.id)
			if err != nil {
				t.Fatal(err)
			}
			cfg := createDefaultConfig().(*Config)
			if err := sub.Unmarshal(cfg); err != nil {
				t.Fatal(err)
			}
			err = confmap.Validate(cfg)
			if tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr {
					t.Fatalf("error = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cfg); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
			if got := cfg.place(); got != tt.place {
				t.Errorf("place = %q, want %q", got, tt.place)
			}
		})
	}
}
