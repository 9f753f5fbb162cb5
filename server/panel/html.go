package panel

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The elements and attributes of gomponents. They are variables so that the compiler does not inline the
// functions, which would make the program a megabyte larger.
type (
	Node  = g.Node
	Group = g.Group
)

var (
	Text, Textf, Raw  = g.Text, g.Textf, g.Raw
	El, Attr, If, Iff = g.El, g.Attr, g.If, g.Iff

	A, Article, Aside, B, Button, Code, Dd  = h.A, h.Article, h.Aside, h.B, h.Button, h.Code, h.Dd
	Details, Div, Dl, Dt, Form, H1, H2, H3  = h.Details, h.Div, h.Dl, h.Dt, h.Form, h.H1, h.H2, h.H3
	Header, I, Input, Kbd, Label, Li, Main  = h.Header, h.I, h.Input, h.Kbd, h.Label, h.Li, h.Main
	Mark, Nav, NoScript, Ol, P, Progress    = h.Mark, h.Nav, h.NoScript, h.Ol, h.P, h.Progress
	Section, Span, Strong, Summary, SVG     = h.Section, h.Span, h.Strong, h.Summary, h.SVG
	Time, Ul                                = h.Time, h.Ul
	Action, Aria, AutoComplete, Class       = h.Action, h.Aria, h.AutoComplete, h.Class
	Content, Data, DateTime, Download, Href = h.Content, h.Data, h.DateTime, h.Download, h.Href
	ID, Max, MaxLength, Method, Name        = h.ID, h.Max, h.MaxLength, h.Method, h.Name
	Placeholder, Role, TabIndex, TitleAttr  = h.Placeholder, h.Role, h.TabIndex, h.TitleAttr
	Type, Value                             = h.Type, h.Value
)
