package todo

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
	if len(lines) < len(stored) {
		return matchByKeys(view, stored, lines)
	}
	texts := make(map[string]bool, len(lines))
	for n, line := range lines {
		item, shown, isPlaced := Item{}, line, line.ID == ""
		if n < len(stored) {
			item = stored[n]
			shown, isPlaced = view.Show(item)
			isPlaced = isPlaced && (line.Text == shown.Text || line.Text == item.Text) && (line.ID == "" || line.ID == item.ID)
			out[n] = &stored[n]
		}
		if !isPlaced || texts[shown.Text] || texts[item.Text] {
			return matchByKeys(view, stored, lines)
		}
		texts[shown.Text], texts[item.Text] = true, item.Text != ""
	}
	return out // each at its place, as almost always
}

// matchByKeys matches by one key after the other.
func matchByKeys(view View, stored []Item, lines []Line) []*Item {
	type ranked struct {
		rank int
		key  string
	}
	having, ofLines := make(map[ranked][]int), make([][7]string, len(lines)) // having are indexes of items
	for i, item := range stored {
		for rank, keys := range itemKeys(view, item) {
			for _, key := range keys {
				having[ranked{rank, key}] = append(having[ranked{rank, key}], i)
			}
		}
	}
	for l, line := range lines {
		ofLines[l] = lineKeys(line)
	}
	out, taken := make([]*Item, len(lines)), make([]bool, len(stored))
	for rank := range 14 {
		for l, keys := range ofLines {
			key := keys[rank%7]
			if out[l] != nil || key == "" {
				continue
			}
			for _, i := range having[ranked{rank, key}] {
				if !taken[i] {
					out[l], taken[i] = &stored[i], true
					break
				}
			}
		}
	}
	return out
}

// lineKeys returns by what a line may be an item's, the surest first.
func lineKeys(l Line) [7]string {
	folded := Fold(l.Text)
	return [7]string{l.ID, l.Text + "\n" + l.Active + "\n" + l.Status, l.Text, l.Text, folded, l.Text, folded}
}

// itemKeys returns the keys of lines that may be an item's: as [lineKeys], and after
// these once more for an item that the view leaves out.
func itemKeys(view View, i Item) (keys [14][]string) {
	shown, isShown := view.Show(i)
	at := keys[7:]
	if isShown {
		at = keys[:]
		whole := lineKeys(shown)[1]
		at[0], at[1], at[3] = []string{i.ID}, []string{whole}, []string{shown.Text}
	}
	at[2], at[4], at[5], at[6] = []string{i.Text}, []string{Fold(i.Text)}, shortened(i.Text), foldAll(i.Hand.wordings())
	return keys
}

func foldAll(texts []string) []string {
	for i, text := range texts {
		texts[i] = Fold(text)
	}
	return texts
}
