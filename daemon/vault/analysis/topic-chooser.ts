import type { Database } from "../../../storage/engine/database.ts";
import { listClassifiedTexts } from "../../../storage/tables/vault/documents/texts.ts";
import { listVisibleTopics } from "../../../storage/tables/vault/documents/topics.ts";
import type { ModelClassifier } from "../ai/model-classifier.ts";
import { classify, type ClassifiedTopic } from "./classifier.ts";
import type { AccountId, DocumentId } from "../../../storage/tables/vault/ids.ts";

/** Chooses the topic of a text among those that a user sees. */
export type TopicChooser = ReturnType<typeof createTopicChooser>;

/** Documents that the built-in classifier learns from, and how much of each. */
const EXAMPLES_MAX = 200;
const EXAMPLE_CHARACTERS_MAX = 4_000;

/**
 * Creates a chooser that uses the active AI provider, and the built-in classifier when the provider gives no valid
 * answer.
 */
export function createTopicChooser({
  db,
  model,
}: {
  readonly db: Database;
  readonly model: ModelClassifier;
}) {
  return {
    /** Returns undefined when no topic fits or exists. Throws when `signal` is aborted. */
    async choose(
      userId: AccountId,
      { text, documentId }: { readonly text: string; readonly documentId?: DocumentId | undefined },
      signal: AbortSignal,
    ): Promise<(ClassifiedTopic & { readonly provider: string }) | undefined> {
      const topics = await listVisibleTopics(db, userId);
      if (topics.length === 0) return undefined;
      const choice = await model.choose(text, topics, signal);
      if (choice.kind === "no_topic") return undefined;
      if (choice.kind === "chosen") {
        const { topicId, topic, confidence, provider } = choice;
        return { topicId, topic, confidence, provider, words: [] };
      }
      const examples = await listClassifiedTexts(db, userId, {
        documentsMax: EXAMPLES_MAX,
        charactersMax: EXAMPLE_CHARACTERS_MAX,
      });
      const found = classify(
        text,
        topics.map(({ id, name, description }) => ({
          id,
          name,
          description,
          // A document is not an example for its own classification.
          examples: examples
            .filter((example) => example.topicId === id && example.documentId !== documentId)
            .map((example) => example.text),
        })),
      );
      return found && { ...found, provider: "builtin" };
    },
  };
}
