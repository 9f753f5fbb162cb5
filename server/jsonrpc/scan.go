package jsonrpc

import (
	"encoding/json"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
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
	// those that are no objects and arrays. It ends with maxOutline bytes.
	outline []byte
}

const maxOutline = 16 << 10

// Write scans the next piece of the message. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	for _, b := range p {
		before := s.depth
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
			s.outline = append(s.outline, b)
		}
	}
	return len(p), nil
}

// member is a key in an outline and its value, which is empty for an object or array, up
// to what ends it; nothing ends a value that is cut off.
var member = regexp.MustCompile(`("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"|[^\s",}]*)\s*([,}]|$)`)

// find returns the method and the id that were found, how often the key id came, and
// whether the message has the key of a response.
func (s *Scanner) find() (m Message, ids int, isResponse bool) {
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
			m.Method = ""
			_ = json.Unmarshal(value, &m.Method)
		case "result", "error":
			isResponse = true
		}
	}
	if ids != 1 || !json.Valid(m.ID) || checkID(m.ID) != nil {
		m.ID = nil
	}
	return m, ids, isResponse
}

// Message returns the method and the id that were found; its other fields are
// zero. The id is nil unless the key came exactly once and its value is valid. Without a
// method both are empty: an answer to a client's response would look to the
// client like the answer to another of its requests.
func (s *Scanner) Message() Message {
	m, _, _ := s.find()
	if m.Method == "" {
		return Message{}
	}
	return m
}

// isRequest reports whether the message may be a request, which must be answered.
// It is none if it is a response, or a whole message with a method and no id: a
// notification. What is cut off may have had an id.
func (s *Scanner) isRequest() bool {
	m, ids, isResponse := s.find()
	notification := m.Method != "" && ids == 0 && s.depth == 0
	return !notification && (m.Method != "" || !isResponse)
}
