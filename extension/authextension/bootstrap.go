package authextension

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/durable"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// bootstrap makes sure that the configured project exists and that there is a key that may do
// everything: the configured one, or, if none is valid, a generated one.
func (e *authExtension) bootstrap(ctx context.Context, s keyStore) error {
	p, err := s.EnsureProject(ctx, e.cfg.Project)
	if err != nil {
		return fmt.Errorf("%s: project %q: %w", e.key("project"), e.cfg.Project, err)
	}
	// A key that the configuration no longer names is out of force from here on.
	var configured *project.Key
	if secret := string(e.cfg.APIKey); secret != "" {
		k := e.newKey(p, project.OriginConfigured, secret)
		configured = &k
	}
	if err := s.ConfigureKey(ctx, configured); err != nil {
		return fmt.Errorf("%s: store the key: %w", e.key("api_key"), err)
	}
	if configured != nil {
		e.codes.ownKey(configured.Hash)
		return nil
	}
	stored, err := s.HasAdminKey(ctx)
	if err != nil {
		return fmt.Errorf("%s: read keys: %w", e.key("store"), err)
	}
	if stored {
		if _, err := os.Stat(e.cfg.KeyFile); err == nil {
			_ = os.Chmod(e.cfg.KeyFile, 0o600) // it may be somebody else's, who then decides
			mount.Announce(ctx, mount.Notice{Topic: mount.TopicKeyFile, Text: e.cfg.KeyFile})
			if secret, err := readKey(e.cfg.KeyFile); err == nil && secret != "" {
				e.codes.ownKey(project.HashSecret(secret))
			}
		}
		return nil
	}
	return e.generate(ctx, s, p)
}

// generate makes the first key. The file is written before the key is stored: after a crash in
// between, the next start finds the file and stores that key, so a stored key is never one
// that nobody has. A file with a key that was taken out of force is written anew.
func (e *authExtension) generate(ctx context.Context, s keyStore, p project.Project) error {
	if e.cfg.KeyFile == "" {
		return fmt.Errorf("%s: no key is stored; set api_key, or key_file for a generated one", e.key("api_key"))
	}
	secret, err := readKey(e.cfg.KeyFile)
	if err == nil && secret != "" {
		switch _, _, known := s.KeyByHash(ctx, project.HashSecret(secret)); {
		case known == nil:
			secret = "" // and yet it does not open
		case !isKind(known, fault.NotFound):
			return fmt.Errorf("%s: read keys: %w", e.key("store"), known)
		}
	}
	if err == nil && secret == "" {
		secret, err = makeKey(e.cfg.KeyFile)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.key("key_file"), err)
	}
	if err := s.InsertKey(ctx, e.newKey(p, project.OriginGenerated, secret)); err != nil {
		return fmt.Errorf("%s: store the key: %w", e.key("store"), err)
	}
	e.codes.ownKey(project.HashSecret(secret))
	if !mount.Announce(ctx,
		mount.Notice{Topic: mount.TopicKeyFile, Text: e.cfg.KeyFile},
		mount.Notice{Topic: mount.TopicKey, Text: secret},
	) {
		e.set.Logger.Warn("API key generated", zap.String("key_file", e.cfg.KeyFile), zap.String("project", p.Name))
	}
	return nil
}

// newKey returns a key of the server's own. It may do everything: projects and other keys are made
// with it.
func (e *authExtension) newKey(p project.Project, origin project.Origin, secret string) project.Key {
	return project.Key{
		ID:        uuid.NewString(),
		ProjectID: p.ID,
		Name:      string(origin),
		Prefix:    project.Prefix(secret),
		Hash:      project.HashSecret(secret),
		Scope:     project.ScopeAdmin,
		Origin:    origin,
		CreatedAt: e.now(),
	}
}

// readKey returns the key in the file, empty if there is no file.
func readKey(path string) (string, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	_ = os.Chmod(path, 0o600) // it may be somebody else's, who then decides
	secret := strings.TrimSpace(string(text))
	if len(secret) < minKeyLength || !headerSafe(secret) {
		return "", fmt.Errorf("the file %s holds no key; remove it to have a key generated", path)
	}
	return secret, nil
}

// makeKey writes a new key to the file, on disk before it returns.
func makeKey(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	secret := project.NewSecret()
	if err := durable.WriteFile(path, []byte(secret+"\n")); err != nil {
		return "", err
	}
	return secret, durable.SyncDirectory(filepath.Dir(path))
}
