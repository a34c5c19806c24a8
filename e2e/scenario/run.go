package scenario

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
)

// timeout bounds one step. It only ends a step that hangs: the race detector on a busy machine takes
// most of a minute for the largest bodies.
const timeout = 3 * time.Minute

// Run plays every script of files, each a subtest, against the server at baseURL. key must
// allow everything. Every answer must also be one that the OpenAPI document has.
func Run(t *testing.T, baseURL, key string, files fs.FS, document string) {
	t.Helper()
	doc, err := LoadDocument(document)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			script, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := parse(script)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p := player{baseURL: strings.TrimSuffix(baseURL, "/"), key: key, document: doc, vars: map[string]string{}, browsers: map[string]*http.Client{}}
			for _, s := range steps {
				if problem := p.play(t.Context(), s); problem != "" {
					t.Errorf("%s: %s\n%s", name, s.name, problem)
				}
			}
		})
	}
}

type player struct {
	baseURL, key string
	document     *Document
	vars         map[string]string
	browsers     map[string]*http.Client // by name
}

// play sends a step's request and tells what is wrong with its answer, "" if nothing is.
func (p *player) play(ctx context.Context, s step) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := p.request(ctx, s)
	if err != nil {
		return err.Error()
	}
	client, err := p.client(s.header.Get("Browser"))
	if err != nil {
		return err.Error()
	}
	answer, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	problems := p.check(s, answer, body)
	if err := p.document.Check(request.Method, request.URL.Path, answer, body); err != nil {
		problems = append(problems, err.Error())
	}
	if len(problems) == 0 {
		return ""
	}
	if len(body) > 2000 {
		body = append(body[:2000:2000], "…"...)
	}
	return fmt.Sprintf("  %s\n  %s %s answered %d %s", strings.Join(problems, "\n  "), s.method, p.fill(s.target), answer.StatusCode, body)
}

// client returns what sends a request: the browser of a name, or none.
func (p *player) client(name string) (*http.Client, error) {
	if name == "" {
		return http.DefaultClient, nil
	}
	if p.browsers[name] == nil {
		jar, err := cookiejar.New(nil)
		if err != nil {
			return nil, err
		}
		p.browsers[name] = &http.Client{Jar: jar}
	}
	return p.browsers[name], nil
}

func (p *player) request(ctx context.Context, s step) (*http.Request, error) {
	header := s.header.Clone()
	body := p.fill(s.body)
	if header.Get("Body") == "quoted" {
		var err error
		if body, err = strconv.Unquote(body); err != nil {
			return nil, fmt.Errorf("the body is no Go string: %w", err)
		}
	}
	if pad := header.Get("Pad"); pad != "" {
		n, err := strconv.Atoi(pad)
		if err != nil {
			return nil, err
		}
		body += strings.Repeat(" ", n)
	}
	header.Del("Body")
	header.Del("Pad")
	for _, values := range header {
		for i := range values {
			values[i] = p.fill(values[i])
		}
	}
	packed := []byte(body)
	if s.header.Get("Body") != "plain" {
		var err error
		if packed, err = compress(body, header.Get("Content-Encoding")); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, s.method, p.baseURL+p.fill(s.target), bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	switch header.Get("Authorization") {
	case "":
		if header.Get("Browser") == "" {
			header.Set("Authorization", "Bearer "+p.key)
		}
	case "none":
		header.Del("Authorization")
	}
	header.Del("Browser")
	request.Header = header
	return request, nil
}

// compress packs a body as its Content-Encoding says.
func compress(body, encoding string) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			return nil, err
		}
	default:
		return []byte(body), nil
	}
	if _, err := io.WriteString(w, body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func (p *player) check(s step, answer *http.Response, body []byte) []string {
	m := matcher{vars: p.vars}
	if answer.StatusCode != s.status {
		m.wrong("status", "%d, want %d", answer.StatusCode, s.status)
	}
	for name, texts := range s.expect {
		if got := answer.Header.Get(name); !strings.Contains(got, p.fill(texts[0])) || got == "" {
			m.wrong("header "+name, "%q, want %q in it", got, texts[0])
		}
	}
	if s.answer != "" {
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
			m.wrong("header Content-Type", "%q, want application/json", kind)
		}
		want, err := decode([]byte(p.fill(s.answer)))
		if err != nil {
			return append(m.problems, "what must come back is no JSON: "+err.Error())
		}
		got, err := decode(body)
		if err != nil {
			return append(m.problems, "the answer is not JSON: "+err.Error())
		}
		m.match("", want, got)
	}
	for _, text := range s.without {
		if bytes.Contains(body, []byte(p.fill(text))) {
			m.wrong("", "contains %q", p.fill(text))
		}
	}
	return m.problems
}

var variable = regexp.MustCompile(`\{\{(hex |upper )?(\w+)\}\}`)

// fill puts in the variables; one that is met for the first time is a new UUID.
func (p *player) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(braced string) string {
		parts := variable.FindStringSubmatch(braced)
		if _, ok := p.vars[parts[2]]; !ok {
			p.vars[parts[2]] = uuid.NewString()
		}
		switch parts[1] {
		case "hex ":
			return strings.ReplaceAll(p.vars[parts[2]], "-", "")
		case "upper ":
			return strings.ToUpper(p.vars[parts[2]])
		}
		return p.vars[parts[2]]
	})
}
