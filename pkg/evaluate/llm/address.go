package llm

import "github.com/spangrove/spangrove/pkg/fault"

// A project's provider has a base URL that its administrator chose, and the server calls it: package egress keeps it out of the
// network in which the server stands.

// howToAllow tells operators which setting lets judges ask models elsewhere.
const howToAllow = "the operator of this server must allow it: " +
	"allow_addresses of spangrove_evaluate::llm, or SPANGROVE_ALLOW_MODEL_ADDRESSES"

// CheckAddress returns why an otherwise valid base URL of a provider can never be asked,
// as a fault.Invalid.
func (e *Engine) CheckAddress(base string) error {
	return fault.In("base_url", e.outbound.guard.Check(base, howToAllow))
}
