package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A watcher hears of another process's save when that says so, and not by looking now and
// then; also after the file by which it is said was deleted. With the last watcher it goes.
func TestWatchHearsOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := openWithCleanup(t, path), openWithCleanup(t, path)
	mustSave(t, a, "a", 1)
	ctx, end := context.WithCancel(t.Context())
	hints, done := make(chan struct{}, 100), make(chan error, 1)
	go func() { done <- b.Watch(ctx, func() { hints <- struct{}{} }) }()
	heard := func(revision int64) time.Duration {
		for len(hints) > 0 {
			<-hints
		}
		began := time.Now()
		mustSave(t, a, "a", revision)
		<-hints
		return time.Since(began)
	}
	<-hints
	for _, err := os.Stat(b.path + savedSuffix); err != nil; _, err = os.Stat(b.path + savedSuffix) { //nolint:revive // until it listens
	}
	const soon = time.Second / 4
	quickest := lookAnyway
	for n := int64(2); n < 12; n++ {
		quickest = min(quickest, heard(n))
	}
	if quickest > soon {
		t.Errorf("heard after %s at best", quickest)
	}
	checkErr(t, os.RemoveAll(filepath.Dir(b.path+savedSuffix)))
	for quickest, n := lookAnyway, int64(12); quickest > soon; n++ {
		quickest = heard(n)
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(b.path + savedSuffix)); left != nil {
		t.Errorf("%v is left", left)
	}
}
