package todo

import "slices"

// match returns, for each line, the stored item it stands for, or nil. It
// compares ids first, then whole lines as the view shows them (so that an item
// written back unchanged matches itself even among repeated texts), then exact
// texts, then the texts as shown, then folded texts, then the short forms in which
// agents were told of long texts ([Told], [Excerpt]), then the wordings that a person replaced.
// Each stored item matches at most one line; among equals the earlier item matches the earlier line.
// Items that the view leaves out are tried last, since the writer did not see
// them.
func match(view View, stored []Item, lines []Line) []*Item {
	m := matcher{stored: stored, taken: make([]bool, len(stored)), out: make([]*Item, len(lines)), left: len(lines)}
	shown := func(i Item) bool { _, ok := view.Words[i.Status]; return ok }
	hidden := func(i Item) bool { return !shown(i) }

	if slices.ContainsFunc(lines, func(l Line) bool { return l.ID != "" }) {
		pass(&m, lines, shown, func(i Item) string { return i.ID }, func(l Line) string { return l.ID })
	} else {
		m.unchanged(view, lines)
	}
	pass(&m, lines, shown, func(i Item) Line { l, _ := view.Show(i); return withoutID(l) }, withoutID)
	for _, among := range []func(Item) bool{shown, hidden} {
		pass(&m, lines, among, func(i Item) string { return i.Text }, lineText)
		pass(&m, lines, among, func(i Item) string { l, _ := view.Show(i); return l.Text }, lineText)
		pass(&m, lines, among, func(i Item) string { return Fold(i.Text) }, foldedText)
		passes(&m, lines, among, func(i Item) []string { return shortened(i.Text) }, lineText)
		passes(&m, lines, among, func(i Item) []string { return foldAll(i.Hand.wordings()) }, foldedText)
	}
	return m.out
}

func lineText(l Line) string { return l.Text }

func foldedText(l Line) string { return Fold(l.Text) }

func withoutID(l Line) Line { l.ID = ""; return l }

func foldAll(texts []string) []string {
	for i, text := range texts {
		texts[i] = Fold(text)
	}
	return texts
}

type matcher struct {
	stored []Item
	taken  []bool
	out    []*Item
	left   int // how many lines have no item yet
}

func (m *matcher) take(line, item int) {
	m.taken[item], m.out[line] = true, &m.stored[item]
	m.left--
}

// unchanged matches the first lines with the first items, as long as they are as the
// view shows these. A pass by whole lines would find the same.
func (m *matcher) unchanged(view View, lines []Line) {
	for i := range min(len(lines), len(m.stored)) {
		if shown, ok := view.Show(m.stored[i]); !ok || withoutID(shown) != withoutID(lines[i]) {
			return
		}
		m.take(i, i)
	}
}

// passes is pass for each of several keys of an item in turn.
func passes(m *matcher, lines []Line, among func(Item) bool, itemKeys func(Item) []string, lineKey func(Line) string) {
	for n := 0; ; n++ {
		nth := func(i Item) string {
			if keys := itemKeys(i); n < len(keys) {
				return keys[n]
			}
			return ""
		}
		if !pass(m, lines, among, nth, lineKey) {
			return
		}
	}
}

// pass matches the remaining lines with the remaining items for which among
// returns true, by equal keys other than the zero one. It reports whether any of these
// items had a key.
func pass[K comparable](m *matcher, lines []Line, among func(Item) bool, itemKey func(Item) K, lineKey func(Line) K) bool {
	var none K
	if m.left == 0 {
		return false
	}
	var byKey map[K][]int
	for i, item := range m.stored {
		if m.taken[i] || !among(item) {
			continue
		}
		if key := itemKey(item); key != none {
			if byKey == nil {
				byKey = make(map[K][]int)
			}
			byKey[key] = append(byKey[key], i)
		}
	}
	for l, line := range lines {
		if byKey == nil || m.out[l] != nil {
			continue
		}
		key := lineKey(line)
		free := byKey[key]
		if key == none || len(free) == 0 {
			continue
		}
		byKey[key] = free[1:]
		m.take(l, free[0])
	}
	return byKey != nil
}
