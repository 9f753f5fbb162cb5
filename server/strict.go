package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxDepth is how deep a message may nest; MCP itself needs fewer than ten.
const maxDepth = 64

// message is what the transports need to know of a message before mcp-go has it.
type message struct {
	Method string
	// ID is the request's id, raw; nil for a notification or response.
	ID json.RawMessage
	// Cancelled is the request id a notifications/cancelled names, raw.
	Cancelled json.RawMessage
	// Client is who an initialize request says it is.
	Client mcp.Implementation
	// Apps says that it shows MCP Apps.
	Apps bool
	// Modern says that _meta names a protocol version.
	Modern bool
}

// messageError says why a message is refused, as JSON-RPC has it.
type messageError struct {
	code int
	text string
}

func (e *messageError) Error() string { return e.text }

func refused(code int, format string, args ...any) *messageError {
	return &messageError{code: code, text: fmt.Sprintf(format, args...)}
}

// readMessage refuses what lenient JSON readers would take for something else
// (BAD-INPUT 16–21, 26): it must be one object of valid UTF-8, with keys that
// differ in more than case, an id that is a string or an integer, and nothing
// behind it. Lone surrogates pass: who uses a text tells them with their place.
func readMessage(raw []byte) (message, *messageError) {
	if !utf8.Valid(raw) {
		return message{}, refused(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	switch d.PeekKind() {
	case '{':
	case '[':
		return message{}, refused(mcp.INVALID_REQUEST, "batches are not supported, send one message at a time")
	default:
		return message{}, refused(mcp.PARSE_ERROR, "the message is not a JSON object")
	}
	var r strictReader
	if err := r.object(d, nil); err != nil {
		var own *messageError
		if errors.As(err, &own) {
			return message{}, own
		}
		return message{}, refused(mcp.PARSE_ERROR, "the message is not valid JSON: %s", reason(err))
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return message{}, refused(mcp.PARSE_ERROR, "there is text behind the message")
	}
	return envelope(raw)
}

// reason is a decoder's error without what it quotes of the message.
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

// envelope reads what [message] holds from JSON known to be strict.
func envelope(raw []byte) (message, *messageError) {
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return message{}, refused(mcp.INVALID_REQUEST, "method must be a string")
	}
	if err := checkID(m.ID); err != nil {
		return message{}, err
	}
	var p struct {
		RequestID    json.RawMessage    `json:"requestId"`
		ClientInfo   mcp.Implementation `json:"clientInfo"`
		Capabilities struct {
			Extensions map[string]any `json:"extensions"`
		} `json:"capabilities"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p) // what is of another shape is mcp-go's to refuse
	return message{Method: m.Method, ID: m.ID, Cancelled: p.RequestID, Client: p.ClientInfo,
		Apps: showsApps(p.Capabilities.Extensions), Modern: p.Meta.Version != ""}, nil
}

// checkID takes a string or an integer that survives a float64, as MCP wants;
// nothing at all is a notification.
func checkID(id json.RawMessage) *messageError {
	if len(id) == 0 || id[0] == '"' {
		return nil
	}
	var n int64
	if err := json.Unmarshal(id, &n); err != nil || string(id) == "null" || n > 1<<53 || n < -1<<53 {
		return refused(mcp.INVALID_REQUEST, "id must be a string or an integer")
	}
	return nil
}

// strictReader walks a message once.
type strictReader struct{ depth int }

func (r *strictReader) value(d *jsontext.Decoder, path []string) error {
	switch d.PeekKind() {
	case '{':
		return r.object(d, path)
	case '[':
		return r.array(d, path)
	default:
		_, err := d.ReadToken()
		return err
	}
}

func (r *strictReader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return refused(mcp.PARSE_ERROR, "the message nests deeper than %d levels", maxDepth)
	}
	return nil
}

func (r *strictReader) object(d *jsontext.Decoder, path []string) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth-- }()
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := token.String()
		if err := checkKey(key, path, seen); err != nil {
			return err
		}
		if err := r.value(d, append(path, key)); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (r *strictReader) array(d *jsontext.Decoder, path []string) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer func() { r.depth-- }()
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := r.value(d, append(path, "[]")); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// checkKey refuses keys that a lenient reader would take for another: equal to
// one before but for case, with control characters, or almost a protocol key.
func checkKey(key string, path []string, seen map[string]bool) error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return refused(mcp.PARSE_ERROR, "a key has a control character in it")
	}
	folded := strings.ToLower(strings.ToUpper(key))
	if seen[folded] {
		return refused(mcp.PARSE_ERROR, "an object has two keys that differ only in case")
	}
	seen[folded] = true
	if want, ok := protocolKeys(path)[folded]; ok && want != key {
		return refused(mcp.PARSE_ERROR, "a key differs from %q only in case", want)
	}
	return nil
}

// protocolKeys are the keys that mean something to the protocol at a place, by
// their folded form.
func protocolKeys(path []string) map[string]string {
	switch {
	case len(path) == 0:
		return map[string]string{"jsonrpc": "jsonrpc", "id": "id", "method": "method", "params": "params", "result": "result", "error": "error"}
	case len(path) == 1 && path[0] == "params":
		return map[string]string{"name": "name", "arguments": "arguments", "_meta": "_meta", "uri": "uri", "requestid": "requestId",
			"protocolversion": "protocolVersion", "clientinfo": "clientInfo", "capabilities": "capabilities", "cursor": "cursor",
			"ref": "ref", "argument": "argument", "notifications": "notifications", "task": "task"}
	}
	return nil
}
