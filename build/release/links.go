package main

import (
	"regexp"
	"strings"
)

var markdownLink = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)\s]+)\)`)

// absoluteLinks makes the links of a page to files of the repository ones that work anywhere: pages of
// registries show the README without the repository.
func absoluteLinks(markdown []byte, commit string) []byte {
	return markdownLink.ReplaceAllFunc(markdown, func(link []byte) []byte {
		m := markdownLink.FindSubmatch(link)
		picture, text, target := string(m[1]), string(m[2]), string(m[3])
		if strings.Contains(target, "://") || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "mailto:") {
			return link
		}
		at := repositoryURL + "/blob/" + commit + "/"
		if picture != "" {
			at = "https://raw.githubusercontent.com/spangrove/spangrove/" + commit + "/"
		}
		return []byte(picture + "[" + text + "](" + at + target + ")")
	})
}
