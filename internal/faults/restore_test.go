//go:build e2e && linux

package faults

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func command(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	return commandAs(t, nil, in, name, args...)
}

func commandAs(t *testing.T, as *user, in []byte, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(in)
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v %s", name, strings.Join(args, " "), err, failed.String())
	}
	return out
}

// newPostgres starts a PostgreSQL server for the test alone and returns the address of an empty database in it. Closing
// the server removes all its data, as the loss of its disk does.
func newPostgres(t *testing.T) (address string, server *postgrestest.Server) {
	t.Helper()
	server = checktest.Must(postgrestest.New())(t)
	t.Cleanup(server.Close)
	return checktest.Must(server.NewDatabase())(t), server
}

// beginPostgres is newPostgres with 5,000 transactions made. Its backup is restored into a new server, whose
// transactions have lower numbers (from less than 1,000). lose closes the first server.
func beginPostgres(t *testing.T) (address string, lose func()) {
	t.Helper()
	address, server := newPostgres(t)
	command(t, nil, "psql", "--quiet", "--command=SET synchronous_commit = off", "--command=DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$", address)
	return address, server.Close
}

// drill is a way to back a store up and to restore it, as docs/operations.md says.
type drill struct {
	// begin returns the address of a new store, and a function that removes it.
	begin func(t *testing.T) (store string, lose func())
	// backUp copies a store that is in use to a file.
	backUp func(t *testing.T, store, file string)
	// restore makes a new store from the file, and returns its address.
	restore func(t *testing.T, file string) (store string)
}

func exportStore(t *testing.T, store, file string) {
	checktest.Check(t, os.WriteFile(file, command(t, nil, program, "export", "--store", store), 0o600))
}

func importFile(t *testing.T, file, store string) {
	command(t, nil, program, "import", file, "--keep-revisions", "0", "--store", store)
}

func importElsewhere(t *testing.T, file string) (store string) {
	store, _ = newPostgres(t)
	importFile(t, file, store)
	return store
}

// fileDrill is the drill for a SQLite file whose server runs as a service under its own account. If byService is true,
// the commands of the drill run under that account, too.
func fileDrill(byService bool) drill {
	var operator *user
	return drill{
		begin: func(t *testing.T) (store string, lose func()) {
			dir, service := folderOfAUser(t)
			if byService {
				operator = service
			}
			return "sqlite:" + filepath.Join(dir, "todo.db"), func() { checktest.Check(t, os.RemoveAll(dir)) }
		},
		backUp: func(t *testing.T, store, file string) {
			commandAs(t, operator, nil, program, "backup", file, "--store", store)
			if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
				t.Errorf("the copy: %v, %v", info, err)
			}
			if printed, err := onStore(store, "backup", file); err == nil || !strings.Contains(printed, "is there already") {
				t.Errorf("a second backup to the same file: %v %s", err, printed)
			}
		},
		restore: func(t *testing.T, file string) string {
			dir, _ := folderOfAUser(t)
			place := filepath.Join(dir, "todo.db")
			store := "sqlite:" + place
			if byService {
				commandAs(t, operator, nil, program, "backup", "--restore", "--yes", file, "--store", store)
				return store
			}
			checktest.Check(t, os.Rename(file, place))
			giveToOwner(t, place)
			command(t, nil, program, "check", "--store", store)
			return store
		},
	}
}

func giveToOwner(t *testing.T, file string) {
	t.Helper()
	if as := ownerOf(t, "sqlite:"+file); as != nil {
		checktest.Check(t, os.Chown(file, int(as.Uid), int(as.Gid)))
	}
}

// ownerOf returns the account that owns a SQLite store's folder. It returns nil if that account runs the tests, or if
// the store is in PostgreSQL.
func ownerOf(t *testing.T, store string) *user {
	t.Helper()
	file, isFile := strings.CutPrefix(store, "sqlite:")
	if !isFile {
		return nil
	}
	info := checktest.Must(os.Stat(filepath.Dir(file)))(t)
	owner := info.Sys().(*syscall.Stat_t)
	if int(owner.Uid) == os.Getuid() {
		return nil
	}
	return &user{Uid: owner.Uid, Gid: owner.Gid}
}

type writing struct {
	clients []*servertest.Chat
	acks    journal
	stop    func()
}

func startWriting(t *testing.T, s *serving) *writing {
	t.Helper()
	w := &writing{}
	ended := make(chan struct{})
	var all sync.WaitGroup
	w.stop = sync.OnceFunc(func() { close(ended); all.Wait() })
	t.Cleanup(w.stop)
	for i := range 4 {
		c := s.session(t, fmt.Sprint("list-", i))
		w.clients = append(w.clients, c)
		all.Go(func() {
			own := &writer{}
			own.Name = fmt.Sprint("w", i)
			for {
				ack, err := own.write(c)
				select {
				case <-ended:
					return
				default:
				}
				if err != nil {
					t.Error(err)
					return
				}
				w.acks.Add(ack)
			}
		})
	}
	return w
}

func (w *writing) await(t *testing.T, n int) []acknowledged {
	t.Helper()
	want := w.acks.Len() + n
	programtest.Await(t, fmt.Sprint(want, " writes"), func() bool { return w.acks.Len() >= want })
	return w.acks.All()
}

// BAD-INPUT 93: The store's disk dies after a backup made while agents wrote → The backup has each write acknowledged
// before its start; sessions and list names stay valid
func TestRestoreDrill(t *testing.T) {
	for name, d := range map[string]drill{
		"SQLite, backup by the service": fileDrill(true),
		"SQLite, of a service, by root": fileDrill(false),
		"SQLite, export to PostgreSQL":  {fileDrill(false).begin, exportStore, importElsewhere},
		"PostgreSQL, export":            {beginPostgres, exportStore, importElsewhere},
		"PostgreSQL, pg_dump": {beginPostgres, exportDump, func(t *testing.T, file string) string {
			store, _ := newPostgres(t)
			command(t, nil, "pg_restore", "--exit-on-error", "--no-owner", "--dbname="+store, file)
			return store
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the test waits for databases to start
			store, lose := d.begin(t)
			s := checktest.Must(newServing(t, ownerOf(t, store), "--store", store))(t)
			w := startWriting(t, s)
			before := w.await(t, size(100, 1000))
			dir, _ := folderOfAUser(t)
			file := filepath.Join(dir, "backup")
			began := time.Now()
			d.backUp(t, store, file)
			took := time.Since(began)
			during := w.await(t, 20)
			w.stop()
			whole := checktest.Must(export(t, store))(t)
			s.Kill()
			key := takeKey(t, store)
			lose()
			restored := d.restore(t, file)
			giveKey(t, restored, key)
			got := checktest.Must(export(t, restored))(t)
			lost := got.Check(t, before)
			for list, revisions := range got {
				if n := len(revisions); n > len(whole[list]) || cmp.Diff(whole[list][:n], revisions) != "" {
					t.Errorf("list %s has another history after the restore", list)
				}
			}
			checkSessionsContinue(t, restored, w.clients)
			report.Add(t, programtest.Row{Fault: "disk lost, restored: " + name, Tried: fmt.Sprintf("4 agents write, %d writes meanwhile", len(during)-len(before)), Times: "once",
				Acknowledged: len(before), Lost: lost, Notes: fmt.Sprintf("backup in %.1f s", took.Seconds())})
		})
	}
}

// BAD-INPUT 136: `backup --restore` while servers run; from a damaged copy → Servers and open pages go on with the
// backup; a damaged copy changes nothing
func TestBackupRestoredUnderServers(t *testing.T) {
	dir := t.TempDir()
	store, file := "sqlite:"+filepath.Join(dir, "todo.db"), filepath.Join(dir, "backup.db")
	a, b := mustServe(t, "--store", store), mustServe(t, "--store", store)
	chat := a.session(t, "plan")
	chat.Writes("p:Plan it c:Look around")
	command(t, nil, program, "backup", file, "--store", store)
	chat.Writes("c:Plan it c:Look around p:Build it")
	b.session(t, "later").Writes("p:Begun later")
	damaged := filepath.Join(dir, "damaged.db")
	command(t, nil, program, "backup", damaged, "--store", store)
	damageRow(t, "sqlite:"+damaged, chat.Current(), 2)
	wrong := noCopies(t, dir, file)
	wrong[damaged], wrong[filepath.Join(dir, "none.db")], wrong[filepath.Join(dir, "todo.db")] = "damaged", "no such file", "the store itself"
	for from, says := range wrong {
		printed, err := onStore(store, "backup", "--restore", "--yes", from)
		for _, part := range append(strings.Split(says, "*"), "nothing was changed") {
			if err == nil || !strings.Contains(printed, part) {
				t.Errorf("restored from %s: %v %s", from, err, printed)
			}
		}
	}
	var lists []struct{ Items []struct{ Text string } }
	if servertest.GetJSON(t, b.url+"/api/lists", &lists); len(lists) != 2 || len(lists[1].Items) != 3 {
		t.Errorf("after what was refused: %v", lists)
	}
	watch := servertest.OpenStream(t, "GET", b.url+"/api/events", "")
	watch.Expect("retry")
	command(t, nil, program, "backup", "--restore", "--yes", file, "--store", store)
	seenSoon(t, watch, chat.Current())
	for _, s := range []*serving{a, b} {
		if servertest.GetJSON(t, s.url+"/api/lists", &lists); len(lists) != 1 || len(lists[0].Items) != 2 {
			t.Errorf("after the restore: %v", lists)
		}
	}
	b.session(t, "another").Writes("p:After it")
	seenSoon(t, watch, "After it")
	chat.Writes("p:Plan it c:Look around p:Go on")
	seenSoon(t, watch, "Go on")
	if servertest.GetJSON(t, a.url+"/api/lists", &lists); len(lists) != 2 || len(lists[0].Items) != 3 || lists[0].Items[2].Text != "Go on" {
		t.Errorf("what was written last is not the newest: %v", lists)
	}
	succeeds(t, store, "check")
	report.Add(t, programtest.Row{Fault: "backup restored under servers", Tried: "two servers with a page open; from a damaged copy first", Times: "once", Acknowledged: 3})
}

// noCopies makes files that are not copies of a store; two are the beginning of a copy. It returns, by path, the
// expected error for each file, with * between parts of the error.
func noCopies(t *testing.T, dir, whole string) map[string]string {
	t.Helper()
	content := checktest.Must(os.ReadFile(whole))(t)
	wrong := make(map[string]string)
	place := func(name, says string) string {
		path := filepath.Join(dir, name)
		wrong[path] = path + " is not a copy of a store*" + says
		return path
	}
	command(t, nil, "sqlite3", place("another", "it is another program's database"), "CREATE TABLE theirs (x)")
	for _, err := range []error{
		os.WriteFile(place("empty", "it is empty"), nil, 0o600),
		os.WriteFile(place("text", "file is not a database"), []byte(strings.Repeat("my diary\n", 100)), 0o600),
		os.WriteFile(place("short", "store is damaged"), content[:50], 0o600),
		os.WriteFile(place("cut", "store is damaged"), content[:len(content)/2], 0o600),
		os.Mkdir(place("folder", "is a folder"), 0o700),
		syscall.Mkfifo(place("pipe", "a pipe"), 0o600),
	} {
		checktest.Check(t, err)
	}
	return wrong
}

// checkSessionsContinue checks that sessions go on with their named lists in a restored store, that watchers see the
// writes of these sessions, and that each such write is newer than all restored ones.
func checkSessionsContinue(t *testing.T, store string, clients []*servertest.Chat) {
	t.Helper()
	s := checktest.Must(newServing(t, ownerOf(t, store), "--store", store))(t)
	watch := servertest.OpenStream(t, "GET", s.url+"/api/events", "")
	watch.Expect("retry")
	for i, c := range clients {
		own := &writer{}
		own.Name = fmt.Sprint("after", i)
		done := checktest.Must(own.write(c.At(s.endpoint(fmt.Sprint("list-", i)))))(t)
		if done.Revision < 2 {
			t.Errorf("the name list-%d means a new list after the restore", i)
		}
		watch.Expect(done.List)
		var lists []struct{ List string }
		if servertest.GetJSON(t, s.url+"/api/lists", &lists); len(lists) != len(clients) || lists[0].List != done.List {
			t.Errorf("what was written last is not the newest: %v, want %s first", lists, done.List)
		}
	}
}

// takeKey returns the key that signs sessions, in hexadecimal. giveKey puts this key into a restored store, because
// some kinds of backup leave it out.
func takeKey(t *testing.T, store string) (key string) {
	t.Helper()
	file, isFile := strings.CutPrefix(store, "sqlite:")
	if !isFile {
		return strings.TrimSpace(string(command(t, nil, "psql", "--quiet", "--tuples-only", "--no-align", "--command=SELECT encode(session_key, 'hex') FROM todo_mcp.store", store)))
	}
	db := checktest.Must(sql.Open("sqlite", file))(t)
	defer db.Close()
	checktest.Check(t, db.QueryRow("SELECT hex(session_key) FROM store").Scan(&key))
	return key
}

func giveKey(t *testing.T, store, key string) {
	t.Helper()
	file, isFile := strings.CutPrefix(store, "sqlite:")
	if !isFile {
		command(t, nil, "psql", "--quiet", "--command=UPDATE todo_mcp.store SET session_key = decode('"+key+"', 'hex')", store)
		return
	}
	db := checktest.Must(sql.Open("sqlite", file))(t)
	defer db.Close()
	checktest.Must(db.Exec("UPDATE store SET session_key = unhex(?)", key))(t)
}

func onStore(store string, args ...string) (printed string, err error) {
	cmd := exec.Command(program, append(args, "--store", store)...)
	cmd.Dir = os.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func succeeds(t *testing.T, store, line string) {
	t.Helper()
	if printed, err := onStore(store, strings.Fields(line)...); err != nil {
		t.Errorf("%s: %v\n%s", line, err, printed)
	}
}

// damageRow changes the body of a list's revision directly in the database. In SQLite, where each row has a checksum,
// it makes each 0 a 1; in PostgreSQL it cuts the body to 40 characters.
func damageRow(t *testing.T, store, list string, revision int) {
	t.Helper()
	file, isFile := strings.CutPrefix(store, "sqlite:")
	if !isFile {
		command(t, nil, "psql", "--quiet", fmt.Sprintf("--command=UPDATE todo_mcp.history SET body = left(body, 40) WHERE list = '%s' AND revision = %d", list, revision), store)
		return
	}
	db := checktest.Must(sql.Open("sqlite", file))(t)
	defer db.Close()
	checktest.Must(db.Exec("PRAGMA busy_timeout = 10000; UPDATE history SET body = replace(body, '0', '1') WHERE list = ? AND revision = ?", list, revision))(t)
}

func pageOf(t *testing.T, section, language string) string {
	t.Helper()
	page := checktest.Must(os.ReadFile(filepath.Join("..", "..", "docs", "operations.md")))(t)
	_, rest, _ := strings.Cut(string(page), "\n## "+section+"\n")
	commands := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(rest)
	if commands == nil {
		t.Fatalf("no commands under %s", section)
	}
	return commands[1]
}

// BAD-INPUT 130: Flipped bits: a row's checksum is wrong → The row is left out and [reported](../operations.md#damage);
// all else goes on. `check` reads every row; `restore` repairs, as does `export --keep-going` with `import`
func TestDamagedRow(t *testing.T) {
	for name, begin := range newStores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := begin(t)
			s := mustServe(t, "--store", store)
			chats, ids := make([]*servertest.Chat, 12), make([]string, 12)
			for i := range chats {
				chats[i] = s.session(t, "")
				chats[i].Writes(fmt.Sprintf("p:Step %d one p:Step %d two", i, i))
				chats[i].Sets("1", "completed")
				chats[i].Adds("Ship")
				ids[i] = chats[i].Current()
			}
			before := checktest.Must(export(t, store))(t)
			newest, earlier := ids[4], ids[7]
			damageRow(t, store, newest, 3)
			damageRow(t, store, earlier, 2)
			s.Kill() // the running server would still have the newest states in memory
			s = mustServe(t, "--store", store)
			says := func(command, text string) {
				t.Helper()
				printed, _ := onStore(store, strings.Fields(command)...)
				checktest.Has(t, command, printed, text)
			}
			for _, c := range []string{
				"lists", "show " + ids[0], "show " + earlier, "history " + ids[0], "history " + newest, "today", "lists --search Step",
				"rename " + ids[0] + " Renamed", "archive " + ids[1], "restore " + ids[2] + " 1", "prune --older-than 1 --yes",
			} {
				succeeds(t, store, c)
			}
			for c, text := range map[string]string{"lists --json": "left out", "history " + earlier: "left out", "doctor": "damaged", "show " + newest: "damaged", "check": newest, "export": "--keep-going"} {
				says(c, text)
			}
			for _, c := range []struct{ path, want string }{
				{"/api/lists", "Step 0"}, {"/", "Step 0"}, {"/readyz", "damaged and left out"}, {"/metrics", `\ntodo_store_damaged_rows [12]\n`},
			} {
				if status, text := get(s.url + c.path); status != 200 || !regexp.MustCompile(c.want).MatchString(text) {
					t.Errorf("%s: %d %s", c.path, status, text)
				}
			}
			for _, i := range []int{3, 4, 7} { // an undamaged list, and the two damaged ones
				chats[i].At(s.endpoint("")).Writes("p:Step " + fmt.Sprint(i) + " two p:Three")
			}
			succeeds(t, store, "restore "+newest+" 1")
			says("show "+newest, "Step 4 two")
			says("history "+newest, "command line restore")
			says("check", newest)
			s.Kill()
			restored := begin(t)
			follow(t, pageOf(t, "Damage", "sh"), "TODO_STORE="+store, "NEW="+restored)
			after := checktest.Must(export(t, restored))(t)
			for i, id := range ids {
				want, got := before[id], after[id]
				switch id {
				case newest:
					want = want[:2]
				case earlier:
					want, got = want[2:], got[2:]
				}
				if len(got) < len(want) || cmp.Diff(want, got[:len(want)]) != "" {
					t.Errorf("list %d is another one: %s", i, cmp.Diff(want, got))
				}
			}
			succeeds(t, store, "delete "+newest+" --purge --yes")
		})
	}
}

func newStores() map[string]func(t *testing.T) (store string) {
	return map[string]func(*testing.T) string{
		"a file":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "todo.db") },
		"PostgreSQL": func(t *testing.T) string { address, _ := newPostgres(t); return address },
	}
}

// follow runs the commands of a page in their order. All must succeed except the first `check`, which finds damage.
func follow(t *testing.T, commands string, environment ...string) {
	t.Helper()
	dir := t.TempDir()
	checktest.Check(t, os.Symlink(program, filepath.Join(dir, "todo-mcp")))
	for line := range strings.Lines(commands) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append([]string{"HOME=" + dir, "PATH=" + dir + ":" + os.Getenv("PATH")}, environment...)
		if printed, err := cmd.CombinedOutput(); err != nil && !strings.HasPrefix(line, "todo-mcp check  ") {
			t.Errorf("%s: %v\n%s", line, err, printed)
		}
	}
}
