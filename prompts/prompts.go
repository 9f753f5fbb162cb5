// Package prompts contains the texts that are sent to models, in each language: the tool
// descriptions, the server's instructions, the MCP prompts and the sentences of answers.
//
// Each text is an embedded file. At start, files of the same name in a folder
// of the user replace the .md files (docs/spec/variants.md K4); the sentences
// in words/ cannot be replaced.
package prompts

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
)

//go:embed *.md zh/*.md vi/*.md words/*.json
var embedded embed.FS

// Texts are the texts in use, in one language.
type Texts struct {
	Language string
	Words    Words
	files    map[string]string // by name: the embedded ones and what replaces them
}

// New returns the texts in a language, which must be one of [Languages]. Files in the folder
// dir, unless dir is empty, replace embedded ones. The error names a file there that cannot
// be read, is empty or has a mark that the embedded one lacks, so that the server does not
// start with it.
func New(dir, language string) (t *Texts, err error) {
	t = &Texts{Language: language, files: make(map[string]string)}
	if t.Words, err = WordsIn(language); err != nil {
		return nil, err
	}
	if err := t.read(embedded, false); err != nil {
		return nil, err
	}
	if language != Languages()[0] {
		translated, _ := fs.Sub(embedded, language)
		if err := t.read(translated, false); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return t, nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("read prompts folder: %w", err)
	}
	return t, t.read(os.DirFS(dir), true)
}

// English returns the embedded texts in English.
var English = sync.OnceValue(func() *Texts {
	t, err := New("", Languages()[0])
	if err != nil {
		panic(err) // the program was built wrong
	}
	return t
})

// read reads the texts of a folder, in the place of those that were read before; of what it
// lacks these stay. A user's own stands for the long one, too.
func (t *Texts) read(folder fs.FS, isOwn bool) error {
	names, err := fs.Glob(embedded, "*.md")
	if err != nil {
		return fmt.Errorf("list prompts: %w", err)
	}
	for _, name := range names { // TodoWrite.long.md before TodoWrite.md
		data, err := fs.ReadFile(folder, name)
		switch text := strings.TrimSpace(string(asutf8.Bytes(data))); {
		case t.files[name] != "" && errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read prompt %s: %w", name, err)
		case text == "":
			return fmt.Errorf("read prompt %s: the file is empty", name)
		case isOwn:
			text, err = withMarksOf(t.files[name], text)
			if err != nil {
				return fmt.Errorf("read prompt %s: %w", name, err)
			}
			t.files[name], t.files[strings.TrimSuffix(name, ".md")+".long.md"] = text, text
		default:
			t.files[name] = text
		}
	}
	return nil
}

// mark matches the place in a text where something is put in, as {{goal}}.
var mark = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// withMarksOf returns a text without blanks in its marks. It returns an error for a mark
// that the original does not have: a model would read the mark as it stands.
func withMarksOf(original, text string) (string, error) {
	text = mark.ReplaceAllString(text, "{{$1}}")
	known := mark.FindAllString(original, -1)
	for _, m := range mark.FindAllString(text, -1) {
		if !slices.Contains(known, m) {
			return "", fmt.Errorf("nothing is put in for %s; allowed are: %s", m, cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	return text, nil
}

// Text returns a text, by its file name without ".md"; empty where there is no such file. The
// description of a tool has the tool's name; the long one of a tool that is a command, which
// prints it as help, has ".long" behind that.
func (t *Texts) Text(name string) string { return t.files[name+".md"] }

// Words are the sentences of answers in one language. They are formats for [fmt.Sprintf];
// the comments name their arguments, in order.
type Words struct {
	Created       string `json:"created"`        // number of steps
	Updated       string `json:"updated"`        // id, text, status
	Plan          string `json:"plan"`           // none; the line above the plan
	Empty         string `json:"empty"`          // none; shown instead of an empty plan
	NoItems       string `json:"no_items"`       // none; the call has no steps
	BlankItem     string `json:"blank_item"`     // number of the blank step, from 1
	BadItem       string `json:"bad_item"`       // number of the step, from 1; what is wrong
	UnknownID     string `json:"unknown_id"`     // id
	TakenAway     string `json:"taken_away"`     // id, text
	UnknownStatus string `json:"unknown_status"` // status received, allowed statuses
	Backwards     string `json:"backwards"`      // id, text, current status, status received
	TooMany       string `json:"too_many"`       // maximum, number of steps there would be

	TaskCreated  string `json:"task_created"`  // id, text
	TaskUpdated  string `json:"task_updated"`  // id, the fields
	Ready        string `json:"ready"`         // numbers
	Took         string `json:"took"`          // id, text
	Taken        string `json:"taken"`         // id, owner
	NothingReady string `json:"nothing_ready"` // none
	Cycle        string `json:"cycle"`         // none
	OneTask      string `json:"one_task"`      // field
	NoAgent      string `json:"no_agent"`      // none
	NoTasks      string `json:"no_tasks"`      // none
	BlockedBy    string `json:"blocked_by"`    // numbers
	Blocks       string `json:"blocks"`        // numbers
	PlanUpdated  string `json:"plan_updated"`  // none

	ListUpdated   string `json:"list_updated"`    // none
	ListRead      string `json:"list_read"`       // none
	List          string `json:"list"`            // none; the line above the items
	ListEmpty     string `json:"list_empty"`      // none
	Validation    string `json:"validation"`      // none; the line above the problems
	MostItems     string `json:"most_items"`      // maximum, number received
	SameID        string `json:"same_id"`         // field, index of the other item
	OneInProgress string `json:"one_in_progress"` // number, items, the tool's words for in progress and pending
	Demoted       string `json:"demoted"`         // as one_in_progress, without the number
	LeftOut       string `json:"left_out"`        // lines
	Misnamed      string `json:"misnamed"`        // field, name received

	KeptOnDisk   string `json:"kept_on_disk"`  // none; in the long guidance, where it is so
	TheGoal      string `json:"the_goal"`      // none; stands for the goal of a plan
	Ago          string `json:"ago"`           // how long
	Nothing      string `json:"nothing"`       // none; stands for the items that are done
	NoneOpen     string `json:"none_open"`     // none; there is no list to resume
	NoneNamed    string `json:"none_named"`    // none; nor one of the name
	SeveralNamed string `json:"several_named"` // none; the line above the lists
	SetUpFor     string `json:"set_up_for"`    // name of a list
	SeeOnly      string `json:"see_only"`      // none
	DoneOf       string `json:"done_of"`       // items done, all items

	Error         string `json:"error"`          // none; begins an error that is not one of the sentences above
	InvalidJSON   string `json:"invalid_json"`   // none
	Required      string `json:"required"`       // none
	Blank         string `json:"blank"`          // none
	TooLong       string `json:"too_long"`       // maximum, number received
	Surrogate     string `json:"surrogate"`      // position in runes, from 1
	Control       string `json:"control"`        // code point, position in runes, from 1
	WrongType     string `json:"wrong_type"`     // type or words accepted, what was received
	NoObject      string `json:"no_object"`      // field, type received
	NoList        string `json:"no_list"`        // none
	Mirrored      string `json:"mirrored"`       // none
	ListsFull     string `json:"lists_full"`     // none
	StoreFull     string `json:"store_full"`     // none
	OperationUsed string `json:"operation_used"` // none
	ListTooLong   string `json:"list_too_long"`  // maximum, number of items there would be
	TooLarge      string `json:"too_large"`      // maximum, size, in kB
	Unclear       string `json:"unclear"`        // titles, the tool's word for completed
	NoTool        string `json:"no_tool"`        // name received, names of tools
	Continues     string `json:"continues"`      // title
	PutAway       string `json:"put_away"`       // open items
	Dropped       string `json:"dropped"`        // items
	Reopened      string `json:"reopened"`       // items
	AgentChanged  string `json:"agent_changed"`  // changes, as in UserChanged
	BothChanged   string `json:"both_changed"`   // changes, as in UserChanged
	UserChanged   string `json:"user_changed"`   // changes, in the forms from Added to Titled
	Item          string `json:"item"`           // id, text; names an item whose text is cut
	Added         string `json:"added"`          // text
	Removed       string `json:"removed"`        // text
	Set           string `json:"set"`            // text, status
	Blocked       string `json:"blocked"`        // text
	Reworded      string `json:"reworded"`       // old text, new text
	AndSet        string `json:"and_set"`        // what was reworded; status
	Ordered       string `json:"ordered"`        // texts
	Titled        string `json:"titled"`         // title
	Kept          string `json:"kept"`           // what stays as the user has it
	Held          string `json:"held"`           // items
	Early         string `json:"early"`          // items
	KeptText      string `json:"kept_text"`      // the user's text, the agent's
	KeptOrder     string `json:"kept_order"`     // texts
	More          string `json:"more"`           // how many are not named
	OtherList     string `json:"other_list"`     // id of the list
	NoChange      string `json:"no_change"`      // none
	Reminder      string `json:"reminder"`       // title, items done, all items; above the open ones
	GoOn          string `json:"go_on"`          // none; below them
	Finish        string `json:"finish"`         // none; in its place at the end of a turn
	GoOnNow       string `json:"go_on_now"`      // none; behind what the user added for the end of the turn
	Earlier       string `json:"earlier"`        // as reminder, for a list of the session before
	Left          string `json:"left"`           // title, how many of how many are done, items of an open list of an earlier session
	GoOnLeft      string `json:"go_on_left"`     // none; behind it, where the list goes on so
	GoOnEarlier   string `json:"go_on_earlier"`  // none; below earlier, and behind left where it does not
}

// Languages returns the languages that have [Words], the default first.
func Languages() []string { return []string{"en", "zh", "vi"} }

// WordsIn returns the words in a language, which must be one of [Languages].
func WordsIn(language string) (Words, error) {
	var w Words
	data, err := embedded.ReadFile("words/" + language + ".json")
	if err != nil {
		return w, fmt.Errorf("no words in language %q: allowed are %s", language, strings.Join(Languages(), ", "))
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("read words %s: %w", language, err)
	}
	return w, nil
}
