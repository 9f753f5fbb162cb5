//go:build !linux

package run

// polled returns the stream itself.
func polled[Stream any](stream Stream) (file Stream, done func()) { return stream, func() {} }
