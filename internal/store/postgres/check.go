package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Check is [tables.Reader.Check] of the database as it is at one moment. It does not check the
// database's own structures, as its data_checksums and amcheck do.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	return revisions, s.call(ctx, "check store", func() error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
			if _, err = tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err == nil {
				run := func(_ context.Context, _ string, run func() error) error { return run() }
				revisions, err = newReader(tx, &s.Health, run).Check(ctx, found)
			}
			return err
		})
	})
}

// Unsafe says which setting of the database lets a commit be lost that was acknowledged;
// it is empty where none does.
func (s *Store) Unsafe(ctx context.Context) (setting string, err error) {
	return setting, s.call(ctx, "read settings", func() error {
		return one(ctx, s.pool, []any{&setting}, `SELECT coalesce(string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings
			WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`)
	})
}
