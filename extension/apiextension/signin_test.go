package apiextension

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/wire"
)

// signInAuth knows the key "good" and the code "once"; the credential of both is "credential".
type signInAuth struct{ fakeAuth }

func (signInAuth) SignInWithKey(_ context.Context, secret string) (mount.Credential, error) {
	if secret != "good" {
		return mount.Credential{}, fault.New(fault.Unauthorized, "unknown API key")
	}
	return mount.Credential{Value: "credential", Expires: time.Now().Add(time.Hour)}, nil
}

func (a signInAuth) SignInWithCode(ctx context.Context, code string) (mount.Credential, error) {
	return a.SignInWithKey(ctx, strings.Replace(code, "once", "good", 1))
}

func (a signInAuth) Resume(ctx context.Context, credential string) (context.Context, error) {
	if credential != "credential" {
		return ctx, fault.New(fault.Unauthorized, "signed out")
	}
	return project.WithIdentity(ctx, project.Identity{Project: project.Project{ID: 7, PublicID: "p7"}, Scope: project.ScopeFull}), nil
}

// SwitchProject knows the project "p8".
func (a signInAuth) SwitchProject(ctx context.Context, credential, id string) (mount.Credential, error) {
	ctx, err := a.Resume(ctx, credential)
	who, _ := project.IdentityFrom(ctx)
	switch {
	case err != nil:
		return mount.Credential{}, err
	case id == "":
		return mount.Credential{Value: "credential", Expires: time.Now().Add(time.Hour), Identity: who}, nil
	case id != "p8":
		return mount.Credential{}, &project.CallerError{Caller: who, Err: &fault.Error{Kind: fault.NotFound, Field: "id", Msg: "no such project"}}
	}
	who.Project = project.Project{ID: 8, PublicID: id, Name: "Eight"}
	return mount.Credential{Value: "switched", Expires: time.Now().Add(time.Hour), Identity: who}, nil
}

func (signInAuth) NewCode() string { return "once" }

// serveSignIn starts an extension whose authenticator lets browsers sign in, and returns its URL and what it announced.
func serveSignIn(t *testing.T) (url string, notices map[mount.Topic]string) {
	t.Helper()
	_, url, notices = startSignIn(t)
	return url, notices
}

func startSignIn(t *testing.T) (e *apiExtension, url string, notices map[mount.Topic]string) {
	t.Helper()
	e, err := newExtension(newSettings(), configured(nil))
	if err != nil {
		t.Fatal(err)
	}
	h := newHost()
	h[component.MustNewID("spangrove_auth")] = signInAuth{}
	notices = map[mount.Topic]string{}
	ctx := mount.WithBoard(t.Context(), func(n mount.Notice) { notices[n.Topic] = n.Text })
	if err := e.Start(ctx, h); err != nil {
		t.Fatal(err)
	}
	if err := e.Ready(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	big := strings.Repeat(`{"a":"b"},`, 1000)
	if err := e.Mount("POST /events", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = wire.WriteJSON(w, []byte("["+big+"{}]")) })); err != nil {
		t.Fatal(err)
	}
	return e, notices[mount.TopicAPI], notices
}

// A sign-in that failed is noted with the first characters of the key, and nothing of a code.
func TestSignInRefusalsAreNoted(t *testing.T) {
	e, url, _ := startSignIn(t)
	call(t, "POST", url+"/v1/login", "", strings.NewReader(`{"code":"twice-as-secret"}`))
	call(t, "POST", url+"/v1/login", "", strings.NewReader(`{"key":"sg_abcdefghijklmnopqrstuvwxyz234567"}`))
	got := e.refusals.Of("", true)
	for i := range got {
		got[i].Time = time.Time{}
	}
	want := refused.Request{Method: "POST", Path: "/v1/login", Status: 401, Message: "unknown API key", Count: 1}
	ofKey := want
	ofKey.KeyPrefix = "sg_abcdefg"
	if !slices.Equal(got, []refused.Request{ofKey, want}) {
		t.Errorf("%+v", got)
	}
}

func TestSignIn(t *testing.T) {
	url, notices := serveSignIn(t)
	if want := url + "/#/in/once"; notices[mount.TopicSignIn] != want {
		t.Errorf("the link is %q, want %q", notices[mount.TopicSignIn], want)
	}
	port := url[strings.LastIndex(url, ":")+1:]
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"a key", `{"key":"good"}`, 200, `"success":true`},
		{"a code", `{"code":"once"}`, 200, `"expires_at":"`},
		{"a wrong key", `{"key":"bad"}`, 401, "unknown API key"},
		{"nothing", `{}`, 400, "must be"},
		{"both", `{"key":"good","code":"once"}`, 400, "must be"},
		{"no JSON", `key=good`, 400, "must be"},
		{"another type", `{"key":1}`, 400, "must be"},
		{"too long", `{"key":"` + strings.Repeat("x", maxSignInBody) + `"}`, 400, "at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, "POST", url+"/v1/login", "", strings.NewReader(tt.body))
			cookie := got.header.Get("Set-Cookie")
			if got.status != tt.status || !strings.Contains(got.body, tt.want) || (cookie != "") != (tt.status == 200) {
				t.Fatalf("%d %s, cookie %q", got.status, got.body, cookie)
			}
			if tt.status != 200 {
				return
			}
			for _, part := range []string{"spangrove_" + port + "=credential", "Path=/", "HttpOnly", "SameSite=Strict", "Expires="} {
				if !strings.Contains(cookie, part) {
					t.Errorf("the cookie %s has no %s", cookie, part)
				}
			}
			if strings.Contains(cookie, "Secure") {
				t.Error("the cookie is Secure, and the server speaks HTTP")
			}
		})
	}
	if got := call(t, "POST", url+"/v1/login", "", strings.NewReader(`{"key":"good"}`), "X-Forwarded-Proto", "https"); !strings.Contains(got.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("behind a proxy with TLS the cookie is %s", got.header.Get("Set-Cookie"))
	}
	if got := call(t, "POST", url+"/v1/logout", "", nil); got.status != 200 || !strings.Contains(got.header.Get("Set-Cookie"), "1970") {
		t.Errorf("signed out: %d, cookie %s", got.status, got.header.Get("Set-Cookie"))
	}
	if got := call(t, "GET", url+"/v1/login", "good", nil); got.status != 404 {
		t.Errorf("GET: %d", got.status)
	}
}

func TestCookie(t *testing.T) {
	url, _ := serveSignIn(t)
	port := url[strings.LastIndex(url, ":")+1:]
	cookie := "spangrove_" + port + "=credential"
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"its own page", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200},
		{"an older browser", []string{"Cookie", cookie, "Origin", url}, 200},
		{"a program", []string{"Cookie", cookie}, 200},
		{"another site", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403},
		{"another port", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403},
		{"another origin", []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403},
		{"another site with a key", []string{"Authorization", "Bearer good", "Sec-Fetch-Site", "cross-site"}, 200},
		{"a forged cookie", []string{"Cookie", cookie + "x"}, 401},
		{"a cookie of another port", []string{"Cookie", "spangrove_1=credential"}, 401},
		{"a wrong key goes before a cookie", []string{"Cookie", cookie, "Authorization", "Bearer bad"}, 401},
		{"nothing", nil, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := call(t, "POST", url+"/events", "", strings.NewReader(`{}`), tt.headers...); got.status != tt.status {
				t.Errorf("%d %.200s, want %d", got.status, got.body, tt.status)
			}
		})
	}
	if got := call(t, "POST", url+"/v1/login", "", strings.NewReader(`{"key":"good"}`), "Sec-Fetch-Site", "cross-site"); got.status != 403 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("another site signs in: %d", got.status)
	}
}

func TestSwitchProject(t *testing.T) {
	e, url, _ := startSignIn(t)
	name := "spangrove_" + url[strings.LastIndex(url, ":")+1:]
	cookie := name + "=credential"
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		want       string
		set        string // the value of the cookie
	}{
		{"another project", `{"id":"p8"}`, []string{"Cookie", cookie}, 200, `"project":{"id":"p8","name":"Eight"}`, "switched"},
		{"its own page asks", `{"id":"p8"}`, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200, `"expires_at":"`, "switched"},
		{"the key's own", `{"id":null}`, []string{"Cookie", cookie}, 200, `"project":{"id":"p7"`, "credential"},
		{"an unknown project", `{"id":"p9"}`, []string{"Cookie", cookie}, 404, "id: no such project", ""},
		{"no project", `{}`, []string{"Cookie", cookie}, 400, "id: is required", ""},
		{"an empty id", `{"id":""}`, []string{"Cookie", cookie}, 400, "id: must be", ""},
		{"a number", `{"id":8}`, []string{"Cookie", cookie}, 400, "id: must be", ""},
		{"no JSON", `id=p8`, []string{"Cookie", cookie}, 400, "the body must be", ""},
		{"too long", `{"id":"` + strings.Repeat("x", maxSignInBody) + `"}`, []string{"Cookie", cookie}, 400, "at most", ""},
		{"a forged cookie", `{"id":"p8"}`, []string{"Cookie", cookie + "x"}, 401, "signed out", ""},
		{"a cookie of another port", `{"id":"p8"}`, []string{"Cookie", "spangrove_1=credential"}, 401, "unknown API key", ""},
		{"nobody", `{"id":"p8"}`, nil, 401, "unknown API key", ""},
		{"a key", `{"id":"p8"}`, []string{"Authorization", "Bearer good"}, 400, "Authorization: a request with a key acts in the key's project", ""},
		{"a key and a cookie", `{"id":"p8"}`, []string{"Authorization", "Bearer good", "Cookie", cookie}, 400, "Authorization: ", ""},
		{"a wrong key", `{"id":"p8"}`, []string{"Authorization", "Bearer bad", "Cookie", cookie}, 401, "unknown API key", ""},
		{"another site", `{"id":"p8"}`, []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 403, "another site", ""},
		{"another port's page", `{"id":"p8"}`, []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 403, "another site", ""},
		{"an older browser on another site", `{"id":"p8"}`, []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403, "another site", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, "POST", url+"/v1/login/project", "", strings.NewReader(tt.body), tt.headers...)
			set := got.header.Get("Set-Cookie")
			if got.status != tt.status || !strings.Contains(got.body, tt.want) || (set != "") != (tt.set != "") {
				t.Fatalf("%d %s, cookie %q", got.status, got.body, set)
			}
			if tt.set == "" {
				return
			}
			for _, part := range []string{name + "=" + tt.set + ";", "Path=/", "HttpOnly", "SameSite=Strict", "Expires="} {
				if !strings.Contains(set, part) {
					t.Errorf("the cookie %s has no %s", set, part)
				}
			}
		})
	}
	for _, r := range e.refusals.Of("", true) {
		if strings.Contains(r.Message, "Authorization: ") {
			t.Errorf("noted as that of an unknown key: %+v", r)
		}
	}
	if got := call(t, "GET", url+"/v1/login/project", "good", nil); got.status != 404 {
		t.Errorf("GET: %d", got.status)
	}
}

// An authenticator of somebody else's has nothing to sign in to; the pages are there all the same.
func TestWithoutSignIn(t *testing.T) {
	_, url := serve(t, nil)
	for path, body := range map[string]string{"/v1/login": `{"key":"good"}`, "/v1/login/project": `{"id":"p8"}`} {
		if got := call(t, "POST", url+path, "", strings.NewReader(body)); got.status != 404 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/", "/ui/x/app.js"} {
		if got := call(t, "GET", url+path, "", nil); got.status != 200 || !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: %d, headers %v", path, got.status, got.header)
		}
	}
}

func TestAnswersAreCompressed(t *testing.T) {
	url, _ := serveSignIn(t)
	ask := func(accept string, header ...string) (*http.Response, int) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/events", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Accept-Encoding", accept)
		for _, name := range header {
			req.Header.Set(name, "192.0.2.1")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, len(body)
	}
	_, whole := ask("identity")
	for _, tt := range []struct {
		accept, via string
		packed      bool
	}{
		{"identity", "X-Forwarded-For", false},
		{"gzip", "", false}, // over loopback
		{"gzip", "X-Forwarded-For", true},
		{"gzip", "X-Real-IP", true},
		{"gzip", "Forwarded", true},
		{"gzip", "Via", true},
	} {
		var via []string
		if tt.via != "" {
			via = []string{tt.via}
		}
		res, n := ask(tt.accept, via...)
		if packed := res.Header.Get("Content-Encoding") == "gzip"; packed != tt.packed || packed && n > whole/10 || !packed && n != whole {
			t.Errorf("%+v: %d of %d bytes, headers %v", tt, n, whole, res.Header)
		}
		if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: headers %v", tt, res.Header)
		}
	}
}

// Whoever stands on another machine gets what was compressed, as far as the network shows where that is.
func TestFromThisMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:5": true, "127.8.9.1:5": true, "[::1]:5": true, "[::ffff:127.0.0.1]:5": true,
		"192.0.2.1:5": false, "[2001:db8::1]:5": false, "[fe80::1%eth0]:5": false, "@": false, "": false,
	} {
		if got := fromThisMachine(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%q: %t, want %t", address, got, want)
		}
	}
}
