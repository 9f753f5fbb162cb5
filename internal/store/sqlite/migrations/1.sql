CREATE TABLE history (
	seq       INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of commits
	list      TEXT    NOT NULL,
	revision  INTEGER NOT NULL,
	operation TEXT    NOT NULL,                   -- id of the write
	body      TEXT    NOT NULL,                   -- record, JSON
	UNIQUE (list, revision)
);
CREATE UNIQUE INDEX history_operation ON history (operation) WHERE operation <> '';
CREATE TABLE lists (
	id        TEXT    PRIMARY KEY,
	scope     TEXT    NOT NULL,
	exclusive TEXT    UNIQUE,                     -- the scope again, when it holds one list
	principal TEXT    NOT NULL,
	parent    TEXT    NOT NULL,
	meta      TEXT    NOT NULL,                   -- todo.List, JSON, as it began
	revision  INTEGER NOT NULL,                   -- the newest
	seq       INTEGER NOT NULL REFERENCES history (seq),
	updated   INTEGER NOT NULL                    -- of the newest, Unix nanoseconds
) WITHOUT ROWID;
CREATE INDEX lists_seq ON lists (seq);
CREATE INDEX lists_scope ON lists (scope, seq);
CREATE INDEX lists_principal ON lists (principal, seq);
CREATE INDEX lists_parent ON lists (parent, seq) WHERE parent <> '';
CREATE INDEX lists_updated ON lists (updated);
