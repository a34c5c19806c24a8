package price

import (
	"fmt"
	"io"
	"os"
)

// ReadFile returns a Book of a file of prices, as Parse reads it; without a name it is that of the
// built-in ones. Errors are for the operator and begin with the file.
func ReadFile(name string) (*Book, error) {
	if name == "" {
		return New(), nil
	}
	f, err := os.Open(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, err
	}
	book, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return book, nil
}
