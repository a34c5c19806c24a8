package main

import (
	"errors"
	"testing"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	const decoding = "failed to get config: cannot unmarshal the configuration: decoding failed due to the following error(s):\n\n"
	for _, tt := range []struct {
		name, err, want string
		exit            int
	}{
		{
			"file", "failed to get config: cannot resolve the configuration: cannot retrieve the configuration: unable to read the file file:no.yaml: open no.yaml: no such file or directory",
			"config: unable to read the file file:no.yaml: open no.yaml: no such file or directory", cli.ExitUsage,
		},
		{
			"yaml", "failed to get config: cannot resolve the configuration: retrieved value (type=string) cannot be used as a Conf: assuming string type since contents are not valid YAML: yaml: line 1: did not find expected ',' or ']'",
			"config: mine.yaml: yaml: line 1: did not find expected ',' or ']'", cli.ExitUsage,
		},
		{
			"unknown key", decoding + "'exporters' error reading configuration for \"spangrove\": decoding failed due to the following error(s):\n\n'spangroveexporter.Config' has invalid keys: stroe",
			"config: exporters::spangrove::stroe: no such setting", cli.ExitUsage,
		},
		{
			"unknown nested key", decoding + "'extensions' error reading configuration for \"spangrove_store/a\": decoding failed due to the following error(s):\n\n'sqlite' has invalid keys: foo",
			"config: extensions::spangrove_store/a::sqlite::foo: no such setting", cli.ExitUsage,
		},
		{
			"bad value", decoding + "'exporters' error reading configuration for \"spangrove\": decoding failed due to the following error(s):\n\n'timeout' time: invalid duration \"abc\"",
			"config: exporters::spangrove::timeout: invalid duration \"abc\"", cli.ExitUsage,
		},
		{
			"level", decoding + "'service.telemetry.logs' decoding failed due to the following error(s):\n\n'level' unrecognized level: \"loud\"",
			"config: service::telemetry::logs::level: unrecognized level: \"loud\"", cli.ExitUsage,
		},
		{
			"unknown type", decoding + "'exporters' unknown type: \"foo\" for id: \"foo\" (valid values: [spangrove debug])",
			"config: exporters: unknown type: \"foo\" for id: \"foo\" (valid values: [spangrove debug])", cli.ExitUsage,
		},
		{
			"validation", "invalid configuration: extensions::spangrove_api: endpoint: 0.0.0.0:1 can be reached",
			"config: extensions::spangrove_api::endpoint: 0.0.0.0:1 can be reached", cli.ExitUsage,
		},
		{
			"two mistakes", "invalid configuration: extensions::a: b: is bad\nextensions::c: d: is worse",
			"config: extensions::a::b: is bad; extensions::c: d: is worse", cli.ExitUsage,
		},
		{
			"dependency", "failed to build extensions: unable to find extension spangrove_store on which extension spangrove_api depends",
			"config: extensions::spangrove_api: needs the extension spangrove_store; define it under extensions and list it in service::extensions", cli.ExitUsage,
		},
		{
			"extension", "failed to start extensions: extensions::spangrove_api::endpoint: listen tcp 127.0.0.1:7420: bind: address already in use",
			"extensions::spangrove_api::endpoint: listen tcp 127.0.0.1:7420: bind: address already in use", cli.ExitFailed,
		},
		{
			"exporter", "cannot start pipelines: failed to start \"spangrove\" exporter: exporters::spangrove::store: no extension \"x\" runs",
			"exporters::spangrove::store: no extension \"x\" runs", cli.ExitFailed,
		},
		{"anything else", "disk on fire", "disk on fire", cli.ExitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f *cli.Failure
			if !errors.As(explain(errors.New(tt.err), []string{"mine.yaml"}), &f) || f.Line != tt.want || f.Exit != tt.exit {
				t.Errorf("got  %q, exit %d\nwant %q, exit %d", f.Line, f.Exit, tt.want, tt.exit)
			}
		})
	}
}
