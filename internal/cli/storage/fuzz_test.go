package storage

import (
	"bytes"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
)

// What import takes is stored whole and exported as what it was; what it refuses
// is refused before anything is stored.
func FuzzImport(f *testing.F) {
	second := strings.Replace(strings.Replace(exportLine, `"revision":1`, `"revision":2`, 1), `"status":"pending"`, `"status":"completed"`, 1)
	for _, file := range []string{
		"", "\n\n", exportLine, exportLine + "\n" + second, second + "\n" + exportLine, exportLine + "\n" + exportLine, strings.Replace(exportLine, `"a"`, `"\u009b\u0000"`, 1),
		strings.Replace(exportLine, `"name":"n"`, `"name":"n","parent":"b","agent":"x","workspace":"/w"`, 1), strings.Replace(exportLine, `"last_id":1`, `"last_id":9223372036854775807`, 1),
		strings.Replace(exportLine, `"revision":1`, `"revision":-9223372036854775808`, 1), strings.Replace(exportLine, `"revision":1`, `"revision":9223372036854775807`, 1),
		strings.Replace(exportLine, `2026-01-02T03:04:05Z"}`, `9999-12-31T23:59:59+23:59"}`, 1), strings.ReplaceAll(exportLine+"\n"+strings.Replace(exportLine, `"revision":1`, `"revision":3`, 1), `"id":"a"`, `"id":"\u009b"`), "[]", "\xef\xbb\xbf" + exportLine,
		strings.Replace(exportLine, `"writer"`, `"operation":{"id":"o","digest":"d"},"report":{"dropped":[]},"archived":true,"writer"`, 1),
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		read, err := readExport(bytes.NewReader(file))
		if err != nil {
			programtest.CheckPrintable(t, err)
			return
		}
		store := memory.New()
		i := importer{store: store, in: bytes.NewReader(file), lists: read}
		missing, err := i.plan(t.Context())
		if err != nil {
			programtest.CheckPrintable(t, err)
			return
		}
		if err := i.write(t.Context(), missing); err != nil {
			t.Fatalf("what was planned is refused: %v", err)
		}
		lists, err := store.Find(t.Context(), board.Query{})
		if err != nil || len(lists) > len(read) {
			t.Fatalf("%d lists of %d, %v", len(lists), len(read), err)
		}
		var exported bytes.Buffer
		for _, l := range lists {
			revisions, err := store.History(t.Context(), l.List.ID, 0, 0)
			if err != nil || int64(len(revisions)) != l.Revision-revisions[0].Revision+1 {
				t.Fatalf("%d revisions of %d, %v", len(revisions), l.Revision, err)
			}
			for _, r := range revisions {
				if err := app.PrintJSON(&exported, r, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := readExport(bytes.NewReader(exported.Bytes())); err != nil {
			t.Fatalf("its own export: %v\n%s", err, exported.Bytes())
		}
		if n := int64(bytes.Count(exported.Bytes(), []byte("\n"))); n != missing {
			t.Fatalf("%d revisions exported of %d", n, missing)
		}
		if second, err := i.plan(t.Context()); err != nil || second > 0 {
			t.Fatalf("a second import would save %d: %v", second, err)
		}
	})
}
