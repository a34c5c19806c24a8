package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/mount"
)

func TestBanner(t *testing.T) {
	t.Parallel()
	b := &banner{version: "v1", secrets: true}
	for _, n := range []mount.Notice{
		{Topic: mount.TopicData, Text: "PostgreSQL db.example.com/grove"},
		{Topic: mount.TopicKeyFile, Text: "/data/api-key"},
		{Topic: mount.TopicKey, Text: "sg_secret"},
		{Topic: mount.TopicOTLPHTTP, Text: "http://127.0.0.1:4318"},
		{Topic: mount.TopicOTLPGRPC, Text: "127.0.0.1:4317"},
		{Topic: mount.TopicAPI, Text: "http://127.0.0.1:7420"},
		{Topic: mount.TopicSignIn, Text: "http://127.0.0.1:7420/#/in/c0de"},
	} {
		b.post(n)
	}
	want := `Spangrove v1 is ready.

  API        http://127.0.0.1:7420
  OTLP gRPC  127.0.0.1:4317
  OTLP HTTP  http://127.0.0.1:4318
  Data       PostgreSQL db.example.com/grove
  API key    sg_secret
             generated now and shown once; it is kept in /data/api-key

Open in a browser (works once, for 15 minutes):

  http://127.0.0.1:7420/#/in/c0de

Start a session:

  curl http://127.0.0.1:7420/session/start -H "Authorization: Bearer sg_secret" \
    -d '{"session": {"session_name": "hello"}}'

`
	if diff := cmp.Diff(want, b.text()); diff != "" {
		t.Errorf("banner (-want +got):\n%s", diff)
	}
	b.secrets = false
	for _, line := range []string{"  API key    generated now, in /data/api-key\n", `-H "Authorization: Bearer $(cat /data/api-key)"`} {
		if text := b.text(); !strings.Contains(text, line) || strings.Contains(text, "sg_secret") || strings.Contains(text, "c0de") {
			t.Errorf("banner that is no terminal's lacks %q, or shows the key:\n%s", line, text)
		}
	}
	if diff := cmp.Diff("Spangrove v1 is ready.\n", (&banner{version: "v1"}).text()); diff != "" {
		t.Errorf("banner of nothing (-want +got):\n%s", diff)
	}
}
