package asset_test

import (
	"testing"

	"todo-mcp/server/asset"
)

// What is left out says nothing; texts stay as they are.
func TestSqueeze(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"lines", asset.Lines("/* a\n   b */\n  x  y\n\n// c\n\tz\n"), "x  y\nz\n"},
		{"script", asset.Script("const a = (b) => { c('d , e', `f ${g} = h`); }; // i\nreturn -1\n"), "const a=(b)=>{c('d , e',`f ${g} = h`);};\nreturn -1\n"},
		{"an address in a text", asset.Script("go('a //b');\n"), "go('a //b');\n"},
		{"style", asset.Style("a :is(b, c) > d {\n  color: red;\n  & .e { margin: 0 1px }\n  .f & { top: calc(1px + 2px) }\n}\n@media (x: 1px) { g,\nh { i: \"a ; b\" } }\n"),
			"a :is(b,c)>d{color:red;.e{margin:0 1px}.f &{top:calc(1px + 2px)}}@media (x:1px){g, h{i:\"a ; b\"}}"},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, c.got, c.want)
		}
	}
}
