-- Links for people without an account: to a document, an item of a connection or several documents, and to receive files.

CREATE TABLE vault_links (
  id TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL REFERENCES vault_users (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('download', 'upload')),
  -- what visitors see as the title; empty: the name of the target
  name TEXT NOT NULL,
  -- the target of a download: exactly one of these, or the rows of vault_link_documents
  document_id TEXT REFERENCES vault_documents (id) ON DELETE CASCADE,
  item_id TEXT REFERENCES vault_items (id) ON DELETE CASCADE,
  -- SHA-256 of the secret in the address, in hex
  secret_hash TEXT NOT NULL UNIQUE,
  -- the secret, sealed: the owner copies the address again
  sealed_secret TEXT NOT NULL,
  -- argon2id; null without a password
  password_hash TEXT,
  expires_at INTEGER,
  max_downloads INTEGER CHECK (max_downloads > 0),
  downloads INTEGER NOT NULL DEFAULT 0 CHECK (downloads >= 0),
  max_files INTEGER CHECK (max_files > 0),
  files INTEGER NOT NULL DEFAULT 0 CHECK (files >= 0),
  max_bytes INTEGER CHECK (max_bytes > 0),
  received_bytes INTEGER NOT NULL DEFAULT 0 CHECK (received_bytes >= 0),
  message TEXT,
  -- uses that the owner was told of by mail, and when
  noticed_uses INTEGER NOT NULL DEFAULT 0,
  noticed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_links_owner ON vault_links (owner_id, created_at, id);
CREATE INDEX vault_links_document ON vault_links (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX vault_links_item ON vault_links (item_id) WHERE item_id IS NOT NULL;

-- The documents of a link to several.
CREATE TABLE vault_link_documents (
  link_id TEXT NOT NULL REFERENCES vault_links (id) ON DELETE CASCADE,
  document_id TEXT NOT NULL REFERENCES vault_documents (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  PRIMARY KEY (link_id, document_id)
) STRICT;

CREATE INDEX vault_link_documents_document ON vault_link_documents (document_id);

-- The topics that received files get.
CREATE TABLE vault_link_topics (
  link_id TEXT NOT NULL REFERENCES vault_links (id) ON DELETE CASCADE,
  topic_id TEXT NOT NULL REFERENCES vault_topics (id) ON DELETE CASCADE,
  PRIMARY KEY (link_id, topic_id)
) STRICT;

CREATE INDEX vault_link_topics_topic ON vault_link_topics (topic_id);

-- Downloads of links with a limit that are under way or broke off. The visitor may repeat one that broke off.
CREATE TABLE vault_link_downloads (
  id TEXT PRIMARY KEY,
  link_id TEXT NOT NULL REFERENCES vault_links (id) ON DELETE CASCADE,
  -- the visitor's address
  address TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sending', 'broken')),
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX vault_link_downloads_link ON vault_link_downloads (link_id, address);
CREATE INDEX vault_link_downloads_expiry ON vault_link_downloads (expires_at);
