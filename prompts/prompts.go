// Package prompts contains the texts for models, in each language: tool descriptions, the server's instructions, the
// MCP prompts and the sentences of answers.
//
// Each text is an embedded file. At start, files of the same name in a folder of the user replace the .md files
// (docs/spec/variants.md K4), not the sentences in words/.
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
	Words    *Words
	files    map[string]string // texts by file name
}

// New returns the texts in a language, which must be one of [Languages]. Files in the folder dir, unless that is
// empty, replace embedded ones. The error names a file in dir that cannot be read, is empty, or has a mark such as
// {{goal}} that the embedded file lacks.
func New(dir, language string) (t *Texts, err error) {
	t = &Texts{Language: language, Words: WordsIn(language), files: make(map[string]string)}
	if err := t.read(embedded, false); err != nil {
		return nil, err
	}
	translated, _ := fs.Sub(embedded, language) // English has no folder
	if err := t.read(translated, false); err != nil {
		return nil, err
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

// read reads the texts in a folder, which replace those read before. If the folder lacks a file, the text read before
// stays. In the user's own folder (isOwn) a tool's description also replaces the tool's long description.
func (t *Texts) read(folder fs.FS, isOwn bool) error {
	names, _ := fs.Glob(embedded, "*.md") // a valid pattern has no error
	for _, name := range names {          // sorted: TodoWrite.long.md before TodoWrite.md
		data, err := fs.ReadFile(folder, name)
		if isOwn {
			data = asutf8.Bytes(data)
		}
		switch text := strings.TrimSpace(string(data)); {
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

// mark matches a placeholder in a text, such as {{goal}}.
var mark = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)

// withMarksOf returns a text without blanks in its placeholders. It returns an error for a placeholder that the
// original lacks, because a model would see such a placeholder unfilled.
func withMarksOf(original, text string) (string, error) {
	text = mark.ReplaceAllString(text, "{{$1}}")
	known := mark.FindAllString(original, -1)
	for _, m := range mark.FindAllString(text, -1) {
		if !slices.Contains(known, m) {
			return "", fmt.Errorf("%s is not a placeholder; allowed are: %s", m, cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	return text, nil
}

// Text returns the text of the file name + ".md"; empty if there is none. A tool's description has the tool's name; the
// help of a tool that is a command has the name with ".long".
func (t *Texts) Text(name string) string { return t.files[name+".md"] }

// Words are the sentences of answers in one language, formats for [fmt.Sprintf]. A comment first lists the arguments.
type Words struct {
	// About the plans of create_todos and update_todo:
	Created       string // number of steps
	Updated       string // id, text, status
	Plan          string // none; the line above the plan
	Empty         string // none; for an empty plan
	NoItems       string // none; the call has no steps
	UnknownStatus string // status received, allowed statuses
	Backwards     string // id, text, current status, status received

	// About tasks:
	TaskCreated, Took, TakenAway string // id, text
	TaskUpdated                  string // id, names of the changed fields
	Taken                        string // id, owner
	UnknownID                    string // id
	Ready, BlockedBy, Blocks     string // ids of items
	OneTask                      string // name of the field that has several tasks

	// Without arguments:
	NothingReady, Cycle, NoAgent, NoTasks, PlanUpdated, ListUpdated, ListRead, ListEmpty, SeeOnly, NoChange string
	InvalidJSON, Required, Blank, NoList, Mirrored, ListsFull, StoreFull, OperationUsed                     string

	// About the whole list:
	List          string // none; the line above the items
	Validation    string // none; the line above the problems
	MostItems     string // maximum, number received
	SameID        string // name of the list's field, index of the item with the same id
	OneInProgress string // number, items, the tool's words for in progress and pending
	Demoted       string // as OneInProgress, without the number
	LeftOut       string // lines that are not items
	Misnamed      string // field, name received

	// In prompts and guidance:
	KeptOnDisk   string // none; in the long guidance, if lists are on disk
	TheGoal      string // none; replaces a missing goal of a plan
	Ago          string // duration
	Nothing      string // none; if no items are done
	NoneOpen     string // none; there is no list to resume
	NoneNamed    string // none; no unfinished list has the id or name
	SeveralNamed string // none; the line above the lists
	SetUpFor     string // name of a list
	DoneOf       string // items done, all items

	// In errors:
	TooLong     string // maximum, number received
	Surrogate   string // position in runes, from 1
	Control     string // code point, position in runes, from 1
	WrongType   string // type or words accepted, type or word received
	NoObject    string // field, type received
	ListTooLong string // maximum, number of items there would be
	TooLarge    string // maximum, size, in kB
	Unclear     string // titles, the tool's word for completed
	NoTool      string // name received, names of tools

	// About changes by others, and about the outcome of a write:
	Continues, Titled              string // title
	PutAway                        string // open items
	Dropped, Reopened, Held, Early string // items
	UserChanged                    string // changes, in the forms of the fields Added to Ordered, and Titled
	AgentChanged, BothChanged      string // as UserChanged
	Item                           string // id, text; an item whose text is cut
	Added, Removed                 string // text
	Set                            string // text, status
	Reworded                       string // old text, new text
	AndSet                         string // the sentence Added or Reworded, status
	Ordered, KeptOrder             string // texts
	Kept                           string // changes of the user that stay
	KeptText                       string // the user's text, the agent's text
	More                           string // number of texts left out
	OtherList                      string // id of the list

	// In reminders:
	Reminder    string // title, items done, all items; above the open items
	GoOn        string // none; below the open items
	Finish      string // none; instead of GoOn at the end of a turn
	GoOnNow     string // none; after the news of items that the user added for the end of a turn
	Earlier     string // as Reminder, for a list of an earlier session
	Left        string // title, items done, all items, items; for an open list of an earlier session
	GoOnLeft    string // none; after Left, if sending its items continues the list
	GoOnEarlier string // none; below Earlier, and after Left in all other cases
}

// Languages returns the languages that have [Words], the default first.
func Languages() []string { return []string{"en", "zh", "vi"} }

// WordsIn returns the words in a language, which must be one of [Languages].
func WordsIn(language string) *Words {
	data, _ := embedded.ReadFile("words/" + language + ".json")
	w := new(Words)
	if err := json.Unmarshal(data, w); err != nil {
		panic(err) // the program was built wrong
	}
	return w
}
