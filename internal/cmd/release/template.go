package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// values has, by mark, the text that replaces the mark in a template.
type values map[string]string

const (
	versionMark = "0.0.0"
	ownerMark   = "OWNER"
	imageMark   = "IMAGE"
	// platformMark, systemMark and processorMark are marks in a platform's package.
	platformMark  = "PLATFORM"
	systemMark    = "SYSTEM"
	processorMark = "PROCESSOR"
)

// sumMark stands for the SHA-256 sum of the bundle.
func sumMark() string { return strings.Repeat("0", 64) }

// marks returns an expression that matches every mark.
func marks() *regexp.Regexp {
	all := []string{versionMark, ownerMark, imageMark, platformMark, systemMark, processorMark, sumMark()}
	for i, mark := range all {
		all[i] = regexp.QuoteMeta(mark)
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}

// values returns the values for every file of the release and the values in others.
func (r release) values(others values) values {
	v := values{versionMark: r.version, ownerMark: r.owner, imageMark: r.image}
	maps.Copy(v, others)
	return v
}

// text returns a template with its marks replaced. An error names a mark that has no value.
func (v values) text(template string) (string, error) {
	var err error
	out := marks().ReplaceAllStringFunc(template, func(mark string) string {
		value, ok := v[mark]
		if !ok {
			err = fmt.Errorf("nothing stands for %s", mark)
		}
		return value
	})
	return out, err
}

// json returns a JSON document with the marks in its strings replaced.
func (v values) json(template []byte) ([]byte, error) {
	var out bytes.Buffer
	from, to := jsontext.NewDecoder(bytes.NewReader(template)), jsontext.NewEncoder(&out, jsontext.WithIndent("  "))
	for {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err == nil && token.Kind() == '"' {
			var text string
			text, err = v.text(token.String())
			token = jsontext.String(text)
		}
		if err == nil {
			err = to.WriteToken(token)
		}
		if err != nil {
			return nil, err
		}
	}
}

// fill replaces the marks in those files that are JSON or Markdown, and returns all the files.
func (v values) fill(files []file) ([]file, error) {
	for i, f := range files {
		var err error
		switch path.Ext(f.name) {
		case ".json":
			files[i].data, err = v.json(f.data)
		case ".md":
			var text string
			text, err = v.text(string(f.data))
			files[i].data = []byte(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return files, nil
}

// template is [release.read] with the marks in the files replaced. Values for these files alone are given as others.
func (r release) template(from, into string, others values) ([]file, error) {
	files, err := r.read(from, into)
	if err != nil {
		return nil, err
	}
	return r.values(others).fill(files)
}
