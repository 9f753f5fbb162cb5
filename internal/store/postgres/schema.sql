-- What programs of this schema know it by; place and seq_offset are of seq below.
CREATE SCHEMA IF NOT EXISTS todo_mcp;
CREATE TABLE todo_mcp.store (
	one         boolean PRIMARY KEY DEFAULT true CHECK (one),
	version     int    NOT NULL,
	place       text   NOT NULL,
	seq_offset  bigint NOT NULL,
	session_key bytea -- signs the ids of sessions, on every server
);
INSERT INTO todo_mcp.store (version, place, seq_offset) VALUES (1, '', 0);
-- Each read names it, and its name has the version: so none of another version's works.
CREATE TABLE todo_mcp.version_1 ();

-- A list's row says which revision is the newest; the revisions are in history.
-- All times are Unix nanoseconds, since a timestamp has microseconds.
CREATE TABLE todo_mcp.lists (
	id                  text   COLLATE "C" NOT NULL,
	principal           text   COLLATE "C" NOT NULL,
	client              text   COLLATE "C" NOT NULL,
	workspace           text   COLLATE "C" NOT NULL,
	parent              text   COLLATE "C" NOT NULL, -- of a list without parent_conversation
	parent_conversation text   COLLATE "C" NOT NULL, -- the chat whose current list of the kind is the parent
	mirrored            boolean NOT NULL,            -- the kind: it mirrors one of its host's own
	conversation        text   COLLATE "C" NOT NULL, -- began the list
	begun               bigint NOT NULL,
	meta                text   NOT NULL,             -- todo.List, JSON, as it began
	revision            bigint NOT NULL,             -- the newest, and what it was saved with:
	seq                 bigint NOT NULL,
	updated             bigint NOT NULL,
	deleted             boolean NOT NULL,
	bytes               bigint NOT NULL,             -- the size of its revisions
	spare               int    NOT NULL,             -- why it may make room (todo.Spare); 0: it may not
	excerpt             text   NOT NULL,             -- record of todo.Snapshot.Excerpt, JSON
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
CREATE INDEX ON todo_mcp.lists (principal, spare, updated) WHERE spare > 0;

CREATE TABLE todo_mcp.history (
	list      text    COLLATE "C" NOT NULL,
	revision  bigint  NOT NULL,
	seq       bigint  NOT NULL,
	updated   bigint  NOT NULL,
	operation text    COLLATE "C" NOT NULL, -- id of the write
	body      text    NOT NULL,             -- record, JSON
	PRIMARY KEY (list, revision)
);
CREATE UNIQUE INDEX history_operation ON todo_mcp.history (operation) WHERE operation <> '';

-- What each chat has seen of which lists (board.Seen).
CREATE TABLE todo_mcp.seen (
	principal text   COLLATE "C" NOT NULL,
	chat      text   COLLATE "C" NOT NULL,
	mirrors   boolean NOT NULL, -- in a todo tool of its host's own
	list      text   COLLATE "C" NOT NULL,
	revision  bigint NOT NULL,
	process   text   COLLATE "C" NOT NULL,
	held      bigint NOT NULL,  -- orders a chat's rows by when they became current; 0: never
	current   boolean NOT NULL, -- its current list
	at        bigint NOT NULL,
	PRIMARY KEY (principal, chat, mirrors, list)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX ON todo_mcp.seen (principal, chat, mirrors) WHERE current;
CREATE INDEX ON todo_mcp.seen (list, principal);
CREATE INDEX ON todo_mcp.seen (at);
-- Which list has a name that a user gave.
CREATE TABLE todo_mcp.names (
	principal text COLLATE "C" NOT NULL,
	name      text COLLATE "C" NOT NULL,
	list      text COLLATE "C" NOT NULL,
	PRIMARY KEY (principal, name)
);
CREATE INDEX ON todo_mcp.names (list);

-- How many lists each principal has, apart from deleted ones.
CREATE TABLE todo_mcp.list_counts (principal text COLLATE "C" PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
CREATE FUNCTION todo_mcp.count_lists() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	d bigint := 0;
BEGIN
	IF TG_OP <> 'INSERT' AND NOT OLD.deleted THEN d := d - 1; END IF;
	IF TG_OP <> 'DELETE' AND NOT NEW.deleted THEN d := d + 1; END IF;
	IF d <> 0 THEN
		INSERT INTO todo_mcp.list_counts AS c VALUES (coalesce(NEW.principal, OLD.principal), d)
			ON CONFLICT (principal) DO UPDATE SET n = c.n + d;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER lists_come_and_go AFTER INSERT OR DELETE OR UPDATE OF deleted ON todo_mcp.lists
	FOR EACH ROW EXECUTE FUNCTION todo_mcp.count_lists();

-- What agents and their users do together (todo.Chat).
CREATE TABLE todo_mcp.chats (
	id        text   COLLATE "C" PRIMARY KEY,
	principal text   COLLATE "C" NOT NULL,
	member    text   COLLATE "C" NOT NULL, -- todo.Chat.User
	used      bigint NOT NULL,
	ended     bigint NOT NULL,             -- 0: it goes on
	body      text   NOT NULL,             -- record, JSON
	seq       bigint NOT NULL,
	held      boolean NOT NULL DEFAULT false -- it held a list
);
CREATE INDEX ON todo_mcp.chats (seq);
CREATE INDEX ON todo_mcp.chats (principal, member, used);
CREATE INDEX ON todo_mcp.chats (principal, member, used) WHERE NOT held;
CREATE INDEX ON todo_mcp.chats (used);
CREATE INDEX ON todo_mcp.chats (ended) WHERE ended > 0 AND NOT held;
-- To which chat a key leads whose digest is not the chat's id, or when a notice was
-- given (board.ChatKey).
CREATE TABLE todo_mcp.keys (
	principal text   COLLATE "C" NOT NULL,
	member    text   COLLATE "C" NOT NULL,
	kind      text   COLLATE "C" NOT NULL,
	text      text   COLLATE "C" NOT NULL,
	chat      text   COLLATE "C" NOT NULL,
	until     bigint NOT NULL,
	PRIMARY KEY (principal, member, kind, text)
);
CREATE INDEX ON todo_mcp.keys (until);

-- Processes that are alive, until they say so again.
CREATE TABLE todo_mcp.processes (id text COLLATE "C" PRIMARY KEY, until timestamptz NOT NULL);

-- What differs when the tables were made again, as by a restore, from what the dump says.
CREATE FUNCTION todo_mcp.place() RETURNS text LANGUAGE sql STABLE AS $$
	SELECT oid || ' ' || xmin FROM pg_class WHERE oid = 'todo_mcp.lists'::regclass
$$;
-- The number, of seq below, of what was saved last.
CREATE FUNCTION todo_mcp.newest() RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT greatest((SELECT coalesce(max(seq), 0) FROM todo_mcp.lists), (SELECT coalesce(max(seq), 0) FROM todo_mcp.chats)) >> 16
$$;
-- Sees to it that what is saved counts as newer than what was restored: transactions of
-- this cluster, those that are open too, may have smaller ids. Returns seq_offset.
CREATE FUNCTION todo_mcp.settle_in() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	UPDATE todo_mcp.store SET place = todo_mcp.place(),
		seq_offset = greatest(seq_offset, todo_mcp.newest() + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint)
		RETURNING seq_offset
$$;
-- The first seq of what the running transaction saves, of the 65536 that it has. They
-- are of its id, so that a reader knows below which seq nothing is saved any more.
-- It refuses a program of another version of the schema.
CREATE FUNCTION todo_mcp.seq(p_version int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	store todo_mcp.store;
BEGIN
	SELECT * INTO store FROM todo_mcp.store;
	IF store.version <> p_version THEN RAISE 'the schema has version %, not %', store.version, p_version USING ERRCODE = 'TM001'; END IF;
	IF store.place <> todo_mcp.place() THEN store.seq_offset := todo_mcp.settle_in(); END IF;
	RETURN (store.seq_offset + pg_current_xact_id()::text::bigint) << 16;
END $$;
-- Nothing is saved any more with a seq below this one: the id of the first transaction that
-- is open and may save. Who saves has read lists before it is given an id, so others,
-- of other tables or databases of the cluster, are those that have an id and no such lock.
-- Locks are read once: who ends meanwhile counts as who may save.
CREATE FUNCTION todo_mcp.settled() RETURNS bigint LANGUAGE sql STABLE AS $$
	WITH locks AS MATERIALIZED (SELECT * FROM pg_locks),
	others AS (SELECT t.transactionid FROM locks t WHERE t.locktype = 'transactionid' AND t.granted AND t.mode = 'ExclusiveLock'
		AND NOT EXISTS (SELECT 1 FROM locks r WHERE r.virtualtransaction = t.virtualtransaction AND r.locktype = 'relation'
			AND r.relation = 'todo_mcp.lists'::regclass AND r.database = (SELECT oid FROM pg_database WHERE datname = current_database())))
	SELECT greatest(CASE WHEN place <> todo_mcp.place() THEN todo_mcp.newest() + 1 END, seq_offset + coalesce(
		(SELECT min(x::text::bigint) FROM pg_snapshot_xip(pg_current_snapshot()) AS x WHERE x::xid NOT IN (SELECT transactionid FROM others)),
		pg_snapshot_xmax(pg_current_snapshot())::text::bigint)) << 16 FROM todo_mcp.store
$$;

-- The current list of a chat, of a kind; '' for none.
CREATE FUNCTION todo_mcp.held(p_principal text, p_chat text, p_mirrors boolean) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT list FROM todo_mcp.seen WHERE principal = p_principal AND chat = p_chat AND mirrors = p_mirrors AND current), '')
$$;

-- The lock of a principal, which an update has until it ends. There are 1024 such locks, so
-- that an update which removes old rows of all principals needs no more.
CREATE FUNCTION todo_mcp.lock_of(p_principal text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
	SELECT hashtext(p_principal) & 1023
$$;
-- Takes the lock of a principal if no other update has it, and says so. No update waits for a
-- second lock, so none wait for each other. The cost has a query call it for few rows.
CREATE FUNCTION todo_mcp.take(p_principal text) RETURNS boolean LANGUAGE plpgsql COST 100000 AS $$
BEGIN
	RETURN pg_try_advisory_xact_lock(1, todo_mcp.lock_of(p_principal));
END $$;

-- Removes a list with all that belongs to it.
CREATE FUNCTION todo_mcp.forget(p_list text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM todo_mcp.history WHERE list = p_list;
	DELETE FROM todo_mcp.seen WHERE list = p_list;
	DELETE FROM todo_mcp.names WHERE list = p_list;
	DELETE FROM todo_mcp.lists WHERE id = p_list;
$$;
