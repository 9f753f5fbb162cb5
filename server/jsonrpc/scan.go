package jsonrpc

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"regexp"
)

// Scanner finds the id and the method of a message that is too long or too
// broken to be decoded. The message is written to it in pieces of any size; it
// keeps a constant amount of memory. Of JSON's syntax it interprets strings and
// nesting alone. The zero value is ready to use.
type Scanner struct {
	depth   int  // nesting of the current byte; 1 is the message object itself
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	// outline is what stands in the message object itself: its keys, and of its values
	// those that are no objects and arrays, with ? for a text of more than maxText bytes.
	// It ends with maxOutline bytes.
	outline []byte
	text    int // where the last text begins in outline
}

const (
	maxOutline = 16 << 10
	maxText    = 8 << 10
)

// Write scans the next piece of the message. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	for _, b := range p {
		before, inText := s.depth, s.quoted
		switch {
		case s.quoted:
			s.quoted = s.escaped || b != '"'
			s.escaped = !s.escaped && b == '\\'
		case b == '"':
			s.quoted = true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			s.depth--
		}
		if before == 1 && s.depth <= 1 && len(s.outline) < maxOutline {
			s.keep(b, inText)
		}
	}
	return len(p), nil
}

// keep adds a byte to the outline, which stands in a text or ends one if inText is true.
func (s *Scanner) keep(b byte, inText bool) {
	switch n := len(s.outline); {
	case inText && n-s.text >= maxText:
		if !s.quoted {
			s.outline = append(s.outline[:s.text], '?')
		}
		return
	case inText:
	case s.quoted:
		s.text = n
	case isSpace(b) && n > 0 && isSpace(s.outline[n-1]):
		return
	}
	s.outline = append(s.outline, b)
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// member is a key in an outline and its value, which is empty for an object or array, up
// to what ends it; nothing ends a value that is cut off.
var member = regexp.MustCompile(`("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"|[^\s",}]*)\s*([,}]|$)`)

// Message returns the method and the id that were found; its other fields are
// zero. The id is nil unless the key came exactly once and its value is valid. Without a
// method both are empty: an answer to a client's response would look to the
// client like the answer to another of its requests.
func (s *Scanner) Message() Message {
	m, _ := s.find()
	return m
}

// find returns the [Scanner.Message], and whether it may be a request, which must be
// answered. It is none if it is a response, or a whole message with a method and no id: a
// notification. What is cut off, or stands behind the outline, may have had an id.
func (s *Scanner) find() (m Message, isRequest bool) {
	ids, isResponse := 0, false
	for _, found := range member.FindAllSubmatch(s.outline, -1) {
		value := found[2]
		if len(found[3]) == 0 {
			value = nil
		}
		switch text(jsontext.Value(found[1])) {
		case "id":
			ids++
			m.ID = value
		case "method":
			m.Method = text(jsontext.Value(value))
		case "result", "error":
			isResponse = true
		}
	}
	if m.Method == "" {
		return Message{}, !isResponse
	}
	if ids != 1 || !json.Valid(m.ID) || checkID(m.ID) != nil {
		m.ID = nil
	}
	return m, ids > 0 || s.depth != 0 || len(s.outline) >= maxOutline
}
