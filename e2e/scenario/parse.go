package scenario

import (
	"bufio"
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// step is a request and what must come back.
type step struct {
	name    string
	method  string
	target  string
	header  http.Header
	body    string
	status  int
	expect  http.Header // substrings of headers
	answer  string      // JSON; "" for anything
	without []string
}

var statusName = regexp.MustCompile(`^[1-5][0-9][0-9]$`)

// parse reads the steps of a script.
func parse(script []byte) ([]step, error) {
	var steps []step
	for _, section := range txtar.Parse(script).Files {
		text := string(section.Data)
		switch {
		case statusName.MatchString(section.Name):
			if len(steps) == 0 || steps[len(steps)-1].status != 0 {
				return nil, fmt.Errorf("the answer %s follows no request", section.Name)
			}
			s := &steps[len(steps)-1]
			s.status, _ = strconv.Atoi(section.Name)
			if err := s.readAnswer(text); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		case section.Name == "without":
			if len(steps) == 0 || steps[len(steps)-1].status == 0 {
				return nil, fmt.Errorf(`a section "without" follows no answer`)
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimRight(line, "\n"); line != "" {
					steps[len(steps)-1].without = append(steps[len(steps)-1].without, line)
				}
			}
		default:
			if n := len(steps); n > 0 && steps[n-1].status == 0 {
				return nil, fmt.Errorf("%s has no answer", steps[n-1].name)
			}
			s := step{name: section.Name}
			if err := s.readRequest(text); err != nil {
				return nil, fmt.Errorf("%s: %w", section.Name, err)
			}
			steps = append(steps, s)
		}
	}
	if n := len(steps); n == 0 || steps[n-1].status == 0 {
		return nil, fmt.Errorf("the last request has no answer, or there is none")
	}
	return steps, nil
}

func (s *step) readRequest(text string) error {
	line, rest, _ := strings.Cut(text, "\n")
	var ok bool
	if s.method, s.target, ok = strings.Cut(strings.TrimSpace(line), " "); !ok {
		return fmt.Errorf("%q is no request line", line)
	}
	var err error
	s.header, s.body, err = headers(rest)
	s.body = strings.TrimSpace(s.body)
	return err
}

// readAnswer reads headers only if they come before an empty line.
func (s *step) readAnswer(text string) (err error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[:1], `{["<`) {
		s.answer = text
		return nil
	}
	s.expect, s.answer, err = headers(text + "\n\n")
	s.answer = strings.TrimSpace(s.answer)
	return err
}

// headers reads header lines up to an empty one. Without an empty line, all are headers.
func headers(text string) (http.Header, string, error) {
	if strings.HasPrefix(text, "\n") || text == "" {
		return http.Header{}, text, nil
	}
	head, body, _ := strings.Cut(text, "\n\n")
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "\n\n"))).ReadMIMEHeader()
	return http.Header(h), body, err
}
