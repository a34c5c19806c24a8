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
	return d.exec(ctx, `INSERT INTO `+stateTable+`(name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
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
