// Package prompts holds every word a model or a person is told: the guidance
// that ships as tool descriptions, the server's instructions, the MCP prompts
// and the language tables of create_todos and update_todo.
//
// Each text is a file of its own, embedded, and may be replaced at start by a
// file of the same name in a folder of the user's (VARIANTS.md K4).
package prompts

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

//go:embed *.md words/*.json
var embedded embed.FS

// Guidance chooses how much a tool description says.
type Guidance string

// The two lengths of guidance.
const (
	Short Guidance = "short" // under 700 characters, no example
	Long  Guidance = "long"  // the whole document, with one
)

// Texts gives the texts in force.
type Texts struct {
	own      fs.FS // the user's folder; nil when there is none
	guidance Guidance
}

// New returns the embedded texts at a length; dir, unless empty, is a folder
// whose files replace them. It reads every file there that would be used, so
// that a bad one stops the start: the error names it.
func New(guidance Guidance, dir string) (*Texts, error) {
	t := &Texts{guidance: guidance}
	if dir == "" {
		return t, nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("read prompts folder: %w", err)
	}
	t.own = os.DirFS(dir)
	names, err := fs.Glob(embedded, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list prompts: %w", err)
	}
	for _, name := range names {
		if _, err := t.read(name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Tool is the description of a tool, at the chosen length.
func (t *Texts) Tool(name string) (string, error) {
	if t.guidance == Long {
		return t.Document(name)
	}
	return t.read(name + ".md")
}

// Document is the full guidance of a tool, whatever the chosen length: what its
// command prints as help. A user's own text for the tool stands for both.
func (t *Texts) Document(name string) (string, error) {
	if t.has(name + ".md") {
		return t.read(name + ".md")
	}
	return t.read(name + ".long.md")
}

// Text is any other text, by its name without ".md".
func (t *Texts) Text(name string) (string, error) { return t.read(name + ".md") }

func (t *Texts) has(file string) bool {
	if t.own == nil {
		return false
	}
	_, err := fs.Stat(t.own, file)
	return err == nil
}

func (t *Texts) read(file string) (string, error) {
	if t.own != nil {
		data, err := fs.ReadFile(t.own, file)
		if err == nil && strings.TrimSpace(string(data)) == "" {
			err = errors.New("the file is empty")
		}
		if err == nil {
			return strings.TrimSpace(string(data)), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read prompt %s: %w", file, err)
		}
	}
	data, err := fs.ReadFile(embedded, file)
	if err != nil {
		return "", fmt.Errorf("read prompt %s: %w", file, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Words are the sentences of create_todos and update_todo in one language. %s
// and %d stand for what is named in the comment, in that order.
type Words struct {
	Created       string `json:"created"`        // number of steps
	Updated       string `json:"updated"`        // id, text, status
	Plan          string `json:"plan"`           // the header line of the plan
	Empty         string `json:"empty"`          // instead of an empty plan
	NoItems       string `json:"no_items"`       // nothing to create
	BlankItem     string `json:"blank_item"`     // number of the blank step, from 1
	BadItem       string `json:"bad_item"`       // number of the step from 1, what is wrong
	UnknownID     string `json:"unknown_id"`     // id
	UnknownStatus string `json:"unknown_status"` // status received, statuses allowed
	Backwards     string `json:"backwards"`      // id, text, status it has, status wanted
	TooMany       string `json:"too_many"`       // most steps, steps there would be
}

// Languages lists the languages there are words for, the default first.
func Languages() []string { return []string{"en", "zh", "vi"} }

// WordsIn returns the words in a language of [Languages].
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
