package python

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/metric"
)

func TestImports(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code string
		want []string
	}{
		{"import re", []string{"re"}},
		{"import re, json as j,os.path", []string{"re", "json", "os.path"}},
		{"from collections import Counter, deque\nfrom a.b import (c,\n  d)", []string{"collections", "a.b"}},
		{"def f(event):\n\timport numpy as np\n\treturn 1", []string{"numpy"}},
		{"try: import x\nexcept ImportError: import y; import z", []string{"x", "y", "z"}},
		{"from urllib import request, parse", []string{"urllib", "urllib.request"}},
		{"from . import x\nfrom .a import b", nil},
		{"import re # import os", []string{"re"}},
		{"'''\nimport os\n'''\n\"\"\"\nimport sys\\\"\"\" \"\"\"\nx = 'import json'\n", nil},
		{"x = \"\\\"\\\nimport a\"\nimport b", []string{"b"}},
		{"import \\\n  re", []string{"re"}},
		{"important = 1\nimport_x = 2\nx = important\nfrom_ = 3", nil},
		{"'''never closed\nimport os", nil},
	} {
		if diff := cmp.Diff(tt.want, imports(tt.code)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.code, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code string
		want []string // each a part of a warning
	}{
		{"import re, math\nfrom urllib.parse import urlparse\nimport http\nfrom http import HTTPStatus", nil},
		{"import pandas as pd, pandas.io\nfrom sklearn.metrics import f1_score", []string{"pandas is not installed", "sklearn is not installed"}},
		{"import requests", []string{"evaluators have no network"}},
		{"from openai import OpenAI", []string{"metric of type LLM"}},
		{"import socket\nimport urllib.request\nimport concurrent.futures", []string{"socket does not work", "urllib.request does not work", "one thread"}},
		{"from http.client import HTTPConnection", []string{"http.client does not work"}},
	} {
		got := (&Engine{}).Warnings(&metric.Definition{Criteria: tt.code})
		if len(got) != len(tt.want) {
			t.Errorf("%q: %q, want %d warnings", tt.code, got, len(tt.want))
			continue
		}
		for i, w := range tt.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%q: %q, want %q in it", tt.code, got[i], w)
			}
		}
	}
}

// FuzzImports finds nothing but names, however the code is written.
func FuzzImports(f *testing.F) {
	f.Add("import a.b, c as d\nfrom e import (f)\n'''import g'''")
	f.Fuzz(func(t *testing.T, code string) {
		for _, name := range imports(code) {
			if name == "" || strings.ContainsAny(name, " \t\n,'\"#") {
				t.Fatalf("%q: the module %q", code, name)
			}
			unavailable(name)
		}
	})
}
