package wire

import (
	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// commentFields are the fields of a comment that may be set.
var commentFields = []string{"author", "text"}

// DecodeComment reads the body of a comment's creation, checked. Errors are fault.Invalid naming the field, for an unknown one
// the nearest that a comment has.
func DecodeComment(body []byte) (c comment.Comment, err error) {
	if c, err = decodeComment(body, commentFields); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// DecodeCommentUpdate reads the body of a change of a comment's text, checked. Who wrote it cannot be changed.
func DecodeCommentUpdate(body []byte) (text string, err error) {
	c, err := decodeComment(body, commentFields[1:])
	if err != nil {
		return "", err
	}
	return c.Text, comment.CheckText(c.Text)
}

func decodeComment(body []byte, known []string) (c comment.Comment, err error) {
	unknown := ""
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch {
		case key == "author" && len(known) > 1:
			c.Author, err = readText(raw)
		case key == "text":
			c.Text, err = readText(raw)
		case key == "author", key == "id", key == "event_id", key == "created_at", key == "updated_at": // who sends back a comment as it was read
		case !rawjson.Null(raw):
			unknown = key
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, known)
	}
	return c, err
}

// AppendComment appends a comment as answers show it.
func AppendComment(dst []byte, c *comment.Comment) []byte {
	b := itemOf(c.ID, V1)
	b.String("event_id", c.EventID.String())
	b.String("author", c.Author)
	b.String("text", c.Text)
	addTimes(b, c.Created, c.Updated, V1)
	return append(dst, b.Bytes()...)
}
