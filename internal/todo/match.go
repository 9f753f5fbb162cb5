package todo

// match returns, for each line, the stored item it stands for, or nil. It
// compares ids first, then whole lines as the view shows them (so that an item
// written back unchanged matches itself even among repeated texts), then exact
// texts, then the texts as shown, then folded texts. Each stored item matches
// at most one line; among equals the earlier item matches the earlier line.
// Items that the view leaves out are tried last, since the writer did not see
// them.
func match(view View, stored []Item, lines []Line) []*Item {
	m := matcher{stored: stored, taken: make([]bool, len(stored)), out: make([]*Item, len(lines))}
	shown := func(i Item) bool { _, ok := view.Words[i.Status]; return ok }
	hidden := func(i Item) bool { return !shown(i) }

	m.pass(lines, shown, func(i Item) string { return i.ID }, func(l Line) string { return l.ID })
	m.pass(lines, shown, func(i Item) string { l, _ := view.Show(i); return wholeLine(l) }, wholeLine)
	for _, among := range []func(Item) bool{shown, hidden} {
		m.pass(lines, among, func(i Item) string { return i.Text }, lineText)
		m.pass(lines, among, func(i Item) string { l, _ := view.Show(i); return l.Text }, lineText)
		m.pass(lines, among, func(i Item) string { return Fold(i.Text) }, func(l Line) string { return Fold(l.Text) })
	}
	return m.out
}

func lineText(l Line) string { return l.Text }

func wholeLine(l Line) string { return l.Text + "\x00" + l.Active + "\x00" + l.Status }

type matcher struct {
	stored []Item
	taken  []bool
	out    []*Item
}

// pass matches the remaining lines with the remaining items for which among
// returns true, by equal, non-empty keys.
func (m *matcher) pass(lines []Line, among func(Item) bool, itemKey func(Item) string, lineKey func(Line) string) {
	byKey := make(map[string][]int)
	for i, item := range m.stored {
		if !m.taken[i] && among(item) {
			key := itemKey(item)
			byKey[key] = append(byKey[key], i)
		}
	}
	for l, line := range lines {
		key := lineKey(line)
		free := byKey[key]
		if m.out[l] != nil || key == "" || len(free) == 0 {
			continue
		}
		byKey[key] = free[1:]
		m.taken[free[0]] = true
		m.out[l] = &m.stored[free[0]]
	}
}
