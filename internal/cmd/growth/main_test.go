//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// BAD-INPUT 65: finished lists that nobody looked at go after 90 days; every command still answers.
func TestGrowth(t *testing.T) {
	const days, lists = 120, 1
	left, err := run(programtest.Build(t), days, lists, 10*time.Millisecond)
	if err != nil || left > days*lists*9/10 {
		t.Errorf("%d of %d lists are left, %v", left, days*lists, err)
	}
}
