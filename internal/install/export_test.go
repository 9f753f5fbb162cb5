package install

// HookKinds returns the kinds of hooks that the client can run.
func (c Client) HookKinds() []Kind { return c.hooks.chosen(AllKinds()) }
