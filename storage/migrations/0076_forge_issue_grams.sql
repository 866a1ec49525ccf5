-- Titles and bodies of issues by groups of three letters: a search compares only the texts that have all groups of its term.

-- @sqlite
-- The index keeps no text. Its `detail` has no positions, because a search compares the texts anyway.
CREATE VIRTUAL TABLE forge_issue_grams USING fts5 (
  texts, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);

CREATE TRIGGER forge_issues_grams AFTER DELETE ON forge_issues BEGIN
  DELETE FROM forge_issue_grams WHERE rowid = old.id;
END;
-- @end

-- @postgres
ALTER TABLE forge_issues ADD COLUMN grams TEXT[] COLLATE "C";
CREATE INDEX forge_issues_grams ON forge_issues USING gin (grams);
-- @end

-- The issues from next_id to last_id were written by an earlier version, and a job indexes them. No row once that is done.
CREATE TABLE forge_issue_grams_missing (
  next_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL
) STRICT;

INSERT INTO forge_issue_grams_missing (next_id, last_id)
SELECT MIN(id), MAX(id) FROM forge_issues HAVING COUNT(*) > 0;

INSERT INTO jobs (kind, payload, key, state, run_at, attempts, created_at, updated_at)
SELECT 'forge.issues.index', '{}', 'all', 'waiting', 0, 0, 0, 0 FROM forge_issue_grams_missing;
