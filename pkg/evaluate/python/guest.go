package python

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"go.uber.org/zap"
)

// pin identifies the file of the interpreter.
type pin struct {
	sha256 string
	bytes  int64
}

// is reports whether a file has the hash of the interpreter.
func (p pin) is(wasm []byte) bool {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:]) == p.sha256
}

// guestFile is the interpreter: the all-in-one build of the WebAssembly Language Runtimes project,
// release python/3.12.0+20231211-040d5a6, which carries the standard library.
const guestFile = "python-3.12.0.wasm"

var guestPin = pin{"e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763", 26_267_204}

// harness is what the interpreter runs: it runs the evaluator.
//
//go:embed harness.py
var harness string

// pageBytes is WebAssembly's unit of memory.
const pageBytes = 1 << 16

// guestIO is all that an interpreter has of the world.
type guestIO struct {
	in       input
	out, err io.Writer
}

// input is what an interpreter reads. While it does, the state that it is in can be kept, or the
// kept one be brought back.
type input interface {
	Read(p []byte, s state) (int, error)
}

// notInstalled is the error for which there is no interpreter, told to the metric's owner.
type notInstalled string

func (n notInstalled) Error() string {
	return string(n) + " To install it, run on the server's machine: spangrove evaluators install"
}

// read reads the interpreter and checks that it is the one that this program knows.
func read(dir string, p pin) ([]byte, error) {
	wasm, err := os.ReadFile(filepath.Join(dir, guestFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, notInstalled("The Python interpreter is not installed on this server.")
	case err != nil:
		return nil, fmt.Errorf("read the Python interpreter: %w", err)
	case !p.is(wasm):
		return nil, notInstalled("The file that should be this server's Python interpreter is another one, or damaged.")
	}
	return wasm, nil
}

// guest is the interpreter as machine code.
type guest struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	code    wazero.CompiledModule
	memory  int // bytes
}

// compile makes machine code of the interpreter in dir, or reads what it made of it before: at
// first it takes some ten seconds, then half of one. What it made is run without a look at it, so it is
// kept only where nobody else can write.
func compile(ctx context.Context, dir string, memoryMiB int, logger *zap.Logger) (_ program, err error) {
	wasm, err := read(dir, guestPin)
	if err != nil {
		return nil, err
	}
	g := &guest{memory: memoryMiB << 20}
	defer func() {
		if err != nil {
			_ = g.Close()
		}
	}()
	compiled := filepath.Join(dir, "compiled")
	if err := guardCache(compiled); err != nil {
		logger.Warn("the compiled Python interpreter is not kept, and compiled again at every start: "+
			"its directory must belong to the server's user", zap.Error(err))
		g.cache = wazero.NewCompilationCache()
	} else if g.cache, err = wazero.NewCompilationCacheWithDir(compiled); err != nil {
		return nil, fmt.Errorf("keep the compiled Python interpreter: %w", err)
	}
	// Without the first option nothing could end a loop; with debug information ending one
	// takes seconds.
	config := wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false).
		WithMemoryLimitPages(uint32(g.memory / pageBytes)).WithCompilationCache(g.cache)
	g.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err = world(ctx, g.runtime); err != nil {
		return nil, err
	}
	if g.code, err = g.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, 2), wasm); err != nil {
		return nil, fmt.Errorf("compile the Python interpreter: %w", err)
	}
	return g, nil
}

// Close must come after the last Run has returned.
func (g *guest) Close() error {
	var err error
	if g.runtime != nil {
		err = g.runtime.Close(context.Background())
	}
	if g.cache != nil {
		err = first(err, g.cache.Close(context.Background()))
	}
	return err
}

// first returns the first error that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Run implements program. Each run is an instance of its own, with its own memory, of the same machine code. It has the
// clock and random numbers of the machine, and its three standard files; sleeping ends with ctx.
func (g *guest) Run(ctx context.Context, stdio guestIO) error {
	memory, err := newMemory(g.memory)
	if err != nil {
		return fmt.Errorf("memory for a Python interpreter: %w", err)
	}
	defer memory.release() // after all that could touch it has returned
	i := &instance{in: stdio.in}
	defer i.forget()
	// -I: no environment, no user's directories; -S: no site; -B: no bytecode files.
	config := wazero.NewModuleConfig().WithName("").WithArgs("python", "-I", "-S", "-B", "-X", "utf8", "-c", harness).
		WithStdout(stdio.out).WithStderr(stdio.err).
		WithSysWalltime().WithSysNanotime().WithNanosleep(func(ns int64) { sleep(ctx, ns) }).WithOsyield(func() {}).
		WithRandSource(rand.Reader)
	ctx = experimental.WithSnapshotter(context.WithValue(ctx, instanceKey{}, i))
	_, err = g.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), g.code, config)
	return err
}

// sleep ends with ctx, as nothing else can end a call out of WebAssembly.
func sleep(ctx context.Context, ns int64) {
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
