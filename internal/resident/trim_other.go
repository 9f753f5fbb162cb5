//go:build !linux

package resident

func trim() {}
