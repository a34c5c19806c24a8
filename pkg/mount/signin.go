package mount

import (
	"context"
	"time"

	"github.com/spangrove/spangrove/pkg/project"
)

// SignIn lets browsers sign in: an authenticator that implements it gives them a credential for a cookie, which stands
// for a key and is good as long as the key is. The API extension sets the cookie and reads it.
type SignIn interface {
	// SignInWithKey returns a credential for whoever sends this key. fault.Unauthorized if the key is not in force.
	SignInWithKey(ctx context.Context, secret string) (Credential, error)
	// SignInWithCode does the same for a code that NewCode made. A code works once. fault.Unauthorized if it is
	// unknown, was used, or is too old.
	SignInWithCode(ctx context.Context, code string) (Credential, error)
	// Resume returns a context with the identity of the key that a credential stands for, as Authenticate does for
	// the key itself, in the project that the credential says. fault.Unauthorized if the credential is forged or too old, or its key
	// is not in force, or that project was deleted.
	Resume(ctx context.Context, credential string) (context.Context, error)
	// SwitchProject returns a credential of the same key and for the same time that acts in another project: the one with this
	// public id, or the key's own if id is empty. A credential whose project was deleted can be switched, too. fault.Forbidden if
	// the key is not of scope admin, fault.NotFound if there is no such project, else the errors of Resume.
	SwitchProject(ctx context.Context, credential, id string) (Credential, error)
	// NewCode returns a code by which the server's own key signs in once, within a few minutes; empty if the server
	// knows no key of its own.
	NewCode() string
}

// Credential is what a browser sends in place of a key.
type Credential struct {
	Value    string // safe in a cookie
	Expires  time.Time
	Identity project.Identity // with the project that the credential acts in
}
