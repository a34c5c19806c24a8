package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/mount"
)

func TestBanner(t *testing.T) {
	t.Parallel()
	b := &banner{version: "v1"}
	for _, n := range []mount.Notice{
		{Topic: mount.TopicData, Text: "PostgreSQL db.example.com/grove"},
		{Topic: mount.TopicKeyFile, Text: "/data/api-key"},
		{Topic: mount.TopicKey, Text: "sg_secret"},
		{Topic: mount.TopicOTLPHTTP, Text: "http://127.0.0.1:4318"},
		{Topic: mount.TopicOTLPGRPC, Text: "127.0.0.1:4317"},
		{Topic: mount.TopicAPI, Text: "http://127.0.0.1:7420"},
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

Start a session:

  curl http://127.0.0.1:7420/session/start -H 'Authorization: Bearer sg_secret' \
    -d '{"session": {"session_name": "hello"}}'

`
	if diff := cmp.Diff(want, b.text()); diff != "" {
		t.Errorf("banner (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("Spangrove v1 is ready.\n", (&banner{version: "v1"}).text()); diff != "" {
		t.Errorf("banner of nothing (-want +got):\n%s", diff)
	}
}
