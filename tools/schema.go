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

func marshalSchema(name string, s *jsonschema.Schema) (json.RawMessage, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("generate schema of %s: %w", name, err)
	}
	return data, nil
}
