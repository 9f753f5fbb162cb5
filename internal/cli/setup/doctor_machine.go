package setup

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/cli/run"
	"todo-mcp/internal/install"
	"todo-mcp/internal/todo"
	"todo-mcp/server/auth"
)

// lookAtProgram finds out which program clients start that call todo-mcp by its name.
func lookAtProgram(_ context.Context, a *app.App, r *report) {
	self, err := os.Executable()
	if err != nil {
		r.add(problem, "", "%v", err)
		return
	}
	found, err := exec.LookPath("todo-mcp")
	switch {
	case strings.Contains(filepath.ToSlash(self), "/go-build"):
		r.add(remark, "`make build`, and put bin/todo-mcp on your PATH", "built by `go run` for this run alone; clients need one that stays")
	case err != nil:
		r.add(remark, "", "%s; PATH does not find todo-mcp, so that clients must start it by its whole path, as `todo-mcp install` writes it", self)
	case !install.IsSameFile(found, self):
		r.add(warning, "remove one of them, or order PATH otherwise", "%s, but PATH finds another one, which clients start by its name: %s", self, found)
	default:
		r.add(fine, "", "%s, where PATH finds it", found)
	}
}

// lookAtSettings says which settings are not the defaults, where each came from, and
// which are wrong.
func lookAtSettings(_ context.Context, a *app.App, r *report) {
	for _, err := range a.Wrong {
		r.add(problem, "correct it there", "%v", err)
	}
	for _, s := range a.Set {
		value := todo.Cut(s.Value, maxShown)
		if s.Secret {
			value = "…"
		}
		r.add(fine, "", "%s = %s (%s)", s.Name, value, s.From)
	}
	if len(a.Set) == 0 && a.Wrong == nil {
		r.add(fine, "", "all as by default; a config file would be %s", cmp.Or(a.File, "named by --config"))
	}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if meant := misspelt(name); meant != "" && value != "" {
			r.add(warning, "did you mean "+meant+"?", "the variable %s is no setting", name)
		}
	}
}

// maxShown is how much of a value the report shows, in characters.
const maxShown = 100

// misspelt returns the variable of a setting that was probably meant by the name of
// another; empty if none was.
func misspelt(name string) string {
	if !strings.HasPrefix(name, "TODO_") {
		return ""
	}
	known := []string{"TODO_CONFIG", "TODO_TOKEN"}
	for _, row := range app.NewSettings().Rows {
		known = append(known, row.Variable())
	}
	if slices.Contains(known, name) {
		return ""
	}
	return app.Nearest(name, known)
}

// lookAtStore reads and writes the store, and if it is not large, reads the whole of it.
func lookAtStore(ctx context.Context, a *app.App, r *report) {
	place, err := a.Place()
	if err != nil {
		r.add(problem, "name another by --store or TODO_STORE", "%v", err)
		return
	}
	name := place.String(a.Getenv("HOME"))
	if place.Memory() {
		r.add(warning, "leave --store away, or name a file: --store sqlite:PATH", "in memory: lists end with the process, and no other process sees them")
		return
	}
	info, err := os.Stat(place.File)
	if place.File != "" && errors.Is(err, os.ErrNotExist) {
		if err := place.CheckFolder(); err != nil {
			r.add(problem, "", "%v", err)
		} else {
			r.add(fine, "", "%s: not there yet; the first list makes it", name)
		}
		return
	}
	began := time.Now()
	all, open, err := tryStore(ctx, a)
	if err != nil {
		cure := ""
		if errors.Is(err, context.DeadlineExceeded) {
			cure = "another program may have it locked: end it, or name another store with --store"
		}
		r.add(problem, cure, "%s: %v", name, err)
		return
	}
	r.add(fine, "", "%s: lists: %d, open: %d; read and written in %s", name, all, open, time.Since(began).Round(time.Millisecond))
	if place.File != "" {
		lookAtFile(ctx, a, r, place.File, info)
	}
}

// tryStore reads all lists and tries a write. It returns how many lists there are, and
// how many of them are open.
func tryStore(ctx context.Context, a *app.App) (all, open int, err error) {
	lists, done, err := a.OpenLists()
	if err != nil {
		return 0, 0, err
	}
	defer done()
	found, err := lists.Find(ctx, todo.Query{})
	for _, l := range found {
		if l.Open() {
			open++
		}
	}
	if err == nil {
		err = lists.TryWrite(ctx)
	}
	return len(found), open, err
}

// maxChecked is up to which size in bytes a file is read as a whole.
const maxChecked = 50_000_000

// lookAtFile looks at the store's file itself.
func lookAtFile(ctx context.Context, a *app.App, r *report, path string, info os.FileInfo) {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		r.add(warning, "chmod 600 "+path, "others on this machine may open the file (%s)", info.Mode().Perm())
	}
	if most := a.Keep.Bytes; most > 0 && info.Size() >= most/10*9 {
		r.add(warning, "`todo-mcp prune`, or a larger --max-size", "the file has %d MB of the %d that it may take: no new lists are begun", info.Size()/1e6, most/1e6)
	}
	if info.Size() > maxChecked {
		r.add(remark, "`todo-mcp check` reads all of it", "%d MB, too many to look for damage here", info.Size()/1e6)
		return
	}
	damage := ""
	revisions, err := a.CheckStore(ctx, func(p string) { damage = cmp.Or(damage, p) })
	switch {
	case err != nil:
		r.add(problem, "", "%v", err)
	case damage != "":
		r.add(problem, "`todo-mcp check` says all of it", "damaged: %s", damage)
	default:
		r.add(fine, "", "no damage: revisions read: %d", revisions)
	}
}

// lookAtServing looks at what `serve` needs, and who serves the panel now.
func lookAtServing(ctx context.Context, a *app.App, r *report) {
	if err := run.CheckSignIn(a); err != nil {
		r.add(problem, "", "`todo-mcp serve` would not start: %v", err)
	}
	if _, err := run.LoadTLS(a); err != nil {
		r.add(problem, "", "%v", err)
	}
	if path := a.SignIn.Tokens; path != "" {
		tokens, err := auth.ReadTokens(path)
		switch {
		case err != nil:
			r.add(problem, "", "%v", err)
		case len(tokens) == 0:
			r.add(warning, "todo-mcp token new NAME --tokens "+path, "there is no token, so that nobody can sign in by one")
		}
	}
	url := run.Scheme(a) + "://" + a.Addr + "/"
	if a.TLSCert == "" && run.IsOwnPanel(ctx, a.Addr) {
		r.add(fine, "", "served at %s", url)
		return
	}
	l, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		_ = l.Close()
		r.add(remark, "`todo-mcp serve --open`, or --panel in the command of a client", "nobody serves it now; it would be at %s", url)
	case a.TLSCert != "":
		r.add(remark, "", "something serves %s (%v)", url, err)
	default:
		r.add(warning, "end that program, or take another address with --addr or TODO_ADDR", "%s cannot be served: %v, by another program", url, err)
	}
}

// lookAtHooks says whether hooks failed lately.
func lookAtHooks(_ context.Context, a *app.App, r *report) {
	path := silentLog(a.Getenv)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > 24*time.Hour {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for _, line := range slices.Backward(strings.Split(string(data), "\n")) {
		if strings.Contains(line, " level=ERROR ") {
			r.add(warning, "all of it is in "+path, "the last one that failed: %s", todo.Cut(line, maxShownError))
			return
		}
	}
}
