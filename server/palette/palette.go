// Package palette holds the colours, which the panel and the chat card share.
package palette

import _ "embed"

// CSS defines the colours as custom properties, for light and for dark.
//
//go:embed palette.css
var CSS string
