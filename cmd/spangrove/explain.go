package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
)

// explain turns an error of the collector into one line that names the setting, without the
// layers it went through: "config: exporters::spangrove::timeout: …" for a mistake in the
// configuration, which exits with 2 as any misuse; what the machine refuses exits with 1.
// configs are where the configuration came from.
func explain(err error, configs []string) error {
	text := err.Error()
	isMistake := errors.As(err, new(mistake))
	if m := dependency.FindStringSubmatch(text); m != nil {
		return &cli.Failure{
			Line: "config: extensions::" + m[2] + ": needs the extension " + m[1] + "; define it under extensions and list it in service::extensions",
			Exit: cli.ExitUsage,
		}
	}
	for _, p := range []string{"failed to get config: ", "invalid configuration: ", "failed to build pipelines: "} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return &cli.Failure{Line: "config: " + configMistake(rest, configs), Exit: cli.ExitUsage}
		}
	}
	if isMistake {
		return &cli.Failure{Line: "config: " + configMistake(text, configs), Exit: cli.ExitUsage}
	}
	return &cli.Failure{Line: oneLine(text), Exit: cli.ExitFailed}
}

// mistake is an error of checking a configuration, of which nothing is run.
type mistake struct{ error }

var dependency = regexp.MustCompile(`unable to find extension (\S+) on which extension (\S+) depends`)

// layers are what the collector and its libraries wrap around a message.
var layers = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(failed to get config|cannot convert the confmap|cannot (resolve|retrieve|unmarshal) the configuration): `), ""},
	{regexp.MustCompile(`(failed to start extensions|cannot start pipelines|failed to build extensions): `), ""},
	{regexp.MustCompile(`failed to start "[^"]*" \w+: `), ""},
	{
		regexp.MustCompile(`retrieved value \(type=string\) cannot be used as a Conf: assuming string type since contents are not valid YAML: `),
		"",
	},
	// A key, then a list of what is wrong below it.
	{regexp.MustCompile(`'([\w:.\[\]/]+)' decoding failed due to the following error\(s\):\s*`), "$1: "},
	{regexp.MustCompile(`(\d+ error\(s\) decoding|decoding failed due to the following error\(s\)):\s*`), ""},
	{regexp.MustCompile(`(\* )?error decoding '([^']*)': `), "$2: "},
	{regexp.MustCompile(`'(\w+)' error reading configuration for "([^"]*)": `), "$1::$2: "},
	{regexp.MustCompile(`\b\w+\.Config: `), ""},
	{regexp.MustCompile(`\btime: (invalid|missing|unknown)`), "$1"},
	{regexp.MustCompile(`'\w+\.Config' has invalid keys: ([\w/]+)`), "$1: no such setting"},
	{regexp.MustCompile(`'' has invalid keys: ([\w/]+)`), "$1: no such setting"},
	{regexp.MustCompile(`'([\w:.\[\]/]+)' has invalid keys: ([\w/]+)`), "$1: $2: no such setting"},
	{regexp.MustCompile(`'' `), ""},
	{regexp.MustCompile(`(^|: |\n)\s*'([\w:.\[\]/]+)' `), "$1$2: "},
}

// oneLine strips the layers and joins the lines that are left.
func oneLine(text string) string {
	for _, l := range layers {
		text = l.pattern.ReplaceAllString(text, l.with)
	}
	var joined strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "* ")); line == "" {
			continue
		}
		if joined.Len() > 0 {
			joined.WriteString("; ")
		}
		joined.WriteString(line)
	}
	return joined.String()
}

// configMistake returns oneLine with the setting as one path.
func configMistake(text string, configs []string) string {
	line := oneLine(text)
	if strings.HasPrefix(line, "yaml: ") {
		return strings.Join(configs, ", ") + ": " + line
	}
	for {
		joined := nested.ReplaceAllStringFunc(line, func(m string) string {
			parts := nested.FindStringSubmatch(m)
			return strings.ReplaceAll(parts[1], ".", "::") + "::" + strings.ReplaceAll(parts[2], ".", "::") + ": "
		})
		if joined == line {
			return line
		}
		line = joined
	}
}

// nested is a path and one more key of it: "exporters::spangrove: timeout: ".
var nested = regexp.MustCompile(`^((?:receivers|processors|exporters|connectors|extensions|service)[\w:./\[\]-]*): ([a-z][\w.\[\]]*): `)
