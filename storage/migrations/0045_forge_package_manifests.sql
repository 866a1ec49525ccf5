-- Forms of an npm manifest that are made when it is published, so that an answer reads and parses no whole manifest.
-- Versions from before have none of them.
ALTER TABLE forge_package_versions ADD COLUMN manifest_length INTEGER;
ALTER TABLE forge_package_versions ADD COLUMN abbreviated TEXT;
ALTER TABLE forge_package_versions ADD COLUMN summary TEXT;
