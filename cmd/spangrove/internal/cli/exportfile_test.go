package cli

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestInterruptedFile: Ctrl-C while the server sends a file is told as such, with the part that was written.
func TestInterruptedFile(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"events", "export", "FILE", "--csv"},
		{"sessions", "export", "FILE"},
		{"datasets", "export", "65a1b2c3d4e5f60718293a4b", "--file", "FILE"},
	} {
		name := filepath.Join(t.TempDir(), "file")
		for i := range args {
			if args[i] == "FILE" {
				args[i] = name
			}
		}
		_, _, err := execute(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "half a file")
			_ = http.NewResponseController(w).Flush()
			for r.Context().Err() == nil { // until it is written
				if text, _ := os.ReadFile(name); len(text) > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if err := self.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
		}, "", args...)
		var f *Failure
		if !errors.As(err, &f) || f.Exit != exitInterrupted || f.Line != "interrupted; wrote 11 bytes to "+name {
			t.Errorf("%q: %v", args, err)
		}
	}
}
