package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// namedLists are the lists of TestNamed, by the id that it expects.
func namedLists() []todo.Snapshot {
	l := func(id, given, name, first, agent, workspace string) todo.Snapshot {
		return todo.Snapshot{GivenTitle: given, Items: []todo.Item{{Text: first}}, List: todo.List{ID: id, Name: name, Agent: agent, Workspace: workspace}}
	}
	return []todo.Snapshot{
		l("newrelease", "", "release", "Tag", "", ""),
		l("oldrelease", "", "release", "Tag", "", ""),
		l("kkkkaaaa", "Move  Checkout to the shared form", "", "Read", "", "/work/acme-web"),
		l("kkkkbbbb", "", "", "Fix the flaky test", "explorer", "/work/acme-web"),
		l("mmmmmmmm", "", "", "Fix the parser", "", "/work/compiler"),
		l("nnnnnnnn", "kkkk", "", "x", "", ""),
		l("pppppppp", "", "", "red\x1b[31m\u202e", "", ""),
		l("qqqqqqqq", "", "", "fix the parser", "", ""),
	}
}

// Every name that is shown is accepted, from the exact to the vague, and several
// matches are all returned.
func TestNamed(t *testing.T) {
	for _, tt := range []struct {
		wanted, want string
		sure         bool
	}{
		{"kkkkaaaa", "kkkkaaaa", true},
		{"release", "newrelease", true}, // the list that has the name now
		{"Release", "newrelease oldrelease", true},
		{"oldrelease", "oldrelease", true},
		{"move checkout to the shared form", "kkkkaaaa", true},
		{" Move Checkout\tto the shared FORM ", "kkkkaaaa", true},
		{"explorer: Fix the flaky test", "kkkkbbbb", true},
		{"fix the flaky test", "kkkkbbbb", true},
		{"FIX THE PARSER", "mmmmmmmm qqqqqqqq", true},
		{`red\x1b[31m\u202e`, "pppppppp", true}, // as it is shown
		{"kkkk", "nnnnnnnn", true},              // a whole title before the beginning of an id
		{"kkkkb", "kkkkbbbb", true},
		{"mmm", "", false}, // too little of an id
		{"Move Check", "kkkkaaaa", false},
		{"Move Checkout to…", "kkkkaaaa", false},
		{"Fix the", "kkkkbbbb mmmmmmmm qqqqqqqq", false},
		{"flaky", "kkkkbbbb", false},
		{"pars fix", "mmmmmmmm qqqqqqqq", false},
		{"compiler parser", "mmmmmmmm", false},
		{"acme", "kkkkaaaa kkkkbbbb", false},
		{"lakyn", "", false},
		{"", "", false},
		{"…", "", false},
		{" - ", "", false},
	} {
		found, sure := Named(namedLists(), tt.wanted)
		var ids []string
		for _, l := range found {
			ids = append(ids, l.List.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want || sure != tt.sure {
			t.Errorf("%q means %q, sure %v; want %q, %v", tt.wanted, got, sure, tt.want, tt.sure)
		}
	}
	for _, l := range namedLists() {
		if found, _ := Named(namedLists(), ListTitle(l)); len(found) == 0 {
			t.Errorf("the shown title %q is not accepted", ListTitle(l))
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC) // a Saturday
	for want, ago := range map[string]time.Duration{
		"0s ago": -time.Hour, "1s ago": time.Second, "59s ago": time.Minute - 1, "1m ago": time.Minute, "11h ago": agoFor - 1,
		"Fri 21:30": agoFor, "Sun 09:30": 6 * 24 * time.Hour,
		"14 Nov": 7 * 24 * time.Hour, "31 Dec 2025": 325 * 24 * time.Hour,
	} {
		if got := When(now.Add(-ago), now); got != want {
			t.Errorf("%s ago: %q, want %q", ago, got, want)
		}
	}
}

func TestClient(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": "Claude Code", "Claude-AI": "Claude Desktop", "codex-mcp-client": "Codex", "Visual Studio Code": "VS Code",
		"kimi-code": "Kimi Code", "my\x1bagent": `my\x1bagent`, "": "",
	} {
		if got := Client(name); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}

// Lists of one project that read alike are told apart by branch, or by when they began.
func TestApart(t *testing.T) {
	at := time.Date(2026, 3, 4, 9, 14, 0, 0, time.UTC)
	list := func(id, folder, title string, minutes int) todo.Snapshot {
		return todo.Snapshot{List: todo.List{ID: id, Workspace: folder, Topic: title, Created: at.Add(time.Duration(minutes) * time.Minute)}, Updated: at}
	}
	lists := []todo.Snapshot{list("a", "/app", "Fix it", 0), list("b", "/app", "fix  IT", 1), list("c", "/web", "Fix it", 2), list("d", "/app", "Other", 3)}
	if diff := cmp.Diff(map[string]string{"a": "09:14", "b": "09:15"}, Apart(lists, at)); diff != "" {
		t.Error(diff)
	}
	chat := todo.Chat{ID: todo.ChatID("", "", "c", false), Folder: "/web", Title: todo.Topic{Text: "Fix it"}}.AsList()
	if apart := Apart(append(lists[2:], chat), at); len(apart) > 0 {
		t.Errorf("a chat is called as the list that it finished: %v", apart)
	}
	lists[1].List.Branch = "retry"
	if apart := Apart(lists, at); len(apart) > 0 {
		t.Errorf("those that have their branches beside them: %v", apart)
	}
	if table := Lists(lists, nil, nil, at, 0); !strings.Contains(table, "app (retry)") {
		t.Error(table)
	}
	if lists[1].List.Branch = "main"; lists[1].List.Place() != "app" {
		t.Error("main is said")
	}
	if table := Lists(lists, nil, nil, at, 0); !strings.Contains(table, "Fix it (09:14)") || strings.Contains(table, "Other (") {
		t.Error(table)
	}
}
