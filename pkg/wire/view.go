package wire

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/view"
)

// DecodeView reads the body of a view's creation, checked. Errors are fault.Invalid naming the field, for an unknown one
// the nearest that a view has.
func DecodeView(body []byte) (view.View, error) {
	u, err := DecodeViewUpdate(body, "")
	if err != nil {
		return view.View{}, err
	}
	var v view.View
	v.Apply(&u)
	return v, v.Validate()
}

// viewFields are the fields of a view that may be set.
var viewFields = []string{"name", "page", "state"}

// DecodeViewUpdate reads the body of an update of the view with an id.
func DecodeViewUpdate(body []byte, id string) (view.Update, error) {
	u := view.Update{ID: id}
	unknown := ""
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "name":
			err = setTextPointer(&u.Name, raw)
		case "page":
			err = setTextPointer(&u.Page, raw)
		case "state":
			if rawjson.Null(raw) {
				return nil
			}
			if rawjson.KindOf(raw) != '{' {
				return wrong("an object", raw)
			}
			u.State = slices.Clone(raw)
		case "id", "created_at", "updated_at": // who sends back a view as it was read
		default:
			if !rawjson.Null(raw) {
				unknown = key
			}
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, viewFields)
	}
	return u, err
}

// AppendView appends a view as answers show it.
func AppendView(dst []byte, v *view.View) []byte {
	b := itemOf(v.ID, V1)
	b.String("name", v.Name)
	b.String("page", v.Page)
	b.Raw("state", v.State)
	addTimes(b, v.Created, v.Updated, V1)
	return append(dst, b.Bytes()...)
}
