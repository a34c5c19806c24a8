package wire

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeDashboard reads the body of a dashboard's creation, checked. Errors are fault.Invalid naming the field, for an unknown one
// the nearest that a dashboard has.
func DecodeDashboard(body []byte) (dashboard.Dashboard, error) {
	u, err := DecodeDashboardUpdate(body, "")
	if err != nil {
		return dashboard.Dashboard{}, err
	}
	var d dashboard.Dashboard
	d.Apply(&u)
	return d, d.Validate()
}

// dashboardFields are the fields of a dashboard that may be set.
var dashboardFields = []string{"name", "description", "layout"}

// DecodeDashboardUpdate reads the body of an update of the dashboard with an id.
func DecodeDashboardUpdate(body []byte, id string) (dashboard.Update, error) {
	u := dashboard.Update{ID: id}
	unknown := ""
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "name":
			err = setTextPointer(&u.Name, raw)
		case "description":
			err = setTextPointer(&u.Description, raw)
		case "layout":
			if rawjson.KindOf(raw) != '[' {
				return wrong("an array", raw)
			}
			u.Layout = slices.Clone(raw)
		case "id", "charts", "created_at", "updated_at": // who sends back a dashboard as it was read
		default:
			if !rawjson.Null(raw) {
				unknown = key
			}
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, dashboardFields)
	}
	return u, err
}

// AppendDashboard appends a dashboard as lists show it.
func AppendDashboard(dst []byte, d *dashboard.Dashboard) []byte {
	return append(dst, dashboardFieldsOf(d).Bytes()...)
}

// AppendDashboardWithCharts appends a dashboard as answers show it, with those of its charts that are there.
func AppendDashboardWithCharts(dst []byte, d *dashboard.Dashboard, charts []chart.Chart) []byte {
	list := []byte{'['}
	for i := range charts {
		if i > 0 {
			list = append(list, ',')
		}
		list = AppendSavedChart(list, &charts[i], V1)
	}
	b := dashboardFieldsOf(d)
	b.Raw("charts", append(list, ']'))
	return append(dst, b.Bytes()...)
}

func dashboardFieldsOf(d *dashboard.Dashboard) *rawjson.Builder {
	b := itemOf(d.ID, V1)
	b.String("name", d.Name)
	if d.Description == nil {
		b.Raw("description", []byte("null"))
	} else {
		b.String("description", *d.Description)
	}
	b.Raw("layout", d.Layout)
	addTimes(b, d.Created, d.Updated, V1)
	return b
}
