package jsonrpc

import (
	"bytes"
	"encoding/json"
)

const (
	maxScannedKey   = 16  // longer than any key that is looked for
	maxScannedValue = 256 // longer than any id or method worth an answer
)

// Scanner finds the id and the method of a message that is too long, or too
// broken, to be read: it is written the message in pieces and keeps a constant
// amount of it. It knows how strings and nesting go and nothing else of JSON. The
// zero value is ready.
type Scanner struct {
	depth   int  // of the value that is being scanned; 1 is the message itself
	quoted  bool // within a string
	escaped bool // behind a backslash in a string
	inValue bool // behind a key of the message and its colon

	key, value   capture
	id, method   []byte
	idIsRepeated bool
}

// capture keeps what is scanned as long as it is short.
type capture struct {
	data []byte
	long bool
}

func (c *capture) add(b byte, most int) {
	if len(c.data) >= most {
		c.long = true
		return
	}
	c.data = append(c.data, b)
}

func (c *capture) reset() { c.data, c.long = c.data[:0], false }

// text returns what was kept; nil when it was too long.
func (c *capture) text() []byte {
	if c.long {
		return nil
	}
	return bytes.TrimSpace(c.data)
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
			s.key.reset()
		}
	case b == '{' || b == '[':
		s.depth++
	case b == '}' || b == ']':
		if s.depth == 1 {
			s.endValue()
		}
		s.depth--
	case b == ':' && s.depth == 1:
		s.inValue = true
		s.value.reset()
		return
	case b == ',' && s.depth == 1:
		s.endValue()
		return
	}
	s.keep(b)
}

// keep keeps a byte of a key or a value of the message itself.
func (s *Scanner) keep(b byte) {
	switch {
	case s.inValue:
		s.value.add(b, maxScannedValue)
	case s.depth == 1:
		s.key.add(b, maxScannedKey)
	}
}

// endValue takes a value of the message that has ended.
func (s *Scanner) endValue() {
	if !s.inValue {
		return
	}
	s.inValue = false
	value := bytes.Clone(s.value.text())
	switch string(s.key.text()) {
	case `"id"`:
		s.idIsRepeated = s.idIsRepeated || s.id != nil
		s.id = value
	case `"method"`:
		s.method = value
	}
	s.key.reset()
}

// Message returns what was found: the method, and the id that an answer must
// carry. The id is nil unless there was exactly one, and for what is no request:
// a client would take an answer to its own answer for that of another request.
func (s *Scanner) Message() Message {
	var m Message
	if json.Unmarshal(s.method, &m.Method) != nil || m.Method == "" {
		return Message{}
	}
	if !s.idIsRepeated && json.Valid(s.id) && checkID(s.id) == nil {
		m.ID = s.id
	}
	return m
}
