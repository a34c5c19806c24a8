package spangrovereceiver

import (
	"context"
	"net/http"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/project"
)

// mayWrite returns the caller, and Forbidden if the key may not write. Nobody, where no
// authentication is configured, is the zero Identity and may write to the default project.
func mayWrite(ctx context.Context) (project.Identity, error) {
	id, known := identify(ctx)
	if known && !id.Scope.Allows(project.ScopeIngest) {
		return id, fault.New(fault.Forbidden, "this key may not write telemetry; it has the scope %s", id.Scope)
	}
	return id, nil
}

// mayRead reports whether the caller may be told what is stored. Where nobody is asked for a key
// everybody may.
func mayRead(id project.Identity) bool { return id.Scope == "" || id.Scope.Allows(project.ScopeRead) }

// identify finds the caller that an authenticator put into the context. One that is not
// Spangrove's own says the project in the attributes that project.Identity has, or nothing;
// who passes it without a scope may write, since the operator chose it for this listener.
func identify(ctx context.Context) (project.Identity, bool) {
	if id, ok := project.IdentityFrom(ctx); ok {
		return id, true
	}
	switch auth := client.FromContext(ctx).Auth.(type) {
	case nil:
		return project.Identity{}, false
	case project.Identity:
		return auth, true
	case *project.Identity:
		if auth == nil {
			return project.Identity{}, false
		}
		return *auth, true
	default:
		text := func(name string) string {
			s, _ := auth.GetAttribute(name).(string)
			return s
		}
		id := project.Identity{KeyID: text(project.AttrKeyID), Scope: project.Scope(text(project.AttrScope))}
		id.Project.PublicID = text(project.AttrProjectID)
		if id.Scope == "" {
			id.Scope = project.ScopeIngest
		}
		return id, true
	}
}

// guarded puts the authenticator of cfg, unless it is nil, and then the bounds of bodies before
// next. A caller who is refused gets 401; an authenticator that cannot tell now gives 503. The order matters:
// nothing of the body of a caller without a key is read.
func (r *spangroveReceiver) guarded(ctx context.Context, host component.Host, cfg *confighttp.AuthConfig,
	bodies ingress.Bodies, next http.Handler) (http.Handler, error) {
	opened := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer ingress.Working(req.Context())()
		if err := bodies.Open(w, req); err != nil {
			r.refuse(w, req, err)
			return
		}
		defer req.Body.Close()
		next.ServeHTTP(w, req)
	})
	if cfg == nil {
		return opened, nil
	}
	server, err := cfg.Config.GetServerAuthenticator(ctx, host.GetExtensions())
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// An authenticator looks for keys in headers, and in those parameters that the operator has named.
		sources := map[string][]string(req.Header)
		query := req.URL.Query()
		for _, name := range cfg.RequestParameters {
			if values, ok := query[name]; ok {
				sources[name] = values
			}
		}
		ctx, err := server.Authenticate(req.Context(), sources)
		if err != nil {
			r.refuse(w, req, notAuthenticated(err))
			return
		}
		opened.ServeHTTP(w, req.WithContext(ctx))
	}), nil
}
