package tools

// todoPatchInput is the arguments of todo_write, as Cursor, Grok Build and Qwen Code have it.
// With merge, or where an item lacks its content or status, a call changes only the items
// that it names by the ids which the model gave them.
type todoPatchInput struct {
	Todos []todoPatchItem `json:"todos" jsonschema:"description=The items to set\\, in working order"`
	Merge bool            `json:"merge,omitempty" jsonschema:"description=true changes only these items; false or left out: they are the whole list"`
}

type todoPatchItem struct {
	ID        string   `json:"id" jsonschema:"minLength=1,description=Your own short id of the item"`
	Content   string   `json:"content,omitempty" jsonschema:"description=What to do; may be left out with merge"`
	Status    string   `json:"status,omitempty" jsonschema:"enum=pending,enum=in_progress,enum=completed,enum=cancelled,description=How far it is; may be left out with merge"`
	BlockedBy []string `json:"blockedBy,omitempty" jsonschema:"description=Ids of items that come first"`
}

func todoPatch(policy Policy) variant {
	return dialect(shape{view: withCancelled(true), field: "todos", text: "content", active: "activeForm", mayLack: true,
		waits: true, merges: true, policy: policy}, todoPatchInput{}, nil)
}
