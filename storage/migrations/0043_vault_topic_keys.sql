-- Keys of topics treat letters as one whose upper case has another number or form: ß and SS, ı and i, ς and σ. A topic
-- that another one of its owner already equals keeps its key, and its name until it is renamed.

UPDATE vault_topics SET name_key = replace(replace(replace(name_key, 'ß', 'ss'), 'ı', 'i'), 'ς', 'σ')
WHERE (name_key LIKE '%ß%' OR name_key LIKE '%ı%' OR name_key LIKE '%ς%')
  AND NOT EXISTS (
    SELECT 1 FROM vault_topics AS other
    WHERE other.id <> vault_topics.id
      AND coalesce(other.user_id, '') = coalesce(vault_topics.user_id, '')
      AND replace(replace(replace(other.name_key, 'ß', 'ss'), 'ı', 'i'), 'ς', 'σ')
        = replace(replace(replace(vault_topics.name_key, 'ß', 'ss'), 'ı', 'i'), 'ς', 'σ')
  );
