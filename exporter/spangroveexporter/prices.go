package spangroveexporter

import (
	"fmt"
	"io"
	"os"

	"github.com/spangrove/spangrove/pkg/price"
)

// readPrices gives the prices of models: those of file before the built-in ones, which are all
// if file is empty. The error names the setting.
func readPrices(file string) (*price.Book, error) {
	if file == "" {
		return price.New(), nil
	}
	f, err := os.Open(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("price_file: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, price.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("price_file: %w", err)
	}
	book, err := price.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("price_file: %s: %w", file, err)
	}
	return book, nil
}
