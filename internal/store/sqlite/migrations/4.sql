-- Whether a person wrote a revision, to find the last one of an agent in one step.
ALTER TABLE history ADD COLUMN person INTEGER NOT NULL DEFAULT 0;
UPDATE history SET person = 1
	WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.writer.person') IS 1 END;
CREATE INDEX history_person ON history (list, person, revision);
