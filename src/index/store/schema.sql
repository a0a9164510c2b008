-- Numbers: generation, features, begun (the database's random id), contents (the last content number), swept (the last content number at
-- the last garbage collection).
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
-- A content: the hash of the bytes, and the language they are read as; language 0 means none.
CREATE TABLE contents (
    no INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    language INTEGER NOT NULL,
    size INTEGER NOT NULL,
    segment INTEGER,
    symbols INTEGER,
    is_too_complex INTEGER NOT NULL DEFAULT 0,
    UNIQUE (hash, language)
);
CREATE INDEX loose ON contents (no) WHERE segment IS NULL;
CREATE INDEX complex ON contents (no) WHERE is_too_complex;
-- The facts of contents that have symbols or references.
CREATE TABLE facts (no INTEGER PRIMARY KEY, packed BLOB NOT NULL);
-- What follows from the bytes of a git blob alone: their hash, and whatever decides, together with a path, whether they are searched, and
-- as which language.
CREATE TABLE blobs (
    oid BLOB PRIMARY KEY,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    traits INTEGER NOT NULL,
    first_line BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE segments (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE, contents INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE manifests (
    id INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    reference TEXT NOT NULL,
    commit_id TEXT,
    published_at INTEGER NOT NULL,
    files INTEGER NOT NULL,
    symbols INTEGER NOT NULL,
    is_whole INTEGER NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE (place, reference)
);
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    place TEXT NOT NULL,
    reference TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    changed INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    message TEXT,
    holder TEXT NOT NULL
);
CREATE INDEX jobs_of ON jobs (place, started_at);
