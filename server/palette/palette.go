// Package palette contains what the panel and the chat card share: the colours,
// and how a time is written.
package palette

import _ "embed"

// CSS is a style sheet that defines the colours as custom properties, for light
// and dark schemes.
//
//go:embed palette.css
var CSS string

// JS is a script that defines took, by which a person reads how long something
// takes, and gap and two, by which it is written.
//
//go:embed took.js
var JS string
