package authextension

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// errProjectGone is the answer to all requests but a switch, so that nothing lands in a project that nobody has chosen. It is about the
// cookie, as errUnknownCredential is; the field tells the two apart.
var errProjectGone = &fault.Error{
	Kind: fault.Unauthorized, Field: "project",
	Msg: "the project that this browser acts in was deleted: switch to another one, or sign in again",
}

// SwitchProject implements mount.SignIn.
func (e *authExtension) SwitchProject(ctx context.Context, credential, id string) (c mount.Credential, err error) {
	l := e.lookup.Load()
	if l == nil {
		return c, errNotReady
	}
	g, who, hash, err := e.verify(ctx, l, credential)
	if err == nil {
		_, err = e.meter(l, &who) // of the key's own project: the one that the credential says may be gone
	}
	e.metrics.count(ctx, err)
	e.record(ctx, &who, err)
	if err != nil {
		return c, err
	}
	entry := audit.Entry{Action: audit.ProjectSwitch, Outcome: audit.Success, KeyID: who.KeyID, Address: remoteAddress(ctx), Target: id}
	to, err := e.switched(ctx, l, who, id)
	if err != nil {
		entry.ProjectID, entry.Outcome = who.Project.PublicID, fault.Of(err).Code()
		l.keys.RecordAudit(ctx, entry)
		return c, withCaller(&who, err)
	}
	entry.ProjectID, entry.Target = to.Project.PublicID, to.Project.PublicID
	l.keys.RecordAudit(ctx, entry)
	g.projectID = ""
	if to.Own != nil {
		g.projectID = to.Project.PublicID
	}
	return mount.Credential{Value: sign(g, hash), Expires: g.expires, Identity: to}, nil
}

// switched returns a caller, who acts in the project of its key, acting in another one.
func (e *authExtension) switched(ctx context.Context, l *lookup, who project.Identity, id string) (project.Identity, error) {
	switch {
	case !who.MaySwitch():
		return who, fault.New(fault.Forbidden, "switching needs a key of scope %q; the key has %q", project.ScopeAdmin, who.Scope)
	case id == "":
		return who, nil
	}
	to, err := l.actingIn(ctx, who, id)
	if errors.Is(err, errProjectGone) {
		return who, &fault.Error{Kind: fault.NotFound, Field: "id", Msg: "no such project"}
	}
	return to, err
}
