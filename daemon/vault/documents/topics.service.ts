import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  countTopics,
  deleteTopic,
  findTopic,
  hasDocuments,
  insertTopic,
  listVisibleTopics,
  updateTopic,
  type VaultTopic,
} from "../../../storage/tables/vault/documents/topics.ts";
import { AppError } from "../../errors.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

export type Topics = ReturnType<typeof createTopics>;

export interface TopicText {
  readonly name: string;
  readonly description: string;
}

/** Classification compares a document with every topic. */
const TOPICS_PER_USER_MAX = 500;

/**
 * Topics that documents are classified by. A user sees the user's own topics and the system's; administrators see and
 * change system topics. A topic that the caller may not change is `not_found`. Names that differ only in case or
 * accents are equal.
 */
export function createTopics({
  db,
  newId,
}: {
  readonly db: Database;
  readonly newId: () => string;
}) {
  return {
    list: (caller: VaultCaller): Promise<readonly VaultTopic[]> =>
      listVisibleTopics(db, caller.role === "admin" ? undefined : caller.userId),

    /** Throws `conflict` when the name is taken. */
    async create(
      caller: VaultCaller,
      { name, description }: TopicText,
      owner: "caller" | "system",
    ): Promise<VaultTopic> {
      const userId = owner === "system" ? undefined : caller.userId;
      const id = newId();
      return unlessTaken(async (tx) => {
        if (userId !== undefined && (await countTopics(tx, userId)) >= TOPICS_PER_USER_MAX)
          throw new AppError("conflict", `An account has at most ${TOPICS_PER_USER_MAX} topics.`);
        await insertAudit(tx, toAudit(caller, "document.topic_created", id, { name, owner }));
        return insertTopic(tx, { id, userId, name, nameKey: toTopicKey(name), description });
      });
    },

    async update(
      caller: VaultCaller,
      id: string,
      changes: { readonly name?: string | undefined; readonly description?: string | undefined },
    ): Promise<VaultTopic> {
      return unlessTaken(async (tx) => {
        const topic = await getOwn(tx, caller, id);
        const { name = topic.name, description = topic.description } = changes;
        await updateTopic(tx, { id, name, nameKey: toTopicKey(name), description });
        const metadata = { name, previous_name: topic.name, owner: ownerOf(topic) };
        await insertAudit(tx, toAudit(caller, "document.topic_changed", id, metadata));
        return { ...topic, name, description, updatedAt: tx.now };
      });
    },

    /** Deletes a topic; documents lose it. */
    async remove(caller: VaultCaller, id: string): Promise<void> {
      await db.transaction((tx) => removeTopic(tx, caller, id));
    },

    /** Deletes a topic that only documents in the trash have; returns false, and keeps it, when others have it. */
    removeIfEmpty: (caller: VaultCaller, id: string): Promise<boolean> =>
      db.transaction(async (tx) => {
        await getOwn(tx, caller, id);
        if (await hasDocuments(tx, id)) return false;
        await removeTopic(tx, caller, id);
        return true;
      }),

    /** Returns the ids of topics by name; of two with one name the user's own. Throws `unprocessable` for an unknown name. */
    async resolve(from: Queries, userId: AccountId, names: readonly string[]): Promise<string[]> {
      const topics = await listVisibleTopics(from, userId);
      return names.map((name, index) => {
        const key = toTopicKey(name);
        const matches = topics.filter(({ nameKey }) => nameKey === key);
        const found = matches.find((topic) => topic.userId === userId) ?? matches[0];
        if (found === undefined)
          throw toFieldError(
            ["body", "topics", String(index)],
            `There is no topic ${JSON.stringify(name)}. Create it first.`,
            "unknown_topic",
          );
        return found.id;
      });
    },
  };

  async function removeTopic(tx: Transaction, caller: VaultCaller, id: string): Promise<void> {
    const topic = await getOwn(tx, caller, id);
    await deleteTopic(tx, id);
    const metadata = { name: topic.name, owner: ownerOf(topic) };
    await insertAudit(tx, toAudit(caller, "document.topic_deleted", id, metadata));
  }

  async function getOwn(from: Queries, caller: VaultCaller, id: string): Promise<VaultTopic> {
    const topic = await findTopic(from, id);
    const mayChange =
      caller.role === "admin" ? topic?.userId === undefined : topic?.userId === caller.userId;
    if (topic === undefined || !mayChange) throw topicNotFound();
    return topic;
  }

  async function unlessTaken(work: (tx: Transaction) => Promise<VaultTopic>): Promise<VaultTopic> {
    try {
      return await db.transaction(work);
    } catch (error) {
      if (!isConflict(error)) throw error;
      throw new AppError("conflict", "There is a topic of this name already.", { cause: error });
    }
  }
}

/**
 * The key by which topics are compared: without case and accents. Converts to lower, upper and again lower case, so
 * that letters with an irregular upper case are equal: `ß` and `SS`, `ı` and `i`.
 */
export function toTopicKey(name: string): string {
  return name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toUpperCase()
    .replaceAll("Σ", "σ")
    .toLowerCase()
    .trim();
}

function ownerOf({ userId }: VaultTopic): "caller" | "system" {
  return userId === undefined ? "system" : "caller";
}

function topicNotFound(): AppError {
  return new AppError("not_found", "Topic not found");
}
