package otlpmap

import "strconv"

// asDocumentList reads a JSON array of documents.
var asDocumentList = reader{name: "document list", about: "a JSON array as [{id, content, score, metadata}]", whole: func(b *eventBuilder, t target, a *attr) {
	if b.filled(t.field) {
		b.keep(a)
		return
	}
	if raw, ok := b.parse(a); ok && b.documents(raw) {
		a.used = true
	}
}}

// documents fills outputs.documents from a JSON array of objects whose text is called content,
// page_content or text. It says no if that is not what raw is.
func (b *eventBuilder) documents(raw []byte) bool {
	if kind(raw) != '[' || empty(raw) {
		return false
	}
	for c := elements(raw); c.next(); {
		if documentText(c.val) == "" {
			return false
		}
	}
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	n := 0
	for c := elements(raw); c.next(); {
		if n++; n > 1 {
			b.arena = append(b.arena, ',')
		}
		text := documentText(c.val)
		b.arena = append(b.arena, '{')
		for m := members(c.val); m.next(); {
			if b.arena[len(b.arena)-1] != '{' {
				b.arena = append(b.arena, ',')
			}
			key := string(m.key)
			if key == text {
				key = "content"
			}
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, key...)
			b.arena = append(b.arena, '"', ':')
			b.arena = append(b.arena, m.val...)
		}
		b.arena = append(b.arena, '}')
	}
	b.arena = append(b.arena, ']')
	return b.put(fields.documents, b.arena[at:])
}

// documentText returns the name under which an object has a document's text, "" for none.
func documentText(raw []byte) string {
	for _, key := range [...]string{"content", "page_content", "text"} {
		if v := member(raw, key); kind(v) == '"' {
			return key
		} else if v != nil && key == "content" {
			return ""
		}
	}
	return ""
}

// embeddingOutput keeps an embedding call's answer but for long vectors, of which only number
// and dimension stay.
func (b *eventBuilder) embeddingOutput(a *attr, raw []byte) {
	for c := members(raw); c.next(); {
		if string(c.key) == "usage" {
			b.offerUsage(c.val)
		}
	}
	if !b.obj[bucketOutputs].empty() {
		b.keep(a)
		return
	}
	for c := members(raw); c.next(); {
		val := c.val
		if string(c.key) == "data" && kind(val) == '[' {
			val = b.shortVectors(val)
		}
		if !b.member(bucketOutputs, keyText(c.key), val) {
			b.keep(a)
			return
		}
	}
	a.used = true
}

// shortVectors copies a list of {embedding: […]} without the vectors over MaxVector.
func (b *eventBuilder) shortVectors(data []byte) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	n := 0
	for c := elements(data); c.next(); {
		if n++; n > 1 {
			b.arena = append(b.arena, ',')
		}
		if kind(c.val) != '{' {
			b.arena = append(b.arena, c.val...)
			continue
		}
		b.arena = append(b.arena, '{')
		for m := members(c.val); m.next(); {
			if string(m.key) == "embedding" && kind(m.val) == '[' && b.opt.MaxVector >= 0 {
				if size := length(m.val); size > b.opt.MaxVector {
					b.dropVector(fromAnswer, size)
					continue
				}
			}
			if b.arena[len(b.arena)-1] != '{' {
				b.arena = append(b.arena, ',')
			}
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, m.key...)
			b.arena = append(b.arena, '"', ':')
			b.arena = append(b.arena, m.val...)
		}
		b.arena = append(b.arena, '}')
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}

func length(array []byte) (n int) {
	for c := elements(array); c.next(); {
		n++
	}
	return n
}

// dropped are the vectors that were not kept.
type dropped struct{ count, dimension int }

// dropVector notes a vector that was not kept, by its dimension. A span may tell its vectors
// twice, as attributes and in its raw answer.
func (b *eventBuilder) dropVector(from, dimension int) {
	b.vectors[from].count++
	b.vectors[from].dimension = dimension
}

const (
	fromAttribute = iota
	fromAnswer
)

// putEmbedding tells of the vectors that were not kept.
func (b *eventBuilder) putEmbedding() {
	v := b.vectors[fromAttribute]
	if b.vectors[fromAnswer].count > v.count {
		v = b.vectors[fromAnswer]
	}
	if v.count == 0 {
		return
	}
	raw := strconv.AppendInt([]byte(`{"count":`), int64(v.count), 10)
	raw = strconv.AppendInt(append(raw, `,"dimension":`...), int64(v.dimension), 10)
	b.put(fields.embedding, append(raw, '}'))
	const bytesPerNumber = 8
	b.cuts = append(b.cuts, cutOff{"embedding", bytesPerNumber * v.count * v.dimension})
}
