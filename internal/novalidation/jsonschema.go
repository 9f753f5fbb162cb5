// Package jsonschema stands in for github.com/santhosh-tekuri/jsonschema/v6, which mcp-go
// has to check arguments and results by their schemas. This program has its own reader of
// arguments, which accepts what models send (docs/spec/variants.md V8), and does not ask
// mcp-go to check any. The library compiles its metaschemas when a program starts: 5 to 7 of
// the 16 ms that a hook of an agent took, for nothing. The replacement is in go.mod.
//
// It has what mcp-go calls. All of it fails, so that a server that did ask would say so.
package jsonschema

import (
	"errors"
	"io"
)

// ErrNoValidation is the error of every function.
var ErrNoValidation = errors.New("this program has no validator of JSON schemas")

// Schema is a compiled schema.
type Schema struct{}

// Validate fails.
func (*Schema) Validate(any) error { return ErrNoValidation }

// Compiler compiles schemas.
type Compiler struct{}

// NewCompiler returns a compiler.
func NewCompiler() *Compiler { return &Compiler{} }

// AddResource fails.
func (*Compiler) AddResource(string, any) error { return ErrNoValidation }

// Compile fails.
func (*Compiler) Compile(string) (*Schema, error) { return nil, ErrNoValidation }

// UnmarshalJSON fails.
func UnmarshalJSON(io.Reader) (any, error) { return nil, ErrNoValidation }

// ValidationError says where an instance is not as its schema wants.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        any
	Causes           []*ValidationError
}

func (*ValidationError) Error() string { return ErrNoValidation.Error() }
