package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A damaged chat counts as none, is found by a check, and is in no other's way: it can be saved
// over, whatever of it is damaged. A damaged key or notice counts as another time.
func TestDamagedChat(t *testing.T) {
	for column, value := range map[string]string{"principal": "'x'", "member": "'x'", "used": "7", "ended": "'x'", "body": "'{'", "sum": "7"} {
		path, s := newStore(t)
		c := todo.Chat{ID: "c", User: "u", Client: "client", Used: time.Now().Round(0).UTC()}
		save := func(id string) {
			t.Helper()
			c.ID = id
			if _, err := storetest.SaveChat(t.Context(), s, c); err != nil {
				t.Error(err)
			}
		}
		save("c")
		save("other")
		execSQL(t, openRaw(t, path), `UPDATE chats SET `+column+` = `+value+` WHERE id = 'c'`)
		if got, err := s.Chat(t.Context(), "c"); err != nil || got != (todo.Chat{}) {
			t.Errorf("78: %s: %+v, %v", column, got, err)
		}
		if all, err := s.Chats(t.Context(), board.ChatQuery{}); err != nil || len(all) != 1 || all[0].ID != "other" {
			t.Errorf("78: %s: %+v, %v", column, all, err)
		}
		var problems []string
		if _, err := s.Check(t.Context(), func(problem string) { problems = append(problems, problem) }); err != nil || len(problems) != 1 {
			t.Errorf("78: %s: found %q, %v", column, problems, err)
		}
		save("c")
		if got, err := s.Chat(t.Context(), "c"); err != nil || got.User != "u" || got.Client != "client" {
			t.Errorf("78: %s: saved over: %+v, %v", column, got, err)
		}
		checkIntegrity(t, path)
	}
	path, s := newStore(t)
	key, notice := board.ChatKey{Kind: board.CallKey, Text: "x"}, board.Notice{What: "x"}
	use := func() (earlier time.Time) {
		t.Helper()
		err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
			_, err1 := tx.Keyed(t.Context(), key)
			at, err2 := tx.Claim(t.Context(), notice, time.Now(), time.Hour)
			earlier = at
			return errors.Join(err1, err2, tx.SetKey(t.Context(), key, "c", time.Now().Add(time.Hour)))
		})
		if err != nil {
			t.Error(err)
		}
		return earlier
	}
	use()
	for _, value := range []string{"'x'", "x'00'", "7", "9e99"} {
		execSQL(t, openRaw(t, path), `UPDATE keys SET until = `+value, `UPDATE notices SET at = `+value)
		if earlier := use(); !earlier.IsZero() {
			t.Errorf("78: %s: claimed at %s", value, earlier)
		}
		if to, err := s.Keyed(t.Context(), key); err != nil || to != "c" || use().IsZero() {
			t.Errorf("78: %s: the key leads to %q, %v, or it is claimed again", value, to, err)
		}
	}
}

// BAD-INPUT 130: a check finds what is wrong with revisions.
func TestCheck(t *testing.T) {
	path, s := newStore(t)
	storetest.RunCheck(t, s, "", func(sql string) { execSQL(t, openRaw(t, path), sql) })
}
