package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Listeners that ask for no key are refused where other machines reach them.
func TestExposedListeners(t *testing.T) {
	environment(t, t.TempDir())
	const otlp = "service: {pipelines: {traces: {receivers: [spangrove, otlp]}}}\nreceivers: {otlp: {protocols: "
	for name, tt := range map[string]struct{ config, want string }{
		"pprof":                {"extensions: {pprof: {endpoint: '0.0.0.0:1777'}}", "extensions::pprof::endpoint: 0.0.0.0:1777 can be reached from other machines"},
		"zpages":               {"extensions: {zpages/debug: {endpoint: ':55679'}}", "extensions::zpages/debug::endpoint: :55679 can be reached"},
		"pprof, loopback":      {"extensions: {pprof: {endpoint: 'localhost:1777'}}", ""},
		"zpages, default":      {"extensions: {zpages: }", ""},
		"otlp over gRPC":       {otlp + "{grpc: {endpoint: '0.0.0.0:4327'}}}}", "receivers::otlp::protocols::grpc::endpoint: 0.0.0.0:4327 can be reached from other machines, which needs keys"},
		"otlp over HTTP":       {otlp + "{http: {endpoint: '[::]:4328'}}}}", "receivers::otlp::protocols::http::endpoint: [::]:4328 can be reached"},
		"otlp with keys":       {otlp + "{grpc: {endpoint: '0.0.0.0:4327', auth: {authenticator: spangrove_auth}}}}}", ""},
		"otlp, default":        {otlp + "{grpc: , http: }}}", ""},
		"our receiver":         {"receivers: {spangrove: {protocols: {http: {endpoint: '0.0.0.0:4318', auth: {enabled: false}}}}}", "protocols::http::endpoint: 0.0.0.0:4318 can be reached from other machines"},
		"our receiver, agreed": {"receivers: {spangrove: {allow_anonymous: true, protocols: {http: {endpoint: '0.0.0.0:4318', auth: {enabled: false}}}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}
			root := newRoot()
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&out)
			root.SetArgs([]string{"validate", "--config", "embedded:default", "--config", file})
			err := root.ExecuteContext(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
