package query

import "github.com/spangrove/spangrove/pkg/project"

// InProject decides the filters on the project, which is the caller's own and no part of an
// event: those that hold are left out, and one that doesn't becomes a filter that nothing
// matches. project is the project's name or public id; project_id, org_id (also tenant) and
// workspace_id are the ids that answers carry.
func InProject(fs []Filter, p project.Project) []Filter {
	var out []Filter
	for _, f := range fs {
		if f.cond.root.kind != kindProject {
			out = append(out, f)
			continue
		}
		if !f.cond.projectHolds(p) {
			return []Filter{mustFilter("event_id", "not exists", nil)}
		}
	}
	return out
}

// projectHolds reports whether a condition on the project holds. Where a project has two texts for a field, such as name
// and public id, one that fits is enough.
func (c *cond) projectHolds(p project.Project) bool {
	var texts []string
	switch c.name {
	case "project":
		texts = []string{p.Name, p.PublicID}
	case "project_id":
		texts = []string{p.PublicID}
	case "org_id", "tenant":
		texts = []string{p.OrgID}
	case "workspace_id":
		texts = []string{p.WorkspaceID}
	}
	holds := false
	for _, text := range texts {
		v := textValue(text)
		_, v.id = parseUUID(text)
		holds = holds || (text != "" && c.positive(v))
	}
	return holds != c.negate
}
