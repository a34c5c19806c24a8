// Package seal keeps secrets that the server must use and nobody may read back, such as keys to models and addresses of webhooks: they
// are stored encrypted with a secret of the server that is not in the database.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// MinSecret is how many bytes a secret must have at least.
const MinSecret = 32

// Box seals texts with AES-256-GCM. What it seals opens only for the same purpose and the same binding.
type Box struct{ aead cipher.AEAD }

// New makes a box of a secret, which must be random: nothing makes it harder to guess. Boxes of one secret and different
// purposes do not open each other's texts.
func New(secret []byte, purpose string) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("must have at least %d characters, not %d", MinSecret, len(secret))
	}
	key := sha256.Sum256(append([]byte(purpose+"\n"), secret...))
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

// Seal returns text encrypted. binding says what it belongs to.
func (b *Box) Seal(text string, binding []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return b.aead.Seal(nonce, nonce, []byte(text), binding)
}

// Open returns the text that was sealed with the same binding. ok is false if it was sealed with another secret, or for something else.
func (b *Box) Open(sealed, binding []byte) (text string, ok bool) {
	n := b.aead.NonceSize()
	if len(sealed) <= n {
		return "", false
	}
	plain, err := b.aead.Open(nil, sealed[:n], sealed[n:], binding)
	return string(plain), err == nil
}
