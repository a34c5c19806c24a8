package authextension

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
)

// minKeyLength is the fewest characters an api_key may have: keys are stored under a fast
// hash, so they must be too long to guess.
const minKeyLength = 16

// maxCacheTTL bounds how long a revoked key may go on working.
const maxCacheTTL = time.Minute

// Config is the configuration of the extension.
type Config struct {
	// Store is the store extension that holds projects and keys. Default spangrove_store.
	Store component.ID `mapstructure:"store"`

	// Project is the name of the first project, made at start if it does not exist, to which
	// APIKey or a generated key belongs. Default "default".
	Project string `mapstructure:"project"`

	// APIKey is a key of scope admin for Project, at least 16 characters. It is valid as long as it
	// is configured. Default empty: if no key of that scope is valid, one is generated.
	APIKey configopaque.String `mapstructure:"api_key"`

	// KeyFile is where a generated key is written, readable by its owner only. A key that
	// is there already is used instead of a new one. Default "./spangrove-data/api-key".
	KeyFile string `mapstructure:"key_file"`

	// CacheTTL is how long the answer to a look-up is trusted: the time until a key that another
	// server revoked stops working, and one that it made starts to; this server's own changes
	// count at once. 0 asks the store for each request. Default 3s, at most 1m.
	CacheTTL time.Duration `mapstructure:"cache_ttl"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch key := string(c.APIKey); {
	case key == "":
	case len(key) < minKeyLength:
		return fmt.Errorf("api_key: must have at least %d characters, not %d", minKeyLength, len(key))
	case !headerSafe(key):
		return errors.New("api_key: must be printable ASCII without spaces")
	}
	if strings.TrimSpace(c.Project) == "" {
		return errors.New("project: must not be empty")
	}
	if c.CacheTTL < 0 || c.CacheTTL > maxCacheTTL {
		return fmt.Errorf("cache_ttl: must be between 0s and %s, not %s", maxCacheTTL, c.CacheTTL)
	}
	return nil
}

// headerSafe reports whether a key survives an HTTP header unchanged.
func headerSafe(key string) bool {
	return strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}
