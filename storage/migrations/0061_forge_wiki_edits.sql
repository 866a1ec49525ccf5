-- The journal of changes of wiki pages: an entry is written before its branch moves and deleted when its event is published.
CREATE TABLE forge_wiki_edits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  repository_id INTEGER NOT NULL REFERENCES forge_repositories (id) ON DELETE CASCADE,
  actor_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  ref TEXT NOT NULL,
  -- the commit to which the branch moves
  commit_id TEXT NOT NULL,
  action TEXT NOT NULL,
  page TEXT NOT NULL,
  comment TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_wiki_edits_repository ON forge_wiki_edits (repository_id);
CREATE INDEX forge_wiki_edits_actor ON forge_wiki_edits (actor_id);
