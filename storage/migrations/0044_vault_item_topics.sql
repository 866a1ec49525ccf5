-- Topics of items are links, as those of documents are: a renamed topic keeps its items, a deleted one loses them.
CREATE TABLE vault_item_topics (
  item_id TEXT NOT NULL REFERENCES vault_items (id) ON DELETE CASCADE,
  topic_id TEXT NOT NULL REFERENCES vault_topics (id) ON DELETE CASCADE,
  PRIMARY KEY (item_id, topic_id)
) STRICT;

CREATE INDEX vault_item_topics_topic ON vault_item_topics (topic_id, item_id);

-- Of two topics with one name, the account's own.
-- @sqlite
INSERT INTO vault_item_topics (item_id, topic_id)
SELECT DISTINCT item.id, topic.id FROM vault_items AS item
JOIN json_each(item.topics) AS named
JOIN vault_topics AS topic ON topic.name = named.value AND (topic.user_id = item.user_id OR topic.user_id IS NULL)
WHERE item.topics <> '[]' AND (topic.user_id IS NOT NULL OR NOT EXISTS (
  SELECT 1 FROM vault_topics AS own WHERE own.user_id = item.user_id AND own.name = topic.name));
-- @end

-- @postgres
INSERT INTO vault_item_topics (item_id, topic_id)
SELECT DISTINCT item.id, topic.id FROM vault_items AS item
CROSS JOIN LATERAL json_array_elements_text(item.topics::json) AS named (name)
JOIN vault_topics AS topic ON topic.name = named.name AND (topic.user_id = item.user_id OR topic.user_id IS NULL)
WHERE item.topics <> '[]' AND (topic.user_id IS NOT NULL OR NOT EXISTS (
  SELECT 1 FROM vault_topics AS own WHERE own.user_id = item.user_id AND own.name = topic.name));
-- @end

ALTER TABLE vault_items DROP COLUMN topics;

-- The request that receives a body renews its claim; another one may take over an upload whose claim has expired.
ALTER TABLE vault_document_uploads ADD COLUMN claim TEXT;
ALTER TABLE vault_document_uploads ADD COLUMN claimed_until INTEGER;
