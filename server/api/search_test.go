package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A search finds what lists say, and on demand what they said and in which revision; its
// pages lead through all of them.
func TestSearch(t *testing.T) {
	s, site := servertest.Site(t)
	write := func(chat string, texts ...string) {
		servertest.Apply(t, s.Board.As(""), servertest.In(chat), func(d *todo.Draft) {
			d.Replace(todo.CoreView(), nil)
			d.Append(texts...)
		})
	}
	write("reworded", "Begin", "Write the NEEDLE parser")
	for n := range 250 {
		write(fmt.Sprint("hay ", n), "something else")
	}
	write("reworded", "Begin", "Write the lexer")
	write("newest", "needles")
	for query, want := range map[string]string{
		"search=needle":                      "needles 1 false",
		"search=needle&history=true":         "needles 1 false, Write the NEEDLE parser 1 true",
		"search=needle&history=true&limit=1": "needles 1 false, Write the NEEDLE parser 1 true",
		"search=lexer&history=true":          "Write the lexer 2 false",
		"search=nothing+like+that":           "",
		"search=" + url.QueryEscape(strings.Repeat("\x00<é%_", 3000)) + "&history=true": "",
	} {
		var got []string
		pages := 0
		for address := site + "/api/lists?" + query; address != ""; pages++ {
			body, next := pageOf(t, address, "next")
			var found []struct{ Found todo.Said }
			if err := json.Unmarshal(body, &found); err != nil {
				t.Fatalf("%s: %s, %v", address, body, err)
			}
			for _, f := range found {
				got = append(got, fmt.Sprintf("%s %d %t", f.Found.Text, f.Found.Revision, f.Found.Left))
			}
			address = next
		}
		if strings.Join(got, ", ") != want || pages > 3 {
			t.Errorf("%.60s: %q in %d pages, want %q", query, got, pages, want)
		}
	}
}

// /api/today is the account of a day in a time zone (BAD-INPUT 127).
func TestToday(t *testing.T) {
	s, site := servertest.Site(t)
	list := servertest.Apply(t, s.Board.As(""), servertest.In("chat"), func(d *todo.Draft) {
		d.SetStatus(d.Append("Write")[0].ID, todo.Completed)
		d.Append("Push")
	})
	date := func(zone string, days int) string {
		in := servertest.Must(time.LoadLocation(zone))(t)
		return list.Updated.In(in).AddDate(0, 0, days).Format(time.DateOnly)
	}
	for query, lists := range map[string]int{
		"": 1, "?date=" + date("Local", 0): 1, "?date=" + date("Local", -1): 0, "?date=" + date("Local", 1): 0,
		"?zone=Pacific/Kiritimati&date=" + date("Pacific/Kiritimati", 0): 1, "?zone=Pacific/Pago_Pago&date=" + date("Pacific/Pago_Pago", -1): 0,
	} {
		var day account.Day
		status := servertest.GetJSON(t, site+"/api/today"+query, &day)
		if status != 200 || day.Lists != lists || day.Completed != lists || day.Open != lists || day.Projects == nil {
			t.Errorf("%s: status %d, %+v", query, status, day)
		}
	}
	for _, query := range []string{
		"today?date=tomorrow", "today?date=2026-02-30", "today?date=" + strings.Repeat("1", 9000), "today?zone=../../etc/passwd", "today?zone=/etc/passwd",
		"today?zone=Nowhere", "today?zone=" + strings.Repeat("a/", 2000), "today?zone=%00", "lists?search=a&history=perhaps", "lists?search=a&limit=-1",
	} {
		if status, _, body := servertest.Ask(t, "GET", site+"/api/"+query, ""); status != 400 || len(body) > 200 {
			t.Errorf("%.60s: status %d, %.200s", query, status, body)
		}
	}
}
