package tables

import "fmt"

// Step runs those of the steps to a store's schema that a store of a version has not had, in
// one transaction. Each makes its version from the one before, the first one from nothing; run
// runs it and sets the version. say is told before each but for a new store.
func Step(steps []string, version int, say func(text string), run func(version int, step string) error) error {
	for n := version; n < len(steps); n++ {
		if version > 0 {
			say(fmt.Sprintf("moving the store to schema %d of %d…", n+1, len(steps)))
		}
		if err := run(n+1, steps[n]); err != nil && version > 0 {
			return fmt.Errorf("schema%03d.sql: %w; nothing was changed: go on with the todo-mcp that you had, and report this", n+1, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
