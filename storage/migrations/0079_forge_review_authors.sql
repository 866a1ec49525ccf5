-- The reviewer's name at the place from which a review was imported; empty for one that was written here.
ALTER TABLE forge_reviews ADD COLUMN original_author TEXT NOT NULL DEFAULT '';
