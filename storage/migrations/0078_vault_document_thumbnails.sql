-- Small pictures of documents, as objects, and why a document has none.
CREATE TABLE vault_document_thumbnails (
  document_id TEXT PRIMARY KEY REFERENCES vault_documents (id) ON DELETE CASCADE,
  -- the content that it shows
  content_sha256 TEXT NOT NULL,
  -- the object; NULL when none can be drawn
  sha256 TEXT,
  size_bytes INTEGER,
  -- why none can be drawn
  reason TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_document_thumbnails_object ON vault_document_thumbnails (sha256);
