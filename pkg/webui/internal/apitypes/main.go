// Apitypes writes the types of the API that the web interface uses, from the description of the API.
//
//	go run ./internal/apitypes          # in pkg/webui; go generate does this
//	go run ./internal/apitypes -check   # reports whether the types are those of openapi.yaml
//
// A source under src imports what it needs from api/types.gen.ts by name, and that file holds what sources import
// with what it refers to. A name is that of a schema of openapi.yaml, such as Event, or the id of an operation, its
// first letter in upper case, with what is meant of it: SearchEventsAnswer is the JSON of the answer that says that
// all went well, SearchEventsBody that of the request.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	description = "../httpapi/openapi.yaml" // from pkg/webui
	generated   = "src/api/types.gen.ts"
)

func main() {
	check := flag.Bool("check", false, "report whether the types are those of openapi.yaml, and change nothing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the types of dir, which is pkg/webui, or with check compares them.
func run(dir string, check bool) error {
	text, err := generate(dir)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, generated)
	if !check {
		return os.WriteFile(file, text, 0o644)
	}
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, text) {
		return fmt.Errorf("%s is not what openapi.yaml gives: run go generate ./pkg/webui", generated)
	}
	return nil
}

// generate returns the text of the file of types.
func generate(dir string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(dir, description))
	if err != nil {
		return nil, err
	}
	d, err := parseDocument(raw)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	names, err := imported(os.DirFS(filepath.Join(dir, "src")))
	if err != nil {
		return nil, err
	}
	text, err := d.typescript(names)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return text, nil
}

var (
	importsOfTypes = regexp.MustCompile(`\b(?:import|export) type \{([^{}]*)\} from "[./a-z]*/types\.gen\.ts"`)
	mentionOfTypes = regexp.MustCompile(`["'][./a-z]*/types\.gen\.ts["']`)
)

// imported returns the names that sources import from the file of types, sorted. Vendored modules are not looked at.
func imported(src fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(src, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path == "lib" {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); entry.IsDir() || ext != ".ts" && ext != ".tsx" {
			return nil
		}
		text, err := fs.ReadFile(src, path)
		if err != nil {
			return err
		}
		found := importsOfTypes.FindAllSubmatch(text, -1)
		if len(found) != len(mentionOfTypes.FindAll(text, -1)) {
			return fmt.Errorf(`src/%s: take types of the API by import type { Name } from ".../api/types.gen.ts"`, path)
		}
		for _, f := range found {
			for name := range strings.SplitSeq(string(f[1]), ",") {
				if words := strings.Fields(name); len(words) > 0 {
					names = append(names, words[0]) // of "Name as Other" it is Name
				}
			}
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), err
}
