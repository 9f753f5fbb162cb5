package tools

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// schemaOf generates the JSON schema of a struct. It is inlined, without $ref,
// $defs, $schema and $id, since strict clients reject these
// (docs/spec/variants.md V1).
func schemaOf(arguments any) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.Reflect(arguments)
	s.Version = ""
	return s
}

// withListArgument adds the properties of listArgument to a tool's input
// schema.
func withListArgument(s *jsonschema.Schema) {
	extra := schemaOf(listArgument{})
	for p := extra.Properties.Oldest(); p != nil; p = p.Next() {
		s.Properties.Set(p.Key, p.Value)
	}
}

// listArgument is published only with --list-argument but always accepted.
type listArgument struct {
	ListID string `json:"list_id,omitempty" jsonschema:"description=The list to use; leave out for this conversation's own"`
}

func marshalSchema(name string, s *jsonschema.Schema) (json.RawMessage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("generate schema of %s: %w", name, err)
	}
	return data, nil
}
