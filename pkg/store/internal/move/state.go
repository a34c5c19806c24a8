package move

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// What a move remembers stands in a table of each database, of names and values. That of the target changes together with the rows that it is about,
// so a move that ends anywhere goes on from there.
const stateTable = prefix

const (
	stateID       = "id"       // of the move, the same in both
	stateTo       = "to"       // where the source moves to, for people
	stateLater    = "later"    // in the target: statements that make the indexes left out
	stateComplete = "complete" // in the target: the indexes are made
	stateLast     = "last"     // in the target: the last place of an event when changes began to be noted
	stateCopied   = "table "   // in the target, with a name: how far a table is copied
	copied        = "all"
)

func readState(ctx context.Context, d database, name string) (value string, err error) {
	err = d.query(ctx, `SELECT value FROM `+stateTable+` WHERE name = $1`, []any{name}, func(row []any) error {
		value, _ = row[0].(string)
		return nil
	})
	return value, err
}

func writeState(ctx context.Context, d database, name, value string) error {
	return upsert(ctx, d, stateTable, name, value)
}

// upsert gives a name in a table of names and values its value.
func upsert(ctx context.Context, d database, table, name, value string) error {
	return d.exec(ctx, `INSERT INTO `+table+`(name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
}

// leaveOut drops what a target makes faster after all rows, and remembers the statements that make it. text selects two statements for each thing: that
// which drops it, and that which makes it.
func leaveOut(ctx context.Context, d database, text string, args ...any) error {
	var drop, later []string
	err := d.query(ctx, text, args, func(row []any) error {
		drop, later = append(drop, row[0].(string)), append(later, row[1].(string))
		return nil
	})
	if err != nil {
		return err
	}
	statements, err := json.Marshal(later)
	if err != nil {
		return err
	}
	if err := execAll(ctx, d, drop...); err != nil {
		return err
	}
	return writeState(ctx, d, stateLater, string(statements))
}

// complete makes what leaveOut has dropped, unless that was done.
func complete(ctx context.Context, d database) error {
	done, err := readState(ctx, d, stateComplete)
	if err != nil || done != "" {
		return err
	}
	text, err := readState(ctx, d, stateLater)
	if err != nil {
		return err
	}
	var later []string
	if err := json.Unmarshal([]byte(text), &later); err != nil {
		return err
	}
	return d.change(ctx, func() error {
		if err := execAll(ctx, d, later...); err != nil {
			return err
		}
		return writeState(ctx, d, stateComplete, copied)
	})
}

// keptValue is a value of a key as it is remembered.
type keptValue struct {
	Number *int64  `json:"n,omitempty"`
	Text   *string `json:"t,omitempty"`
	Hex    *string `json:"x,omitempty"`
}

func keyToState(key []any) (string, error) {
	list := make([]keptValue, len(key))
	for i, v := range key {
		switch v := v.(type) {
		case int64:
			list[i].Number = &v
		case string:
			list[i].Text = &v
		case []byte:
			text := hex.EncodeToString(v)
			list[i].Hex = &text
		default:
			return "", fmt.Errorf("a key with a value of type %T", v)
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

func keyFromState(text string) (key []any, err error) {
	if text == "" {
		return nil, nil
	}
	var list []keptValue
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	for _, v := range list {
		switch {
		case v.Number != nil:
			key = append(key, *v.Number)
		case v.Text != nil:
			key = append(key, *v.Text)
		case v.Hex != nil:
			b, err := hex.DecodeString(*v.Hex)
			if err != nil {
				return nil, err
			}
			key = append(key, b)
		default:
			return nil, errors.New("a key without a value")
		}
	}
	return key, nil
}
