package evaluateextension

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/durable"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/provider"
)

// providerStore is where projects' providers are stored, with their keys sealed.
type providerStore interface {
	ChangeProvider(ctx context.Context, projectID int64, name string, change func(*provider.Provider) error) (provider.Provider, error)
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	DeleteProvider(ctx context.Context, projectID int64, name string) error
	// Spend returns what a provider's calls of a UTC day have cost, and how many they are; see llm.Ledger.
	Spend(ctx context.Context, projectID int64, provider string, day int64, usd float64, calls int64) (float64, int64, error)
}

// keeper is the projects' providers: it seals their keys for the store, and opens them for the
// engine.
type keeper struct {
	providerStore
	file string // of the secret, where none is configured; empty: there is none

	mu     sync.Mutex
	box    *provider.Box // nil: not needed yet
	secret []byte        // of the box
}

// newKeeper checks the secret. A file that is not there is made when the first key is set.
func newKeeper(s providerStore, cfg *Config) (*keeper, error) {
	k := &keeper{providerStore: s, file: cfg.SecretFile}
	if cfg.Secret != "" {
		var err error
		k.secret = []byte(cfg.Secret)
		if k.box, err = provider.NewBox(k.secret); err != nil {
			return nil, fmt.Errorf("secret: %w", err)
		}
		return k, nil
	}
	if _, err := k.open(false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("secret_file: %w", err)
	}
	return k, nil
}

// open returns the box with the secret in the file, which is created if make is set. The error is
// fs.ErrNotExist if there is no secret.
func (k *keeper) open(make bool) (*provider.Box, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.box != nil {
		return k.box, nil
	}
	if k.file == "" {
		return nil, fs.ErrNotExist
	}
	text, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) && make {
		text, err = writeSecret(k.file)
	}
	if err != nil {
		return nil, err
	}
	secret := []byte(strings.TrimSpace(string(text)))
	box, err := provider.NewBox(secret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.file, err)
	}
	k.box, k.secret = box, secret
	return box, nil
}

// writeSecret writes a new secret, on disk before it returns: keys that it seals are lost with it.
// Where another server was quicker its secret holds.
func writeSecret(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	text := hex.AppendEncode(nil, secret)
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // only the owner may read it
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(path)
	} else if err != nil {
		return nil, err
	}
	return text, durable.SyncDirectory(filepath.Dir(path))
}

// SetProvider changes a provider of a project, or makes it.
func (k *keeper) SetProvider(ctx context.Context, projectID int64, u provider.Update) (provider.Provider, error) {
	var box *provider.Box
	if u.APIKey != nil && *u.APIKey != "" {
		if err := provider.CheckKey(*u.APIKey); err != nil {
			return provider.Provider{}, err
		}
		var err error
		if box, err = k.open(true); errors.Is(err, fs.ErrNotExist) {
			return provider.Provider{}, fault.New(fault.Conflict, "this server cannot keep keys: set secret or secret_file of spangrove_evaluate")
		} else if err != nil {
			return provider.Provider{}, fmt.Errorf("secret of providers' keys: %w", err)
		}
	}
	return k.ChangeProvider(ctx, projectID, u.Name, func(p *provider.Provider) error {
		p.Apply(&u)
		switch {
		case box != nil:
			box.Seal(projectID, p, *u.APIKey)
		case u.APIKey != nil:
			p.SealedKey = nil
		}
		return p.Validate()
	})
}

// Open implements llm.Stored.
func (k *keeper) Open(projectID int64, p *provider.Provider) (string, error) {
	if p.SealedKey == nil {
		return "", nil
	}
	box, err := k.open(false)
	if err != nil {
		return "", fault.Wrap(fault.Conflict, err, "the key of the provider %s cannot be opened: this server has no secret for keys", p.Name)
	}
	return box.Open(projectID, p)
}

// Providers implements httpapi.Providers, as the two methods below.
func (e *evaluateExtension) Providers(ctx context.Context, projectID int64) ([]provider.Provider, error) {
	k, err := e.keeper()
	if err != nil {
		return nil, err
	}
	list, err := k.Providers(ctx, projectID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := k.addToday(ctx, projectID, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// addToday adds to a provider what its calls of this UTC day have cost.
func (k *keeper) addToday(ctx context.Context, projectID int64, p *provider.Provider) (err error) {
	p.TodayUSD, p.TodayCalls, err = k.Spend(ctx, projectID, p.Name, llm.Day(time.Now()), 0, 0)
	return err
}

// SetProvider changes a provider of a project, or makes it, and returns the updated one.
func (e *evaluateExtension) SetProvider(ctx context.Context, projectID int64, u provider.Update) (provider.Provider, error) {
	k, err := e.keeper()
	if err != nil {
		return provider.Provider{}, err
	}
	if u.BaseURL != nil {
		if err := e.checkAddress(*u.BaseURL); err != nil {
			return provider.Provider{}, err
		}
	}
	p, err := k.SetProvider(ctx, projectID, u)
	if err != nil {
		return p, err
	}
	return p, k.addToday(ctx, projectID, &p)
}

// checkAddress returns why a base URL can never be asked.
func (e *evaluateExtension) checkAddress(base string) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if judges, ok := e.engines[metric.LLM].(*llm.Engine); ok {
		return judges.CheckAddress(base)
	}
	return nil
}

// DeleteProvider deletes a provider of a project and its key.
func (e *evaluateExtension) DeleteProvider(ctx context.Context, projectID int64, name string) error {
	k, err := e.keeper()
	if err != nil {
		return err
	}
	return k.DeleteProvider(ctx, projectID, name)
}

// keeper is there between Start and Shutdown.
func (e *evaluateExtension) keeper() (*keeper, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.keys == nil || e.engines == nil {
		return nil, fault.New(fault.Unavailable, "model providers are not available now: the server is starting or stopping, or has no store")
	}
	return e.keys, nil
}
