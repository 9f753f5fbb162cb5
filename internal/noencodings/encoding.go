// Package encoding stands in for github.com/gdamore/encoding, of which the terminal library
// uses two encodings, and which fills the tables of five when a program starts: a twentieth
// of that. The viewer shows UTF-8 on every terminal (internal/watch). The replacement is in
// go.mod.
package encoding

import "golang.org/x/text/encoding"

// UTF8 is UTF-8, of which it verifies that it is valid.
var UTF8 encoding.Encoding = utf8{}

// ASCII is UTF-8 as well, in which ASCII is what it is.
var ASCII = UTF8

type utf8 struct{}

func (utf8) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: encoding.UTF8Validator}
}

func (utf8) NewEncoder() *encoding.Encoder {
	return &encoding.Encoder{Transformer: encoding.UTF8Validator}
}
