package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.yaml.in/yaml/v3"
)

type manifestModule struct {
	GoMod  string `yaml:"gomod"`
	Import string `yaml:"import"`
}

func (m manifestModule) path() string {
	if m.Import != "" {
		return m.Import
	}
	return strings.Fields(m.GoMod)[0]
}

type manifest struct {
	Extensions, Receivers, Processors, Exporters, Connectors []manifestModule
	Providers                                                []manifestModule
}

func readManifest(t *testing.T) (m manifest) {
	t.Helper()
	text, err := os.ReadFile("../../builder-config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestComponentsMatchManifest holds components.go and builder-config.yaml together; if it
// fails, run go generate ./cmd/spangrove.
func TestComponentsMatchManifest(t *testing.T) {
	t.Parallel()
	m := readManifest(t)
	source, err := os.ReadFile("components.go")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^\t\w+ "([^"]+)"$`).FindAllStringSubmatch(string(source), -1) {
		imported[match[1]] = true
	}
	delete(imported, "go.opentelemetry.io/collector/service/telemetry/otelconftelemetry") // the builder's own

	factories, err := components()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []struct {
		name    string
		listed  []manifestModule
		modules map[component.Type]string
	}{
		{"extensions", m.Extensions, factories.ExtensionModules},
		{"receivers", m.Receivers, factories.ReceiverModules},
		{"processors", m.Processors, factories.ProcessorModules},
		{"exporters", m.Exporters, factories.ExporterModules},
		{"connectors", m.Connectors, factories.ConnectorModules},
	} {
		var want, got []string
		for _, l := range kind.listed {
			want = append(want, l.GoMod)
			if !imported[l.path()] {
				t.Errorf("%s: components.go does not import %s", kind.name, l.path())
			}
			delete(imported, l.path())
		}
		for _, module := range kind.modules {
			got = append(got, module)
		}
		slices.Sort(want)
		slices.Sort(got)
		// A component with a deprecated name is listed under both.
		if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
			t.Errorf("%s (-builder-config.yaml +components.go):\n%s", kind.name, diff)
		}
	}
	for path := range imported {
		t.Errorf("components.go imports %s, which builder-config.yaml does not list", path)
	}
}

func TestProvidersMatchManifest(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, l := range readManifest(t).Providers {
		want = append(want, l.path())
	}
	for _, f := range providers() {
		p := f.Create(confmap.ProviderSettings{})
		got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", p), "*"))
	}
	slices.Sort(want)
	slices.Sort(got)
	// The type of a provider is named by its package, which is the end of its path.
	for i := range want {
		want[i] = want[i][strings.LastIndex(want[i], "/")+1:] + ".provider"
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers (-builder-config.yaml +server.go):\n%s", diff)
	}
}
