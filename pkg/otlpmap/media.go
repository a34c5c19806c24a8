package otlpmap

import (
	"bytes"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// Each API and each convention has a form of its own for a picture in a message. In an event a
// content that is not only text is a list of parts in the form of OpenAI's chat API:
//
//	{type: text, text}
//	{type: image_url, image_url: {url, detail?}}
//	{type: video_url, video_url: {url}}
//	{type: audio_url, audio_url: {url}}                 {type: input_audio, input_audio: {data, format}}
//	{type: file, file: {file_data | file_url | file_id, filename?}}
//
// What came as base64 is a data URL, but for audio. Members that have no place in the form stand
// beside it. A part that does not fit stays as it came.

// mediaPart is what a part holds about a picture, a sound, a film or a file. Members are looked for in the part and
// in the objects inside it, whatever those are called, since the forms differ in the nesting more than in the names:
//
//	{"type":"image_url","image_url":{"url":"https://…"}}
//	{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBOR…"}}
//	{"inline_data":{"mime_type":"image/png","data":"iVBOR…"}}
type mediaPart struct {
	kind              string // image, audio, video or file
	url, data, fileID []byte // JSON strings
	mime              string
	format            []byte // JSON string: wav, png, pdf
	name, detail      []byte
	rest              []pair // members without a place in the form
	odd               bool   // it has something that no form has a place for
}

// mediaKinds are the members that hold a medium, and the types of parts, by what they are; "" if that follows from
// something else, such as the media type.
var mediaKinds = map[string]string{
	"image": "image", "image_url": "image", "input_image": "image", "image-url": "image", "base64_image": "image",
	"audio": "audio", "input_audio": "audio", "audio-url": "audio", "audio_url": "audio",
	"video": "video", "video_url": "video", "video-url": "video",
	"file": "file", "input_file": "file", "document": "file", "document-url": "file", "file_data": "file", "fileData": "file",
	"blob": "", "uri": "", "binary": "", "media": "", "inline_data": "", "inlineData": "", "source": "", "url": "", "base64": "",
}

// appendParts appends a list of content parts in the form of an event. Long media are bounded.
func (b *eventBuilder) appendParts(dst, list []byte) []byte {
	dst = append(dst, '[')
	n := 0
	for c := jsonscan.Elements(list); c.Next(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = b.appendPart(dst, c.Val)
	}
	return append(dst, ']')
}

// contentParts returns a list of content parts in the form of an event, the list itself if it has it: callers
// compare the memory to see whether anything was changed.
func (b *eventBuilder) contentParts(list []byte) []byte {
	plain := b.opt.MaxMediaBytes < 0 || len(list) <= b.opt.MaxMediaBytes
	for c := jsonscan.Elements(list); plain && c.Next(); {
		plain = isForm(c.Val)
	}
	if plain {
		return list
	}
	return b.appendParts(nil, list)
}

// isForm reports whether a part has the form of an event already.
func isForm(raw []byte) bool {
	if jsonscan.Kind(raw) != '{' {
		return jsonscan.Kind(raw) != '"'
	}
	typ := string(jsonscan.Inner(jsonscan.Member(raw, "type")))
	switch typ {
	case "text":
		return jsonscan.Kind(jsonscan.Member(raw, "text")) == '"'
	case "image_url", "video_url", "audio_url", "input_audio", "file":
		return jsonscan.Kind(jsonscan.Member(raw, typ)) == '{'
	}
	return false
}

// appendPart appends a content part in the form of an event:
//
//  1. a string, or a part that is only a text, becomes a text part;
//  2. a part that has the form already stays, its media bounded;
//  3. a medium in any other form is read (read, complete) and written anew (appendMedium);
//  4. what is no medium, or would lose something, stays as it came, its media bounded.
func (b *eventBuilder) appendPart(dst, raw []byte) []byte {
	switch {
	case jsonscan.Kind(raw) == '"':
		return append(append(append(dst, `{"type":"text","text":`...), raw...), '}')
	case jsonscan.Kind(raw) != '{' || isForm(raw):
		return append(dst, b.boundMedia(raw)...)
	}
	if p := scanPart(raw); p.kind == partText {
		b.partType(&p)
		return append(append(append(dst, `{"type":"text","text":`...), p.text...), '}')
	}
	var m mediaPart
	m.read(raw, 0)
	m.complete()
	if m.odd || m.kind == "" || m.url == nil && m.data == nil && m.fileID == nil {
		return append(dst, b.boundMedia(raw)...)
	}
	if typ := jsonscan.Inner(jsonscan.Member(raw, "type")); len(typ) > 0 && !b.losses.parts.hasText(typ) {
		b.part(string(typ))
	}
	return b.appendMedium(dst, &m)
}

// maxMediumDepth bounds how deep a medium stands in its part: {image: {image: {url}}}.
const maxMediumDepth = 4

// read takes a part's members, and those of the objects inside that hold the medium. It sets odd if a member
// contradicts another one or says that the part is of another sort.
func (m *mediaPart) read(obj []byte, depth int) {
	for c := jsonscan.Members(obj); c.Next(); {
		key := string(c.Key)
		as, holds := mediaKinds[key]
		switch {
		// Words for what the part is. One that is not known at the outermost level makes it a part of another sort.
		case key == "type" || key == "source_type" || key == "kind" || key == "modality":
			if jsonscan.Kind(c.Val) != '"' {
				m.odd = true
			} else if as, known := mediaKinds[string(jsonscan.Inner(c.Val))]; known {
				m.be(as)
			} else if depth == 0 && key == "type" {
				m.odd = true // a part of another sort
			} else if key == "type" && string(jsonscan.Inner(c.Val)) == "text" {
				m.odd = true // the data of an Anthropic document's source is its text, no base64
			}
		case jsonscan.Empty(c.Val):
		// An object that may hold the medium: what is in it counts as if it stood here.
		case holds && jsonscan.Kind(c.Val) == '{':
			if m.be(as); depth < maxMediumDepth {
				m.read(c.Val, depth+1)
			} else {
				m.odd = true
			}
		case jsonscan.Kind(c.Val) != '"':
			m.rest = append(m.rest, pair{c.Key, c.Val})
		default:
			m.member(key, as, c)
		}
	}
}

// member takes a text. as is what mediaKinds says about the key.
func (m *mediaPart) member(key, as string, c jsonscan.Cursor) {
	text := jsonscan.Inner(c.Val)
	set := func(to *[]byte) {
		if *to != nil && string(*to) != string(c.Val) {
			m.odd = true
		}
		*to = c.Val
	}
	switch key {
	case "mime_type", "mimeType", "media_type", "mediaType":
		m.mime = unquoted(c.Val)
	case "format":
		set(&m.format)
	case "file_id", "fileId":
		set(&m.fileID)
	case "filename", "name", "title", "file_name", "fileName":
		set(&m.name)
	case "detail":
		set(&m.detail)
	case "url", "uri", "file_uri", "fileUri", "file_url", "image_url":
		m.be(as)
		set(&m.url)
	case "base64", "base64_image", "content", "bytes":
		m.be(as)
		if key == "content" && isAddress(text) {
			set(&m.url)
		} else {
			set(&m.data)
		}
	// One name for two things: an address, or the data itself.
	case "image", "data", "file_data", "audio", "video":
		m.be(as)
		if isAddress(text) {
			set(&m.url)
		} else {
			set(&m.data)
		}
	default:
		m.rest = append(m.rest, pair{c.Key, c.Val})
	}
}

// be notes what the medium is. What a part names itself goes before what is inside; "file" is the most
// general and gives way.
func (m *mediaPart) be(kind string) {
	if kind != "" && (m.kind == "" || m.kind == "file") {
		m.kind = kind
	}
}

// isAddress reports whether a text is a URL, and not base64, which has no colon.
func isAddress(text []byte) bool {
	return bytes.HasPrefix(text, []byte("data:")) || bytes.Contains(text[:min(len(text), 16)], []byte("://"))
}

// complete derives what is not given: the kind by the media type, the media type by the format.
func (m *mediaPart) complete() {
	if m.mime == "" && m.format != nil && m.data != nil {
		if kind := m.kind; kind == "image" || kind == "video" {
			m.mime = kind + "/" + unquoted(m.format)
		} else if kind == "file" {
			m.mime = "application/" + unquoted(m.format)
		}
	}
	if m.kind == "" || m.kind == "file" {
		head, _, _ := strings.Cut(m.mime, "/")
		switch head {
		case "image", "audio", "video":
			m.kind = head
		case "":
		default:
			m.kind = "file"
		}
	}
	if m.mime == "" && m.kind == "image" && m.data != nil {
		m.mime = imageType(jsonscan.Inner(m.data))
	}
	if m.url != nil && m.data != nil {
		m.odd = true
	}
}

// imageType returns a picture's media type, which follows from how its base64 begins: the file formats begin with
// fixed bytes.
func imageType(data []byte) string {
	for _, t := range [...]struct{ head, mime string }{
		{"iVBOR", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"}, {"Qk", "image/bmp"},
	} {
		if bytes.HasPrefix(data, []byte(t.head)) {
			return t.mime
		}
	}
	return "image/*"
}

// appendMedium writes a medium in the form of an event. The object inside gets what the form knows; the media type, if it
// is not in a data URL, and the members that the form does not know stand beside that object.
func (b *eventBuilder) appendMedium(dst []byte, m *mediaPart) []byte {
	// The type, and the member that has the medium: image_url and url, or one of the exceptions below.
	typ, key := m.kind+"_url", "url"
	switch {
	case m.kind == "file":
		typ, key = "file", "file_url"
		if m.data != nil || m.url != nil && bytes.HasPrefix(jsonscan.Inner(m.url), []byte("data:")) {
			key = "file_data"
		}
	case m.kind == "audio" && m.data != nil:
		typ, key = "input_audio", "data"
	case m.url == nil && m.data == nil:
		key = "file_id"
	}
	dst = append(append(append(dst, `{"type":"`...), typ...), `","`...)
	dst = append(append(dst, typ...), `":{`...)
	first := len(dst)
	// add writes a member of the object that is open; first is where its members begin.
	add := func(key string, val []byte) {
		if val == nil {
			return
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), key...), '"', ':')
		dst = append(dst, val...)
	}
	switch {
	case m.data != nil && (m.kind == "audio" || b.tooLong(m.data)):
		add(key, b.boundData(m.data, m.mime))
	case m.data != nil:
		add(key, b.dataURL(m.mime, jsonscan.Inner(m.data)))
	case m.url != nil:
		add(key, b.boundMedia(m.url))
	}
	switch {
	// Audio is the one medium whose format is a member of its own.
	case typ == "input_audio":
		if m.format == nil && m.mime != "" {
			_, format, _ := strings.Cut(m.mime, "/")
			m.format = b.quoted(strings.TrimPrefix(format, "x-"))
		}
		add("format", m.format)
		m.format = nil
	case m.data != nil && m.mime != "":
		m.format = nil // the data URL has it
	}
	add("file_id", m.fileID)
	add("filename", m.name)
	add("detail", m.detail)
	dst = append(dst, '}')
	first = 0 // from here on beside that object, always after a comma
	add("format", m.format)
	if m.mime != "" && m.data == nil && !bytes.HasPrefix(jsonscan.Inner(m.url), []byte("data:"+m.mime)) {
		add("mime_type", b.quoted(m.mime))
	}
	for _, p := range m.rest {
		add(string(p.key), p.val)
	}
	return append(dst, '}')
}

// tooLong reports whether base64 is over MaxMediaBytes.
func (b *eventBuilder) tooLong(data []byte) bool {
	return b.opt.MaxMediaBytes >= 0 && len(data) > b.opt.MaxMediaBytes
}

// boundData is boundMedia of base64 whose media type is known.
func (b *eventBuilder) boundData(data []byte, mime string) []byte {
	if !b.tooLong(data) {
		return data
	}
	var quoted []byte
	if mime != "" {
		quoted = b.quoted(mime)
	}
	return b.replaceLong(nil, data, quoted, b.opt.MaxMediaBytes, 0)
}

// quoted returns a text as a JSON string.
func (b *eventBuilder) quoted(s string) []byte { return b.appendString(nil, s) }

// dataURL returns base64 as a data URL, a JSON string. What is a URL already stays as it is.
func (b *eventBuilder) dataURL(mime string, data []byte) []byte {
	if bytes.HasPrefix(data, []byte("data:")) || bytes.HasPrefix(data, []byte("http://")) || bytes.HasPrefix(data, []byte("https://")) {
		return append(append([]byte{'"'}, data...), '"')
	}
	if mime == "" {
		mime = "application/octet-stream"
	}
	head := b.appendString(nil, "data:"+mime+";base64,")
	url := make([]byte, 0, len(head)+len(data))
	return append(append(append(url, head[:len(head)-1]...), data...), '"')
}
