package jsonrpc

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Scanner finds the id and the method of a message that is too long or broken to be decoded: a client that is
// answered without the id waits for its own timeout. The message is written to it in pieces of any size.
type Scanner struct {
	depth   int  // nesting of the current byte; 1 is the message object itself
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	// outline is the first maxOutline bytes of the message object, without deeper levels, and with []
	// for strings of more than maxText bytes.
	outline []byte
	text    int // where the last string begins in outline
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
			s.quoted, s.text = true, len(s.outline)
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			s.depth--
		case b == '\t' || b == '\r' || b == '\n':
			b = ' '
		}
		switch n := len(s.outline); {
		case min(before, s.depth) > 1 || n >= maxOutline:
		case inText && n-s.text >= maxText:
			if !s.quoted {
				s.outline = append(s.outline[:s.text], "[]"...)
			}
		case inText || b != ' ' || n > 0 && s.outline[n-1] != ' ':
			s.outline = append(s.outline, b)
		}
	}
	return len(p), nil
}

// Message returns the method and the id; other fields are zero. The id is nil unless its key came exactly once with a
// valid value. Without a method both are empty: the client could take an answer to its response for that to one of
// its requests.
//
// mayBeRequest says whether the message must be answered. It is false for a response, and for a whole message with a
// method and no id; a cut-off part may have had an id.
func (s *Scanner) Message() (m Message, mayBeRequest bool) {
	d := jsontext.NewDecoder(bytes.NewReader(s.outline), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	ids, isResponse := 0, false
	begin, err := d.ReadToken()
	for isObject := begin.Kind() == '{'; isObject && err == nil && d.PeekKind() == '"'; {
		name, _ := d.ReadToken()
		key, value := name.String(), []byte(nil)
		value, err = d.ReadValue()
		if value = bytes.Clone(value); d.PeekKind() == 0 {
			value = nil // it may be cut off
		}
		switch key {
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
	if m.Method == "" {
		return Message{}, !isResponse
	}
	if ids != 1 || checkID(m.ID) != nil {
		m.ID = nil
	}
	return m, ids > 0 || s.depth != 0 || len(s.outline) >= maxOutline
}
