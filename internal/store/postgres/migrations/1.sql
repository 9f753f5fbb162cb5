-- A list's row says which revision is the newest; the revisions are in history.
-- All times are Unix nanoseconds, since a timestamp has microseconds.
CREATE TABLE todo_mcp.lists (
	id                  text   COLLATE "C" NOT NULL,
	principal           text   COLLATE "C" NOT NULL,
	client              text   COLLATE "C" NOT NULL,
	workspace           text   COLLATE "C" NOT NULL,
	parent              text   COLLATE "C" NOT NULL, -- of a list without parent_conversation
	parent_conversation text   COLLATE "C" NOT NULL, -- the parent is the list that it holds
	conversation        text   COLLATE "C" NOT NULL, -- began the list
	begun               bigint NOT NULL,
	meta                text   NOT NULL,             -- todo.List, JSON, as it began
	revision            bigint NOT NULL,             -- the newest, and what it was saved with:
	seq                 bigint NOT NULL,
	updated             bigint NOT NULL,
	base                bigint NOT NULL,             -- 0 when its body has all items
	drift               bigint NOT NULL,             -- bytes of the differences to base so far
	deleted             boolean NOT NULL,
	bytes               bigint NOT NULL,             -- the size of its revisions and base items
	PRIMARY KEY (id)
) PARTITION BY HASH (id);
DO $$ BEGIN
	FOR n IN 0..15 LOOP
		EXECUTE format('CREATE TABLE todo_mcp.lists_%s PARTITION OF todo_mcp.lists FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (fillfactor = 70)', n, n);
	END LOOP;
END $$;
CREATE INDEX ON todo_mcp.lists (seq);
CREATE INDEX ON todo_mcp.lists (principal, seq);
CREATE INDEX ON todo_mcp.lists (workspace, seq);
CREATE INDEX ON todo_mcp.lists (parent) WHERE parent <> '';
CREATE INDEX ON todo_mcp.lists (parent_conversation) WHERE parent_conversation <> '';
CREATE INDEX ON todo_mcp.lists (conversation, begun);
CREATE INDEX ON todo_mcp.lists (updated) WHERE deleted;
CREATE INDEX ON todo_mcp.lists (principal, updated) WHERE revision = 1;

CREATE TABLE todo_mcp.history (
	list      text    COLLATE "C" NOT NULL,
	revision  bigint  NOT NULL,
	seq       bigint  NOT NULL,
	updated   bigint  NOT NULL,
	operation text    COLLATE "C" NOT NULL, -- id of the write
	person    boolean NOT NULL,
	base      bigint  NOT NULL,             -- 0 when body has all items
	body      text    NOT NULL,             -- record, JSON
	PRIMARY KEY (list, revision)
);
CREATE UNIQUE INDEX history_operation ON todo_mcp.history (operation) WHERE operation <> '';
CREATE INDEX history_person ON todo_mcp.history (list, person, revision);
CREATE INDEX history_base ON todo_mcp.history (list, base) WHERE base > 0;

-- Items that several revisions of a large list share.
CREATE TABLE todo_mcp.bases (
	id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	list  text COLLATE "C" NOT NULL,
	items text NOT NULL -- record, JSON
);
CREATE INDEX ON todo_mcp.bases (list);

-- Which conversations hold which lists, and what they have seen of them.
CREATE TABLE todo_mcp.bindings (
	principal    text   COLLATE "C" NOT NULL,
	conversation text   COLLATE "C" NOT NULL,
	list         text   COLLATE "C" NOT NULL, -- '' when the conversation let go of its list
	seen         bigint NOT NULL,
	process      text   COLLATE "C" NOT NULL,
	moved        bigint NOT NULL,             -- of a conversation's rows the largest is the list it holds
	at           bigint NOT NULL,
	server       text   COLLATE "C" NOT NULL,
	until        bigint NOT NULL,             -- 0: while server is alive
	seq          bigint NOT NULL,             -- of what last made the conversation hold the list, instead of another
	PRIMARY KEY (principal, conversation, list)
) WITH (fillfactor = 70);
CREATE INDEX ON todo_mcp.bindings (list, principal);
CREATE INDEX ON todo_mcp.bindings (at);
CREATE INDEX ON todo_mcp.bindings (seq) WHERE seq > 0;

-- How many lists each principal has, apart from deleted ones: the sum of its rows,
-- of which there are several so that lists that begin seldom wait for each other.
CREATE TABLE todo_mcp.list_counts (principal text COLLATE "C", part int, n bigint NOT NULL, PRIMARY KEY (principal, part)) WITH (fillfactor = 50);
CREATE FUNCTION todo_mcp.count_lists() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	d bigint := 0;
BEGIN
	IF TG_OP <> 'INSERT' AND NOT OLD.deleted THEN d := d - 1; END IF;
	IF TG_OP <> 'DELETE' AND NOT NEW.deleted THEN d := d + 1; END IF;
	IF d <> 0 THEN
		INSERT INTO todo_mcp.list_counts AS c VALUES (coalesce(NEW.principal, OLD.principal), hashtext(coalesce(NEW.id, OLD.id)) & 31, d)
			ON CONFLICT (principal, part) DO UPDATE SET n = c.n + d;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER lists_come_and_go AFTER INSERT OR DELETE OR UPDATE OF deleted ON todo_mcp.lists
	FOR EACH ROW EXECUTE FUNCTION todo_mcp.count_lists();

-- What hooks of hosts said about calls before these arrived.
CREATE TABLE todo_mcp.host_calls (
	principal text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	session   text NOT NULL,
	agent     text NOT NULL,
	folder    text NOT NULL,
	at        bigint NOT NULL,
	PRIMARY KEY (principal, id)
);
CREATE INDEX ON todo_mcp.host_calls (at);

-- Calls that made no revision, for the watchers in other processes.
CREATE TABLE todo_mcp.announcements (
	seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	list     text   NOT NULL,
	revision bigint NOT NULL,
	call     text   NOT NULL,
	process  text   NOT NULL
);

-- What MCP sessions subscribed to: their stream may be at another server.
CREATE TABLE todo_mcp.subscriptions (
	session      text COLLATE "C" NOT NULL, -- a digest of its id
	uri          text COLLATE "C" NOT NULL,
	seq          bigint  NOT NULL,
	ended        boolean NOT NULL,
	conversation text    NOT NULL, -- todo.Conversation, JSON
	at           bigint  NOT NULL, -- when a stream last asked for it, or when it ended
	PRIMARY KEY (session, uri)
);
CREATE INDEX ON todo_mcp.subscriptions (seq);
CREATE INDEX ON todo_mcp.subscriptions (at);
CREATE INDEX ON todo_mcp.subscriptions (at) WHERE ended;

-- Processes that are alive, until they say so again.
CREATE TABLE todo_mcp.processes (id text COLLATE "C" PRIMARY KEY, until timestamptz NOT NULL);

-- The seq of what the running transaction saves: its id, so that a reader knows
-- below which seq nothing is saved any more. seq_offset keeps it growing when the
-- database was restored into another cluster, whose ids are smaller.
CREATE FUNCTION todo_mcp.seq() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT seq_offset + pg_current_xact_id()::text::bigint FROM todo_mcp.store
$$;
-- Nothing is saved any more with a seq below this one.
CREATE FUNCTION todo_mcp.settled() RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT seq_offset + pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM todo_mcp.store
$$;

-- Stores a subscription, and returns false if the session has p_most others. It
-- deletes what is old: those before p_old, ended ones before p_ended, and all but
-- p_most ended ones of the session.
CREATE FUNCTION todo_mcp.subscribe(p_session text, p_uri text, p_conversation text, p_most int, p_now bigint, p_old bigint, p_ended bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended(p_session, 1)); -- so that they are counted one after the other
	IF (SELECT count(*) FROM todo_mcp.subscriptions WHERE session = p_session AND NOT ended AND uri <> p_uri) >= p_most THEN
		RETURN false;
	END IF;
	INSERT INTO todo_mcp.subscriptions VALUES (p_session, p_uri, todo_mcp.seq(), false, p_conversation, p_now)
		ON CONFLICT (session, uri) DO UPDATE SET seq = excluded.seq, ended = excluded.ended, conversation = excluded.conversation, at = excluded.at;
	DELETE FROM todo_mcp.subscriptions WHERE session = p_session AND uri IN (
		SELECT uri FROM todo_mcp.subscriptions WHERE session = p_session AND ended ORDER BY seq DESC OFFSET p_most);
	DELETE FROM todo_mcp.subscriptions WHERE (session, uri) IN (
		SELECT session, uri FROM todo_mcp.subscriptions WHERE at < p_old OR ended AND at < p_ended LIMIT 100 FOR UPDATE SKIP LOCKED);
	RETURN true;
END $$;

-- The list that a conversation holds; '' for none.
CREATE FUNCTION todo_mcp.held(p_principal text, p_conversation text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT list FROM todo_mcp.bindings WHERE principal = p_principal AND conversation = p_conversation AND moved > 0
		ORDER BY moved DESC LIMIT 1), '')
$$;

-- A binding to store.
CREATE TYPE todo_mcp.new_binding AS (principal text, conversation text, list text, seen bigint, process text, moves boolean, server text, until bigint);

-- Stores bindings; those without a list get p_list. Of two transactions that move
-- a conversation one waits for the other.
CREATE FUNCTION todo_mcp.bind(p_list text, p_now bigint, p_bindings todo_mcp.new_binding[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	b todo_mcp.new_binding;
	v_moved bigint;
	v_seq bigint;
	last record;
BEGIN
	FOR b IN SELECT * FROM unnest(p_bindings) ORDER BY principal, conversation, list LOOP
		v_moved := 0;
		v_seq := 0;
		b.list := coalesce(nullif(b.list, ''), p_list);
		IF b.moves THEN
			PERFORM pg_advisory_xact_lock(hashtextextended(b.conversation, length(b.principal)));
			SELECT list, moved INTO last FROM todo_mcp.bindings WHERE principal = b.principal AND conversation = b.conversation ORDER BY moved DESC LIMIT 1;
			v_moved := coalesce(last.moved, 0) + 1;
			IF v_moved = 1 OR last.list <> b.list THEN
				v_seq := todo_mcp.seq();
			END IF;
		END IF;
		INSERT INTO todo_mcp.bindings AS o (principal, conversation, list, seen, process, moved, at, server, until, seq)
			VALUES (b.principal, b.conversation, b.list, b.seen, b.process, v_moved, p_now, b.server, b.until, v_seq)
			ON CONFLICT ON CONSTRAINT bindings_pkey DO UPDATE SET seen = greatest(o.seen, excluded.seen), moved = greatest(o.moved, excluded.moved), at = excluded.at,
				seq = coalesce(nullif(excluded.seq, 0), o.seq),
				process = coalesce(nullif(excluded.process, ''), o.process),
				until = CASE excluded.server WHEN '' THEN o.until ELSE excluded.until END,
				server = coalesce(nullif(excluded.server, ''), o.server);
	END LOOP;
END $$;

-- Deletes the revisions of a list up to one, and the base items that no other
-- needs.
CREATE FUNCTION todo_mcp.trim(p_list text, p_revision bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	freed bigint;
	more bigint;
BEGIN
	WITH gone AS (DELETE FROM todo_mcp.history WHERE list = p_list AND revision <= p_revision RETURNING octet_length(body) AS size)
		SELECT sum(size) INTO freed FROM gone;
	IF freed IS NOT NULL THEN
		WITH gone AS (DELETE FROM todo_mcp.bases WHERE list = p_list
			AND id < coalesce((SELECT min(base) FROM todo_mcp.history WHERE list = p_list AND base > 0), 9223372036854775807) RETURNING octet_length(items) AS size)
			SELECT coalesce(sum(size), 0) INTO more FROM gone;
		UPDATE todo_mcp.lists SET bytes = bytes - freed - more WHERE id = p_list;
	END IF;
END $$;

-- Removes a list with all that belongs to it.
CREATE FUNCTION todo_mcp.forget(p_list text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM todo_mcp.history WHERE list = p_list;
	DELETE FROM todo_mcp.bases WHERE list = p_list;
	DELETE FROM todo_mcp.bindings WHERE list = p_list;
	DELETE FROM todo_mcp.lists WHERE id = p_list;
$$;

-- What a store keeps, see todo.Keep.
CREATE TYPE todo_mcp.keep AS (revisions bigint, age bigint, lists bigint, begun bigint, abandoned bigint, trash bigint, bindings bigint);

-- Removes abandoned lists of a principal and returns how many.
CREATE FUNCTION todo_mcp.evict(p_principal text, p_before bigint, p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	id text;
	n int := 0;
BEGIN
	FOR id IN SELECT l.id FROM todo_mcp.lists l WHERE l.principal = p_principal AND l.revision = 1 AND l.updated < p_before AND l.conversation <> ''
		AND NOT EXISTS (SELECT 1 FROM todo_mcp.bindings b WHERE b.list = l.id AND b.conversation <> l.conversation)
		ORDER BY l.updated LIMIT p_limit FOR UPDATE SKIP LOCKED LOOP
		PERFORM todo_mcp.forget(id);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;

-- What save did: status is saved, repeated, conflict, missing, lists or begun (too
-- many of them). With a repeated operation list and revision are what it saved;
-- with a conflict list is the one to read. Of a list that was saved meta is as it
-- is stored, and parent what its parent_conversation holds now, null without one.
CREATE TYPE todo_mcp.saved AS (status text, seq bigint, list text, revision bigint, meta text, parent text);

-- Saves one revision, with bindings. p_meta is null unless a list begins.
CREATE FUNCTION todo_mcp.save(
	p_list text, p_revision bigint, p_operation text, p_person boolean, p_body text, p_updated bigint, p_deleted boolean,
	p_base bigint, p_drift bigint, p_new_base text, -- new base items, instead of p_base
	p_meta text, p_principal text, p_client text, p_workspace text, p_parent text, p_parent_conversation text, p_conversation text,
	p_now bigint, p_bindings todo_mcp.new_binding[], p_over text, -- what the first binding's conversation held
	p_keep todo_mcp.keep
) RETURNS todo_mcp.saved LANGUAGE plpgsql AS $$
DECLARE
	res todo_mcp.saved;
	v_seq bigint;
	n bigint;
	id text;
	held text;
	old record;
	witness bigint;
BEGIN
	IF p_operation <> '' THEN
		SELECT 'repeated', h.seq, h.list, h.revision, NULL, NULL INTO res FROM todo_mcp.history h WHERE h.operation = p_operation;
		IF FOUND THEN RETURN res; END IF;
	END IF;
	v_seq := todo_mcp.seq();
	IF p_revision = 1 THEN
		IF cardinality(p_bindings) > 0 THEN
			PERFORM pg_advisory_xact_lock(hashtextextended(p_bindings[1].conversation, length(p_bindings[1].principal)));
			held := todo_mcp.held(p_bindings[1].principal, p_bindings[1].conversation);
		END IF;
		PERFORM 1 FROM todo_mcp.lists l WHERE l.id = p_list;
		IF FOUND OR held <> p_over THEN
			IF p_operation <> '' THEN -- it may have been this operation
				SELECT 'repeated', h.seq, h.list, h.revision, NULL, NULL INTO res FROM todo_mcp.history h WHERE h.operation = p_operation;
				IF FOUND THEN RETURN res; END IF;
			END IF;
			PERFORM 1 FROM todo_mcp.lists l WHERE l.id = p_list;
			RETURN ('conflict', 0, CASE WHEN FOUND THEN p_list ELSE held END, 0, NULL, NULL)::todo_mcp.saved;
		END IF;
		IF p_keep.begun > 0 AND p_conversation <> '' THEN
			SELECT count(*) INTO n FROM (SELECT 1 FROM todo_mcp.lists l WHERE l.conversation = p_conversation AND l.principal = p_principal
				AND l.begun >= p_now - 86400000000000 LIMIT p_keep.begun) AS begun_lately;
			IF n >= p_keep.begun THEN RETURN ('begun', 0, '', n, NULL, NULL)::todo_mcp.saved; END IF;
		END IF;
		IF p_keep.lists > 0 THEN
			SELECT coalesce(sum(c.n), 0) INTO n FROM todo_mcp.list_counts c WHERE c.principal = p_principal;
			IF n >= p_keep.lists AND p_keep.abandoned > 0 THEN
				n := n - todo_mcp.evict(p_principal, p_now - p_keep.abandoned, 16);
			END IF;
			IF n >= p_keep.lists THEN RETURN ('lists', 0, '', n, NULL, NULL)::todo_mcp.saved; END IF;
		END IF;
		INSERT INTO todo_mcp.lists VALUES (p_list, p_principal, p_client, p_workspace, p_parent, p_parent_conversation, p_conversation,
			p_now, p_meta, p_revision, v_seq, p_updated, p_base, p_drift, p_deleted, octet_length(p_body) + coalesce(octet_length(p_new_base), 0));
	ELSE
		UPDATE todo_mcp.lists l SET revision = p_revision, seq = v_seq, updated = p_updated, base = p_base, drift = p_drift, deleted = p_deleted,
			bytes = l.bytes + octet_length(p_body) + coalesce(octet_length(p_new_base), 0)
			WHERE l.id = p_list AND l.revision = p_revision - 1
			RETURNING l.meta, l.principal, l.parent_conversation INTO p_meta, p_principal, p_parent_conversation;
		IF NOT FOUND THEN
			IF p_operation <> '' THEN
				SELECT 'repeated', h.seq, h.list, h.revision, NULL, NULL INTO res FROM todo_mcp.history h WHERE h.operation = p_operation;
				IF FOUND THEN RETURN res; END IF;
			END IF;
			PERFORM 1 FROM todo_mcp.lists l WHERE l.id = p_list;
			RETURN (CASE WHEN FOUND THEN 'conflict' ELSE 'missing' END, 0, p_list, 0, NULL, NULL)::todo_mcp.saved;
		END IF;
	END IF;
	IF p_new_base IS NOT NULL THEN
		INSERT INTO todo_mcp.bases (list, items) VALUES (p_list, p_new_base) RETURNING bases.id INTO p_base;
		UPDATE todo_mcp.lists l SET base = p_base WHERE l.id = p_list;
	END IF;
	INSERT INTO todo_mcp.history VALUES (p_list, p_revision, v_seq, p_updated, p_operation, p_person, p_base, p_body);
	PERFORM todo_mcp.bind(p_list, p_now, p_bindings);
	IF p_keep.revisions > 0 AND p_revision > p_keep.revisions THEN
		PERFORM todo_mcp.trim(p_list, p_revision - p_keep.revisions);
	END IF;
	IF p_keep.age > 0 THEN
		SELECT h.updated INTO witness FROM todo_mcp.history h WHERE h.list = p_list AND h.revision = p_revision - 8;
		IF FOUND THEN
			FOR i IN 1..2 LOOP
				SELECT h.revision, h.updated INTO old FROM todo_mcp.history h WHERE h.list = p_list ORDER BY h.revision LIMIT 1;
				EXIT WHEN old.revision >= p_revision OR least(witness, p_updated) - old.updated <= p_keep.age;
				PERFORM todo_mcp.trim(p_list, old.revision);
			END LOOP;
		END IF;
	END IF;
	IF p_revision = 1 THEN
		FOR id IN SELECT l.id FROM todo_mcp.lists l WHERE l.deleted AND l.updated < p_now - p_keep.trash LIMIT 4 FOR UPDATE SKIP LOCKED LOOP
			PERFORM todo_mcp.forget(id);
		END LOOP;
		DELETE FROM todo_mcp.bindings b WHERE (b.principal, b.conversation, b.list) IN (
			SELECT o.principal, o.conversation, o.list FROM todo_mcp.bindings o
			WHERE o.at < p_now - p_keep.bindings AND o.conversation NOT LIKE 'name:%' LIMIT 100 FOR UPDATE SKIP LOCKED);
	END IF;
	RETURN ('saved', v_seq, p_list, p_revision, p_meta,
		CASE WHEN p_parent_conversation <> '' THEN todo_mcp.held(p_principal, p_parent_conversation) END)::todo_mcp.saved;
END $$;

-- Replaces all revisions of a list by one without content, see todo.Store.
CREATE FUNCTION todo_mcp.purge(p_list text, p_revision bigint, p_meta text, p_body text, p_now bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE todo_mcp.lists SET client = '', workspace = '', parent = '', parent_conversation = '', conversation = '', meta = p_meta,
		revision = p_revision, seq = todo_mcp.seq(), updated = p_now, base = 0, drift = 0, deleted = true, bytes = octet_length(p_body)
		WHERE id = p_list AND revision = p_revision - 1;
	IF NOT FOUND THEN RETURN false; END IF;
	DELETE FROM todo_mcp.history WHERE list = p_list;
	DELETE FROM todo_mcp.bases WHERE list = p_list;
	DELETE FROM todo_mcp.bindings WHERE list = p_list;
	INSERT INTO todo_mcp.history VALUES (p_list, p_revision, todo_mcp.seq(), p_now, '', true, 0, p_body);
	RETURN true;
END $$;
