package webui

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// CaseScript begins the element that holds the data in the page of a case file, on a line of its own.
const CaseScript = `<script type="application/gzip" id="case">`

// WriteCase writes the page of a case file: an HTML document that opens without a server and loads nothing. What data writes is in it,
// compressed and in base64, whose letters end no element. The page's policy lets its own script and its own styles in and nothing else, so
// that a browser asks nobody for anything and no text in the data becomes a script.
func WriteCase(to io.Writer, data func(io.Writer) error) error {
	script, err := fs.ReadFile(dist, "dist/case.js")
	if err != nil {
		return fmt.Errorf("the page of case files is not in this build: %w", err)
	}
	styles, err := fs.ReadFile(dist, "dist/case.css")
	if err != nil {
		return fmt.Errorf("the page of case files is not in this build: %w", err)
	}
	_, err = fmt.Fprintf(to, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; font-src data:; img-src data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types workers">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Case · Spangrove</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. spangrove case import reads the file without.</noscript>
%s
`, hashOf(script), hashOf(styles), styles, CaseScript)
	if err != nil {
		return err
	}
	letters := base64.NewEncoder(base64.StdEncoding, to)
	packed := gzip.NewWriter(letters)
	if err := errors.Join(data(packed), packed.Close(), letters.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "\n</script>\n<script type=\"module\">%s</script>\n</body>\n</html>\n", script)
	return err
}

// hashOf returns what a policy calls an element by its text.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
