// Package replicas has only tests. Several servers on one PostgreSQL, behind a round-robin balancer, serve real MCP
// clients of both protocol eras. Meanwhile servers are restarted one by one or killed, or the database is restarted,
// cut off or silent. The tests also measure how soon a change on one server is seen on another.
//
// Every test runs the real binary. `make test` runs a short form and `make replicas` the long one, which ends with a
// table of what was tried and what was lost. Both forms need Linux and PostgreSQL.
package replicas
