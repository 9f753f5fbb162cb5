// Package jsonrpc checks messages and reads their envelopes before the transports pass them to mcp-go, and builds the
// answers to refused messages.
//
// A message that lenient JSON readers could interpret differently is refused (BAD-INPUT 16 and 21). The answer to a
// refused message has the request's id if the message has exactly one valid id before any error of the syntax.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	maxDepth  = 64       // levels of nesting; MCP needs fewer than ten
	maxID     = 256      // bytes of an id, which an open stream keeps
	maxListen = 64 << 10 // bytes of subscriptions/listen: a hundred URIs of 200 bytes, and more than as much beside
)

// Message is what the transports use of a message before they pass it to mcp-go.
type Message struct {
	Method    string          // empty for a response
	ID        json.RawMessage // nil for a notification
	Protocol  string          // the protocol version that _meta names; empty for none
	Modern    bool            // that version has no sessions
	Arguments json.RawMessage // of a tools/call request, if they are an object
	Brief     json.RawMessage // the message for mcp-go, which parses it several times: with {} for the Arguments
	Params    json.RawMessage // as they stand in Brief; nil for none
}

// Decode decodes params, and ignores values of another type, which mcp-go refuses.
func (m Message) Decode(params any) { _ = json.Unmarshal(m.Params, params) }

// Error is the reason why a message is refused.
type Error mcp.JSONRPCErrorDetails

// Refuse returns an error with a JSON-RPC error code.
func Refuse(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Answer returns the error response to a request. A nil id is sent as null.
func (e *Error) Answer(id json.RawMessage) mcp.JSONRPCMessage {
	return mcp.NewJSONRPCError(RequestID(id), e.Code, e.Message, e.Data)
}

// RequestID converts an id from JSON to mcp-go's type. The result is null unless id is a string or a number.
func RequestID(id json.RawMessage) (out mcp.RequestId) {
	_ = json.Unmarshal(id, &out)
	return out
}

// Read reads the envelope of a message of at most [todo.MaxRequest] bytes. It refuses messages that lenient JSON
// readers could interpret differently (BAD-INPUT 16, 21 and 81): a message must be one JSON object of valid UTF-8 with
// nothing after it. Its keys must differ in more than case, and its id must be a string or an integer. Lone surrogates
// are accepted here; the tools report them with their position. With an error Read returns the id and the method if
// they come before any syntax error. It changes raw: where the protocol has an object, [] becomes {} (BAD-INPUT 163).
func Read(raw []byte) (m Message, err *Error) {
	defer func() {
		if err != nil {
			m = envelope(raw)
		}
	}()
	if len(raw) > todo.MaxRequest {
		return m, Refuse(mcp.INVALID_REQUEST, "the message is larger than %d bytes, and nothing was changed: send fewer or shorter items", todo.MaxRequest)
	}
	r := reader{raw: raw}
	if err := r.read(key{members: ofMessage}); err != nil {
		return m, err
	}
	p := &r.parts
	m = Message{ID: json.RawMessage(p[id]), Brief: raw}
	_ = json.Unmarshal(p[method], &m.Method)
	// mcp-go would take a message without a method for a response and never answer it.
	isResponse := p[response] != nil && p[method] == nil
	if m.Method == "" && !isResponse {
		return m, Refuse(mcp.INVALID_REQUEST, "the message is neither a request, with a string as method, nor a response")
	}
	if err := checkID(m.ID); err != nil {
		return m, err
	}
	if m.Method == string(mcp.MethodSubscriptionsListen) {
		if len(raw) > maxListen {
			return m, Refuse(mcp.INVALID_REQUEST, "%s is larger than %d bytes", m.Method, maxListen)
		}
		m.ID = bytes.Clone(m.ID) // so that its stream does not keep the whole message
	}
	_ = json.Unmarshal(p[version], &m.Protocol)
	m.Modern = mcp.IsModernProtocol(m.Protocol)
	m.Params = json.RawMessage(p[params])
	if m.Method == string(mcp.MethodToolsCall) && p[arguments].Kind() == '{' {
		m.Arguments = json.RawMessage(p[arguments])
		begin, end := r.ends[arguments]-int64(len(m.Arguments)), r.ends[arguments]
		m.Brief = slices.Concat(raw[:begin], []byte("{}"), raw[end:])
		begin = r.ends[params] - int64(len(m.Params))
		m.Params = m.Brief[begin : r.ends[params]-int64(len(raw)-len(m.Brief))]
	}
	return m, nil
}

// CheckObject refuses a JSON object outside a message by the rules of [Read].
func CheckObject(raw []byte) *Error {
	r := reader{raw: raw}
	return r.read(key{})
}

// part is a value of a message that [Message] needs.
type part int

const (
	none part = iota
	id
	method
	response
	params
	arguments
	version
	parts
)

// keys are the keys that the protocol defines for an object.
type keys map[string]key

type key struct {
	part    part
	members keys // keys of the value; nil if the protocol defines none
	// objects is how many levels of the value, beginning with the value itself, must be objects. There, [] is read as
	// {}: PHP and Lua have one type for objects and arrays, and write an empty object as [].
	objects int
}

var ofMessage = keys{
	"jsonrpc": {}, "id": {part: id}, "method": {part: method}, "result": {part: response}, "error": {part: response},
	"params": {part: params, objects: 1, members: keys{
		"name": {}, "arguments": {part: arguments, objects: 1}, "uri": {}, "requestId": {}, "protocolVersion": {},
		"clientInfo": {objects: 1}, "capabilities": {objects: maxDepth}, "cursor": {}, "ref": {}, "argument": {},
		"notifications": {objects: 1}, "task": {objects: 1}, "_meta": {objects: 1, members: keys{
			mcp.MetaKeyProtocolVersion: {part: version}, mcp.MetaKeyClientCapabilities: {objects: maxDepth},
		}},
	}},
}

// reader reads a message strictly, and finds its parts.
type reader struct {
	raw   []byte
	json  *jsontext.Decoder
	parts [parts]jsontext.Value // parts of raw; nil if missing
	ends  [parts]int64          // their ends in raw
}

// read reads the message, which must be an object.
func (r *reader) read(is key) *Error {
	if !utf8.Valid(r.raw) {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	// The decoder reads a bytes.Buffer in place; its capacity is cut off, so that nothing behind the message is
	// overwritten.
	r.json = jsontext.NewDecoder(bytes.NewBuffer(r.raw[:len(r.raw):len(r.raw)]),
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	switch r.json.PeekKind() {
	case '{':
	case '[':
		return Refuse(mcp.INVALID_REQUEST, "batches are not supported, send one message at a time")
	default:
		return Refuse(mcp.PARSE_ERROR, "the message is not a JSON object")
	}
	if err := r.value(is); err != nil {
		return err
	}
	if len(bytes.TrimSpace(r.raw[r.json.InputOffset():])) > 0 {
		return Refuse(mcp.PARSE_ERROR, "there is text behind the message")
	}
	return nil
}

func (r *reader) value(is key) *Error {
	token, err := r.json.ReadToken()
	switch {
	case err != nil:
		return syntax(err)
	case r.json.StackDepth() > maxDepth:
		return Refuse(mcp.PARSE_ERROR, "the message nests deeper than %d levels", maxDepth)
	case token.Kind() == '{':
		return r.members(is)
	case token.Kind() == '[':
		begin, isEmpty := r.json.InputOffset()-1, r.json.PeekKind() == ']'
		for r.json.PeekKind() != ']' {
			if err := r.value(key{}); err != nil {
				return err
			}
		}
		_, _ = r.json.ReadToken()
		if isEmpty && is.objects > 0 {
			r.raw[begin], r.raw[r.json.InputOffset()-1] = '{', '}'
		}
	}
	return nil
}

// members reads an object up to its end. It refuses keys that a lenient reader could confuse with others: with a
// control character, or equal but for case to another or to a key of the protocol.
func (r *reader) members(of key) *Error {
	seen := make(map[string]bool)
	for r.json.PeekKind() != '}' {
		token, err := r.json.ReadToken()
		if err != nil {
			return syntax(err)
		}
		name := token.String()
		if strings.ContainsFunc(name, unicode.IsControl) {
			return Refuse(mcp.PARSE_ERROR, "a key has a control character in it")
		}
		folded := strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, name)
		if seen[folded] {
			return Refuse(mcp.PARSE_ERROR, "an object has a key twice, or two keys that differ only in case")
		}
		seen[folded] = true
		is, ok := of.members[name]
		if !ok {
			is.objects = of.objects - 1
			for want := range of.members {
				if strings.EqualFold(want, name) {
					return Refuse(mcp.PARSE_ERROR, "a key differs from %q only in case", want)
				}
			}
		}
		begin := r.json.InputOffset()
		if err := r.value(is); err != nil {
			return err
		}
		if end := r.json.InputOffset(); is.part != none {
			r.parts[is.part] = bytes.TrimLeft(r.raw[begin:end:end], " \t\r\n:")
			r.ends[is.part] = end
		}
	}
	_, _ = r.json.ReadToken()
	return nil
}

// syntax turns a decoder's error into one for the client, which does not quote the message.
func syntax(err error) *Error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: it ends too early")
	} else if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: syntax error at byte %d", at.ByteOffset)
	}
	return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON")
}

// checkID returns an error unless an id is missing, a string of at most maxID bytes, or an integer between -2^53 and
// 2^53, which a float64 has exactly. 7.0 is an integer: some clients have floats only, and the answer repeats the
// number.
func checkID(id json.RawMessage) *Error {
	if len(id) > maxID {
		return Refuse(mcp.INVALID_REQUEST, "id is longer than %d bytes", maxID)
	}
	if len(id) == 0 || id[0] == '"' {
		return nil
	}
	n, err := strconv.ParseFloat(string(id), 64)
	if jsontext.Value(id).Kind() != '0' || err != nil || n != math.Trunc(n) || math.Abs(n) >= 1<<53 {
		return Refuse(mcp.INVALID_REQUEST, "id must be a string or an integer")
	}
	return nil
}

// envelope returns the method and the id of a message that is refused, and may be cut off; other fields are zero. It
// reads up to a syntax error, since a client whose answer lacks the id waits for its own timeout. The id is nil unless
// its key came exactly once with a valid value. Without a method both are empty: the message may be a response, and the
// client could take an answer to it for the answer to one of its own requests.
func envelope(raw []byte) (m Message) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	ids := 0
	begin, err := d.ReadToken()
	for isObject := begin.Kind() == '{'; isObject && err == nil && d.PeekKind() == '"'; {
		name, _ := d.ReadToken()
		key, value := name.String(), jsontext.Value(nil)
		if value, err = d.ReadValue(); d.InputOffset() == int64(len(raw)) {
			value = nil // it may be cut off
		}
		switch key {
		case "id":
			ids++
			m.ID = bytes.Clone(value)
		case "method":
			m.Method = ""
			_ = json.Unmarshal(value, &m.Method)
		}
	}
	if m.Method == "" {
		return Message{}
	}
	if ids != 1 || checkID(m.ID) != nil {
		m.ID = nil
	}
	return m
}
