package todo

// match pairs each line with the stored item it speaks of, or nil. It goes by
// id, then by the whole line as the view shows it (so that what is written back
// as it was finds itself, among repeated texts too), then by exact text, then
// by folded text; each stored item is taken once, and among equals the earlier
// goes to the earlier line. Items the view leaves out come last: a line means
// what its writer could see.
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

// pass pairs what is still free by equal, non-empty keys.
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
