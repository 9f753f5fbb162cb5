//go:build hosts && linux

package hosts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// object is a JSON object that has no Go type of its own.
type object = map[string]any

func asJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// model is a stand-in for a model on loopback. It speaks the Anthropic Messages API, OpenAI's Responses and Chat
// Completions and Gemini's generateContent, each just enough for the clients of this package. It answers each request
// with a call of our tool with the next plan of its script, and after the last plan says that it is done.
type model struct {
	*httptest.Server

	mu       sync.Mutex
	script   []plan
	agent    []plan // the script of sub-agents
	requests []modelRequest
	other    []string // requests that are no turn of the conversation
	// answered is called when a request shows the model tool results; n is their number minus 1. It may be nil.
	answered func(n int)
	// fails is the number of turns after which the model refuses all requests; 0 means never.
	fails int
	// asked is called with each request that is a turn of the conversation; may be nil.
	asked func(modelRequest)
}

// modelRequest is the content of one request to the model.
type modelRequest struct {
	Tools   []string // names of the tools that the request offers
	Results []string // texts of its tool results, oldest first
	Agent   bool     // whether a sub-agent sent it, see agentPrompt
	Raw     string
}

// agentPrompt is the prompt of sub-agents, by which the model recognizes their requests.
const agentPrompt = "You are the sub-agent."

// refusal is the error text of a model that fails.
const refusal = "the stand-in is full"

func newModel(t *testing.T) *model {
	m := &model{}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// begin gives the model a new script and forgets its earlier requests.
func (m *model) begin(script ...plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.requests, m.other = script, nil, nil
}

// turns returns the requests of the conversation since begin, and the other requests.
func (m *model) turns() (turns []modelRequest, other []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests, m.other
}

func (m *model) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	raw, _ := io.ReadAll(req.Body)
	var body object
	_ = json.Unmarshal(raw, &body)
	r := modelRequest{Tools: toolNames(body["tools"], ""), Results: results(body), Raw: string(raw)}
	if messages, _ := body["messages"].([]any); len(messages) > 0 {
		r.Agent = strings.Contains(asJSON(messages[0]), agentPrompt)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var p *plan // the plan to write; nil: answer the final text
	if len(r.Tools) > 0 {
		p = m.next(r)
	} else { // a side request (for a title, a summary) or no request to a model
		m.other = append(m.other, req.Method+" "+req.URL.Path)
	}
	if m.fails > 0 && len(m.requests) > m.fails {
		http.Error(w, `{"error":{"code":400,"type":"invalid_request_error","status":"INVALID_ARGUMENT","message":"`+refusal+`"}}`, http.StatusBadRequest)
		return
	}
	var events []object
	switch path := req.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		events = anthropicEvents(p, r.toolName("mcp__todo__TodoWrite"))
	case strings.HasSuffix(path, "/responses"):
		events = openAIEvents(p, r.toolName("mcp__todo.TodoWrite"))
	case strings.HasSuffix(path, "/chat/completions"):
		events = chatEvents(p, r.toolName("mcp__todo__todo_write"), len(raw)/4) // Qwen Code defers the tool
	case strings.HasSuffix(path, ":streamGenerateContent"):
		events = geminiEvents(p, r.toolName("mcp_todo_TodoWrite"), len(raw)/4)
	case strings.HasSuffix(path, ":generateContent"): // Gemini CLI's request for a summary
		fmt.Fprint(w, asJSON(geminiEvents(nil, "", len(raw)/4)[0]))
		return
	default:
		http.Error(w, `{"error":{"type":"not_found_error","message":"the stand-in does not have this"}}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if e["type"] != nil { // Gemini's events have no names
			fmt.Fprintf(w, "event: %s\n", e["type"])
		}
		fmt.Fprintf(w, "data: %s\n\n", asJSON(e))
	}
}

// next records a turn of the conversation and returns the plan to write; nil at the end of the script. The caller holds
// the lock.
func (m *model) next(r modelRequest) *plan {
	m.requests = append(m.requests, r)
	if m.asked != nil {
		m.asked(r)
	}
	if n := len(r.Results); n > 0 && m.answered != nil {
		m.answered(n - 1)
	}
	script := &m.script
	if r.Agent {
		script = &m.agent
	}
	if len(*script) == 0 {
		return nil
	}
	p := (*script)[0]
	*script = (*script)[1:]
	return &p
}

// toolName returns the name under which the client offers our tool. Some clients first offer only a search for tools:
// for these it returns deferred.
func (r modelRequest) toolName(deferred string) string {
	for _, name := range r.Tools {
		if dialectOf(name) != "" {
			return name
		}
	}
	return deferred
}

// dialectOf returns which of our whole-list tools a client offers under a name; empty for none. The name begins with
// our server's name, unlike the name of a host's own tool.
func dialectOf(name string) string {
	for _, tool := range []string{"TodoWrite", "update_plan", "todo_write", "todowrite", "TodoList"} {
		if server, ours := strings.CutSuffix(name, tool); ours && strings.Contains(server, "todo") {
			return tool
		}
	}
	return ""
}

// write returns the arguments of the plan's call. If the plan writes a list, they have the form of the named tool.
func (p plan) write(tool string) object {
	if p.other != "" {
		return p.arguments()
	}
	items, list := make([]object, len(p.items)), "todos"
	for n, i := range p.items {
		switch dialectOf(tool) {
		case "update_plan":
			list, items[n] = "plan", object{"step": i.Content, "status": i.Status}
		case "todo_write":
			items[n] = object{"id": strconv.Itoa(n + 1), "content": i.Content, "status": i.Status}
		case "todowrite":
			items[n] = object{"content": i.Content, "status": i.Status, "priority": "medium"}
		case "TodoList":
			items[n] = object{"title": i.Content, "status": strings.Replace(i.Status, "completed", "done", 1)}
		default:
			return p.arguments()
		}
		if i.Reason != "" {
			items[n]["reason"] = i.Reason
		}
	}
	return object{list: items}
}

// toolNames returns the names in the "tools" of a request of any of the APIs. A
// tool in a namespace is "namespace.name".
func toolNames(tools any, namespace string) (names []string) {
	list, _ := tools.([]any)
	for _, t := range list {
		tool, _ := t.(object)
		name, _ := tool["name"].(string)
		if function, ok := tool["function"].(object); ok { // Chat Completions
			name, _ = function["name"].(string)
		}
		switch {
		case tool["functionDeclarations"] != nil:
			names = append(names, toolNames(tool["functionDeclarations"], "")...)
		case tool["type"] == "namespace":
			names = append(names, toolNames(tool["tools"], name+".")...)
		case name != "":
			names = append(names, namespace+name)
		}
	}
	return names
}

// results returns the texts of all tool results in a part of a request.
func results(v any) (texts []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			texts = append(texts, results(e)...)
		}
	case object:
		switch {
		case v["type"] == "tool_result":
			return []string{text(v["content"])}
		case v["role"] == "tool":
			return []string{text(v["content"])}
		case v["type"] == "function_call_output":
			return []string{text(v["output"])}
		case v["functionResponse"] != nil:
			response, _ := v["functionResponse"].(object)
			return []string{text(response["response"])}
		}
		for _, key := range []string{"messages", "input", "contents", "content", "parts"} {
			texts = append(texts, results(v[key])...)
		}
	}
	return texts
}

// text returns a tool result's content as the model is shown it: strings and text blocks as they are, anything else as
// JSON.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(text(e))
		}
		return b.String()
	case object:
		for _, key := range []string{"text", "output"} { // Gemini CLI has "output"
			if s, ok := v[key].(string); ok {
				return s
			}
		}
	}
	return asJSON(v)
}

func anthropicEvents(p *plan, tool string) []object {
	usage := object{"input_tokens": 1, "output_tokens": 1}
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "Done."}, "end_turn"
	if p != nil {
		block = object{"type": "tool_use", "id": p.callID("toolu_"), "name": p.tool(tool), "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": asJSON(p.write(tool))}, "tool_use"
	}
	return []object{
		{"type": "message_start", "message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	}
}

func openAIEvents(p *plan, tool string) []object {
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{object{"type": "output_text", "text": "Done."}}}
	if p != nil {
		namespace, name, deep := strings.Cut(p.tool(tool), ".")
		if !deep {
			namespace, name = "", namespace
		}
		item = object{"type": "function_call", "id": p.callID("fc_"), "call_id": p.callID("call_"), "name": name, "arguments": asJSON(p.write(tool))}
		if deep {
			item["namespace"] = namespace
		}
	}
	return []object{
		{"type": "response.created", "response": object{"id": "resp_1"}},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": object{"id": "resp_1", "output": []any{item}, "usage": object{
			"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}}},
	}
}

// chatEvents returns an answer of Chat Completions. It reports the prompt's number of tokens, given as prompt: by this
// number Qwen Code knows whether a summary is shorter.
func chatEvents(p *plan, tool string, prompt int) []object {
	delta, reason := object{"role": "assistant", "content": "Done."}, "stop"
	if p != nil {
		delta, reason = object{"role": "assistant", "content": nil, "tool_calls": []object{{"index": 0, "id": p.callID("call_"), "type": "function",
			"function": object{"name": p.tool(tool), "arguments": asJSON(p.write(tool))}}}}, "tool_calls"
	}
	part := func(delta object, reason any) object {
		return object{"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}},
			"usage":   object{"prompt_tokens": prompt, "completion_tokens": 1, "total_tokens": prompt + 1}}
	}
	return []object{part(delta, nil), part(object{}, reason)}
}

func geminiEvents(p *plan, tool string, prompt int) []object {
	part := object{"text": "Done."}
	if p != nil {
		part = object{"functionCall": object{"name": p.tool(tool), "args": p.write(tool)}}
	}
	return []object{{
		"candidates":    []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{part}}}},
		"usageMetadata": object{"promptTokenCount": prompt, "candidatesTokenCount": 1, "totalTokenCount": prompt + 1},
	}}
}
