package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLines reads lines forwards and backwards: short ones, long ones, empty ones, and one that
// has no end.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 100_000)
	for _, tt := range []struct {
		text string
		want []string // of lines that are finished
		rest string
	}{
		{"", nil, ""},
		{"a", nil, "a"},
		{"a\n", []string{"a"}, ""},
		{"a\n\nb\nc", []string{"a", "", "b"}, "c"},
		{long + "\nb\n" + long + "\n" + long + "x\n", []string{long, "b", long, long + "x"}, ""},
		{"\n", []string{""}, ""},
	} {
		name := filepath.Join(t.TempDir(), "lines")
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var got []string
		end := int64(len(tt.text) - len(tt.rest))
		for line, err := range backwards(file) {
			if err != nil {
				t.Fatal(err)
			}
			if line.end != end {
				t.Errorf("%.20q: line ends at %d, want %d", tt.text, line.end, end)
			}
			end -= int64(len(line.text))
			got = append(got, strings.TrimSuffix(string(line.text), "\n"))
		}
		slices.Reverse(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%.20q backwards: %.40q", tt.text, got)
		}
		forwards := lineReader{from: bufio.NewReaderSize(strings.NewReader(tt.text), 16)}
		want := tt.want
		if tt.rest != "" {
			want = append(slices.Clone(want), tt.rest)
		}
		for i, text := range want {
			line, err := forwards.next()
			if err != nil || string(line) != strings.TrimSpace(text) || forwards.n != i+1 {
				t.Errorf("%.20q: line %d is %.20q, %v", tt.text, forwards.n, line, err)
			}
		}
		if _, err := forwards.next(); !errors.Is(err, io.EOF) || forwards.offset != int64(len(tt.text)) {
			t.Errorf("%.20q: offset %d, %v", tt.text, forwards.offset, err)
		}
	}
	endless := lineReader{from: bufio.NewReader(io.MultiReader(strings.NewReader(strings.Repeat("x", maxLine)), strings.NewReader("yy")))}
	if _, err := endless.next(); !errors.Is(err, errLongLine) {
		t.Errorf("a line of more than 32 MB: %v", err)
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		done, total, units int64
		took               time.Duration
		note               string
		width              int
		want               string
	}{
		{0, 10, 0, 0, "", 40, "exporting [..............]   0% 0 events"},
		{5, 10, 1234567, 10 * time.Second, "", 79, "exporting [############............]  50% 1,234,567 events, 123,456/s, 10s left"},
		{10, 10, 10, 0, "", 40, "exporting [#############] 100% 10 events"},
		{10, 10, 10, 0, "3 failed", 50, "exporting [#############] 100% 10 events, 3 failed"},
		{0, 0, 7, 2 * time.Second, "", 40, "exporting 7 events, 3/s"},
		{5, 10, 5, 0, "", 12, "exporting  …"},
	} {
		got := barLine("exporting", "events", tt.done, tt.total, tt.units, tt.took, tt.note, tt.width)
		if got != tt.want {
			t.Errorf("%d columns: %q, want %q", tt.width, got, tt.want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
