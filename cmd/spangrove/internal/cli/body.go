package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// bodyField is a member of a request's body that a flag gives.
type bodyField struct {
	flag, member, usage string
	takes               string // what stands behind the flag, for its help
	file                bool   // @FILE stands for what is in the file
	parse               func(text string) (json.RawMessage, error)
}

// flagValue implements pflag.Value with the text as it was given.
type flagValue struct{ text, takes string }

func (g *flagValue) String() string        { return g.text }
func (g *flagValue) Type() string          { return g.takes }
func (g *flagValue) Set(text string) error { g.text = text; return nil }

// text, number, yesNo, texts and value are fields by what their flags take.
func text(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "TEXT", false, func(s string) (json.RawMessage, error) { return rawjson.AppendString(nil, s), nil }}
}

func number(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "NUMBER", false, func(s string) (json.RawMessage, error) {
		if rawjson.KindOf([]byte(s)) != '0' || !json.Valid([]byte(s)) {
			return nil, fmt.Errorf("%q is not a number", s)
		}
		return json.RawMessage(s), nil
	}}
}

func yesNo(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "true|false", false, func(s string) (json.RawMessage, error) {
		if s != "true" && s != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", s)
		}
		return json.RawMessage(s), nil
	}}
}

// texts returns a field of several texts in one flag, separated by commas.
func texts(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "LIST", false, func(s string) (json.RawMessage, error) {
		var all []string
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
		return rawjson.AppendStrings(nil, all), nil
	}}
}

// longText returns a field for a text that may come from a file, such as a prompt.
func longText(flag, member, usage string) bodyField {
	f := text(flag, member, usage)
	f.file = true
	return f
}

// value returns a field for any JSON.
func value(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "JSON", true, func(s string) (json.RawMessage, error) {
		if !json.Valid([]byte(s)) {
			return nil, fmt.Errorf(`must be JSON, such as {"question": "Why?"}, or @FILE`)
		}
		return json.RawMessage(s), nil
	}}
}

// requestBody is the body of a request: that of --file, and over it what the flags say.
type requestBody struct {
	cmd    *cobra.Command
	file   string
	fields []bodyField
}

// bodyOf adds a flag to cmd for each field, and --file for the whole.
func bodyOf(cmd *cobra.Command, fields ...bodyField) *requestBody {
	b := &requestBody{cmd: cmd, fields: fields}
	for _, f := range fields {
		cmd.Flags().Var(&flagValue{takes: f.takes}, f.flag, f.usage)
	}
	cmd.Flags().StringVarP(&b.file, "file", "f", "", "`FILE` with the whole as JSON or YAML, - for standard input; flags go over it")
	return b
}

// build returns the body, an object.
func (b *requestBody) build() (json.RawMessage, error) {
	whole := json.RawMessage("{}")
	if b.file != "" {
		var err error
		if whole, err = readDocument(b.cmd, b.file); err != nil {
			return nil, err
		}
		if rawjson.KindOf(whole) != '{' {
			return nil, usage("--file %s: must hold an object", b.file)
		}
	}
	var over rawjson.Builder
	anything := b.file != ""
	for _, f := range b.fields {
		flag := b.cmd.Flags().Lookup(f.flag)
		if !flag.Changed {
			continue
		}
		anything = true
		text := flag.Value.String()
		if name, ok := strings.CutPrefix(text, "@"); ok && f.file {
			read, err := readFile(b.cmd, name)
			if err != nil {
				return nil, err
			}
			text = strings.TrimSuffix(string(read), "\n")
		}
		v, err := f.parse(text)
		if err != nil {
			return nil, usage("--%s: %s", f.flag, err)
		}
		over.Raw(f.member, v)
	}
	if !anything {
		return nil, usage("nothing is given; see %s --help", b.cmd.CommandPath())
	}
	return rawjson.Merge(whole, over.Bytes()), nil
}

// readDocument reads a file that holds one value as JSON or YAML.
func readDocument(cmd *cobra.Command, name string) (json.RawMessage, error) {
	text, err := readFile(cmd, name)
	if err != nil {
		return nil, err
	}
	if json.Valid(text) {
		return text, nil
	}
	document, err := fromYAML(text)
	if err != nil {
		return nil, usage("%s: neither JSON nor YAML: %s", name, oneLine(err.Error()))
	}
	return document, nil
}

// maxFile bounds what is read into memory: a request takes 20 MB.
const maxFile = 32 << 20

// readFile reads a whole file, standard input if its name is -.
func readFile(cmd *cobra.Command, name string) ([]byte, error) {
	in, err := open(cmd, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, usage("read %s: %s", name, cause(err))
	case len(text) > maxFile:
		return nil, usage("%s: more than %d MB", name, maxFile>>20)
	}
	return text, nil
}

// open opens a file, standard input if its name is -.
func open(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("read %s: %s", name, cause(err))
	}
	return f, nil
}

// oneLine makes one line of a message.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }
