// Package jsonrpc checks a message and reads its envelope before the transports
// pass it to mcp-go, and builds the answers to refused messages.
//
// A message that lenient JSON readers could interpret differently is refused
// (BAD-INPUT 16 and 21). The answer to a refused message has the id of the
// request whenever the message has exactly one valid id. On stdio that holds also for a
// message that is too large to be kept in memory, which is scanned (BAD-INPUT 27).
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
	// maxDepth is how deep a message may nest; MCP itself needs fewer than ten levels.
	maxDepth = 64
	// maxID is how many bytes an id may have: a stream keeps it as long as it is open.
	maxID = 256
	// maxListen is how many bytes subscriptions/listen may have, which opens a stream: a
	// hundred addresses of 200 bytes, and three times as much beside them.
	maxListen = 64 << 10
)

// Message is the part of a message that the transports use before they pass it
// to mcp-go.
type Message struct {
	Method string // empty for a response
	// ID is the message's id as JSON; nil for a notification.
	ID json.RawMessage
	// Protocol is the protocol version that _meta names; empty for none. Modern is true
	// when that has no sessions: a message that names an older one belongs to a session,
	// as for mcp-go.
	Protocol string
	Modern   bool
	// Arguments are the arguments of a tools/call request, if they are an object.
	Arguments json.RawMessage
	// Brief is the message as mcp-go is to read it, which reads a message several
	// times: with {} for the Arguments.
	Brief json.RawMessage
	// Params are the params as they stand in Brief; nil for none.
	Params json.RawMessage
}

// Decode decodes the params of the message as far as they have the shape. What has
// another one is left out: mcp-go refuses it.
func (m Message) Decode(params any) { _ = json.Unmarshal(m.Params, params) }

// Error is the reason why a message is refused.
type Error mcp.JSONRPCErrorDetails

// Refuse returns an error with a JSON-RPC error code.
func Refuse(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Answer returns the JSON-RPC error response to the request with an id. A nil
// id is sent as null.
func (e *Error) Answer(id json.RawMessage) mcp.JSONRPCMessage {
	return mcp.NewJSONRPCError(RequestID(id), e.Code, e.Message, e.Data)
}

// RequestID converts an id from JSON to mcp-go's type. The result is null when id is
// neither a string nor a number, also when it is empty.
func RequestID(id json.RawMessage) (out mcp.RequestId) {
	_ = json.Unmarshal(id, &out)
	return out
}

// TooLarge returns the answer to a message of more than [todo.MaxRequest] bytes,
// which was scanned. The answer to a tool call is a tool error, which the model
// sees and can react to. It is nil for a notification and a response, which
// JSON-RPC does not answer.
func TooLarge(s *Scanner) mcp.JSONRPCMessage {
	m, mayBeRequest := s.Message()
	if !mayBeRequest {
		return nil
	}
	err := Refuse(mcp.INVALID_REQUEST, "the message is larger than %d bytes", todo.MaxRequest)
	if m.Method != string(mcp.MethodToolsCall) || len(m.ID) == 0 {
		return err.Answer(m.ID)
	}
	text := fmt.Sprintf("Error: the call is larger than %d bytes, and nothing was changed. Send fewer or shorter items", todo.MaxRequest)
	return mcp.NewJSONRPCResultResponse(RequestID(m.ID), mcp.NewToolResultError(text))
}

// Read reads the envelope of a message. It refuses a message that lenient JSON
// readers could interpret differently (BAD-INPUT 16, 21 and 81): the message must
// be one JSON object of valid UTF-8 without anything after it, with keys that
// differ in more than case and an id that is a string or an integer. Lone
// surrogates are accepted here; the tools report them with their position. With
// an error, Read returns the id and the method as far as [Scanner] finds them.
// It changes raw: where the protocol has an object, [] becomes {} (BAD-INPUT 163).
func Read(raw []byte) (m Message, err *Error) {
	defer func() {
		if err != nil {
			var scan Scanner
			scan.Write(raw)
			m, _ = scan.Message()
		}
	}()
	r := reader{raw: raw}
	if err := r.read(key{members: ofMessage}); err != nil {
		return m, err
	}
	p := &r.parts
	m = Message{ID: json.RawMessage(p[id]), Brief: raw}
	if kind := p[method].Kind(); p[method] != nil && kind != 'n' && kind != '"' {
		return m, Refuse(mcp.INVALID_REQUEST, "method must be a string")
	}
	_ = json.Unmarshal(p[method], &m.Method)
	// mcp-go would take a message without a method for a response and never answer it.
	isResponse := p[response] != nil && p[method] == nil
	if m.Method == "" && !isResponse {
		return m, Refuse(mcp.INVALID_REQUEST, "the message is neither a request with a method nor a response")
	}
	if err := checkID(m.ID); err != nil {
		return m, err
	}
	if m.Method == string(mcp.MethodSubscriptionsListen) {
		if len(raw) > maxListen {
			return m, Refuse(mcp.INVALID_REQUEST, "%s is larger than %d bytes", m.Method, maxListen)
		}
		m.ID = bytes.Clone(m.ID) // its stream keeps no more than that
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

// CheckObject refuses a JSON object that lenient readers could interpret
// differently, by the rules of [Read] for the parts of a message. It is for
// objects that come in no message.
func CheckObject(raw []byte) *Error {
	r := reader{raw: raw}
	return r.read(key{})
}

// part is a value of a message that [Message] is made from.
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

// key is a key of an object, and what its value may be.
type key struct {
	part    part
	members keys // nil where no key of its value is the protocol's
	// objects is how deep the value is of objects alone: 1 for itself. PHP and Lua, which
	// have one type for both, write an empty one as [].
	objects int
}

// ofMessage are the keys of a message.
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
	raw  []byte
	json *jsontext.Decoder
	// parts are as they stand in raw, and nil where there is none.
	parts [parts]jsontext.Value
	ends  [parts]int64 // where they end in raw
}

// read reads the whole, which must be an object.
func (r *reader) read(is key) *Error {
	if !utf8.Valid(r.raw) {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the message is written to.
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

// value reads the value of a key.
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

// members reads the members of an object up to its end. It refuses a key that a lenient
// reader could confuse with another: one with a control character, and one that differs
// only in case from another or from a key of the protocol.
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

// syntax returns the refusal for a decoder's error, which quotes nothing of the message.
func syntax(err error) *Error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: it ends too early")
	} else if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: syntax error at byte %d", at.ByteOffset)
	}
	return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON")
}

// checkID returns an error unless an id is missing, a string of at most maxID bytes, or
// an integer between -2^53 and 2^53, which a float64 represents exactly. Clients whose numbers
// are all floats write 7 as 7.0; the answer has the same number.
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
