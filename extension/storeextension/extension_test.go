package storeextension

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func create1(t *testing.T, directory string) *storeExtension {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.SQLite.Directory = directory
	set := extensiontest.NewNopSettings(componentType)
	set.ID = component.NewID(componentType)
	ext, err := NewFactory().Create(t.Context(), set, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ext.(*storeExtension)
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	e := create1(t, dir)
	if e.Store() != nil {
		t.Error("a store before Start")
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown before Start: %v", err)
	}
	var place string
	ctx := mount.WithBoard(t.Context(), func(n mount.Notice) { place = n.Text })
	for range 2 {
		if err := e.Start(ctx, componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
	}
	if place != dir {
		t.Errorf("announced %q, want %q", place, dir)
	}
	s, ok := e.Store().(mount.Projects)
	if !ok {
		t.Fatalf("Store() is a %T", e.Store())
	}
	ensured, err := s.(interface {
		EnsureProject(ctx context.Context, name string) (project.Project, error)
	}).EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	if e.Store() != nil {
		t.Error("a store after Shutdown")
	}

	again := create1(t, dir)
	if err := again.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	p, err := again.Store().(mount.Projects).DefaultProject(t.Context())
	if err != nil || p.PublicID != ensured.PublicID {
		t.Errorf("after a restart: %+v, %v, want %+v", p, err, ensured)
	}
	if err := again.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartNamesTheSetting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := create1(t, file).Start(t.Context(), componenttest.NewNopHost())
	if err == nil || !strings.HasPrefix(err.Error(), "extensions::spangrove_store::sqlite::directory: open "+file+": ") {
		t.Errorf("a file as directory: %v", err)
	}

	e := create1(t, "unused")
	e.cfg.Postgres.DSN = "postgres://grove:secret@127.0.0.1:1/events?connect_timeout=1"
	err = e.Start(t.Context(), componenttest.NewNopHost())
	if err == nil || !strings.HasPrefix(err.Error(), "extensions::spangrove_store::postgres::dsn: open PostgreSQL 127.0.0.1/events: ") {
		t.Errorf("no PostgreSQL there: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is in the error: %v", err)
	}
}
