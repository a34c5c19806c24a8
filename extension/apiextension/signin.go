package apiextension

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/extension/extensionauth"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// maxSignInBody bounds the body of a sign-in, in bytes: more than a key or a code needs.
const maxSignInBody = 4 << 10

// The paths that browsers sign in and out by. They need no key, so they stand before its check.
const (
	signInPath  = "/v1/login"
	signOutPath = "/v1/logout"
	switchPath  = "/v1/login/project" // its handler checks who asks
)

// authenticate returns the context of a caller: by the key in the Authorization header, or else by the cookie
// of a browser that has signed in. A request with a cookie that another site's page has caused is refused as
// fault.Forbidden, as http.CrossOriginProtection finds out.
func (e *apiExtension) authenticate(auth extensionauth.Server, r *http.Request) (context.Context, error) {
	if signIn, ok := auth.(mount.SignIn); ok && r.Header.Get("Authorization") == "" {
		if cookie, err := r.Cookie(cookieName(r)); err == nil {
			if err := e.crossOrigin.Check(r); err != nil {
				return nil, errCrossOrigin
			}
			return signIn.Resume(r.Context(), cookie.Value)
		}
	}
	return auth.Authenticate(r.Context(), r.Header)
}

// recheck returns what authenticates a request that is under way anew, nil if there are no keys.
func (e *apiExtension) recheck(auth extensionauth.Server) func(*http.Request) (context.Context, error) {
	if auth == nil {
		return nil
	}
	return func(r *http.Request) (context.Context, error) {
		ctx, err := e.authenticate(auth, r)
		if err != nil {
			return nil, authError(err)
		}
		return ctx, nil
	}
}

var errCrossOrigin = &fault.Error{Kind: fault.Forbidden, Msg: "the page of another site sent this request"}

// isSignIn reports whether r signs a browser in or out, or switches its project.
func isSignIn(r *http.Request) bool {
	return r.Method == http.MethodPost && (r.URL.Path == signInPath || r.URL.Path == signOutPath || r.URL.Path == switchPath)
}

// serveSignIn answers to a request for which isSignIn holds.
func (e *apiExtension) serveSignIn(auth extensionauth.Server, w http.ResponseWriter, r *http.Request) {
	signIn, ok := auth.(mount.SignIn)
	switch err := e.crossOrigin.Check(r); {
	case err != nil:
		ingress.Refused(w)
		wire.WriteError(w, errCrossOrigin)
		return
	case r.URL.Path == signOutPath:
		http.SetCookie(w, e.cookie(r, "", time.Unix(1, 0)))
		writeSuccess(w, nil)
		return
	case !ok:
		wire.WriteError(w, fault.New(fault.NotFound, "this server does not check keys itself: there is nothing to sign in to"))
		return
	case r.URL.Path == switchPath:
		e.serveSwitch(auth, signIn, w, r)
		return
	}
	c, keyPrefix, err := e.signIn(signIn, w, r)
	if err != nil {
		err = authError(err)
		ingress.Refused(w)
		wire.WriteError(w, err)
		e.note("", r, keyPrefix, err)
		return
	}
	http.SetCookie(w, e.cookie(r, c.Value, c.Expires))
	writeSuccess(w, func(b *rawjson.Builder) { b.String("expires_at", c.Expires.UTC().Format(time.RFC3339)) })
}

// signIn reads a key or a one-time code from the body, and signs in with it. keyPrefix is the first characters of the key.
func (e *apiExtension) signIn(signIn mount.SignIn, w http.ResponseWriter, r *http.Request) (c mount.Credential, keyPrefix string, err error) {
	raw, err := signInBody(w, r)
	if err != nil {
		return c, "", err
	}
	var body struct {
		Key  *string `json:"key"`
		Code *string `json:"code"`
	}
	switch err := json.Unmarshal(raw, &body); {
	case err != nil || (body.Key == nil) == (body.Code == nil):
		return c, "", fault.New(fault.Invalid, `the body must be {"key": "…"} or {"code": "…"}`)
	case body.Key != nil:
		c, err = signIn.SignInWithKey(r.Context(), *body.Key)
		return c, project.Prefix(*body.Key), err
	default:
		c, err = signIn.SignInWithCode(r.Context(), *body.Code)
		return c, "", err
	}
}

func signInBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSignInBody))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the body must be at most %d bytes", maxSignInBody)
	}
	return raw, nil
}

// serveSwitch has a browser that is signed in act in another project from now on: its cookie says which. Requests with a key
// in the header act in the key's project, always.
func (e *apiExtension) serveSwitch(auth extensionauth.Server, signIn mount.SignIn, w http.ResponseWriter, r *http.Request) {
	c, err := e.switchProject(auth, signIn, w, r)
	if err != nil {
		e.refuse(w, r, authError(err))
		return
	}
	http.SetCookie(w, e.cookie(r, c.Value, c.Expires))
	writeSuccess(w, func(b *rawjson.Builder) {
		var p rawjson.Builder
		p.String("id", c.Identity.Project.PublicID)
		p.String("name", c.Identity.Project.Name)
		b.Raw("project", p.Bytes())
		b.String("expires_at", c.Expires.UTC().Format(time.RFC3339))
	})
}

func (e *apiExtension) switchProject(
	auth extensionauth.Server,
	signIn mount.SignIn,
	w http.ResponseWriter,
	r *http.Request,
) (c mount.Credential, err error) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil || r.Header.Get("Authorization") != "" {
		ctx, err := auth.Authenticate(r.Context(), r.Header)
		if err != nil {
			return c, err
		}
		who, _ := project.IdentityFrom(ctx)
		return c, &project.CallerError{Caller: who, Err: fault.InvalidField("Authorization",
			"a request with a key acts in the key's project: sign in with POST %s, and switch with its cookie alone", signInPath)}
	}
	raw, err := signInBody(w, r)
	if err != nil {
		return c, err
	}
	id, err := chosenProject(raw)
	if err != nil {
		return c, err
	}
	return signIn.SwitchProject(r.Context(), cookie.Value, id)
}

// chosenProject reads {"id": …}; empty stands for the key's own project, which is null there.
func chosenProject(raw []byte) (id string, err error) {
	var body struct {
		ID json.RawMessage `json:"id"`
	}
	switch err := json.Unmarshal(raw, &body); {
	case err != nil:
		return "", fault.New(fault.Invalid, `the body must be {"id": "…"}`)
	case body.ID == nil:
		return "", fault.InvalidField("id", "is required: the id of a project, or null for the key's own")
	case string(body.ID) == "null":
		return "", nil
	}
	if err := json.Unmarshal(body.ID, &id); err != nil || id == "" {
		return "", fault.InvalidField("id", "must be the id of a project, or null for the key's own")
	}
	return id, nil
}

func writeSuccess(w http.ResponseWriter, add func(*rawjson.Builder)) {
	var b rawjson.Builder
	b.Bool("success", true)
	if add != nil {
		add(&b)
	}
	_ = wire.WriteJSON(w, b.Bytes()) // a client that is gone cannot be told
}

// cookie returns the cookie of a credential. Scripts cannot read it, other sites' pages cannot send it, and over TLS it
// never leaves unencrypted. Behind a proxy that ends TLS, X-Forwarded-Proto says so: who forges it only locks himself out.
func (e *apiExtension) cookie(r *http.Request, value string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name:     cookieName(r),
		Value:    value,
		Path:     "/",
		Expires:  expires,
		Secure:   r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

// cookieName returns the name of the cookie on the port that the browser sees: cookies know hosts but no ports, and
// two servers on one host must not sign each other out.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		return "spangrove_" + port
	}
	return "spangrove"
}
