package provider

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/seal"
)

// Box seals keys of providers. What it seals opens only for the same project,
// name, type and address: a row of the database that is copied or changed reveals no key.
type Box struct{ box *seal.Box }

// MinSecret is how many bytes a secret must have at least.
const MinSecret = seal.MinSecret

// NewBox makes a box of a secret, which must be random: nothing makes it harder to guess.
func NewBox(secret []byte) (*Box, error) {
	box, err := seal.New(secret, "spangrove provider keys")
	if err != nil {
		return nil, err
	}
	return &Box{box}, nil
}

func binding(projectID int64, p *Provider) []byte {
	return fmt.Appendf(nil, "%d %q %q %q", projectID, p.Name, p.Type, p.BaseURL)
}

// Seal puts key into the provider.
func (b *Box) Seal(projectID int64, p *Provider, key string) {
	p.SealedKey = b.box.Seal(key, binding(projectID, p))
}

// Open returns the provider's key, empty if it has none. fault.Conflict if it was sealed with
// another secret, or for another provider.
func (b *Box) Open(projectID int64, p *Provider) (string, error) {
	if p.SealedKey == nil {
		return "", nil
	}
	if key, ok := b.box.Open(p.SealedKey, binding(projectID, p)); ok {
		return key, nil
	}
	return "", fault.New(
		fault.Conflict,
		"the key of the provider %s cannot be opened: this server has another secret than the one that it was stored with; set the key again",
		p.Name,
	)
}
