package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

// hashOf returns a short hash of texts.
func hashOf(texts ...json.RawMessage) string {
	h := fnv.New64a()
	for _, t := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(t), t) // never fails
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// cursorAfter returns the cursor of the page after a place in the answers to a question. The question is a hash of what is asked for and of
// its order (hashOf).
func cursorAfter(question string, p query.Place) string {
	return base64.RawURLEncoding.EncodeToString([]byte(question + " " + strconv.FormatFloat(p.Value, 'g', -1, 64) + " " + p.ID.String()))
}

// readCursor reads a cursor, which must be of the same question.
func readCursor(question string, raw json.RawMessage) (*query.Place, error) {
	text, err := readText(raw)
	if err != nil {
		return nil, err
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if parts := strings.Split(string(decoded), " "); err == nil && len(parts) == 3 && parts[0] == question {
		value, wrongValue := strconv.ParseFloat(parts[1], 64)
		id, wrongID := ParseID(parts[2])
		if wrongValue == nil && wrongID == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
			return &query.Place{Value: value, ID: id}, nil
		}
	}
	return nil, fault.New(fault.Invalid, "is not a cursor of this search: a cursor goes with the same filters, range and order")
}
