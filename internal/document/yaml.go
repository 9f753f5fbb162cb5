package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlSyntax edits the lines of a document in block style. Where they are it learns
// from the nodes of the parser.
type yamlSyntax struct{}

func (yamlSyntax) decode(data []byte) (map[string]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root any
	if err := decoder.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, &Error{Text: "there is more than one YAML document"}
	}
	switch root := root.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return root, nil
	default:
		return nil, &Error{Text: "this is not a YAML mapping with names"}
	}
}

// yamlError returns a parser's error. Errors about values quote them, and are left out.
func yamlError(err error) error {
	e := &Error{Text: "this is not YAML"}
	if wrong := (*yaml.LoadError)(nil); errors.As(err, &wrong) {
		e.Line, e.Column = wrong.Mark.Line, wrong.Mark.Column
		if slices.Contains([]yaml.Stage{yaml.ReaderStage, yaml.ScannerStage, yaml.ParserStage}, wrong.Stage) {
			e.Text += ": " + wrong.Message
		}
	}
	return e
}

// block is a mapping in block style in a document.
type block struct {
	lines  []string // of the document, with their ends
	eol    string
	unit   int // by how many columns a level is indented further
	column int // of its keys, from 0
	keys   []blockKey
	end    int // the line behind its last one
}

// blockKey is a key of a block, with its lines.
type blockKey struct {
	name       string
	line, next int // its first line, from 0, and the one behind its last
	value      *yaml.Node
}

// readRoot returns the root of a document.
func readRoot(data []byte) (block, error) {
	b := block{lines: slices.Collect(strings.Lines(string(data))), eol: lineEnd(data), unit: 2}
	b.end = len(b.lines)
	if otherBreak.Match(data) {
		return b, errForm
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return b, yamlError(err)
	}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return b, nil
	}
	root := document.Content[0]
	if !isBlock(root) {
		return b, errForm
	}
	for _, node := range root.Content {
		if isBlock(node) && node.Column > root.Column {
			b.unit = node.Column - root.Column
			break
		}
	}
	return b.read(root, len(b.lines)), nil
}

// otherBreak matches what ends a line for the parser and not for [strings.Lines].
var otherBreak = regexp.MustCompile(`\r[^\n]|\r$|[\x{85}\x{2028}\x{2029}]`)

// isBlock reports whether a node is a mapping in block style.
func isBlock(node *yaml.Node) bool {
	return node.Kind == yaml.MappingNode && node.Style&yaml.FlowStyle == 0
}

// read returns the block of a mapping in the document of b. It ends before a line.
func (b block) read(mapping *yaml.Node, end int) block {
	b.column, b.keys = mapping.Column-1, nil
	b.end = b.trim(end, b.column)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		next := end
		if i+2 < len(mapping.Content) {
			next = mapping.Content[i+2].Line - 1
		}
		b.keys = append(b.keys, blockKey{key.Value, key.Line - 1, b.trim(next, b.column+1), mapping.Content[i+1]})
	}
	return b
}

// trim returns where the lines before end really end: without empty ones and comments
// that begin before a column, which belong to what follows.
func (b block) trim(end, column int) int {
	for end > 0 {
		line := strings.TrimLeft(b.lines[end-1], " ")
		isComment := strings.HasPrefix(line, "#") && len(b.lines[end-1])-len(line) < column
		if strings.TrimSpace(line) != "" && !isComment {
			break
		}
		end--
	}
	return end
}

// find returns the key with a name.
func (b block) find(name string) (blockKey, bool) {
	i := slices.IndexFunc(b.keys, func(k blockKey) bool { return k.name == name })
	if i < 0 {
		return blockKey{}, false
	}
	return b.keys[i], true
}

func (yamlSyntax) set(data []byte, steps Path, fields []Field) ([]byte, error) {
	path, err := steps.names()
	if err != nil {
		return nil, err
	}
	b, err := readRoot(data)
	if err != nil {
		return nil, err
	}
	for i, name := range path {
		k, ok := b.find(name)
		if !ok {
			return apply(data, []splice{b.replace(b.end, b.end, b.text(b.column, []Field{{name, nested(steps[i+1:], fields)}}))}), nil
		}
		if !isBlock(k.value) {
			splices, err := b.fill(k, nested(steps[i+1:], fields).([]Field))
			return apply(data, splices), err
		}
		b = b.read(k.value, k.next)
	}
	return apply(data, b.setFields(fields)), nil
}

// fill returns how a key without a value, or with an empty mapping in its line, is
// given a mapping.
func (b block) fill(k blockKey, fields []Field) ([]splice, error) {
	var out []splice
	_, behind, _ := strings.Cut(b.lines[k.line], ":")
	switch {
	case k.value.Kind == yaml.MappingNode && strings.TrimSpace(behind) == "{}":
		end := b.offset(k.line) + strings.LastIndex(b.lines[k.line], "}") + 1
		out = append(out, splice{end - len(strings.TrimRight(behind, " \t\r\n")), end, ""})
	case k.value.Tag != "!!null" || k.value.Value != "":
		return nil, errForm
	}
	return append(out, b.replace(k.line+1, k.line+1, b.text(b.column+b.unit, fields))), nil
}

// setFields returns how keys of the block are set.
func (b block) setFields(fields []Field) []splice {
	var out []splice
	for _, f := range fields {
		k, ok := b.find(f.Key)
		switch {
		case ok && f.Value == nil:
			out = append(out, b.replace(k.line, k.next, ""))
		case ok:
			text := b.text(b.column, []Field{f})
			if comment := k.value.LineComment; comment != "" {
				text = strings.TrimSuffix(text, b.eol) + " " + comment + b.eol
			}
			out = append(out, b.replace(k.line, k.next, text))
		case f.Value != nil:
			out = append(out, b.replace(b.end, b.end, b.text(b.column, []Field{f})))
		}
	}
	return out
}

// text returns fields as lines. A value of []Field is a mapping.
func (b block) text(column int, fields []Field) string {
	var out strings.Builder
	for _, f := range fields {
		out.WriteString(strings.Repeat(" ", column) + encodeYAML(f.Key) + ":")
		if inner, ok := f.Value.([]Field); ok {
			out.WriteString(b.eol + b.text(column+b.unit, inner))
		} else {
			out.WriteString(" " + encodeYAML(f.Value) + b.eol)
		}
	}
	return out.String()
}

// encodeYAML returns a value as YAML in one line.
func encodeYAML(value any) string {
	if list, ok := value.([]string); ok {
		return encodeTOML(list) // which is also YAML
	}
	out, _ := yaml.Marshal(value) // has no error for strings, numbers and booleans
	return strings.TrimSpace(string(out))
}

// replace returns how lines become text, which ends its lines. A document whose last
// line does not end is left so.
func (b block) replace(from, to int, text string) splice {
	s := splice{b.offset(from), b.offset(to), text}
	if to < len(b.lines) || to == 0 || strings.HasSuffix(b.lines[to-1], "\n") {
		return s
	}
	s.text = strings.TrimSuffix(text, b.eol)
	switch {
	case from == to:
		s.text = b.eol + s.text
	case text == "":
		s.start = max(s.start-len(b.eol), 0)
	}
	return s
}

// offset returns where a line begins.
func (b block) offset(line int) (n int) {
	for _, l := range b.lines[:line] {
		n += len(l)
	}
	return n
}

func (yamlSyntax) remove(data []byte, steps Path) ([]byte, error) {
	path, err := steps.names()
	if err != nil {
		return nil, err
	}
	b, err := readRoot(data)
	if err != nil {
		return nil, err
	}
	var above blockKey
	from, to := 0, 0
	for i, name := range path {
		k, ok := b.find(name)
		if !ok || i+1 < len(path) && !isBlock(k.value) {
			return nil, errForm
		}
		isAlone := i > 0 && len(b.keys) == 1 && k.line == above.line+1 && k.next == above.next && !strings.Contains(b.lines[above.line], "#")
		if !isAlone {
			from, to = k.line, k.next
		}
		above = k
		if i+1 < len(path) {
			b = b.read(k.value, k.next)
		}
	}
	return apply(data, []splice{b.replace(from, to, "")}), nil
}
