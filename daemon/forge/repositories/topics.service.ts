import type { Database } from "../../../storage/engine/database.ts";
import {
  type ForgeTopic,
  listTopicsOf,
  replaceTopics,
  searchTopics,
} from "../../../storage/tables/forge/repositories/topics.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { reopenRepository } from "./open-repository.ts";
import type { GrantedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";

/** Result of a change of topics. `too_many`: the repository would exceed the maximum number of topics. */
export type TopicOutcome =
  | { readonly kind: "changed" }
  | { readonly kind: "invalid"; readonly names: readonly string[] }
  | { readonly kind: "too_many" };

/** Maximum number of topics of one repository. */
const TOPICS_MAX = 25;
const NAME_CHARACTERS_MAX = 35;
const NAME = /^[a-z0-9][-.a-z0-9]*$/;
const CHANGED = { kind: "changed" } as const;

/**
 * Topics of repositories. Names are lower-case letters, digits, dashes and dots, at most 35 characters; capitals become
 * lower case, and white space around a name is removed.
 */
export type Topics = ReturnType<typeof createTopics>;

export function createTopics({ db }: { readonly db: Database }) {
  return {
    /** Returns a page of the topics, by name, and the count of all. */
    list(
      { repository: { topics } }: GrantedRepository,
      window: PageWindow,
    ): { readonly names: readonly string[]; readonly total: number } {
      const { limit, offset } = toRows(window);
      return { names: topics.slice(offset, offset + limit), total: topics.length };
    },

    async replace(
      opened: GrantedRepository,
      requestedNames: readonly string[],
    ): Promise<TopicOutcome> {
      const names = [...new Set(requestedNames.map(toName).filter((name) => name !== ""))];
      return change(opened, async () => {
        if (names.length > TOPICS_MAX) return { kind: "too_many" };
        const invalid = names.filter((name) => !isTopicName(name));
        return invalid.length > 0 ? { kind: "invalid", names: invalid } : names;
      });
    },

    /** Adds a topic; idempotent. */
    async add(opened: GrantedRepository, requestedName: string): Promise<TopicOutcome> {
      const name = toName(requestedName);
      return change(opened, async (before) => {
        if (!isTopicName(name)) return { kind: "invalid", names: [name] };
        if (before.includes(name)) return CHANGED;
        return before.length >= TOPICS_MAX ? { kind: "too_many" } : [...before, name];
      });
    },

    /** Removes a topic. Throws `not_found` for one that the repository does not have. */
    async remove(opened: GrantedRepository, requestedName: string): Promise<TopicOutcome> {
      const name = toName(requestedName);
      return change(opened, async (before) => {
        if (!isTopicName(name)) return { kind: "invalid", names: [name] };
        if (!before.includes(name)) throw notFound();
        return before.filter((each) => each !== name);
      });
    },

    /** Returns a page of the topics of repositories that the caller may read, most used first. */
    async search(
      term: string,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<{ readonly topics: readonly ForgeTopic[]; readonly total: number }> {
      const search = { reader: caller?.user, isPublicOnly: isPublicOnly(caller) };
      // PostgreSQL stores no NUL, so no topic contains one.
      if (term.includes("\0")) return { topics: [], total: 0 };
      return searchTopics(db, { ...search, term: term.toLowerCase() }, toRows(window));
    },
  };

  /** Replaces the topics of a repository with the result of `decide`, in one transaction. */
  async function change(
    opened: GrantedRepository,
    decide: (before: readonly string[]) => Promise<readonly string[] | TopicOutcome>,
  ): Promise<TopicOutcome> {
    return db.transaction(async (tx) => {
      const { id } = (await reopenRepository(tx, opened)).repository;
      const after = await decide(await listTopicsOf(tx, id));
      if ("kind" in after) return after;
      await replaceTopics(tx, id, after);
      return CHANGED;
    });
  }
}

const toName = (text: string) => text.trim().toLowerCase();

const isTopicName = (name: string) => name.length <= NAME_CHARACTERS_MAX && NAME.test(name);

/** Returns the topics of another server that a repository may have. */
export const toTopicNames = (names: readonly string[]): readonly string[] =>
  [...new Set(names.map(toName).filter(isTopicName))].slice(0, TOPICS_MAX);
