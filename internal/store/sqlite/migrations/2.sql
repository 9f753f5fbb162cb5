-- Calls that made no revision, for the watchers in other processes.
CREATE TABLE announcements (
	seq      INTEGER PRIMARY KEY AUTOINCREMENT,
	list     TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	call     TEXT    NOT NULL,
	process  TEXT    NOT NULL
);
-- A list's title is the first item that was open when the list began. For
-- lists of version 1 it is read from the oldest revision that is still kept.
UPDATE lists SET meta = json_set(meta, '$.first', (
	SELECT json_extract(item.value, '$.text')
	FROM history, json_each(history.body, '$.items') AS item
	WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1)
	ORDER BY json_extract(item.value, '$.status') IN ('completed', 'failed', 'cancelled'), item.key
	LIMIT 1))
WHERE EXISTS (
	SELECT 1 FROM history, json_each(history.body, '$.items') AS item
	WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1));
