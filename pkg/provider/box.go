package provider

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Box seals keys of providers, with AES-256-GCM. What it seals opens only for the same project,
// name, type and address: a row of the database that is copied or changed reveals no key.
type Box struct{ aead cipher.AEAD }

// MinSecret is how many bytes a secret must have at least.
const MinSecret = 32

// NewBox makes a box of a secret, which must be random: nothing makes it harder to guess.
func NewBox(secret []byte) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("must have at least %d characters, not %d", MinSecret, len(secret))
	}
	key := sha256.Sum256(append([]byte("spangrove provider keys\n"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Box{aead}, nil
}

func binding(projectID int64, p *Provider) []byte {
	return fmt.Appendf(nil, "%d %q %q %q", projectID, p.Name, p.Type, p.BaseURL)
}

// Seal puts key into the provider.
func (b *Box) Seal(projectID int64, p *Provider, key string) {
	nonce := make([]byte, b.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	p.SealedKey = b.aead.Seal(nonce, nonce, []byte(key), binding(projectID, p))
}

// Open returns the provider's key, empty if it has none. fault.Conflict if it was sealed with
// another secret, or for another provider.
func (b *Box) Open(projectID int64, p *Provider) (string, error) {
	if p.SealedKey == nil {
		return "", nil
	}
	n := b.aead.NonceSize()
	if len(p.SealedKey) > n {
		if key, err := b.aead.Open(nil, p.SealedKey[:n], p.SealedKey[n:], binding(projectID, p)); err == nil {
			return string(key), nil
		}
	}
	return "", fault.New(
		fault.Conflict,
		"the key of the provider %s cannot be opened: this server has another secret than the one that it was stored with; set the key again",
		p.Name,
	)
}
