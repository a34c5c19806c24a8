package storeextension

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

var componentType = component.MustNewType("spangrove_store")

const (
	stability = component.StabilityLevelBeta

	defaultDirectory  = "./spangrove-data"
	defaultQueueBytes = 64 << 20
	defaultPendingTTL = 24 * time.Hour
	defaultMaxPending = 100_000
	defaultWriters    = 4
)

// NewFactory returns the factory of the extension type spangrove_store.
func NewFactory() extension.Factory {
	return extension.NewFactory(componentType, createDefaultConfig, create, stability)
}

func createDefaultConfig() component.Config {
	return &Config{
		SQLite:     SQLiteConfig{Directory: defaultDirectory, Synchronous: "full"},
		Postgres:   PostgresConfig{Writers: defaultWriters, ReplicaWait: store.DefaultReplicaWait},
		QueueBytes: defaultQueueBytes,
		PendingTTL: defaultPendingTTL,
		MaxPending: defaultMaxPending,
		PackAfter:  store.DefaultPackAfter,
		SlowCommit: store.DefaultSlowCommit,
		Limits:     LimitsConfig(project.DefaultBounds()),
		Reads: ReadsConfig{
			Timeout: store.DefaultReadTimeout, Share: store.DefaultReadShare, Wait: store.DefaultReadWait, ValueEvents: store.DefaultValueEvents,
		},
		Audit:     AuditConfig{Retention: store.DefaultAuditRetention, MaxEntries: store.DefaultAuditMaxEntries},
		StartTime: StartTimeConfig{Oldest: event.DefaultWindow.Oldest.Format(time.DateOnly), Ahead: event.DefaultWindow.Ahead},
	}
}

func create(_ context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
	return &storeExtension{set: set, cfg: cfg.(*Config)}, nil
}
