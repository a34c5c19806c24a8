// Bundle makes the files in dist, which the server embeds, from the sources of the web interface.
//
//	go run ./internal/bundle          # in pkg/webui; go generate does this
//	go run ./internal/bundle -check   # reports whether dist is what the sources give
//	go run ./internal/bundle -models FILE   # writes src/model as one module, for tests under Node.js
//
// What the first page needs is one file, which app.js loads. What a page imports by import() is a file of its own, which is loaded when that
// page is opened; other chunk files hold what several of those share. Third-party modules have files of their own, too: lib.js is loaded by the first page, the others by the views that need
// them. All of it is minified, which takes an eighth of the weight away; what is read is src.
//
// Beside each file that the server sends is its form compressed with Brotli (NAME.br) at the level that takes seconds, where that is
// smaller. The server compresses with gzip itself, when it starts.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/evanw/esbuild/pkg/api"
)

// libraries are the modules that are bundled into each file of third parties, by the name of the file.
var libraries = map[string]string{
	"lib.js": `export * from "preact"; export * from "preact/hooks"; export { jsx, jsxs } from "preact/jsx-runtime";
		export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from "@preact/signals";`,
	"marked.js": `export { Lexer } from "marked";`,
	"uplot.js":  `export { default } from "uplot";`,
}

// moduleFiles tells where a module is vendored, under src/lib, and which library it is part of.
var moduleFiles = map[string]struct{ path, library string }{
	"preact":               {"preact/dist/preact.mjs", "lib.js"},
	"preact/hooks":         {"preact/hooks/dist/hooks.mjs", "lib.js"},
	"preact/jsx-runtime":   {"preact/jsx-runtime/dist/jsxRuntime.mjs", "lib.js"},
	"@preact/signals":      {"signals/dist/signals.mjs", "lib.js"},
	"@preact/signals-core": {"signals-core/dist/signals-core.mjs", "lib.js"},
	"marked":               {"marked/lib/marked.esm.js", "marked.js"},
	"uplot":                {"uplot/dist/uPlot.esm.js", "uplot.js"},
}

// workers are entry points that run beside the page.
var workers = []string{"work/markdown.worker.ts", "work/diff.worker.ts"}

func main() {
	check := flag.Bool("check", false, "report whether dist is what the sources give, and change nothing")
	out := flag.String("models", "", "write the modules of src/model, each under its name, as one to this `FILE`, and nothing else")
	flag.Parse()
	if *out != "" {
		if err := writeModels(".", *out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes dist, or checks it.
func run(check bool) error {
	files, err := build(".")
	if err != nil {
		return err
	}
	if check {
		return compare("dist", files)
	}
	if err := compress(files); err != nil {
		return err
	}
	return write("dist", files)
}

// build returns the files of dist by their names, made from the sources in dir/src.
func build(dir string) (map[string][]byte, error) {
	src, err := filepath.Abs(filepath.Join(dir, "src"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	application := api.BuildOptions{
		AbsWorkingDir:       src,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "main.tsx", OutputPath: "app"}, {InputPath: "css/main.css", OutputPath: "app"}},
		Splitting:           true,
		Metafile:            true,
		ChunkNames:          "[name]-[hash]",
		MinifyWhitespace:    true,
		MinifySyntax:        true,
		MinifyIdentifiers:   true,
		Loader:              map[string]api.Loader{".woff2": api.LoaderFile},
		AssetNames:          "[name]",
		JSX:                 api.JSXAutomatic,
		JSXImportSource:     "preact",
		Inject:              []string{"main.tsx"}, // all modules import it, so that esbuild does not cut what it needs into a file for each set of pages
		Plugins:             []api.Plugin{shared()},
		TsconfigRaw:         "{}",
	}
	metafile, err := bundle(files, application)
	if err != nil {
		return nil, err
	}
	// A worker is one file, which shares none with the pages.
	beside := application
	beside.Splitting, beside.Inject, beside.EntryPointsAdvanced = false, nil, nil
	for _, w := range workers {
		name := strings.TrimSuffix(filepath.Base(w), ".ts")
		beside.EntryPointsAdvanced = append(beside.EntryPointsAdvanced, api.EntryPoint{InputPath: w, OutputPath: name})
	}
	if _, err := bundle(files, beside); err != nil {
		return nil, err
	}
	// The page of a case file is one script and one style sheet with its fonts, which load nothing.
	alone := application
	alone.Splitting, alone.Metafile, alone.Inject, alone.Plugins = false, false, nil, []api.Plugin{vendored(src)}
	alone.EntryPointsAdvanced = []api.EntryPoint{{InputPath: "case.tsx", OutputPath: "case"}, {InputPath: "css/case.css", OutputPath: "case"}}
	alone.Loader = map[string]api.Loader{".woff2": api.LoaderDataURL}
	if _, err := bundle(files, alone); err != nil {
		return nil, err
	}
	for name, contents := range libraries {
		_, err := bundle(files, api.BuildOptions{
			AbsWorkingDir:     src,
			Stdin:             &api.StdinOptions{Contents: contents, ResolveDir: src, Sourcefile: name},
			Outfile:           name,
			MinifyWhitespace:  true,
			MinifySyntax:      true,
			MinifyIdentifiers: true,
			LegalComments:     api.LegalCommentsNone,
			Plugins:           []api.Plugin{vendored(src)},
			TsconfigRaw:       "{}",
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(src, name)); err != nil {
			return nil, err
		}
	}
	preloads, err := preload(metafile)
	if err != nil {
		return nil, err
	}
	files["index.html"] = bytes.Replace(files["index.html"], []byte("{preload}"), []byte(preloads), 1)
	return shorten(files), nil
}

// hashed matches the names that esbuild gives to chunks and to the files of pages.
var hashed = regexp.MustCompile(`^(\w+-)([A-Z0-9]{8})(\.js)$`)

// shorten gives files that have a hash in their name shorter names: no compression takes hashes away, and each file names many others.
// Four characters tell what a page of another version of the server asks for from what this one has.
func shorten(files map[string][]byte) map[string][]byte {
	short := map[string]string{} // by the long name
	taken := map[string]bool{}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		parts := hashed.FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		to := ""
		for n := 4; to == "" || taken[to]; n++ {
			to = strings.TrimPrefix(parts[1], "chunk-") + parts[2][:n] + parts[3]
		}
		short[name], taken[to] = to, true
		pairs = append(pairs, name, to)
	}
	replacer := strings.NewReplacer(pairs...)
	out := map[string][]byte{}
	for name, contents := range files {
		if path.Ext(name) == ".js" || path.Ext(name) == ".html" {
			contents = []byte(replacer.Replace(string(contents)))
		}
		if to, ok := short[name]; ok {
			name = to
		}
		out[name] = contents
	}
	return out
}

// compress adds the compressed forms of the files that are sent as they are: not of the document, which the server completes, nor of the
// page of case files.
func compress(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == "index.html" || strings.HasPrefix(name, "case.") {
			continue
		}
		var b bytes.Buffer
		w := brotli.NewWriterLevel(&b, brotli.BestCompression)
		if _, err := w.Write(files[name]); err != nil {
			return fmt.Errorf("compress %s: %w", name, err)
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("compress %s: %w", name, err)
		}
		if b.Len() < len(files[name]) {
			files[name+".br"] = b.Bytes()
		}
	}
	return nil
}

// preload returns links to the chunks that app.js imports, so that a browser asks for them before it has read app.js.
func preload(metafile string) (string, error) {
	var meta struct {
		Outputs map[string]struct {
			Imports []struct {
				Path, Kind string
				External   bool
			}
		}
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return "", fmt.Errorf("what esbuild says of its outputs: %w", err)
	}
	outputs := map[string][]string{} // the chunks that each output imports, by the name of its file
	for path, o := range meta.Outputs {
		name := filepath.Base(path)
		outputs[name] = nil
		for _, i := range o.Imports {
			if i.Kind == "import-statement" && !i.External {
				outputs[name] = append(outputs[name], filepath.Base(i.Path))
			}
		}
	}
	seen := map[string]bool{}
	for rest := outputs["app.js"]; len(rest) > 0; rest = rest[1:] {
		if !seen[rest[0]] {
			seen[rest[0]] = true
			rest = append(rest, outputs[rest[0]]...)
		}
	}
	var links []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		links = append(links, fmt.Sprintf(`<link rel="modulepreload" href="ui/{hash}/%s">`, name))
	}
	return strings.Join(links, "\n    "), nil
}

// writeModels writes one module that exports each module of dir/src/model under its name.
func writeModels(dir, out string) error {
	src, err := filepath.Abs(filepath.Join(dir, "src"))
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(src, "model", "*.ts"))
	if err != nil {
		return err
	}
	var entry strings.Builder
	for _, p := range paths {
		base := filepath.Base(p)
		fmt.Fprintf(&entry, "export * as %s from \"./model/%s\";\n", strings.TrimSuffix(base, ".ts"), base)
	}
	files := map[string][]byte{}
	_, err = bundle(files, api.BuildOptions{
		AbsWorkingDir: src,
		Stdin:         &api.StdinOptions{Contents: entry.String(), ResolveDir: src, Sourcefile: "models.ts"},
		Outfile:       "models.js",
		TsconfigRaw:   "{}",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(out, files["models.js"], 0o644)
}

// bundle runs esbuild with what all outputs share, adds what it writes, and returns the metafile if the options ask for one.
func bundle(files map[string][]byte, o api.BuildOptions) (string, error) {
	o.Bundle = true
	o.Format = api.FormatESModule
	o.Target = api.ES2023
	o.Charset = api.CharsetUTF8
	o.LogLevel = api.LogLevelSilent
	if o.Outfile == "" {
		o.Outdir = "/"
	}
	result := api.Build(o)
	if len(result.Errors) > 0 {
		lines := api.FormatMessages(result.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return "", errors.New(strings.Join(lines, ""))
	}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return result.Metafile, nil
}

// shared makes imports of third-party modules load the files that libraries name.
func shared() api.Plugin {
	return api.Plugin{Name: "shared", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^[@a-z]`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{}, nil
			}
			m, ok := moduleFiles[a.Path]
			if !ok {
				return api.OnResolveResult{}, fmt.Errorf("%s is not vendored under src/lib", a.Path)
			}
			return api.OnResolveResult{Path: "./" + m.library, External: true}, nil
		})
	}}
}

// vendored finds third-party modules under src/lib.
func vendored(src string) api.Plugin {
	return api.Plugin{Name: "vendored", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^[@a-z]`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			m, ok := moduleFiles[a.Path]
			if !ok {
				return api.OnResolveResult{}, fmt.Errorf("%s is not vendored under src/lib", a.Path)
			}
			return api.OnResolveResult{Path: filepath.Join(src, "lib", m.path)}, nil
		})
	}}
}

// compare reports the first file of dist that the sources do not give. What compressed files hold is compared, not how well they are
// compressed.
func compare(dist string, files map[string][]byte) error {
	there, err := os.ReadDir(dist)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range there {
		name, compressed := strings.CutSuffix(f.Name(), ".br")
		if _, ok := files[name]; !ok {
			return fmt.Errorf("dist/%s comes from no source: run go generate ./pkg/webui", f.Name())
		}
		if !compressed {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dist, f.Name()))
		if err == nil {
			data, err = io.ReadAll(brotli.NewReader(bytes.NewReader(data)))
		}
		if err != nil || !bytes.Equal(data, files[name]) {
			return notFresh(f.Name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		old, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil || !bytes.Equal(old, files[name]) {
			return notFresh(name)
		}
	}
	return nil
}

func notFresh(name string) error {
	return fmt.Errorf("dist/%s is not what the sources give: run go generate ./pkg/webui", name)
}

// write makes dist hold the files and nothing else.
func write(dist string, files map[string][]byte) error {
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, contents := range files {
		if err := os.WriteFile(filepath.Join(dist, name), contents, 0o644); err != nil {
			return err
		}
	}
	return nil
}
