package rawjson

import "strings"

// AppendCSV appends a value as a cell of CSV (RFC 4180): a string as its text, a number as it stands, anything else as JSON, and nothing for no
// value.
func AppendCSV(dst, raw []byte) []byte {
	if len(raw) == 0 {
		return dst
	}
	if _, isNumber := Number(raw); isNumber {
		return append(dst, raw...) // also with a minus
	}
	text, isText := Text(raw)
	if !isText {
		text = string(raw)
	}
	return AppendCSVText(dst, text)
}

// AppendCSVText appends a text as a cell of CSV, guarded against spreadsheets (CSVText).
func AppendCSVText(dst []byte, text string) []byte {
	text = CSVText(text)
	if !strings.ContainsAny(text, ",\"\r\n") {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// CSVText returns a text as a cell of CSV is to have it: one that begins like a formula gets an apostrophe before it, so that a spreadsheet that
// opens the file takes it for a text. It is not quoted yet.
func CSVText(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
