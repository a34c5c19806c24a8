package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/durable"
)

// The names of the settings, which are those of their options and of their lines in the file.
const (
	settingServer  = "server"
	settingKey     = "api-key"
	settingTimeout = "timeout"
	settingOutput  = "output"
)

// settingCertificate has the file of the certificate that the server must show. Nobody sets it: it follows from the address.
const settingCertificate = "certificate"

// optionKeyFile is the option that names a file with the key, which no list of processes shows.
const optionKeyFile = "api-key-file"

// variableKeyFile does the same, as the server has it: so a container in which the server takes its key from a file has the command line, too.
const variableKeyFile = "SPANGROVE_API_KEY_FILE"

// known are the settings in the order in which they are shown.
var known = []struct {
	name, variable, otherwise string
	check                     func(string) error
}{
	{settingServer, "SPANGROVE_SERVER", "http://127.0.0.1:7420", checkServer},
	{settingKey, "SPANGROVE_API_KEY", "", checkKey},
	{settingTimeout, "SPANGROVE_TIMEOUT", "30s", func(text string) error { _, err := parseTimeout(text); return err }},
	{settingOutput, "SPANGROVE_OUTPUT", formatTable, checkOutput},
}

// setting is a value and where it came from.
type setting struct{ text, from string }

type settings map[string]setting

func (s settings) timeout() time.Duration {
	d, _ := parseTimeout(s[settingTimeout].text) // checked when it was read
	return d
}

// options are the options that all commands have.
type options struct {
	values           map[string]*string
	noColor, verbose bool
}

func (o *options) flags(root *cobra.Command) {
	flags := root.PersistentFlags()
	text := func(name, shorthand, usage string) {
		o.values[name] = flags.StringP(name, shorthand, "", usage)
	}
	o.values = map[string]*string{}
	text(settingServer, "", "`URL` of the server (default: by SPANGROVE_ADDR, else http://127.0.0.1:7420)")
	text(settingKey, "", "API `key`; other users of this machine can see it in lists of processes, unlike that of --api-key-file")
	text(optionKeyFile, "", "`file` with the API key")
	text(settingTimeout, "", "how long a call may take: 45s, 2m, or seconds; 0: any `time` (default 30s)")
	text(settingOutput, "o", "`format` of the result: table, json, jsonl or yaml (default table)")
	flags.BoolVar(&o.noColor, "no-color", false, "no colour, as NO_COLOR=1")
	flags.BoolVar(&o.verbose, "verbose", false, "tell on standard error what is sent")
	completes(root, settingOutput, formats)
	// The options mean nothing to the server: its settings are its configuration.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.HasParent() && cmd.GroupID != GroupServer {
			return nil
		}
		var wrong error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if flags.Lookup(f.Name) != nil {
				wrong = usage("--%s is an option of the nouns, not of the server; see spangrove --help", f.Name)
			}
		})
		return wrong
	}
}

// settings returns each setting: of the option, else of the environment variable, else of the
// file, else the default. For the address, the variables of a server that runs here go before the default; the key of
// a server on this machine that made its own is the last resort for the key.
func (o *options) settings(flags *pflag.FlagSet) (settings, error) {
	path, err := configPath()
	if err != nil {
		return nil, err
	}
	file, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	s := settings{}
	for _, k := range known {
		got := setting{k.otherwise, "default"}
		if f := flags.Lookup(k.name); f != nil && f.Changed {
			got = setting{*o.values[k.name], "option --" + k.name}
		} else if text := os.Getenv(k.variable); text != "" {
			got = setting{text, "environment variable " + k.variable}
		} else if text, ok := file.get(k.name); ok {
			got = setting{text, "file " + path}
		}
		if got.from != "default" {
			if err := k.check(got.text); err != nil {
				return nil, usage("%s from %s: %s", k.name, got.from, err)
			}
		}
		s[k.name] = got
	}
	ownServer := flags.Lookup(optionLocal)
	if s[settingServer].from == "default" && (ownServer == nil || ownServer.Value.String() == "false") {
		if err := s.findListener(); err != nil {
			return nil, err
		}
	}
	if f := flags.Lookup(optionKeyFile); f != nil && f.Changed {
		if flags.Lookup(settingKey).Changed {
			return nil, usage("--%s and --%s: give one of them", settingKey, optionKeyFile)
		}
		if s[settingKey], err = keyFromFile("--"+optionKeyFile, *o.values[optionKeyFile]); err != nil {
			return nil, err
		}
	} else if path := os.Getenv(variableKeyFile); path != "" && os.Getenv("SPANGROVE_API_KEY") == "" && !flags.Changed(settingKey) {
		if s[settingKey], err = keyFromFile(variableKeyFile, path); err != nil {
			return nil, err
		}
	}
	if s[settingKey].from == "default" {
		s[settingKey] = localKey(s[settingServer].text)
	}
	return s, nil
}

// findListener makes the server the one that listens here by the server's own variables, if they are set.
func (s settings) findListener() error {
	server := s[settingServer]
	if address := os.Getenv("SPANGROVE_ADDR"); address != "" {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return usage("SPANGROVE_ADDR: %q is not of the form host:port", address)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
			if ip != nil && ip.To4() == nil {
				host = "::1"
			}
		}
		server = setting{"http://" + net.JoinHostPort(host, port), "environment variable SPANGROVE_ADDR"}
		if err := checkServer(server.text); err != nil {
			return usage("SPANGROVE_ADDR: %s", err)
		}
	}
	if file := os.Getenv("SPANGROVE_TLS_CERT_FILE"); file != "" {
		server.text = "https" + strings.TrimPrefix(server.text, "http")
		if server.from == "default" {
			server.from = "environment variable SPANGROVE_TLS_CERT_FILE"
		}
		s[settingCertificate] = setting{file, "environment variable SPANGROVE_TLS_CERT_FILE"}
	}
	s[settingServer] = server
	return nil
}

// keyFromFile returns the key that a file holds, without the space around it. by is what named the file.
func keyFromFile(by, path string) (setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return setting{}, usage("%s: %s", by, err)
	}
	key := strings.TrimSpace(string(text))
	if err := checkKey(key); err != nil {
		return setting{}, usage("%s from file %s: %s", settingKey, path, err)
	}
	return setting{key, "file " + path}, nil
}

// localKey returns the key that a server made for itself in the data directory here, if the server
// that is asked is on this machine.
func localKey(server string) setting {
	none := setting{"", "default"}
	if !local(server) {
		return none
	}
	directory := os.Getenv("SPANGROVE_DATA_DIR")
	if directory == "" {
		directory = "spangrove-data"
	}
	path := filepath.Join(directory, "api-key")
	text, err := os.ReadFile(path)
	key := strings.TrimSpace(string(text))
	if err != nil || checkKey(key) != nil {
		return none // there is none, or none for this user
	}
	return setting{key, "file " + path}
}

// local reports whether an address is of this machine.
func local(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func checkServer(text string) error {
	_, err := client.New(text, "")
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "client: "))
	}
	return nil
}

func checkKey(text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("must be printable characters without spaces")
	}
	return nil
}

func checkOutput(text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("must be one of %s, not %q", strings.Join(formats, ", "), text)
	}
	return nil
}

// parseTimeout reads a duration, or a number of seconds.
func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseFloat(text, 64); numErr == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time; give one such as 45s, 2m or 30.0", text)
	}
	return d, nil
}

// configPath returns the file of the user's settings.
func configPath() (string, error) {
	directory, err := os.UserConfigDir()
	if err != nil {
		return "", usage("no place for settings: %s; set HOME", err)
	}
	return filepath.Join(directory, "spangrove", "config.yaml"), nil
}

// configFile is the file of settings, a mapping of names to values. It is kept as a document, so
// that a change leaves comments and order as they are.
type configFile struct{ document yaml.Node }

// readConfig reads and checks the file; one that is not there is empty.
func readConfig(path string) (*configFile, error) {
	f := &configFile{}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usage("settings: %s", err)
	}
	if err := yaml.Unmarshal(text, &f.document); err != nil {
		return nil, usage("%s: %s", path, oneLine(err.Error()))
	}
	if len(f.document.Content) == 0 { // empty, or nothing but comments
		f.document.Kind = yaml.DocumentNode
		f.document.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	root := f.mapping()
	if root.Kind != yaml.MappingNode {
		return nil, usage("%s: must be lines such as server: http://127.0.0.1:7420", path)
	}
	seen := map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		switch {
		case !isSetting(name.Value):
			return nil, usage("%s:%d: unknown setting %q; must be one of %s", path, name.Line, name.Value, strings.Join(settingNames(), ", "))
		case seen[name.Value]:
			return nil, usage("%s:%d: %s is set twice", path, name.Line, name.Value)
		case value.Kind != yaml.ScalarNode || value.Value == "":
			return nil, usage("%s:%d: %s must have a value", path, name.Line, name.Value)
		}
		seen[name.Value] = true
	}
	return f, nil
}

func (f *configFile) mapping() *yaml.Node { return f.document.Content[0] }

func (f *configFile) get(name string) (string, bool) {
	root := f.mapping().Content
	for i := 0; i < len(root); i += 2 {
		if root[i].Value == name {
			return root[i+1].Value, true
		}
	}
	return "", false
}

func (f *configFile) set(name, value string) {
	root := f.mapping()
	text := &yaml.Node{}
	text.SetString(value)
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			text.LineComment = root.Content[i+1].LineComment
			root.Content[i+1] = text
			return
		}
	}
	key := &yaml.Node{}
	key.SetString(name)
	root.Content = append(root.Content, key, text)
}

// unset reports whether there was something to remove.
func (f *configFile) unset(name string) bool {
	root := f.mapping()
	for i := 0; i < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			root.Content = slices.Delete(root.Content, i, i+2)
			return true
		}
	}
	return false
}

// write replaces the file by a new one that only its user can read: whoever reads it meanwhile
// gets the old one or the new one.
func (f *configFile) write(path string) error {
	var text bytes.Buffer
	if len(f.mapping().Content) > 0 {
		e := yaml.NewEncoder(&text)
		if err := e.Encode(&f.document); err != nil {
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, text.Bytes())
}

func settingNames() []string {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	return names
}

func isSetting(name string) bool { return slices.Contains(settingNames(), name) }
