package alert

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/seal"
)

// Box seals addresses and secrets of channels. What it seals opens for no other channel and no other project.
type Box struct{ box *seal.Box }

// NewBox makes a box of a secret, which must be random: nothing makes it harder to guess.
func NewBox(secret []byte) (*Box, error) {
	box, err := seal.New(secret, "spangrove alerts")
	if err != nil {
		return nil, err
	}
	return &Box{box}, nil
}

func binding(projectID int64, channel, what string) []byte {
	return fmt.Appendf(nil, "%d %q %s", projectID, channel, what)
}

// SealURL returns the address of a channel, sealed.
func (b *Box) SealURL(projectID int64, channel, address string) []byte {
	return b.box.Seal(address, binding(projectID, channel, "url"))
}

// SealSecret returns the secret of a channel, sealed.
func (b *Box) SealSecret(projectID int64, channel, secret string) []byte {
	return b.box.Seal(secret, binding(projectID, channel, "secret"))
}

// Open returns the address and the secret of a channel, each empty if there is none. ok is false if one was sealed with another server
// secret, or for another channel.
func (b *Box) Open(projectID int64, c *Channel) (address, secret string, ok bool) {
	ok = true
	if c.URL != nil {
		address, ok = b.box.Open(c.URL, binding(projectID, c.ID, "url"))
	}
	if ok && c.Secret != nil {
		secret, ok = b.box.Open(c.Secret, binding(projectID, c.ID, "secret"))
	}
	return address, secret, ok
}
