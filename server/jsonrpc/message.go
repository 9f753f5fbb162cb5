// Package jsonrpc checks a message and reads its envelope before the transports
// pass it to mcp-go, and builds the answers to refused messages.
//
// A message that lenient JSON readers could interpret differently is refused
// (BAD-INPUT 16–21, 26). The answer to a refused message has the id of the
// request whenever the message has exactly one valid id. That holds also for a
// message that is too large to be kept in memory, which is scanned: on stdio for
// one of any size, over HTTP up to the size that package edge reads (BAD-INPUT 8,
// 27).
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
)

// maxDepth is how deep a message may nest; MCP itself needs fewer than ten
// levels.
const maxDepth = 64

// Message is the part of a message that the transports use before they pass it
// to mcp-go.
type Message struct {
	Method string // empty for a response
	// ID is the message's id as JSON; nil for a notification.
	ID json.RawMessage
	// Client is the clientInfo of an initialize request, and Capabilities its capabilities.
	Client       mcp.Implementation
	Capabilities mcp.ClientCapabilities
	// Modern is true when _meta names a protocol version without sessions. A message
	// that names an older one belongs to a session, as for mcp-go.
	Modern bool
	// Arguments are the arguments of a tools/call request, if they are an object.
	Arguments json.RawMessage
	// Brief is the message as mcp-go is to read it, which reads a message several
	// times: with {} for the Arguments.
	Brief json.RawMessage
}

// Error is the reason why a message is refused.
type Error struct {
	Code int // a JSON-RPC error code
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Refuse returns an error with a JSON-RPC error code.
func Refuse(code int, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Answer returns the JSON-RPC error response to the request with an id. A nil
// id is sent as null.
func (e *Error) Answer(id json.RawMessage) mcp.JSONRPCMessage {
	return mcp.NewJSONRPCError(RequestID(id), e.Code, e.Text, nil)
}

// RequestID converts an id from JSON to mcp-go's type. The result is null when
// id is neither a string nor an integer, also when it is empty.
func RequestID(id json.RawMessage) mcp.RequestId {
	var text string
	var number int64
	switch {
	case len(id) == 0:
	case json.Unmarshal(id, &text) == nil:
		return mcp.NewRequestId(text)
	case json.Unmarshal(id, &number) == nil:
		return mcp.NewRequestId(number)
	}
	return mcp.NewRequestId(nil)
}

// TooLarge returns the answer to a message of more than [todo.MaxRequest] bytes,
// which was scanned. The answer to a tool call is a tool error, which the model
// sees and can react to. It is nil for a notification and a response, which
// JSON-RPC does not answer.
func TooLarge(s *Scanner) mcp.JSONRPCMessage {
	if !s.isRequest() {
		return nil
	}
	m := s.Message()
	err := Refuse(mcp.INVALID_REQUEST, "the message is larger than %d bytes", todo.MaxRequest)
	if m.Method != string(mcp.MethodToolsCall) || len(m.ID) == 0 {
		return err.Answer(m.ID)
	}
	text := fmt.Sprintf("Error: the call is larger than %d bytes, and nothing was changed. Send fewer or shorter items", todo.MaxRequest)
	return mcp.NewJSONRPCResultResponse(RequestID(m.ID), mcp.NewToolResultError(text))
}

// Read reads the envelope of a message. It refuses a message that lenient JSON
// readers could interpret differently (BAD-INPUT 16–21, 26, 81): the message must
// be one JSON object of valid UTF-8 without anything after it, with keys that
// differ in more than case and an id that is a string or an integer. Lone
// surrogates are accepted here; the tools report them with their position. With
// an error, Read returns the id and the method as far as [Scanner] finds them.
func Read(raw []byte) (m Message, err *Error) {
	var found parts
	if err = checkStrict(raw, &found); err == nil {
		m, err = found.message(raw)
	}
	if err != nil {
		var scan Scanner
		scan.Write(raw)
		return scan.Message(), err
	}
	return m, nil
}

// CheckObject refuses a JSON object that lenient readers could interpret
// differently, by the rules of [Read] for the parts of a message. It is for
// objects that come in no message.
func CheckObject(raw []byte) *Error { return checkStrict(raw, nil) }

// parts are the values in a message that [Message] is made from, as they stand in it.
type parts struct {
	id, method, response, arguments, client, capabilities, version json.RawMessage
	argumentsEnd                                                   int // where they end
}

// at returns the part at a depth that is reached by these keys; nil if it is none.
func (p *parts) at(depth int, names [3]string) *json.RawMessage {
	clear(names[depth:])
	switch names {
	case [3]string{"id"}:
		return &p.id
	case [3]string{"method"}:
		return &p.method
	case [3]string{"result"}, [3]string{"error"}:
		return &p.response
	case [3]string{"params", "arguments"}:
		return &p.arguments
	case [3]string{"params", "clientInfo"}:
		return &p.client
	case [3]string{"params", "capabilities"}:
		return &p.capabilities
	case [3]string{"params", "_meta", mcp.MetaKeyProtocolVersion}:
		return &p.version
	}
	return nil
}

// checkStrict checks an object, and finds the parts of it if it is a message. With nil
// it is a part of one, where no key is the protocol's.
func checkStrict(raw []byte, found *parts) *Error {
	if !utf8.Valid(raw) {
		return Refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the message is written to.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), jsontext.AllowInvalidUTF8(true))
	switch d.PeekKind() {
	case '{':
	case '[':
		return Refuse(mcp.INVALID_REQUEST, "batches are not supported, send one message at a time")
	default:
		return Refuse(mcp.PARSE_ERROR, "the message is not a JSON object")
	}
	seen := make([]keys, 0, 8) // of the objects and arrays around a token
	var names [3]string        // the keys by which a token is reached, from the outside
	var ends [3]int            // where each key ends
	for depth := -1; depth != 0; {
		token, err := d.ReadToken()
		if err != nil {
			return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: %s", reason(err))
		}
		depth = d.StackDepth()
		offset := int(d.InputOffset())
		switch in, n := d.StackIndex(depth); {
		case token.Kind() == '{' || token.Kind() == '[':
			if depth > maxDepth {
				return Refuse(mcp.PARSE_ERROR, "the message nests deeper than %d levels", maxDepth)
			}
			if seen = append(seen, keys{}); depth <= len(names) {
				names[depth-1] = ""
			}
			continue
		case token.Kind() == '}' || token.Kind() == ']':
			seen = seen[:depth]
		case in == '{' && n%2 == 1:
			key := token.String()
			if depth <= len(names) {
				names[depth-1], ends[depth-1] = key, offset
			}
			var protocol []string
			switch {
			case found != nil && depth == 1:
				protocol = messageKeys
			case found != nil && depth == 2 && names[0] == "params":
				protocol = paramsKeys
			}
			if err := seen[depth-1].check(key, protocol); err != nil {
				return err
			}
			continue
		}
		// A value has ended.
		if found == nil || depth == 0 || depth > len(names) || names[depth-1] == "" {
			continue
		}
		if part := found.at(depth, names); part != nil {
			*part = bytes.TrimLeft(raw[ends[depth-1]:offset:offset], " \t\r\n:")
			if part == &found.arguments {
				found.argumentsEnd = offset
			}
		}
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return Refuse(mcp.PARSE_ERROR, "there is text behind the message")
	}
	return nil
}

// reason returns a text for a decoder's error that quotes nothing of the
// message.
func reason(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "an object has the same key twice"
	case errors.As(err, &syntax):
		return fmt.Sprintf("syntax error at byte %d", syntax.ByteOffset)
	}
	return "syntax error"
}

// message returns the message that has these parts. What has another shape than the
// protocol's is left out: mcp-go refuses it.
func (p *parts) message(raw []byte) (Message, *Error) {
	m := Message{ID: p.id, Brief: raw}
	if len(p.method) > 0 && string(p.method) != "null" && p.method[0] != '"' {
		return m, Refuse(mcp.INVALID_REQUEST, "method must be a string")
	}
	m.Method = unquote(p.method)
	// mcp-go would take a message without a method for a response and never answer it.
	isResponse := p.response != nil && p.method == nil
	if m.Method == "" && !isResponse {
		return m, Refuse(mcp.INVALID_REQUEST, "the message is neither a request with a method nor a response")
	}
	if err := checkID(m.ID); err != nil {
		return m, err
	}
	m.Modern = mcp.IsModernProtocol(unquote(p.version))
	switch {
	case m.Method == string(mcp.MethodInitialize):
		decode(p.client, &m.Client)
		decode(p.capabilities, &m.Capabilities)
	case m.Method == string(mcp.MethodToolsCall) && len(p.arguments) > 0 && p.arguments[0] == '{':
		m.Arguments = p.arguments
		m.Brief = slices.Concat(raw[:p.argumentsEnd-len(p.arguments)], []byte("{}"), raw[p.argumentsEnd:])
	}
	return m, nil
}

// unquote returns the text of a string in JSON, "" for anything else. Half a surrogate
// pair is replaced.
func unquote(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// decode decodes JSON that passed the strict reader, as far as it has the shape.
func decode(raw []byte, into any) {
	if len(raw) > 0 {
		_ = jsonv2.Unmarshal(raw, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	}
}

// checkID returns an error unless an id is missing, a string, or an integer
// within ±2^53, which a float64 represents exactly.
func checkID(id json.RawMessage) *Error {
	if len(id) == 0 || id[0] == '"' {
		return nil
	}
	var n int64
	if err := json.Unmarshal(id, &n); err != nil || string(id) == "null" || n > 1<<53 || n < -1<<53 {
		return Refuse(mcp.INVALID_REQUEST, "id must be a string or an integer")
	}
	return nil
}

// keys are the folded keys of an object. Most objects have few.
type keys struct {
	few  [8]string
	n    int             // of few
	many map[string]bool // the rest
}

// check adds a key, and refuses one that a lenient reader could confuse with another:
// one with a control character, one that differs from an earlier key of its object only
// in case, or one that differs from a key of the protocol only in case.
func (k *keys) check(key string, protocol []string) *Error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return Refuse(mcp.PARSE_ERROR, "a key has a control character in it")
	}
	folded := strings.ToLower(strings.ToUpper(key))
	switch {
	case slices.Contains(k.few[:k.n], folded) || k.many[folded]:
		return Refuse(mcp.PARSE_ERROR, "an object has two keys that differ only in case")
	case k.n < len(k.few):
		k.few[k.n] = folded
		k.n++
	case k.many == nil:
		k.many = map[string]bool{folded: true}
	default:
		k.many[folded] = true
	}
	for _, want := range protocol {
		if want != key && strings.EqualFold(want, key) {
			return Refuse(mcp.PARSE_ERROR, "a key differs from %q only in case", want)
		}
	}
	return nil
}

// The keys that the protocol defines for a message and its params.
var (
	messageKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsKeys  = []string{"name", "arguments", "_meta", "uri", "requestId", "protocolVersion", "clientInfo", "capabilities",
		"cursor", "ref", "argument", "notifications", "task"}
)
