// Package webui holds the pages of the web interface, and serves them.
//
// The sources are TypeScript under src; what a browser loads is under dist and embedded, so that building the
// server needs nothing but Go. After a change of the sources run
//
//	go generate ./pkg/webui
//
// which bundles them with esbuild, a Go library here. A test compares dist with what the sources give. It also writes
// the types of the API that pages import, src/api/types.gen.ts, from pkg/httpapi/openapi.yaml: of those no other are
// written by hand, and a test compares them, too.
//
// The directories of src: app holds the shell (routes, keys, theme), api the only calls of the server, model what
// computes without a page (trees, layouts, filters, messages), parts the building blocks of pages, which get all
// they show as properties, and pages the pages, a folder for those of one area. Parts never import api. routes.tsx names the pages
// that are files of their own, loaded when they are opened.
package webui
