package sqldb

import (
	"strings"
	"testing"
)

// The statements of objects are taken out of the migrations whole.
func TestSchemaObjects(t *testing.T) {
	t.Parallel()
	for folder, end := range map[string]string{"sqlite": "END;", "postgres": "EXECUTE FUNCTION event_changed();"} {
		list, err := schemaObjects(folder)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, o := range list {
			n[o.kind]++
			if !strings.HasPrefix(o.statement, "CREATE ") || !strings.HasSuffix(o.statement, ";") {
				t.Errorf("%s: %s %s: %q", folder, o.kind, o.name, o.statement)
			}
			if o.name == "event_changed" && !strings.HasSuffix(o.statement, end) {
				t.Errorf("%s: %s ends with %q", folder, o.name, o.statement)
			}
			if o.name == "event_before" {
				t.Errorf("%s: a table that was dropped is listed", folder)
			}
		}
		if n["TABLE"] < 35 || n["INDEX"] < 40 || n["TRIGGER"] < 3 {
			t.Errorf("%s: %v", folder, n)
		}
	}
}
