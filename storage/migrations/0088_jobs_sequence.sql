-- Jobs of one kind and sequence run one after the other, in the order in which they were added.
ALTER TABLE jobs ADD COLUMN sequence TEXT;
CREATE INDEX jobs_sequence ON jobs (kind, sequence, id) WHERE sequence IS NOT NULL;
