// Package palette contains the colours that the panel and the chat card share.
package palette

import _ "embed"

// CSS is a style sheet that defines the colours as custom properties, for light
// and dark schemes.
//
//go:embed palette.css
var CSS string
