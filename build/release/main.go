// Command release builds what a release of Spangrove publishes: the binaries of six platforms, and
// from them archives, Python wheels, npm packages, Debian and RPM packages, a container image and a
// Homebrew formula, each with the licences of what is linked, and beside them an inventory (CycloneDX) a
// platform, a statement of provenance (SLSA), and SHA256SUMS.
//
// What it writes depends on nothing but the commit, the version of Go and this program: two machines
// that build the same commit get the same bytes. Times are that of the commit, or of SOURCE_DATE_EPOCH.
//
//	go run . [-out DIR] [-platforms linux/amd64,…] [-formats wheel,…] [-binary FILE] [-dirty]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// The formats in which a binary is packed.
const (
	formatArchive  = "archive"
	formatWheel    = "wheel"
	formatNPM      = "npm"
	formatDeb      = "deb"
	formatRPM      = "rpm"
	formatImage    = "image"
	formatHomebrew = "homebrew"
)

var formats = []string{formatArchive, formatWheel, formatNPM, formatDeb, formatRPM, formatImage, formatHomebrew}

// options are what a caller chose.
type options struct {
	source    string // folder of the repository
	out       string
	platforms []platform
	formats   []string
	binary    string // of this machine's platform, instead of one that is built; empty: build it
	dirty     bool   // whether files may differ from the commit
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	source := flags.String("source", "", "`folder` of the repository (default: the one that this folder is in)")
	out := flags.String("out", "", "`folder` for the results, which is replaced (default bin/release)")
	names := flags.String("platforms", strings.Join(platformNames(), ","), "`platforms` as Go names them, separated by commas")
	chosen := flags.String("formats", strings.Join(formats, ","), "`formats` to pack, separated by commas")
	flags.StringVar(&o.binary, "binary", "", "this `file` is the binary of this machine's platform; nothing is built for it")
	flags.BoolVar(&o.dirty, "dirty", false, "allow files that are not as committed; the version says so")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if o.source, err = repository(*source); err != nil {
		return o, err
	}
	if o.out = *out; o.out == "" {
		o.out = filepath.Join(o.source, "bin", "release")
	}
	for name := range strings.SplitSeq(*names, ",") {
		p, err := platformNamed(name)
		if err != nil {
			return o, err
		}
		o.platforms = append(o.platforms, p)
	}
	for name := range strings.SplitSeq(*chosen, ",") {
		if !slices.Contains(formats, name) {
			return o, fmt.Errorf("unknown format %q; must be one of %s", name, strings.Join(formats, ", "))
		}
		o.formats = append(o.formats, name)
	}
	if slices.Contains(o.formats, formatHomebrew) && !slices.Contains(o.formats, formatArchive) {
		return o, errors.New("the format homebrew needs archive: the formula has the hashes of the archives")
	}
	return o, nil
}

// build is a platform's binary, and what was found out about it.
type build struct {
	platform platform
	binary   string // path
	modules  []module
	direct   []string // those that Spangrove itself needs, by package URL
}

func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	src, err := readSource(ctx, o.source, o.dirty)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "spangrove-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	out, err := newOutput(o.out)
	if err != nil {
		return err
	}
	fmt.Printf("Spangrove %s, commit %s\n", src.version, src.commit)

	host := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	licences, err := newClassifier()
	if err != nil {
		return err
	}
	var builds []build
	for _, p := range o.platforms {
		b := build{platform: p, binary: filepath.Join(temp, p.os+"-"+p.arch)}
		if p.is(host) && o.binary != "" {
			b.binary = o.binary
		} else if err := compile(ctx, src, p, b.binary); err != nil {
			return err
		}
		if b.modules, b.direct, err = linkedModules(ctx, src, p, b.binary, licences); err != nil {
			return err
		}
		fmt.Printf("built %s: %d modules\n", p, len(b.modules))
		builds = append(builds, b)
	}

	runnable := o.binary // the binary of this machine writes its own man pages
	for _, b := range builds {
		if b.platform.is(host) {
			runnable = b.binary
		}
	}
	if runnable == "" {
		runnable = filepath.Join(temp, "host")
		p, err := platformNamed(host.String())
		if err != nil {
			return err
		}
		if err := compile(ctx, src, p, runnable); err != nil {
			return err
		}
	}
	docs, err := writeDocs(ctx, runnable, temp)
	if err != nil {
		return err
	}
	p := &packer{source: src, out: out, docs: docs, temp: temp}
	for _, format := range o.formats {
		if err := p.pack(format, builds); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	for _, b := range builds {
		if err := p.writeInventory(b); err != nil {
			return fmt.Errorf("inventory of %s: %w", b.platform, err)
		}
	}
	if err := p.writeProvenance(ctx, o, builds); err != nil {
		return fmt.Errorf("provenance: %w", err)
	}
	if err := out.writeSums(); err != nil {
		return err
	}
	for _, a := range out.artefacts {
		fmt.Printf("%s  %9d  %s\n", a.sha256[:12], a.size, a.name)
	}
	return nil
}

// packer packs binaries in formats.
type packer struct {
	source *source
	out    *output
	docs   []file // man pages and completions
	temp   string // a folder for what is needed on the way
}

func (p *packer) pack(format string, builds []build) error {
	switch format {
	case formatImage:
		return p.writeImage(builds)
	case formatHomebrew:
		return p.writeFormula(builds)
	case formatNPM:
		if err := p.writeNPMLauncher(); err != nil {
			return err
		}
	}
	for _, b := range builds {
		var err error
		switch format {
		case formatArchive:
			err = p.writeArchive(b)
		case formatWheel:
			err = p.writeWheel(b)
		case formatNPM:
			err = p.writeNPMBinary(b)
		case formatDeb, formatRPM:
			if b.platform.os == "linux" {
				err = p.writeLinuxPackage(format, b)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.platform, err)
		}
	}
	return nil
}
