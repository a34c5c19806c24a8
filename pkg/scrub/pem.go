package scrub

import "strings"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	// maxPEM bounds a private key in text: twice one of RSA with 16,384 bits.
	maxPEM = 32 << 10
)

// findPrivateKeys looks for private keys in PEM, also with their lines escaped. One that was cut off is replaced as far as
// it goes.
func (s *Scrubber) findPrivateKeys(text string, hits []hit) []hit {
	const label = "PRIVATE KEY"
	for at := 0; ; {
		i := strings.Index(text[at:], label)
		if i < 0 {
			return hits
		}
		i += at
		at = i + len(label)
		before := max(0, i-40)
		begin := strings.LastIndex(text[before:i], pemBegin)
		if begin < 0 {
			continue
		}
		begin += before
		rest := text[at:min(len(text), at+maxPEM)]
		rest = strings.TrimPrefix(rest, " BLOCK") // of PGP
		if !strings.HasPrefix(rest, "-----") {
			continue
		}
		from := min(len(text), at+maxPEM) - len(rest) + len("-----")
		to := pemBodyEnd(text, from, min(len(text), at+maxPEM))
		hits = append(hits, hit{begin, to, s.privateKey})
		at = to
	}
}

// findPuTTYKeys looks for private keys in the format of PuTTY: lines with names, those of the key, and a checksum of it.
func (s *Scrubber) findPuTTYKeys(text string, hits []hit) []hit {
	const header, lines = "PuTTY-User-Key-File-", "Private-Lines: "
	const far = 200 // the checksum from the last line that is surely of the key
	for at, next := 0, 0; ; {
		begin := strings.Index(text[at:], header)
		if begin < 0 {
			return hits
		}
		begin += at
		at = begin + len(header)
		if next < at {
			i := strings.Index(text[at:], lines)
			if i < 0 {
				return hits
			}
			next = at + i
		}
		if next-begin > maxPEM {
			continue
		}
		most := min(len(text), next+maxPEM)
		from := next + len(lines)
		from += span(text[from:], isDigit)
		to := keyLinesEnd(text, from, most)
		for _, checksum := range []string{"Private-MAC: ", "Private-Hash: "} {
			if i := strings.Index(text[to:min(most, to+far)], checksum); i >= 0 {
				to += i + len(checksum)
				to += span(text[to:most], isHex)
				break
			}
		}
		hits = append(hits, hit{begin, to, s.privateKey})
		at = to
	}
}

// pemBodyEnd returns the end of the private key whose body begins at from: after its last line, or where what can be a key
// ends.
func pemBodyEnd(text string, from, most int) int {
	if i := strings.Index(text[from:most], pemEnd); i >= 0 {
		line := text[from+i+len(pemEnd) : most]
		if j := strings.Index(line, "-----"); j >= 0 && j < 40 {
			return from + i + len(pemEnd) + j + len("-----")
		}
	}
	return keyLinesEnd(text, from, most) // it was cut off
}

// keyLinesEnd returns the end of the lines of a private key that begin at from: words of base64, which end where ordinary ones begin.
func keyLinesEnd(text string, from, most int) int {
	to := from
	for at := from; at < most; {
		switch {
		case isSpace(text[at]):
			at++
		case text[at] == '\\':
			at = min(max(escapeEnd(text, at, most), at+1), most)
		default:
			line := text[at : at+span(text[at:most], isBase64)]
			if len(line) < 16 && !mixed(line) {
				return to
			}
			at += len(line)
			to = at
		}
	}
	return to
}
