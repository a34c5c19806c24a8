package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// state is the state of an interpreter that waits for input: its memory, and its place in the code. There is
// nothing else: its only global variable points to the stack in memory and is set again from there by every
// function that returns, and it has the same three files open at all times.
type state interface {
	// keep remembers the state.
	keep() error
	// back brings the memory back to what was kept; whoever reads must then return errAgain. An
	// interpreter that has more memory than then cannot go back: errGrown.
	back() error
}

var (
	// errAgain is what a read returns in a state that was gone back to: the interpreter reads again.
	errAgain = errors.New("the interpreter is where it was")
	errGrown = errors.New("the interpreter has grown since")
)

// instance is one run of the interpreter, as WASI's functions find it in their context. It implements state.
type instance struct {
	in     input
	memory api.Memory               // once it reads
	points experimental.Snapshotter // the same

	kept *memory // nil: nothing
	size uint32  // of kept
	at   experimental.Snapshot
	gone bool // back to at, which serves once
}

// instanceKey is the key of the instance in the context of a run.
type instanceKey struct{}

// keep implements state. The memory is copied; the place in the code is wazero's snapshot.
func (i *instance) keep() error {
	i.forget()
	size := i.memory.Size()
	kept, err := newMemory(int(size))
	if err != nil {
		return fmt.Errorf("memory to keep an interpreter's state: %w", err)
	}
	i.kept, i.size, i.at = kept, size, i.points.Snapshot()
	copyPages(kept.Reallocate(uint64(size)), i.all())
	return nil
}

// back implements state. WebAssembly's memory never shrinks, so an interpreter that has grown cannot go back.
func (i *instance) back() error {
	if i.kept == nil || i.memory.Size() != i.size {
		return errGrown
	}
	copyPages(i.all(), i.kept.Reallocate(uint64(i.size)))
	i.gone = true
	return nil
}

// all returns the whole memory, not a copy.
func (i *instance) all() []byte {
	all, _ := i.memory.Read(0, i.memory.Size())
	return all
}

// copyPages makes one memory equal to another, and leaves alone what is: a page that nobody has
// written takes none of the machine's memory.
func copyPages(to, from []byte) {
	const page = 4096
	for at := 0; at < len(from); at += page {
		if a, b := to[at:at+page], from[at:at+page]; !bytes.Equal(a, b) {
			copy(a, b)
		}
	}
}

// forget gives the kept memory back to the system.
func (i *instance) forget() {
	if i.kept != nil {
		i.kept.release()
		i.kept = nil
	}
}

// WASI's numbers of errors.
const (
	success     = 0
	badFile     = 8
	badAddress  = 21
	interrupted = 27
)

// world sets up what the interpreter can call: WASI, in which it has the three standard files and can
// neither close them nor read another one.
func world(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	const i32 = api.ValueTypeI32
	read := func(ctx context.Context, m api.Module, p []uint64) {
		p[0] = fdRead(ctx, m, uint32(p[0]), uint32(p[1]), uint32(p[2]), uint32(p[3]))
	}
	parameters, results := []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(read), parameters, results).Export("fd_read")
	b.NewFunctionBuilder().WithFunc(fdClose).Export("fd_close")
	_, err := b.Instantiate(ctx)
	return err
}

// fdClose leaves files open, so that what one event closes is there for the next.
func fdClose(fd uint32) (errno uint32) {
	if fd > 2 {
		return badFile
	}
	return success
}

// fdRead reads standard input. After the interpreter was brought back to a kept state, it reports that the read was
// interrupted (EINTR), and the interpreter reads again. So the interpreter is at the same place each time, and can be
// brought back to it any number of times.
func fdRead(ctx context.Context, m api.Module, fd, buffers, n, result uint32) (errno uint64) {
	if fd != 0 {
		return badFile
	}
	i := ctx.Value(instanceKey{}).(*instance)
	i.memory, i.points = m.Memory(), experimental.GetSnapshotter(ctx)
	if i.gone {
		i.gone, i.at = false, i.points.Snapshot()
	}
	read := 0
	for ; n > 0; n, buffers = n-1, buffers+8 {
		at, ok := i.memory.ReadUint32Le(buffers)
		size, ok2 := i.memory.ReadUint32Le(buffers + 4)
		to, ok3 := i.memory.Read(at, size)
		if !ok || !ok2 || !ok3 {
			return badAddress
		}
		if size == 0 {
			continue
		}
		var err error
		if read, err = i.in.Read(to, i); errors.Is(err, errAgain) {
			i.at.Restore([]uint64{interrupted}) // and does not return
		}
		break // with less than there is room for, perhaps
	}
	if !i.memory.WriteUint32Le(result, uint32(read)) {
		return badAddress
	}
	return success
}
