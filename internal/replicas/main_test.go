//go:build e2e && linux

package replicas

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
)

// program is the path of the real binary, and report what the tests found; both
// are of one run of the tests.
var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) {
	// Many clients share the default one: they keep their connections.
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100
	os.Exit(programtest.Run(m, &program, &report))
}

// database is a PostgreSQL with one database.
type database struct {
	*postgrestest.Server
	address string
}

// newDatabase starts a PostgreSQL of the test's own, which it may stop. Its commits
// are as durable as in production.
func newDatabase(t testing.TB) database {
	t.Helper()
	s, err := postgrestest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	address, err := s.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return database{s, address}
}

// connections returns how many connections replicas have to the database.
func (d database) connections(t testing.TB) (n int) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
