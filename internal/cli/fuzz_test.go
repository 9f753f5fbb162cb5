package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/render"
	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// began is the time of the drafts.
var began = time.Unix(0, 0)

// checkPrintable fails unless an error is safe to print, and no longer than what a
// terminal can show.
func checkPrintable(t *testing.T, err error) {
	t.Helper()
	for line := range strings.SplitSeq(err.Error(), "\n") { // joined errors have one each
		if render.Safe(line) != line {
			t.Fatalf("raw in %q", err)
		}
	}
	if len(err.Error()) > 4000 {
		t.Fatalf("an error of %d bytes: %.300q…", len(err.Error()), err)
	}
}

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
		f.Add([]byte(file), "", false)
		f.Add([]byte(file), "copy", true)
	}
	f.Fuzz(func(t *testing.T, file []byte, as string, replace bool) {
		histories, err := readExport(bytes.NewReader(file))
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if as != "" && todo.CheckName(as) != nil {
			return // the flag refuses it
		}
		store := memory.New()
		i := importer{store: store, options: importOptions{as: as, replace: replace}}
		plan, err := i.plan(t.Context(), histories)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if err := i.write(t.Context(), plan); err != nil {
			t.Fatalf("what was planned is refused: %v", err)
		}
		lists, err := store.Find(t.Context(), todo.Query{})
		if err != nil || len(lists) > len(histories) {
			t.Fatalf("%d lists of %d, %v", len(lists), len(histories), err)
		}
		var exported bytes.Buffer
		for _, l := range lists {
			revisions, err := store.History(t.Context(), l.List.ID, 0, 0)
			if err != nil || int64(len(revisions)) != l.Revision {
				t.Fatalf("%d revisions of %d, %v", len(revisions), l.Revision, err)
			}
			for _, r := range revisions {
				if err := printLine(&exported, r); err != nil {
					t.Fatal(err)
				}
			}
		}
		again, err := readExport(bytes.NewReader(exported.Bytes()))
		if err != nil {
			t.Fatalf("its own export: %v\n%s", err, exported.Bytes())
		}
		stored := 0
		for _, h := range again {
			stored += len(h)
		}
		if stored != len(plan.saves) {
			t.Fatalf("%d revisions exported of %d", stored, len(plan.saves))
		}
		if second, err := i.plan(t.Context(), histories); err != nil || len(second.saves) > 0 && as == "" && !replace {
			t.Fatalf("a second import would save %d: %v", len(second.saves), err)
		}
	})
}

// A text from the editor is refused with its line, or is items that may be stored
// and that the editor would be given again as they are.
func FuzzEdited(f *testing.F) {
	sample := formatEditable(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A <!--2-->", Status: todo.Blocked}, {ID: "2", Text: "- [x] B", Status: todo.Failed}}})
	for _, text := range []string{sample, "- [ ] a\n* [>] b <!-- #7 -->\r\n+ [-] c<!--99999999999999999999-->", "<!--\n- [ ] hidden\n-->\n- [x] seen", "- [ ] \x1b[2J", "- [é] x", "no task", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parseEdited(text)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		d := todo.NewDraft(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}, began)
		if err := (todo.Edit{Do: todo.EditItems, Lines: lines}).Check(); err != nil && len(lines) <= todo.MaxItems {
			t.Fatalf("%q is read as %+v: %v", text, lines, err)
		}
		view := todo.CoreView()
		view.Active = false
		d.Replace(view, lines)
		seen := make(map[string]bool)
		for _, item := range d.Items() {
			if err := item.Check(); err != nil || seen[item.ID] {
				t.Fatalf("%+v: %v", item, err)
			}
			seen[item.ID] = true
		}
		again, err := parseEdited(formatEditable(todo.Snapshot{Items: d.Items()}))
		if err != nil {
			t.Fatalf("%q is given to the editor as what it refuses: %v", text, err)
		}
		for n, line := range again {
			if item := d.Items()[n]; line.Text != item.Text || line.Status != string(item.Status) || line.ID != item.ID {
				t.Fatalf("%+v comes from the editor as %+v", item, line)
			}
		}
	})
}

// A Markdown file is refused, or is items that may be stored.
func FuzzImportMarkdown(f *testing.F) {
	for _, text := range []string{"- [ ] a\n- [x] ~~b~~ *(due: c)*", "- [ ] \x00", "# none", strings.Repeat("- [ ] a\n", 1001), "- [ ] " + strings.Repeat("é", 5000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items := render.ReadMarkdown(text)
		lines, err := taskLines(items)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		d := todo.NewDraft(todo.Snapshot{}, began)
		d.Replace(todo.CoreView(), lines)
		addNotes(d, items)
		if len(d.Items()) != len(items) {
			t.Fatalf("%d items of %d", len(d.Items()), len(items))
		}
		for _, item := range d.Items() {
			if err := errors.Join(item.Check(), item.CheckDetails()); err != nil {
				t.Fatalf("%+v: %v", item, err)
			}
		}
	})
}

// A config file and environment are settings, or an error that names the place
// and shows no secret.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"# none\n\nmax-items = 5\n", "max-items=-1", "addr = 0.0.0.0:1", "keep-revisions = short", "client-secret = a b", "x = \x1b[2J", "tools = all,\xff", "=", "structured = auto\r\nstructured = never", "store = file:\x00"} {
		f.Add([]byte(text), "secret-8d0c41")
	}
	path := filepath.Join(f.TempDir(), "config")
	f.Fuzz(func(t *testing.T, text []byte, secret string) {
		secret = "8d0c41" + secret // what is shown of it would be found
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := fromFile(path, true)
		if err == nil {
			environment := fromEnvironment(func(name string) string {
				if name == "TODO_CLIENT_SECRET" || name == "TODO_STORE_NOTICES" {
					return secret
				}
				return ""
			})
			_, err = load([]layer{environment, file})
		}
		if err != nil {
			checkPrintable(t, err)
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("a secret is shown: %v", err)
			}
		}
	})
}

// A session key's file has a key of 32 bytes or more, or is said to be damaged; it
// is left as it is.
func FuzzSessionKey(f *testing.F) {
	for _, text := range []string{"", strings.Repeat("ab", 32), strings.Repeat("AB", 40) + "\n", strings.Repeat("ab", 31), strings.Repeat("zz", 32), " \x00"} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "session.key")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := loadOrStoreKey(path, bytes.Repeat([]byte("n"), 32))
		if err != nil {
			if checkPrintable(t, err); !strings.Contains(err.Error(), "damaged") {
				t.Fatal(err)
			}
		} else if len(key) < 32 || bytes.Equal(key, bytes.Repeat([]byte("n"), 32)) && !bytes.Contains(text, []byte("6e6e")) && !bytes.Contains(text, []byte("6E6E")) {
			t.Fatalf("key %x of %q", key, text)
		}
		left, err := os.ReadFile(path)
		if diff := cmp.Diff(text, left); err != nil || diff != "" && len(text)+len(left) > 0 {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
