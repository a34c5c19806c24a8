package otlpmap

import (
	"bytes"
	"strconv"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// asDocumentList reads a JSON array of documents.
var asDocumentList = reader{
	name: "document list", about: "a JSON array as [{id, content, score, metadata}]",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		if raw, ok := b.parse(a); ok && onlyContainers(raw) {
			a.used = b.putDocuments(t, raw)
		}
	},
}

// documents fills outputs.documents from a JSON array of objects whose text is called content,
// page_content or text. It returns false if raw is something else.
func (b *eventBuilder) documents(raw []byte) bool {
	if jsonscan.Kind(raw) != '[' || jsonscan.Empty(raw) {
		return false
	}
	// All must be documents, before anything is written.
	for c := jsonscan.Elements(raw); c.Next(); {
		if documentText(c.Val) == "" {
			return false
		}
	}
	return b.putDocuments(fieldDocuments, raw)
}

// putDocuments fills a field with a list of documents. Where their texts are not sent, they have ids and scores alone.
func (b *eventBuilder) putDocuments(t target, raw []byte) bool {
	return b.put(t, b.listOf(raw, func(document []byte) {
		if in := jsonscan.Member(document, "document"); jsonscan.Kind(in) == '{' && countMembers(document) == 1 {
			document = in // Dify
		}
		if jsonscan.Kind(document) != '{' {
			b.arena = append(b.arena, document...)
			return
		}
		text := documentText(document)
		b.arena = append(b.arena, '{')
		for m := jsonscan.Members(document); m.Next(); {
			if b.arena[len(b.arena)-1] != '{' {
				b.arena = append(b.arena, ',')
			}
			key := string(m.Key)
			if text != "" && key == text { // "" may be a key, too
				key = "content"
			}
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, key...)
			b.arena = append(b.arena, '"', ':')
			b.arena = append(b.arena, m.Val...)
		}
		b.arena = append(b.arena, '}')
	}))
}

// documentText returns the name under which an object has a document's text, "" for none. An object whose content
// is no text is no document.
func documentText(raw []byte) string {
	for _, key := range [...]string{"content", "page_content", "text"} {
		if v := jsonscan.Member(raw, key); jsonscan.Kind(v) == '"' {
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
	for c := jsonscan.Members(raw); c.Next(); {
		switch string(c.Key) {
		case "usage":
			b.offerUsage(c.Val)
		case "inputTextTokenCount": // Titan
			b.offerCount(countPrompt, c.Val)
		case "meta": // Haystack
			b.replyFacts(c.Val)
		}
	}
	if !b.obj[bucketOutputs].empty() {
		b.keep(a)
		return
	}
	for c := jsonscan.Members(raw); c.Next(); {
		val := c.Val
		switch key := string(c.Key); {
		case b.dropVectors(val):
			continue
		case key == "embedding" && b.opt.MaxVector >= 0 && length(val) > b.opt.MaxVector: // of whole numbers
			b.dropVector(fromAnswer, length(val))
			continue
		case jsonscan.Kind(val) == '[' && (key == "data" || key == "documents"):
			val = b.shortVectors(val)
		}
		if !b.member(bucketOutputs, keyText(c.Key), val) {
			b.keep(a)
			return
		}
	}
	a.used = true
}

// dropVectors notes the vectors that a value is: one, a list of them (LangChain, Ollama), or an object of such lists (Cohere, by the type of
// their numbers). It returns false, and notes none, if it is anything else, such as a list of whole numbers, or a vector is short enough
// to be kept.
func (b *eventBuilder) dropVectors(raw []byte) bool {
	before := b.losses.vectors
	if b.opt.MaxVector >= 0 && b.onlyVectors(raw, 0) {
		return true
	}
	b.losses.vectors = before
	return false
}

// onlyVectors does the work of dropVectors for a value so many levels deep.
func (b *eventBuilder) onlyVectors(raw []byte, depth int) bool {
	const deepest = 2
	n, numbers, fraction := 0, 0, false
	switch k := jsonscan.Kind(raw); {
	case k == '[':
		for c := jsonscan.Elements(raw); c.Next(); n++ {
			if jsonscan.Kind(c.Val) == '0' {
				numbers++
				fraction = fraction || bytes.ContainsAny(c.Val, ".eE")
			} else if depth == deepest || !b.onlyVectors(c.Val, depth+1) {
				return false
			}
		}
	case k == '{' && depth < deepest:
		for c := jsonscan.Members(raw); c.Next(); n++ {
			if !b.onlyVectors(c.Val, depth+1) {
				return false
			}
		}
	}
	if numbers == 0 {
		return n > 0
	}
	if numbers < n || n <= b.opt.MaxVector || !fraction {
		return false
	}
	b.dropVector(fromAnswer, n)
	return true
}

// shortVectors copies a list of {embedding: […]} without the vectors over MaxVector.
func (b *eventBuilder) shortVectors(data []byte) []byte {
	return b.listOf(data, func(element []byte) {
		if jsonscan.Kind(element) != '{' {
			b.arena = append(b.arena, element...)
			return
		}
		b.arena = append(b.arena, '{')
		for m := jsonscan.Members(element); m.Next(); {
			if string(m.Key) == "embedding" && jsonscan.Kind(m.Val) == '[' && b.opt.MaxVector >= 0 {
				// The object stays, without its vector.
				if size := length(m.Val); size > b.opt.MaxVector {
					b.dropVector(fromAnswer, size)
					continue
				}
			}
			if b.arena[len(b.arena)-1] != '{' {
				b.arena = append(b.arena, ',')
			}
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, m.Key...)
			b.arena = append(b.arena, '"', ':')
			b.arena = append(b.arena, m.Val...)
		}
		b.arena = append(b.arena, '}')
	})
}

// length returns the number of an array's elements.
func length(array []byte) (n int) {
	for c := jsonscan.Elements(array); c.Next(); {
		n++
	}
	return n
}

// droppedVectors are the vectors that were not kept.
type droppedVectors struct{ count, dimension int }

// dropVector notes a vector that was not kept, by its dimension. A span may send its vectors
// twice, as attributes and in its raw answer: they are counted apart, and putEmbedding takes the larger number.
func (b *eventBuilder) dropVector(from, dimension int) {
	b.losses.vectors[from].count++
	b.losses.vectors[from].dimension = dimension
}

const (
	fromAttribute = iota
	fromAnswer
)

// putEmbedding writes which vectors were not kept, as {count, dimension}; metadata.truncated has their size in bytes,
// at 8 for each number.
func (b *eventBuilder) putEmbedding() {
	v := b.losses.vectors[fromAttribute]
	if b.losses.vectors[fromAnswer].count > v.count {
		v = b.losses.vectors[fromAnswer]
	}
	if v.count == 0 {
		return
	}
	raw := strconv.AppendInt([]byte(`{"count":`), int64(v.count), 10)
	raw = strconv.AppendInt(append(raw, `,"dimension":`...), int64(v.dimension), 10)
	b.put(fieldEmbedding, append(raw, '}'))
	const bytesPerNumber = 8
	b.losses.cuts = append(b.losses.cuts, cutOff{"embedding", bytesPerNumber * v.count * v.dimension})
}

// ranked places what a reranker was given, which OpenLLMetry sends as messages, from b.msgs[at:] on: the documents as
// those of the system, the query as the user's. It takes them off, and returns false if they are something else.
func (b *eventBuilder) ranked(at int) bool {
	list := b.msgs[at:]
	if b.s.role != onRetriever || len(list) < 2 || b.filled(fieldInputDocuments.field) || b.filled(fieldQuery.field) {
		return false
	}
	query := -1
	for i := range list {
		switch m := &list[i]; {
		case jsonscan.Kind(m.content) != '"' || !m.onlySaid():
			return false
		case string(jsonscan.Inner(m.role)) == "user" && query < 0:
			query = i
		case string(jsonscan.Inner(m.role)) != "system":
			return false
		}
	}
	if query < 0 {
		return false
	}
	b.part("role:system")
	b.part("role:user")
	b.put(fieldQuery, list[query].content)
	b.put(fieldInputDocuments, appendTexts(nil, append(list[:query:query], list[query+1:]...)))
	b.msgs = b.msgs[:at]
	return true
}

// found places what a retriever gave back as messages of the assistant, from b.msgs[at:] on, as its documents. It
// takes them off, and returns false if they are something else.
func (b *eventBuilder) found(at int) bool {
	list := b.msgs[at:]
	if b.s.role != onRetriever || len(list) == 0 || b.filled(fieldDocuments.field) {
		return false
	}
	for i := range list {
		if m := &list[i]; jsonscan.Kind(m.content) != '"' || !m.onlySaid() || string(jsonscan.Inner(m.role)) != "assistant" {
			return false
		}
	}
	b.part("role:assistant")
	b.put(fieldDocuments, appendTexts(nil, list))
	b.msgs = b.msgs[:at]
	return true
}

// appendTexts appends the contents of messages as documents, [{content}].
func appendTexts(dst []byte, list []chatMessage) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"content":`...), list[i].content...), '}')
	}
	return append(dst, ']')
}
