package render

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	unsafe "github.com/yuin/goldmark/renderer/html"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// escape escapes Markdown syntax in a text, and no more than needed.
func TestMarkdownEscapes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"use snake_case, R & D > 5", "use snake_case, R & D > 5"},
		{"__it_ *is* a_b", `\_\_it\_ \*is\* a_b`},
		{"[x](y) ![z](w)", `\[x\](y) !\[z\](w)`},
		{"<b>&lt;&#60; &日", `\<b>\&lt;\&#<!-- -->60; \&日`},
		{`C:\dir`, `C:\\dir`},
		{"https://a.b www.c.d e@f", "https:<!-- -->//a.b www<!-- -->.c.d e@<!-- -->f"},
		{"C# fixes #12, a/b#3, gh-4 for @you", "C# fixes #<!-- -->12, a/b#<!-- -->3, gh-<!-- -->4 for @<!-- -->you"},
		{"~~gone~~", `\~\~gone\~\~`},
		{"no *(failed)*", `no \*(failed)\*`},
		{"41\n- [x] fake", `41\\n- \[x\] fake`},
		{"$x$ `y`", "\\$x\\$ \\`y\\`"},
	} {
		if got := escape(tt.text); got != tt.want {
			t.Errorf("escape(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

// On GitHub each item is one task, with its text as it is and its notes in emphasis, and
// no text makes a link, code, HTML or another item.
func FuzzMarkdown(f *testing.F) {
	for status := range todo.Statuses() {
		f.Add("a)* b", "*high*", uint8(status))
		f.Add("~a~~", "b", uint8(status))
		f.Add("@you fixes #12, GH-3 www.a.b https://c.d e@f.g @", "cc @team/all #1@2 &#35;1", uint8(status))
		f.Add("[ ] <b> \\", "*(due: x)*", uint8(status))
		f.Add("a &&www.e &gh-1 &#1 &amp;", "b&www.e", uint8(status))
		f.Add("**a\\** *(in progress: b)* ~~c~~ `d` www.e.f", "1) May) \\", uint8(status))
	}
	github := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(unsafe.WithUnsafe()))
	html := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	f.Fuzz(func(t *testing.T, text, detail string, status uint8) {
		text, detail = cleanText(text), cleanText(detail)
		if text == "" || detail == "" || detail == text {
			return
		}
		one := todo.Item{Text: text, Active: detail, Reason: detail, Priority: detail, DueDate: detail}
		one.Status = todo.Statuses()[int(status)%len(todo.Statuses())]
		checked, what, note := "", html.Replace(text), html.Replace(detail)
		switch one.Status {
		case todo.Completed:
			checked = `checked="" `
		case todo.Cancelled:
			what = "<del>" + what + "</del> <em>(cancelled: " + note + ")</em>"
		case todo.InProgress:
			what += " <em>(in progress: " + note + ")</em>"
		case todo.Failed:
			what += " <em>(failed: " + note + ")</em>"
		case todo.Blocked:
			what += " <em>(blocked: " + note + ")</em>"
		}
		want := fmt.Sprintf(`<li><input %sdisabled="" type="checkbox"> %s <em>(priority: %s, due: %[3]s)</em></li>`, checked, what, note)
		var page strings.Builder
		err := github.Convert([]byte(Markdown(list(one))), &page)
		if reference := references.FindString(page.String()); reference != "" {
			t.Errorf("%s: GitHub makes a link of %q", page.String(), reference)
		}
		if got := strings.ReplaceAll(page.String(), nothing, ""); err != nil || !strings.HasSuffix(got, "<ul>\n"+want+"\n</ul>\n") {
			t.Errorf("%s\nis\n%s, %v, want\n%s", Markdown(list(one)), got, err, want)
		}
	})
}

// references match what GitHub makes links of in a text of the page: people, issues and
// addresses.
var references = regexp.MustCompile(`@[A-Za-z0-9]|#[0-9]|(?i:gh-[0-9]|https?://|www\.[a-z])|<a `)

// cleanText turns any text into one that a list can contain and Safe leaves
// unchanged.
func cleanText(text string) string {
	result, _ := todo.CleanText(Safe(text))
	return result
}
