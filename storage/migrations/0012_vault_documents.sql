-- The vault's documents: uploads under way, documents, topics, shares, the search index, AI providers, machine tokens.

CREATE TABLE vault_document_uploads (
  -- becomes the id of the document
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  -- SHA-256 of the ticket in the upload address, in hex
  ticket_hash TEXT NOT NULL UNIQUE,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
  -- what the client promised; null when it promised nothing
  promised_sha256 TEXT,
  -- `receiving` while one request sends the body; `received` once the bytes are an object
  state TEXT NOT NULL CHECK (state IN ('waiting', 'receiving', 'received')),
  -- the object, present exactly while `received`
  object_sha256 TEXT,
  expires_at INTEGER NOT NULL,
  CHECK ((state = 'received') = (object_sha256 IS NOT NULL))
) STRICT;

CREATE INDEX vault_document_uploads_user ON vault_document_uploads (user_id);
CREATE INDEX vault_document_uploads_expiry ON vault_document_uploads (expires_at);
CREATE INDEX vault_document_uploads_object ON vault_document_uploads (object_sha256) WHERE object_sha256 IS NOT NULL;

CREATE TABLE vault_topics (
  id TEXT PRIMARY KEY,
  -- null for a system topic, which everybody sees
  user_id TEXT REFERENCES vault_users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- the name without case and accents
  name_key TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX vault_topics_own ON vault_topics (user_id, name_key) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX vault_topics_system ON vault_topics (name_key) WHERE user_id IS NULL;

CREATE TABLE vault_documents (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  filename TEXT NOT NULL,
  -- the filename without case, for sorting
  name_key TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
  sha256 TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'ready', 'classification_failed')),
  -- why text or topics are missing, as a code of the closed list; null when nothing is missing
  status_reason TEXT,
  -- `internal`, or the type of the provider that holds the bytes
  storage_backend TEXT NOT NULL,
  -- where the bytes are unless `internal`; null once the connection is deleted
  connection_id TEXT REFERENCES vault_connections (id) ON DELETE SET NULL,
  provider_item_id TEXT,
  semantic_index_status TEXT NOT NULL CHECK (semantic_index_status IN ('none', 'pending', 'ready', 'failed', 'stale')),
  -- the result of the last classification: all four or none; the words that decided as JSON
  classified_topic TEXT,
  classification_confidence REAL,
  classification_provider TEXT,
  classification_words TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CHECK (storage_backend <> 'internal' OR provider_item_id IS NULL)
) STRICT;

CREATE INDEX vault_documents_created ON vault_documents (user_id, created_at, id);
CREATE INDEX vault_documents_name ON vault_documents (user_id, name_key, id);
CREATE INDEX vault_documents_size ON vault_documents (user_id, size_bytes, id);
CREATE INDEX vault_documents_status ON vault_documents (status);
CREATE INDEX vault_documents_object ON vault_documents (sha256) WHERE storage_backend = 'internal';
CREATE INDEX vault_documents_connection ON vault_documents (connection_id) WHERE connection_id IS NOT NULL;

CREATE TABLE vault_document_topics (
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  topic_id TEXT NOT NULL REFERENCES vault_topics (id) ON DELETE CASCADE,
  PRIMARY KEY (document_id, topic_id)
) STRICT;

CREATE INDEX vault_document_topics_topic ON vault_document_topics (topic_id, document_id);

CREATE TABLE vault_shares (
  id TEXT PRIMARY KEY,
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  owner_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  recipient_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  permission TEXT NOT NULL CHECK (permission IN ('view', 'download')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (document_id, recipient_id),
  CHECK (owner_id <> recipient_id)
) STRICT;

CREATE INDEX vault_shares_owner ON vault_shares (owner_id, created_at, id);
CREATE INDEX vault_shares_recipient ON vault_shares (recipient_id, created_at, id);

-- One row for each text that can be found: of a document (its extracted text is here only), or of an analysed item.
CREATE TABLE vault_search_entries (
  id INTEGER PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  document_id TEXT UNIQUE REFERENCES vault_documents (id) ON DELETE CASCADE,
  item_id TEXT UNIQUE REFERENCES vault_items (id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  content_type TEXT NOT NULL,
  -- of an item; null for a document of the vault's own storage
  connection_id TEXT,
  changed_at INTEGER NOT NULL,
  CHECK ((document_id IS NULL) <> (item_id IS NULL))
) STRICT;

-- Holds every column that a search filters by, so that no text is read to sort matches.
CREATE INDEX vault_search_entries_user
  ON vault_search_entries (user_id, id, document_id, item_id, connection_id, content_type, changed_at);

-- @sqlite
CREATE VIRTUAL TABLE vault_search_text USING fts5 (
  title, body, content = 'vault_search_entries', content_rowid = 'id',
  tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

CREATE TRIGGER vault_search_entries_insert AFTER INSERT ON vault_search_entries BEGIN
  INSERT INTO vault_search_text (rowid, title, body) VALUES (new.id, new.title, new.body);
END;

CREATE TRIGGER vault_search_entries_delete AFTER DELETE ON vault_search_entries BEGIN
  INSERT INTO vault_search_text (vault_search_text, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;

CREATE TRIGGER vault_search_entries_update AFTER UPDATE OF title, body ON vault_search_entries BEGIN
  INSERT INTO vault_search_text (vault_search_text, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
  INSERT INTO vault_search_text (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
-- @end

-- @postgres
ALTER TABLE vault_search_entries ADD COLUMN folded TSVECTOR;
CREATE INDEX vault_search_entries_folded ON vault_search_entries USING gin (folded);
-- @end

-- Passages of a text with their embeddings, made by one model.
CREATE TABLE vault_search_passages (
  id INTEGER PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES vault_search_entries (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  -- the part of the body, in UTF-16 units
  start_offset INTEGER NOT NULL,
  end_offset INTEGER NOT NULL,
  model TEXT NOT NULL,
  -- 32-bit floats, little-endian, of length one
  embedding BLOB NOT NULL
) STRICT;

CREATE INDEX vault_search_passages_entry ON vault_search_passages (entry_id);
CREATE INDEX vault_search_passages_user ON vault_search_passages (user_id, model, id);

CREATE TABLE vault_ai_providers (
  provider_id TEXT PRIMARY KEY CHECK (provider_id IN ('openai', 'anthropic', 'ollama', 'openai_compatible')),
  -- sealed; null where the provider needs none
  api_key TEXT,
  base_url TEXT NOT NULL,
  model_name TEXT NOT NULL,
  embedding_model_name TEXT,
  is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX vault_ai_providers_active ON vault_ai_providers (is_active) WHERE is_active = 1;

CREATE TABLE vault_machine_tokens (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('read', 'write')),
  -- SHA-256 of the token, in hex
  token_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER
) STRICT;

CREATE UNIQUE INDEX vault_machine_tokens_name ON vault_machine_tokens (user_id, name);
