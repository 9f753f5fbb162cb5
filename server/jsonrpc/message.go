// Package jsonrpc reads the envelopes of messages before the transports pass them to mcp-go, and builds the answers to
// refused messages.
//
// mcp-go gets a message written anew from the parts read here, so that its lenient reader cannot read something else
// (BAD-INPUT 16). The answer to a refused message has the request's id if a valid id came before the error.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	maxID     = 256      // bytes of an id, which an open stream keeps
	maxListen = 64 << 10 // bytes of subscriptions/listen: over twice the size of a hundred URIs of 200 bytes
)

// Message has the parts of a message that the transports use before they pass it to mcp-go.
type Message struct {
	Method    string          // empty for a response
	ID        json.RawMessage // nil for a notification
	Protocol  string          // the protocol version that _meta names; empty for none
	Modern    bool            // Protocol is a version without sessions
	Arguments json.RawMessage // those of a tools/call request, if they are an object
	Brief     json.RawMessage // the message for mcp-go, with {} for the Arguments, as mcp-go parses it several times
	Params    json.RawMessage // the params as in Brief; nil for none
}

// Decode decodes m.Params into params, and ignores values of a wrong type, which mcp-go refuses.
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

// envelope has the keys of a message that JSON-RPC defines; others are dropped.
type envelope struct {
	JSONRPC jsontext.Value `json:"jsonrpc,omitzero"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  jsontext.Value `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   jsontext.Value `json:"error,omitzero"`
}

// lone is the option that lets lone surrogates pass: the tools report them with their position.
var lone = jsontext.AllowInvalidUTF8(true)

// Read reads a message of at most [todo.MaxRequest] bytes. It must be one JSON object of valid UTF-8 with nothing after
// it and no key twice at any depth (BAD-INPUT 16, 21 and 81). If a message is refused, Read returns its method and id,
// if they came before the error.
func Read(raw []byte) (m Message, refused *Error) {
	var e envelope
	var into any = &e
	if len(raw) > todo.MaxRequest { // refused: only id and method are copied
		into = &struct {
			ID     *jsontext.Value `json:"id"`
			Method *jsontext.Value `json:"method"`
		}{&e.ID, &e.Method}
	}
	err := jsonv2.Unmarshal(raw, into, lone)
	m.ID = json.RawMessage(e.ID)
	_ = json.Unmarshal(e.Method, &m.Method)
	if refused = check(raw, e, m, err); refused == nil {
		refused = m.readParams(&e)
	}
	if refused != nil {
		syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
		isTwice := errors.Is(err, jsontext.ErrDuplicateName) && syntax.JSONPointer == "/id"
		isCut := bytes.HasSuffix(raw, m.ID) // the id may be cut: no byte follows it
		// Without a method the message may be a response. The client could take an answer with its id for the answer to
		// a request of its own.
		if m.Method == "" || isTwice || isCut || checkID(m.ID) != nil {
			m.ID = nil
		}
		return Message{Method: m.Method, ID: m.ID}, refused
	}
	m.Brief, _ = jsonv2.Marshal(e, lone)
	return m, nil
}

// check returns why a message is refused, else nil. err is the error of reading the message's envelope.
func check(raw []byte, e envelope, m Message, err error) *Error {
	switch syntax, _ := errors.AsType[*jsontext.SyntacticError](err); {
	case len(raw) > todo.MaxRequest:
		return Refuse(mcp.INVALID_REQUEST, "the message is larger than %d bytes, and nothing was changed: send fewer or shorter items", todo.MaxRequest)
	case jsontext.Value(raw).Kind() == '[':
		return Refuse(mcp.INVALID_REQUEST, "batches are not supported, send one message at a time")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Refuse(mcp.PARSE_ERROR, "an object has a key twice")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: it ends too early")
	case syntax != nil:
		return Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: syntax error at byte %d", syntax.ByteOffset)
	case err != nil:
		return Refuse(mcp.PARSE_ERROR, "the message is not a JSON object")
	case !utf8.Valid(raw):
		return Refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	case m.Method == "" && (e.Method != nil || e.Result == nil && e.Error == nil):
		// mcp-go would take a message without a method for a response and never answer it.
		return Refuse(mcp.INVALID_REQUEST, "the message is neither a request, with a string as method, nor a response")
	case m.Method == string(mcp.MethodSubscriptionsListen) && len(raw) > maxListen:
		return Refuse(mcp.INVALID_REQUEST, "%s is larger than %d bytes", m.Method, maxListen)
	}
	return checkID(m.ID)
}

// objects says, for each param, how many levels from its value down are objects in the protocol.
var objects = map[string]int{
	"name": 0, "arguments": 1, "uri": 0, "requestId": 0, "protocolVersion": 0, "clientInfo": 1, "capabilities": everyLevel,
	"cursor": 0, "ref": 0, "argument": 0, "notifications": 1, "task": 1, "_meta": 1,
}

const everyLevel = 2

// readParams reads the params that the transports use, and writes all params anew: without the arguments of a tool, and
// with {} for each [] that should be an object (BAD-INPUT 163).
func (m *Message) readParams(e *envelope) *Error {
	var params, meta map[string]jsontext.Value
	e.Params = object(e.Params, 1)
	if jsonv2.Unmarshal(e.Params, &params, lone) != nil {
		m.Params = json.RawMessage(e.Params)
		return nil // no params, or not an object, which mcp-go refuses
	}
	for name, value := range params {
		for known := range objects {
			if name != known && strings.EqualFold(name, known) { // mcp-go ignores case
				return Refuse(mcp.PARSE_ERROR, "a param differs from %q only in case", known)
			}
		}
		params[name] = object(value, objects[name])
	}
	if m.Method == string(mcp.MethodToolsCall) && params["arguments"].Kind() == '{' {
		m.Arguments = json.RawMessage(params["arguments"])
		params["arguments"] = jsontext.Value("{}")
	}
	if jsonv2.Unmarshal(params["_meta"], &meta, lone) == nil {
		_ = json.Unmarshal(meta[mcp.MetaKeyProtocolVersion], &m.Protocol)
		m.Modern = mcp.IsModernProtocol(m.Protocol)
		if capabilities := meta[mcp.MetaKeyClientCapabilities]; bytes.Contains(capabilities, []byte("[")) {
			meta[mcp.MetaKeyClientCapabilities] = object(capabilities, everyLevel)
			params["_meta"], _ = jsonv2.Marshal(meta, lone, jsonv2.Deterministic(true))
		}
	}
	e.Params, _ = jsonv2.Marshal(params, lone, jsonv2.Deterministic(true))
	m.Params = json.RawMessage(e.Params)
	return nil
}

// object returns a value with {} for [] where the protocol has objects: PHP and Lua have one type for objects and
// arrays, and write an empty object as [].
func object(v jsontext.Value, levels int) jsontext.Value {
	if levels == 0 || levels == 1 && v.Kind() != '[' {
		return v
	}
	_ = v.Compact(lone)
	if levels == 1 && string(v) != "[]" {
		return v
	}
	return bytes.ReplaceAll(v, []byte("[]"), []byte("{}"))
}

// checkID returns an error unless an id is missing, a string of at most maxID bytes, or an integer between -2^53 and
// 2^53, which float64 represents exactly. 7.0 is an integer: some clients have floats only, and the answer repeats the
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
