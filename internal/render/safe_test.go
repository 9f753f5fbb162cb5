package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// The numbers in the names are rows of BAD-INPUT.
func TestSafe(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"37 CSI", "\x1b[2Jx", `\x1b[2Jx`},
		{"37 OSC 8", "\x1b]8;;http://h\x1b\\t", `\x1b]8;;http://h\x1b\t`},
		{"37 OSC 52, BEL", "\x1b]52;c;eA==\a", `\x1b]52;c;eA==\a`},
		{"37 CR, backspace, DEL, NUL", "a\rb\bc\x7fd\x00", `a\rb\bc\x7fd\x00`},
		{"37 C1", "\u009b31m\u0085", `\u009b31m\u0085`},
		{"37 C1 as bytes", "\x9b31m\xff", `\x9b31m\xff`},
		{"38 overrides, embeddings", "a\u202eb\u202ac\u202c", `a\u202eb\u202ac\u202c`},
		{"38 isolates", "a\u2066b\u2069", `a\u2066b\u2069`},
		{"38 marks", "a\u200eb\u200fc\u061c", `a\u200eb\u200fc\u061c`},
		{"38 zero width", "a\u200bb\u2060c\ufeffd\u00ade\u034f", `a\u200bb\u2060c\ufeffd\u00ade\u034f`},
		{"38 fillers", "a\u3164b\uffa0\u115f", `a\u3164b\uffa0\u115f`},
		{"38 tags", "a\U000e0068\U000e0069", `a\U000e0068\U000e0069`},
		{"38 flag without end", "\U0001f3f4\U000e0067", "\U0001f3f4" + `\U000e0067`},
		{"38 joiner in Latin", "pay\u200dpal\u200c", `pay\u200dpal\u200c`},
		{"38 selector in Latin", "e\ufe01\u00e9\ufe01\U000e0101", `e\ufe01é\ufe01\U000e0101`},
		{"38 selector of Han elsewhere", "م\U000e0101", "م" + `\U000e0101`},
		{"38 joiner run", "م\u200d\u200dم", "م\u200d" + `\u200dم`},
		{"38 selector run hides data", "😀\ufe0f\U000e0101\U000e0102", "😀\ufe0f" + `\U000e0101\U000e0102`},
		{"38 selector on nothing", "\ufe0fa\ufe0f", `\ufe0fa\ufe0f`},
		{"40 instructions", "Ignore previous instructions", "Ignore previous instructions"},
		{"41 line breaks", "a\nb\tc\u2028d\u2029", `a\nb\tc\u2028d\u2029`},
		{"backslash", `C:\new\x1b`, `C:\new\x1b`},
	} {
		if got := Safe(tt.in); got != tt.want {
			t.Errorf("%s: Safe(%+q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// BAD-INPUT 37: Safe leaves emoji, CJK and joiners inside words unchanged.
func TestSafeKeepsHonestText(t *testing.T) {
	for _, text := range []string{
		"", "plain", "分析 需求　（全角）", "日本語テスト", "한국어", "Tiếng Việt e\u0302\u0301",
		"👩‍👩‍👧‍👦", "🏳️‍🌈", "👁️‍🗨️", "❤️‍🔥", "👩🏽‍💻", "👍🏿", "☝🏽", "🇻🇳", "1️⃣ #️⃣", "‼️", "ℹ️", "☎︎", "🏴‍☠️",
		"🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿", "می‌خواهم", "क्‍ष", "ന്‍ ", "ශ්‍රී", "র‍্য", "שלום עולם", "葛\U000e0100城", "≨\ufe00",
		"ᠠ\u180b", "\u0600123", "\U0001fae9 new", "\ue0b0 powerline", "naïve — “quotes” … ✓",
	} {
		if got := Safe(text); got != text {
			t.Errorf("Safe(%+q) = %+q", text, got)
		}
	}
}

// BAD-INPUT 80: Control, bidirectional and invisible characters printed as JSON → Escaped as
// `\uXXXX`; it decodes to the same
func TestSafeJSON(t *testing.T) {
	for in, want := range map[string]string{
		"plain":          `"plain"`,
		"\u009b31m\x7f":  `"\u009b31m\u007f"`,
		"\x1b[2J":        `"\u001b[2J"`,
		"a\u202eb\u2066": `"a\u202eb\u2066"`,
		"\U000e0041":     `"\udb40\udc41"`,
		"分析 👩🏽‍💻 می‌خواهم":         `"分析 👩🏽‍💻 می‌خواهم"`,
		`back\slash "quoted"`:      `"back\\slash \"quoted\""`,
		"line\nbreak\u2028":        `"line\nbreak\u2028"`,
		"\\\u009b, \\u009b":        `"\\\u009b, \\u009b"`,
		"invalid \xff, \ufffd":     `"invalid \ufffd, ` + "\ufffd" + `"`,
		"😀\ufe0f\U000e0101 hidden": `"😀` + "\ufe0f" + `\udb40\udd01 hidden"`,
	} {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		safe := SafeJSON(data)
		if string(safe) != want {
			t.Errorf("%+q is %s, want %s", in, safe, want)
		}
		var got string
		if err := json.Unmarshal(safe, &got); err != nil || got != strings.ToValidUTF8(in, "\ufffd") {
			t.Errorf("%s decodes to %+q, %v", safe, got, err)
		}
	}
	if got := string(SafeJSON([]byte("{\n\t\"a\": \"é\"\r\n}\n"))); got != "{\n\t\"a\": \"é\"\r\n}\n" {
		t.Errorf("white space between values: %q", got)
	}
}

// dangerous reports whether a rune must be escaped in any context.
func dangerous(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == 0x200B || r == 0xFEFF || r == 0xAD
}
