package todo

import "slices"

// match returns, for each line, the stored item it stands for, or nil. It
// compares ids first, then whole lines as the view shows them (so that an item
// written back unchanged matches itself even among repeated texts), then exact
// texts, then the texts as shown, then folded texts, then the short forms in which
// agents were told of long texts ([Told], [Excerpt]), then the wordings that a person
// replaced. Each stored item matches at most one line; among equals the earlier item
// matches the earlier line. Items that the view leaves out are tried last, since the
// writer did not see them.
func match(view View, stored []Item, lines []Line) []*Item {
	out := make([]*Item, len(lines))
	if slices.ContainsFunc(lines[min(len(stored), len(lines)):], func(l Line) bool { return l.ID != "" }) {
		return matchByKeys(view, stored, lines)
	}
	for n := range stored {
		shown, ok := view.Show(stored[n])
		if !ok || n == len(lines) || lines[n].Text != shown.Text && lines[n].Text != stored[n].Text ||
			lines[n].ID != "" && lines[n].ID != shown.ID ||
			(lines[n].Status != shown.Status || lines[n].Active != shown.Active) && isRepeated(lines[n].Text, view, stored, lines) {
			return matchByKeys(view, stored, lines)
		}
		out[n] = &stored[n]
	}
	return out // each at its place, as almost always
}

// isRepeated reports whether several items or several lines have a text, so that their
// places do not say which line is which item.
func isRepeated(text string, view View, stored []Item, lines []Line) bool {
	items, repeats := 0, 0
	for _, item := range stored {
		if shown, ok := view.Show(item); item.Text == text || ok && shown.Text == text {
			items++
		}
	}
	for _, line := range lines {
		if line.Text == text {
			repeats++
		}
	}
	return items > 1 || repeats > 1
}

func matchByKeys(view View, stored []Item, lines []Line) []*Item {
	line := func(l Line) string { return l.Text + "\n" + l.Active + "\n" + l.Status }
	text := func(l Line) string { return l.Text }
	folded := func(l Line) string { return Fold(l.Text) }
	shown := func(i Item) Line { l, _ := view.Show(i); return l }
	m := matcher{view, stored, lines, make([]*Item, len(lines)), make([]bool, len(stored))}
	for _, hidden := range []bool{false, true} {
		if !hidden {
			m.pass(hidden, func(i Item) []string { return []string{i.ID} }, func(l Line) string { return l.ID })
			m.pass(hidden, func(i Item) []string { return []string{line(shown(i))} }, line)
		}
		m.pass(hidden, func(i Item) []string { return []string{i.Text} }, text)
		m.pass(hidden, func(i Item) []string { return []string{shown(i).Text} }, text)
		m.pass(hidden, func(i Item) []string { return []string{Fold(i.Text)} }, folded)
		m.pass(hidden, func(i Item) []string { return shortened(i.Text) }, text)
		m.pass(hidden, func(i Item) []string { return foldAll(i.Hand.wordings()) }, folded)
	}
	return m.out
}

func foldAll(texts []string) []string {
	for i, text := range texts {
		texts[i] = Fold(text)
	}
	return texts
}

type matcher struct {
	view   View
	stored []Item
	lines  []Line
	out    []*Item
	taken  []bool // the items that a line has
}

// pass matches the remaining lines with the remaining items, hidden ones or those that
// the view shows, by equal keys other than the empty one.
func (m *matcher) pass(hidden bool, itemKeys func(Item) []string, lineKey func(Line) string) {
	if !slices.Contains(m.out, nil) {
		return
	}
	byKey := make(map[string][]int)
	for i, item := range m.stored {
		if _, shown := m.view.Words[item.Status]; shown != hidden && !m.taken[i] {
			for _, key := range itemKeys(item) {
				byKey[key] = append(byKey[key], i)
			}
		}
	}
	for l, line := range m.lines {
		if len(byKey) == 0 || m.out[l] != nil {
			continue
		}
		key := lineKey(line)
		if key == "" {
			continue
		}
		i := slices.IndexFunc(byKey[key], func(i int) bool { return !m.taken[i] })
		if i >= 0 {
			m.taken[byKey[key][i]], m.out[l] = true, &m.stored[byKey[key][i]]
		}
	}
}
