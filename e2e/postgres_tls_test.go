package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/e2e/harness"
)

// authority issues certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

// issue makes a key, and its certificate signed by an authority, or by itself.
func issue(t *testing.T, c *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func certPEM(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// TestPostgresTLS connects to a PostgreSQL that wants TLS and certificates of clients: as the connection string says, and not otherwise.
func TestPostgresTLS(t *testing.T) {
	t.Parallel()
	db := harness.OwnPostgres(t)
	ca, stranger := newAuthority(t, "database"), newAuthority(t, "stranger")
	server, serverKey := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "db"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca)
	client, clientKey := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "spangrove"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca)

	conn, err := pgx.Connect(t.Context(), db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	// The server itself writes its files, so that they are its own.
	for name, text := range map[string]string{"tls.crt": certPEM(server), "tls.key": keyPEM(t, serverKey), "ca.crt": certPEM(ca.cert), "pg_hba.conf": "hostssl all all 127.0.0.1/32 cert\n"} {
		exec(`CREATE TEMP TABLE lines AS SELECT unnest(string_to_array('` + strings.TrimSuffix(text, "\n") + `', E'\n'))`)
		exec(`COPY lines TO PROGRAM 'umask 077; cat >` + name + `'`)
		exec(`DROP TABLE lines`)
	}
	for _, setting := range []string{"ssl = on", "ssl_cert_file = 'tls.crt'", "ssl_key_file = 'tls.key'", "ssl_ca_file = 'ca.crt'"} {
		exec(`ALTER SYSTEM SET ` + setting)
	}
	exec(`SELECT pg_reload_conf()`)
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right := url.Values{"sslmode": {"verify-full"}, "sslrootcert": {file("ca.crt", certPEM(ca.cert))},
		"sslcert": {file("client.crt", certPEM(client))}, "sslkey": {file("client.key", keyPEM(t, clientKey))}}
	with := func(host, name, value string) string {
		t.Helper()
		u, err := url.Parse(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		q := maps.Clone(right)
		if name != "" {
			q.Set(name, value)
		}
		u.Host, u.RawQuery = net.JoinHostPort(host, u.Port()), q.Encode()
		return u.String()
	}
	start := func(dsn string) (*harness.Server, error) {
		srv := harness.New(t, harness.Options{Store: harness.PostgresAt(dsn)})
		srv.Launch()
		return srv, srv.Ready()
	}
	strange, strangeKey := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "spangrove"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, stranger)
	for what, dsn := range map[string]string{
		"in clear text":                with("127.0.0.1", "sslmode", "disable"),
		"another authority":            with("127.0.0.1", "sslrootcert", file("stranger.crt", certPEM(stranger.cert))),
		"a name that it does not have": with("localhost", "", ""),
		"a client that nobody vouches for": strings.NewReplacer(url.QueryEscape(right.Get("sslcert")), url.QueryEscape(file("strange.crt", certPEM(strange))),
			url.QueryEscape(right.Get("sslkey")), url.QueryEscape(file("strange.key", keyPEM(t, strangeKey)))).Replace(with("127.0.0.1", "", "")),
	} {
		srv, err := start(dsn)
		if err == nil {
			t.Errorf("%s: connected", what)
		} else if !strings.Contains(string(srv.Tail()), "postgres::dsn: open PostgreSQL") {
			t.Errorf("%s: does not say what is wrong:\n%s", what, srv.Tail())
		}
		srv.Kill()
	}
	srv, err := start(with("127.0.0.1", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	srv.Must(t, http.MethodPost, "/events", map[string]any{"event_type": "tool", "inputs": map[string]any{}}, nil)
	if conn, err = pgx.Connect(t.Context(), with("127.0.0.1", "", "")); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var encrypted, clear int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl)
		FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'spangrove'`).Scan(&encrypted, &clear); err != nil {
		t.Fatal(err)
	}
	if encrypted == 0 || clear > 0 {
		t.Errorf("%d encrypted connections, %d in clear text", encrypted, clear)
	}
}
