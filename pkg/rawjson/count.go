package rawjson

// CountValues returns about how many values and names of members a JSON text has, by what stands before them outside of strings. It is for
// bounds of what decoding the text takes, which for a value of two bytes may be a hundred times as much; the text need not be valid.
func CountValues[T ~string | ~[]byte](text T) (n int) {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}
