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
	// Client is the clientInfo of an initialize request.
	Client mcp.Implementation
	// Extensions are the extensions in an initialize request's capabilities.
	Extensions map[string]any
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
	at, err := checkStrict(raw, false)
	brief := raw
	if at.to > 0 {
		brief = slices.Concat(raw[:at.from], []byte("{}"), raw[at.to:])
	}
	if err == nil {
		m, err = envelope(brief)
	}
	if err != nil {
		var scan Scanner
		scan.Write(raw)
		return scan.Message(), err
	}
	if m.Brief = raw; m.Method == string(mcp.MethodToolsCall) && at.to > 0 {
		m.Brief, m.Arguments = brief, raw[at.from:at.to]
	}
	return m, nil
}

// CheckObject refuses a JSON object that lenient readers could interpret
// differently, by the rules of [Read] for the parts of a message. It is for
// objects that come in no message.
func CheckObject(raw []byte) *Error {
	_, err := checkStrict(raw, true)
	return err
}

// span is a part of a message, in bytes from its beginning; the zero span is none.
type span struct{ from, to int64 }

// checkStrict checks an object, which is a message or a part of one, where no key is
// the protocol's. It returns where the params.arguments of a message are, if they are
// an object.
func checkStrict(raw []byte, isPart bool) (arguments span, refused *Error) {
	if !utf8.Valid(raw) {
		return span{}, Refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	// A buffer, and not another reader, is read in place. Its capacity is cut off, so
	// that nothing behind the message is written to.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw[:len(raw):len(raw)]), jsontext.AllowInvalidUTF8(true))
	switch d.PeekKind() {
	case '{':
	case '[':
		return span{}, Refuse(mcp.INVALID_REQUEST, "batches are not supported, send one message at a time")
	default:
		return span{}, Refuse(mcp.PARSE_ERROR, "the message is not a JSON object")
	}
	seen := make([]keys, 0, 8) // of the objects and arrays around a token
	var names [3]string        // the last key of the message, and below it
	for depth := -1; depth != 0; {
		token, err := d.ReadToken()
		if err != nil {
			return span{}, Refuse(mcp.PARSE_ERROR, "the message is not valid JSON: %s", reason(err))
		}
		depth = d.StackDepth()
		switch token.Kind() {
		case '{', '[':
			if depth > maxDepth {
				return span{}, Refuse(mcp.PARSE_ERROR, "the message nests deeper than %d levels", maxDepth)
			}
			if seen = append(seen, keys{}); depth == 2 {
				names[2] = ""
			}
			if !isPart && token.Kind() == '{' && depth == 3 && names[1] == "params" && names[2] == "arguments" {
				arguments.from = d.InputOffset() - 1
			}
		case '}', ']':
			if seen = seen[:depth]; depth == 2 && arguments.from > 0 && arguments.to == 0 {
				arguments.to = d.InputOffset()
			}
		case '"':
			if in, n := d.StackIndex(depth); in != '{' || n%2 == 0 {
				continue // it is a value
			}
			key := token.String()
			if depth < len(names) {
				names[depth] = key
			}
			var protocol map[string]string
			switch {
			case isPart:
			case depth == 1:
				protocol = messageKeys
			case depth == 2 && names[1] == "params":
				protocol = paramsKeys
			}
			if err := checkKey(key, protocol, &seen[depth-1]); err != nil {
				return span{}, err
			}
		}
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return span{}, Refuse(mcp.PARSE_ERROR, "there is text behind the message")
	}
	return arguments, nil
}

// reason returns a text for a decoder's error that quotes nothing of the
// message.
func reason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return "an object has the same key twice"
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("syntax error at byte %d", syntax.ByteOffset)
	}
	return "syntax error"
}

// envelope reads a [Message] from JSON that passed the strict reader.
func envelope(raw []byte) (Message, *Error) {
	var m struct {
		Method *string        `json:"method"`
		ID     jsontext.Value `json:"id"`
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	if err := decode(raw, &m); err != nil {
		return Message{}, Refuse(mcp.INVALID_REQUEST, "method must be a string")
	}
	// mcp-go would take the message for a response and never answer it.
	isResponse := m.Method == nil && (m.Result != nil || m.Error != nil)
	if !isResponse && (m.Method == nil || *m.Method == "") {
		return Message{}, Refuse(mcp.INVALID_REQUEST, "the message is neither a request with a method nor a response")
	}
	if err := checkID(json.RawMessage(m.ID)); err != nil {
		return Message{}, err
	}
	out := Message{ID: json.RawMessage(m.ID)}
	if m.Method != nil {
		out.Method = *m.Method
	}
	out.readParams(m.Params)
	return out, nil
}

// readParams reads what the transports use of a message's params. What has another
// shape is left out: mcp-go refuses it.
func (m *Message) readParams(raw jsontext.Value) {
	var params struct {
		ClientInfo   jsontext.Value `json:"clientInfo"`
		Capabilities jsontext.Value `json:"capabilities"`
		Meta         jsontext.Value `json:"_meta"`
	}
	if len(raw) == 0 || decode(raw, &params) != nil {
		return
	}
	var meta struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	}
	if len(params.Meta) > 0 {
		_ = decode(params.Meta, &meta)
	}
	m.Modern = mcp.IsModernProtocol(meta.Version)
	if m.Method != string(mcp.MethodInitialize) {
		return
	}
	var capabilities struct {
		Extensions map[string]any `json:"extensions"`
	}
	if len(params.ClientInfo) > 0 {
		_ = decode(params.ClientInfo, &m.Client)
	}
	if len(params.Capabilities) > 0 {
		_ = decode(params.Capabilities, &capabilities)
	}
	m.Extensions = capabilities.Extensions
}

// decode decodes JSON that passed the strict reader.
func decode(raw []byte, into any) error {
	return jsonv2.Unmarshal(raw, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
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

// add adds a key, and reports whether it is new.
func (k *keys) add(key string) bool {
	switch {
	case slices.Contains(k.few[:k.n], key) || k.many[key]:
		return false
	case k.n < len(k.few):
		k.few[k.n] = key
		k.n++
		return true
	case k.many == nil:
		k.many = make(map[string]bool)
	}
	k.many[key] = true
	return true
}

// checkKey refuses a key that a lenient reader could confuse with another: one
// with a control character, one that differs from an earlier key of its object
// only in case, or one that differs from a key of the protocol only in case.
func checkKey(key string, protocol map[string]string, seen *keys) *Error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return Refuse(mcp.PARSE_ERROR, "a key has a control character in it")
	}
	folded := strings.ToLower(strings.ToUpper(key))
	if !seen.add(folded) {
		return Refuse(mcp.PARSE_ERROR, "an object has two keys that differ only in case")
	}
	if want, ok := protocol[folded]; ok && want != key {
		return Refuse(mcp.PARSE_ERROR, "a key differs from %q only in case", want)
	}
	return nil
}

// The keys that the protocol defines for a message and its params, by their folded
// form.
var (
	messageKeys = map[string]string{"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"}
	paramsKeys  = map[string]string{"name": "name", "arguments": "arguments", "_meta": "_meta", "uri": "uri", "requestid": "requestId",
		"protocolversion": "protocolVersion", "clientinfo": "clientInfo", "capabilities": "capabilities", "cursor": "cursor",
		"ref": "ref", "argument": "argument", "notifications": "notifications", "task": "task"}
)
