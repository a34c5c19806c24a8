package sqldb

import (
	"fmt"
	"strings"
)

const (
	// MovePrefix begins the names of tables, triggers and functions that a move makes. They belong to no backup.
	MovePrefix = "spangrove_move"
	// MovedSetting is the row of table setting that says where a store has moved.
	MovedSetting = "moved_to"
	// MovedText begins what the database answers to changes of a store that has moved.
	MovedText = "this store has moved to "
	// MovedCode is the SQLSTATE of that answer, where there is one.
	MovedCode = "SGMVD"
)

// hasMoved is the error of opening a store that has moved; text is the value of MovedSetting.
func hasMoved(text string) error {
	return fmt.Errorf("%s: configure the server to use it; spangrove move --abandon opens the old one again, without what was stored since", text)
}

// isMoved reports whether an error is the answer of a store that has moved.
func isMoved(err error) bool { return strings.Contains(err.Error(), MovedText) }
