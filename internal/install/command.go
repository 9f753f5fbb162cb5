package install

// Command returns the words by which a terminal starts this program for longer than
// now. A program that `go run` built has none: an error says what to do.
func (m Machine) Command() ([]string, error) {
	p, err := m.program()
	if err != nil {
		return nil, err
	}
	return append([]string{p.inTerminal}, p.args...), nil
}
