package jsonrpc

import (
	"bytes"
	"encoding/json"
)

const (
	maxScannedKey   = 16  // bytes; no key that the scanner looks for is longer
	maxScannedValue = 256 // bytes; a longer id or method is ignored
)

// Scanner finds the id and the method of a message that is too long or too
// broken to be decoded. The message is written to it in pieces of any size; it
// keeps a constant amount of memory. Of JSON's syntax it interprets strings and
// nesting alone. The zero value is ready to use.
type Scanner struct {
	depth   int  // nesting of the current byte; 1 is the message object itself
	quoted  bool // within a string
	escaped bool // after a backslash in a string
	inValue bool // after a key of the message object and its colon

	key, value []byte // at most one byte longer than the limits above
	id, method []byte
	ids        int  // how often the key id came
	response   bool // the key result or error came
}

// Write scans the next piece of the message. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	for _, b := range p {
		s.scan(b)
	}
	return len(p), nil
}

func (s *Scanner) scan(b byte) {
	switch {
	case s.quoted:
		s.keep(b)
		s.quoted = s.escaped || b != '"'
		s.escaped = !s.escaped && b == '\\'
		return
	case b == '"':
		s.quoted = true
		if s.depth == 1 && !s.inValue {
			s.key = s.key[:0]
		}
	case b == '{' || b == '[':
		s.depth++
	case b == '}' || b == ']':
		if s.depth == 1 {
			s.endValue()
		}
		s.depth--
	case b == ':' && s.depth == 1:
		s.beginValue()
		return
	case b == ',' && s.depth == 1:
		s.endValue()
		return
	}
	s.keep(b)
}

// keep adds a byte to the current key or value of the message object.
func (s *Scanner) keep(b byte) {
	switch {
	case s.inValue && len(s.value) <= maxScannedValue:
		s.value = append(s.value, b)
	case !s.inValue && s.depth == 1 && len(s.key) <= maxScannedKey:
		s.key = append(s.key, b)
	}
}

// beginValue begins the value of the key that was read.
func (s *Scanner) beginValue() {
	s.inValue = true
	s.value = s.value[:0]
	switch string(bytes.TrimSpace(s.key)) {
	case `"id"`:
		s.ids++
	case `"result"`, `"error"`:
		s.response = true
	}
}

// endValue records the value that just ended if its key is id or method.
func (s *Scanner) endValue() {
	if !s.inValue {
		return
	}
	s.inValue = false
	var value []byte // of one that is too long, nothing
	if len(s.value) <= maxScannedValue {
		value = bytes.Clone(bytes.TrimSpace(s.value))
	}
	switch string(bytes.TrimSpace(s.key)) {
	case `"id"`:
		s.id = value
	case `"method"`:
		s.method = value
	}
	s.key = s.key[:0]
}

// Message returns the method and the id that were found; its other fields are
// zero. The id is nil unless the key came exactly once and its value is valid. Without a
// method both are empty: an answer to a client's response would look to the
// client like the answer to another of its requests.
func (s *Scanner) Message() Message {
	var m Message
	if json.Unmarshal(s.method, &m.Method) != nil || m.Method == "" {
		return Message{}
	}
	if s.ids == 1 && json.Valid(s.id) && checkID(s.id) == nil {
		m.ID = s.id
	}
	return m
}

// isRequest reports whether the message may be a request, which must be answered.
// It is none if it is a response, or a whole message with a method and no id: a
// notification. What is cut off may have had an id.
func (s *Scanner) isRequest() bool {
	m := s.Message()
	notification := m.Method != "" && s.ids == 0 && s.depth == 0
	return !notification && (m.Method != "" || !s.response)
}
