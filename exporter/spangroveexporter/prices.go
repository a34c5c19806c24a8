package spangroveexporter

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/price"
)

// readPrices returns the prices of models: those of file before the built-in ones, which are all
// if file is empty. The error names the setting.
func readPrices(file string) (*price.Book, error) {
	book, err := price.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("price_file: %w", err)
	}
	return book, nil
}
