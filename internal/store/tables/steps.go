package tables

import "fmt"

// Step calls run for each step from version on, with the version that the step leads to: run executes the step and
// sets the version. say is told of each step, unless the store is new (version 0). The caller's transaction holds all.
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
