package query

import "github.com/spangrove/spangrove/pkg/project"

// InProject decides the filters on fields that say in which project an event is: all events of a
// search are in the caller's. Filters that hold are left out; if one does not, the result is one
// filter that nothing matches. The field project is the project's name or public id; project_id,
// org_id (also tenant) and workspace_id are the ids that answers carry.
func InProject(fs []Filter, p project.Project) []Filter {
	out, ok := inProject(fs, p)
	if !ok {
		return []Filter{mustFilter("event_id", "not exists", nil)}
	}
	return out
}

// inProject returns the filters that are left of a list; ok is false if the list holds for no event.
func inProject(fs []Filter, p project.Project) (out []Filter, ok bool) {
	for _, f := range fs {
		switch {
		case f.Any != nil:
			lists, always := anyInProject(f.Any, p)
			if !always && len(lists) == 0 {
				return nil, false
			}
			if !always {
				out = append(out, Filter{Any: lists})
			}
		case f.cond.root.kind != kindProject:
			out = append(out, f)
		case !f.cond.projectHolds(p):
			return nil, false
		}
	}
	return out, true
}

// anyInProject returns the lists that are left of an alternative; always is true if one of them holds for every event.
func anyInProject(lists [][]Filter, p project.Project) (left [][]Filter, always bool) {
	for _, list := range lists {
		rest, ok := inProject(list, p)
		switch {
		case ok && len(rest) == 0:
			return nil, true
		case ok:
			left = append(left, rest)
		}
	}
	return left, false
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
