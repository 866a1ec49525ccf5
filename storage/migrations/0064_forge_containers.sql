-- Container images. An image is a package of the type container; its versions are its tags, and the digests of manifests
-- without a tag. The bytes of blobs are objects of the store, those of manifests are rows.

CREATE TABLE forge_container_blobs (
  owner_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  -- the name of the image: blobs arrive before there is a package
  image TEXT NOT NULL,
  -- as clients name it: algorithm:hex
  digest TEXT NOT NULL,
  -- lower-case hex; names the object
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- when a client last uploaded or mounted it, or asked whether it must
  used_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, image, digest)
) STRICT;
CREATE INDEX forge_container_blobs_object ON forge_container_blobs (sha256);
CREATE INDEX forge_container_blobs_used ON forge_container_blobs (used_at);

CREATE TABLE forge_container_uploads (
  id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES forge_users (id) ON DELETE CASCADE,
  image TEXT NOT NULL,
  -- in bytes, of all parts
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  -- when the last part arrived
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_container_uploads_owner ON forge_container_uploads (owner_id);
CREATE INDEX forge_container_uploads_age ON forge_container_uploads (updated_at);

CREATE TABLE forge_container_upload_parts (
  upload_id TEXT NOT NULL REFERENCES forge_container_uploads (id) ON DELETE CASCADE,
  -- the place of its first byte
  start INTEGER NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (upload_id, start)
) STRICT;
CREATE INDEX forge_container_upload_parts_object ON forge_container_upload_parts (sha256);

CREATE TABLE forge_container_manifests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  package_id INTEGER NOT NULL REFERENCES forge_packages (id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  media_type TEXT NOT NULL,
  -- empty without one
  artifact_type TEXT NOT NULL,
  -- the digest of the manifest that this one is about
  subject TEXT,
  size INTEGER NOT NULL,
  -- the bytes as they arrived, which are JSON in UTF-8
  content TEXT NOT NULL,
  -- JSON: a map
  annotations TEXT NOT NULL,
  -- JSON: platforms, labels and size, for lists and pages
  summary TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (package_id, digest)
) STRICT;
CREATE INDEX forge_container_manifests_subject ON forge_container_manifests (package_id, subject, id);

-- The blobs and manifests that a manifest names.
CREATE TABLE forge_container_references (
  manifest_id INTEGER NOT NULL REFERENCES forge_container_manifests (id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  PRIMARY KEY (manifest_id, digest)
) STRICT;
CREATE INDEX forge_container_references_digest ON forge_container_references (digest);

-- The manifest of a version.
CREATE TABLE forge_container_versions (
  version_id INTEGER NOT NULL REFERENCES forge_package_versions (id) ON DELETE CASCADE,
  manifest_id INTEGER NOT NULL REFERENCES forge_container_manifests (id) ON DELETE CASCADE,
  PRIMARY KEY (version_id)
) STRICT;
CREATE INDEX forge_container_versions_manifest ON forge_container_versions (manifest_id);
