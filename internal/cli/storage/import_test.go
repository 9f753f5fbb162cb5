package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// exportLine is a line that import accepts.
const exportLine = `{"list":{"id":"a","name":"n","created":"2026-01-02T03:04:05Z"},"revision":1,"items":[{"id":"1","text":"A","status":"pending"}],"last_id":1,"updated":"2026-01-02T03:04:05Z","writer":{"client":"c"}}`

// began is the time at which the lists of these tests begin.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// revision returns a revision of a list with one item.
func revision(l todo.List, n int64, text string) todo.Snapshot {
	l.Created = began
	return todo.Snapshot{List: l, Revision: n, Updated: began.Add(time.Duration(n) * time.Second), LastID: 1,
		Items: []todo.Item{{ID: "1", Text: text, Status: todo.Pending}}}
}

// imports imports an export of the revisions into a store.
func imports(t testing.TB, store board.Store, revisions ...todo.Snapshot) (missing int64, err error) {
	t.Helper()
	var lines bytes.Buffer
	for _, r := range revisions {
		checktest.Check(t, app.PrintJSON(&lines, r, ""))
	}
	i := newImporter(store)
	missing, err = i.check(t.Context(), bytes.NewReader(lines.Bytes()))
	if err == nil {
		err = i.write(t.Context(), &lines, missing)
	}
	return missing, err
}

func newImporter(store board.Store) importer {
	return importer{store: store, lists: make(map[string]*history)}
}

// reads checks an export against an empty store.
func reads(t testing.TB, export string) error {
	_, err := newImporter(storetest.NewMemory()).check(t.Context(), strings.NewReader(export))
	return err
}

// breaking is a store that fails every update after the number of updates in saves.
type breaking struct {
	board.Store
	saves int
}

var errBroken = errors.New("disk on fire")

func (b *breaking) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	if b.saves--; b.saves < 0 {
		return errBroken
	}
	return b.Store.Update(ctx, key, change)
}

// A history whose first revisions were not kept is imported under its own revision numbers, since items name revisions.
// When the store fails in the middle, the error says how many revisions were imported, and the next imports of the file
// write the rest. After that, an import of the file or of an older one writes nothing.
func TestImportGoesOn(t *testing.T) {
	var h []todo.Snapshot
	for n := range int64(2*atOnce + 10) {
		s := revision(todo.List{ID: "a"}, n+3, "A")
		s.Updated, s.Items[0].PersonEdit = began, todo.PersonEdit{Text: "A", Replaced: "B", Revision: 5}
		h = append(h, s)
	}
	store := &breaking{Store: storetest.NewMemory(), saves: 1}
	if _, err := imports(t, store, h...); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "50 of 110 revisions were imported") {
		t.Errorf("a fault: %v", err)
	}
	store.saves = 9
	for n, c := range []struct {
		h    []todo.Snapshot
		want int64
	}{{h[:70], 20}, {h, 40}, {h, 0}, {h[:3], 0}} {
		checktest.Same(t, fmt.Sprintf("import %d", n+2), checktest.Must(imports(t, store, c.h...))(t), c.want)
	}
	got, err := store.History(t.Context(), "a", 0, 0)
	for n := range got {
		got[n].Seq = 0
	}
	if diff := cmp.Diff(h, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A list has another history if a revision that file and store share differs, or if its first
// revision in the file does not follow the last one in the store. Then nothing is imported.
func TestImportOfAnotherHistory(t *testing.T) {
	a, b := todo.List{ID: "a"}, todo.List{ID: "b"}
	for name, c := range map[string]struct {
		file []todo.Snapshot
		line int
	}{
		"its first revision":  {[]todo.Snapshot{revision(a, 1, "B"), revision(a, 2, "A"), revision(a, 3, "A")}, 1},
		"its newest revision": {[]todo.Snapshot{revision(a, 1, "A"), revision(a, 2, "B"), revision(a, 3, "A")}, 2},
		"a gap":               {[]todo.Snapshot{revision(a, 4, "A")}, 1},
		"behind another list": {[]todo.Snapshot{revision(b, 1, "A"), revision(a, 1, "A"), revision(a, 2, "B")}, 3},
	} {
		store := storetest.NewMemory()
		checktest.Must(imports(t, store, revision(a, 1, "A"), revision(a, 2, "A")))(t)
		_, err := imports(t, store, c.file...)
		checktest.Fails(t, name, err, fmt.Sprintf("line %d: ", c.line), "is here already, with another history")
		kept := checktest.Must(store.Find(t.Context(), board.Query{}))(t)
		if len(kept) != 1 || kept[0].Revision != 2 {
			t.Errorf("%s: %d lists, the first at %d", name, len(kept), kept[0].Revision)
		}
	}
}

// import refuses a line that two parsers could read differently: with a key twice or in another case, or with a lone
// surrogate in a text (BAD-INPUT 83). It also refuses item ids outside 1 to last_id, since the next item gets the number
// after last_id, and names and labels that are too long (BAD-INPUT 82).
//
// BAD-INPUT 82: A client's 900 kB workspace; an import with such a workspace, bad label, name, id,
// `last_id` or revision → The client's is cut to 4,096 bytes; the import is refused, naming the line
func TestImportReadsStrictly(t *testing.T) {
	huge := strings.Repeat("x", 900_000)
	const notOne = "line 1: not a line of an export"
	for name, c := range map[string]struct{ from, to, says string }{
		"as it is":                    {"", "", ""},
		"a key in another case":       {`"revision":1`, `"Revision":1`, notOne},
		"two keys, case only":         {`"revision":1`, `"revision":1,"REVISION":2`, notOne},
		"a key twice":                 {`"revision":1`, `"revision":1,"revision":2`, notOne},
		"in the list":                 {`"name":"n"`, `"name":"n","Name":"m"`, notOne},
		"in the list, another case":   {`"name":"n"`, `"Name":"n"`, notOne},
		"in the list, twice":          {`"name":"n"`, `"name":"n","name":"m"`, notOne},
		"in the list, unknown":        {`"name":"n"`, `"name":"n","nick":"m"`, notOne},
		"in an item":                  {`"text":"A"`, `"text":"A","Text":"B"`, notOne},
		"in the writer":               {`"client":"c"`, `"client":"c","CLIENT":"d"`, notOne},
		"a lone surrogate in a text":  {`"text":"A"`, `"text":"A\ud800"`, notOne},
		"a lone surrogate in a name":  {`"client":"c"`, `"client":"c\udc00"`, notOne},
		"invalid UTF-8":               {`"text":"A"`, "\"text\":\"A\xff\"", notOne},
		"a year that JSON lacks":      {`"updated":"2026-01-02T03:04:05Z"`, `"updated":"9999-12-31T23:59:59-05:00"`, notOne}, // year 10000 in UTC, which JSON lacks
		"text behind the line's JSON": {`"writer":{"client":"c"}}`, `"writer":{"client":"c"}} {}`, notOne},

		"the last revision":     {`"revision":1`, `"revision":9223372036854775807`, "revision must be 1 to"}, // a second import once panicked
		"negative last_id":      {`"last_id":1`, `"last_id":-5`, "last_id must be 0 to"},
		"last_id at the end":    {`"last_id":1`, `"last_id":9223372036854775807`, "last_id must be 0 to"},
		"last_id too low":       {`"last_id":1`, `"last_id":0`, `item 1: id "1" must be a number from 1 to last_id, which is 0`},
		"a negative id":         {`"id":"1","text"`, `"id":"-1","text"`, `item 1: id "-1" must be a number`},
		"an id of another form": {`"id":"1","text"`, `"id":"01","text"`, `item 1: id "01" must be a number`},
		"an id that is none":    {`"id":"1","text"`, `"id":"x\u009b","text"`, `must be a number`},
		"an id above last_id":   {`"id":"1","text"`, `"id":"7","text"`, `item 1: id "7" must be a number`},
		"a list's id":           {`"id":"a"`, `"id":"a\u009b31m"`, "a list's id must be visible ASCII"},
		"a name":                {`"name":"n"`, `"name":"../n"`, "list name: must be"},
		"a workspace":           {`"name":"n"`, `"name":"n","workspace":"` + huge + `"`, "the workspace is longer than 4096 bytes"},
		"a client":              {`"client":"c"`, `"client":"` + huge + `"`, "longer than 1024 bytes"},
		"a list that replaced":  {`"revision":1`, `"revision":1,"archived":true,"replaced_by":"a\u009b"`, "a list's id must be visible ASCII"},
		"a chat":                {`"name":"n"`, `"name":"n","chat":"` + huge + `"`, "longer than 1024 bytes"},
		"an order":              {`"revision":1`, `"revision":1,"order":{"replaced":"` + huge + `"}`, "the order has too many items"},
		"a person's words":      {`"text":"A"`, `"text":"A","person_edit":{"text":"\u009b31m"}`, "a person's edit: control character"},
		"a replaced wording":    {`"text":"A"`, `"text":"A","person_edit":{"replaced":"x\n` + huge + `"}`, "a person's edit: the text has more than 4000 characters"},
		"replaced wordings":     {`"text":"A"`, `"text":"A","person_edit":{"replaced":"` + strings.Repeat(`x\n`, 20) + `x"}`, "a person's edit has too much"},
		"what waits":            {`"revision":1`, `"revision":1,"later":[{"id":"later-1","text":"B","status":"pending","person_edit":{"text":"\u009b31m"}}]`, "a person's edit: control character"},
		"what waits, its id":    {`"revision":1`, `"revision":1,"later":[{"id":"2","text":"B","status":"pending"}]`, "has an id as later-1"},
		"who works":             {`"revision":1`, `"revision":1,"workers":[{"chat":"` + huge + `"}]`, ""}, // it is ignored
		"a conversation":        {`"name":"n"`, `"name":"n","conversation":"` + huge + `"`, "the conversation is longer than"},
		"the next revision":     {`}}`, "}}\n" + secondLine(2, 2), ""},
		"an id given twice":     {`}}`, "}}\n" + secondLine(2, 2) + "\n" + secondLine(3, 1), "line 3: last_id 1 is below 2"},
		"a missing revision":    {`}}`, "}}\n" + secondLine(3, 2), "line 2: revision 3 follows revision 1"},
	} {
		if !strings.Contains(exportLine, c.from) {
			t.Fatalf("%s is not in the line", c.from)
		}
		err := reads(t, strings.Replace(exportLine, c.from, c.to, 1)+"\n")
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v", name, err)
		}
		if err != nil {
			programtest.CheckPrintable(t, err)
		}
	}
}

// secondLine returns exportLine with another revision, and with the given id as the item's id and as last_id.
func secondLine(revision, id int) string {
	n := strconv.Itoa(id)
	return strings.NewReplacer(`"revision":1`, `"revision":`+strconv.Itoa(revision), `"id":"1","text"`, `"id":"`+n+`","text"`, `"last_id":1`, `"last_id":`+n).Replace(exportLine)
}

// BAD-INPUT 165: An endless pipe to `import`, or file from an editor → The pipe is refused at its
// first bad line; the file past 1 MB. Typed text stays in a file that the error names
func TestImportOfAnEndlessInput(t *testing.T) {
	for line, says := range map[string]string{
		"y\n":             "line 1: not a line of an export",
		"\x00":            "read line 1: bufio.Scanner: token too long",
		"\n":              "line 1000: not a line of an export: too many are empty",
		exportLine + "\n": "line 2: revision 1 follows revision 1",
		exportLine[:9]:    "line 1: ",
	} {
		for _, name := range []string{"TMPDIR", "TMP"} { // Windows reads TMP
			t.Setenv(name, t.TempDir())
		}
		_, err := programtest.Call{In: endless(line)}.Run(t.Context(), "import", "--store", "memory")
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasSuffix(err.Error(), "; nothing was imported") {
			t.Errorf("165: %.20q without end: %v", line, err)
		}
		checktest.Same(t, fmt.Sprintf("165: %.20q left", line), len(checktest.Must(os.ReadDir(os.TempDir()))(t)), 0)
	}
}

// endless is a reader that repeats a text without end.
type endless string

func (e endless) Read(into []byte) (n int, err error) {
	for len(into)-n >= len(e) {
		n += copy(into[n:], e)
	}
	return n, nil
}

// BAD-INPUT 43: 100,000 items, an item of 4 MB, a list over 256 kB, by calls or an import →
// Refused, naming the limit and what to do
func TestImportRefusesALargeList(t *testing.T) {
	s := todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1}
	for n := range todo.MaxSize/todo.MaxText + 1 {
		s.LastID = n + 1
		s.Items = append(s.Items, todo.Item{ID: strconv.Itoa(n + 1), Text: strings.Repeat("x", todo.MaxText), Status: todo.Pending})
	}
	line := checktest.Must(json.Marshal(s))(t)
	_, err := programtest.Try(t, string(line)+"\n", "import", "--store", "memory")
	checktest.Fails(t, "error", err, "the texts of a list are at most 256 kB together, these are 260 kB")
}

// An export keeps BegunBy and PersonEdit of items, and Order, ReplacedBy and Previous of lists: a person's edits still
// bind the agent after the list has moved to another store.
func TestExportKeepsHands(t *testing.T) {
	want := todo.Snapshot{List: todo.List{ID: "list", Previous: "before", Chat: "chat", Created: time.Unix(1, 0).UTC()}, Revision: 1, Updated: time.Unix(2, 0).UTC(), LastID: 2,
		Items: []todo.Item{
			{ID: "2", Text: "Theirs", Status: todo.InProgress, BegunBy: todo.PersonChat},
			{ID: "1", Text: "Agent's", Status: todo.Pending, BegunBy: "0123456789ab", PersonEdit: todo.PersonEdit{Text: "Person's", Replaced: "First\nSecond", Repeats: 3, Revision: 1}},
		},
		Archived: true, ReplacedBy: "next",
		Order: todo.PersonEdit{Replaced: "1,2", Text: "2,1", Repeats: 2, Revision: 1}}
	var first, second bytes.Buffer
	checktest.Check(t, app.PrintJSON(&first, want, ""))
	store := storetest.NewMemory()
	checktest.Must(imports(t, store, want))(t)
	here, err := store.Load(t.Context(), "list", 0)
	if err == nil {
		err = app.PrintJSON(&second, here, "")
	}
	if err != nil || second.String() != first.String() {
		t.Errorf("%v\n%s%s", err, &first, &second)
	}
}

// A list on which several agents work counts as equal to its export, though import ignores their chats.
func TestImportOfSharedList(t *testing.T) {
	store := storetest.NewMemory()
	list := revision(todo.List{ID: "a"}, 1, "A")
	list.Workers = []todo.Worker{{Chat: "one"}, {Chat: "two"}}
	checktest.Check(t, store.Update(t.Context(), board.Key{Chat: "a"}, func(tx board.Tx) error {
		_, err := tx.Save(t.Context(), list)
		return err
	}))
	checktest.Same(t, "revisions that are missing", checktest.Must(imports(t, store, list))(t), 0)
}

// import of a named file leaves standard input unread: a shell's loop may read its next line from it.
func TestImportLeavesStandardInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lists.ndjson")
	checktest.Check(t, os.WriteFile(file, []byte(exportLine+"\n"), 0o600))
	in := strings.NewReader("the next line\n")
	synctest.Test(t, func(t *testing.T) {
		from, err := input(t.Context(), &app.App{Env: app.Env{Stdin: struct{ io.Reader }{in}}}, []string{file})
		checktest.Check(t, err)
		synctest.Wait() // a goroutine that reads standard input has read it now
		checktest.Check(t, from.Close())
	})
	checktest.Same(t, "bytes left", in.Len(), len("the next line\n"))
}

// exported returns an export of completed lists of one conversation, oldest first. Each list has one revision. The
// parameter apart is the time from a list's revision to the next list's; the newest list's revision is made now.
func exported(t *testing.T, lists int, apart time.Duration, text string) string {
	t.Helper()
	var out strings.Builder
	for n := range lists {
		at := time.Now().Add(-time.Duration(lists-1-n) * apart).UTC()
		s := revision(todo.List{ID: fmt.Sprint("list", n), Conversation: "chat"}, 1, text)
		s.List.Created, s.Updated, s.Worked, s.Items[0].Status = at, at, at, todo.Completed
		checktest.Check(t, app.PrintJSON(&out, s, ""))
	}
	return out.String()
}

// BAD-INPUT 170: Importing 2,500 lists of one chat, or more than `--max-size` holds → The chat has
// no daily bound; a full store displaces no list: import stops, says how far, and can continue
func TestImportIsNoUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	days := exported(t, 2500, 100*24*time.Hour/2500, "Step")
	if said, err := programtest.Try(t, days, "import", "--store", "sqlite:"+file); err != nil || said != "Imported 2500 revisions.\n" {
		t.Fatalf("%s %v", said, err)
	}
	checktest.Same(t, "the same days", programtest.Succeeds(t, "export", "--store", "sqlite:"+file), days)
	st := checktest.Must(sqlite.Open(file, board.Keep{Begun: 1000}))(t)
	defer st.Close()
	b := board.NewBoard(st)
	defer b.Close()
	servertest.Apply(t, b.As(""), servertest.In("chat"), func(d *todo.Draft) { d.Append("Next") })
}

// An import that fills up the store removes none of the lists that it has written.
func TestImportMakesNoRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "todo.db")
	lines := exported(t, 600, 24*time.Hour, strings.Repeat("x", 2000))
	_, err := programtest.Try(t, lines, "import", "--store", "sqlite:"+file, "--max-size", "1")
	checktest.Fails(t, "a full store", err, "(--max-size)", "of 600 revisions were imported before it")
	if got := programtest.Succeeds(t, "export", "--store", "sqlite:"+file); got == "" || !strings.HasPrefix(lines, got) {
		t.Errorf("of what was imported before, %d bytes are here", len(got))
	}
	if said, err := programtest.Try(t, lines, "import", "--store", "sqlite:"+file); err != nil {
		t.Errorf("with more room: %s %v", said, err)
	}
	if got := programtest.Succeeds(t, "export", "--store", "sqlite:"+file); got != lines {
		t.Errorf("%d bytes are here of %d", len(got), len(lines))
	}
}

// If import accepts a file, it stores all revisions, and their export is accepted too. If import refuses a file, the
// error is safe to print.
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
		store := storetest.NewMemory()
		i := newImporter(store)
		missing, err := i.check(t.Context(), bytes.NewReader(file))
		if err != nil {
			programtest.CheckPrintable(t, err)
			return
		}
		if err := i.write(t.Context(), bytes.NewReader(file), missing); err != nil {
			t.Fatalf("what was checked is refused: %v", err)
		}
		lists, err := store.Find(t.Context(), board.Query{})
		if err != nil || len(lists) > len(i.lists) {
			t.Fatalf("%d lists of %d, %v", len(lists), len(i.lists), err)
		}
		var exported bytes.Buffer
		for _, l := range lists {
			revisions, err := store.History(t.Context(), l.List.ID, 0, 0)
			if err != nil || int64(len(revisions)) != l.Revision-revisions[0].Revision+1 {
				t.Fatalf("%d revisions of %d, %v", len(revisions), l.Revision, err)
			}
			for _, r := range revisions {
				checktest.Check(t, app.PrintJSON(&exported, r, ""))
			}
		}
		if err := reads(t, exported.String()); err != nil {
			t.Fatalf("its own export: %v\n%s", err, exported.Bytes())
		}
		if n := int64(bytes.Count(exported.Bytes(), []byte("\n"))); n != missing {
			t.Fatalf("%d revisions exported of %d", n, missing)
		}
		if second, err := newImporter(store).check(t.Context(), bytes.NewReader(file)); err != nil || second > 0 {
			t.Fatalf("a second import would save %d: %v", second, err)
		}
	})
}
