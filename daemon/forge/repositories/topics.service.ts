import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  type ForgeTopic,
  listTopicsOf,
  replaceTopics,
  searchTopics,
} from "../../../storage/tables/forge/repositories/topics.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { assertNotArchived, openRepository } from "./open-repository.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "./access.ts";
import { noAdministrator, type RepositoryPath } from "./repositories.service.ts";

/** Result of a change of topics. `too_many`: the repository would exceed the maximum number of topics. */
export type TopicOutcome =
  | { readonly kind: "changed" }
  | { readonly kind: "invalid"; readonly names: readonly string[] }
  | { readonly kind: "too_many" };

export type Topics = ReturnType<typeof createTopics>;

/** Maximum number of topics of one repository. */
const TOPICS_MAX = 25;
const NAME_CHARACTERS_MAX = 35;
const NAME = /^[a-z0-9][-.a-z0-9]*$/;
const CHANGED = { kind: "changed" } as const;

/**
 * Topics of repositories. Names are lower-case letters, digits, dashes and dots, at most 35 characters; capitals become
 * lower case, and white space around a name is removed. Every function about a repository refuses with `not_found` a
 * caller who may not read it; changes refuse with `forbidden` a caller who does not administer it, and with `archived`
 * an archived repository.
 */
export function createTopics({ db }: { readonly db: Database }) {
  return {
    /** Returns a page of the topics, by name, and the count of all. */
    async list(
      path: RepositoryPath,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<{ readonly names: readonly string[]; readonly total: number }> {
      const { repository } = await openRepository(db, path, caller, "/topics", "any");
      const { limit, offset } = toRows(window);
      const { topics } = repository;
      return { names: topics.slice(offset, offset + limit), total: topics.length };
    },

    async replace(
      path: RepositoryPath,
      requestedNames: readonly string[],
      caller: ForgeCaller,
    ): Promise<TopicOutcome> {
      const names = [...new Set(requestedNames.map(toName).filter((name) => name !== ""))];
      return change(path, caller, "", async () => {
        if (names.length > TOPICS_MAX) return { kind: "too_many" };
        const invalid = names.filter((name) => !isTopicName(name));
        return invalid.length > 0 ? { kind: "invalid", names: invalid } : names;
      });
    },

    /** Adds a topic; idempotent. */
    async add(
      path: RepositoryPath,
      requestedName: string,
      caller: ForgeCaller,
    ): Promise<TopicOutcome> {
      const name = toName(requestedName);
      return change(path, caller, `/${encodeURIComponent(requestedName)}`, async (before) => {
        if (!isTopicName(name)) return { kind: "invalid", names: [name] };
        if (before.includes(name)) return CHANGED;
        return before.length >= TOPICS_MAX ? { kind: "too_many" } : [...before, name];
      });
    },

    /** Removes a topic. Throws `not_found` for one that the repository does not have. */
    async remove(
      path: RepositoryPath,
      requestedName: string,
      caller: ForgeCaller,
    ): Promise<TopicOutcome> {
      const name = toName(requestedName);
      return change(path, caller, `/${encodeURIComponent(requestedName)}`, async (before) => {
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
    path: RepositoryPath,
    caller: ForgeCaller,
    rest: string,
    decide: (before: readonly string[]) => Promise<readonly string[] | TopicOutcome>,
  ): Promise<TopicOutcome> {
    return db.transaction(async (tx: Transaction) => {
      const opened = await openRepository(tx, path, caller, `/topics${rest}`, "any");
      if (!reaches(opened.access, "admin")) throw noAdministrator();
      assertNotArchived(opened);
      const { id } = opened.repository;
      const after = await decide(await listTopicsOf(tx, id));
      if ("kind" in after) return after;
      await replaceTopics(tx, id, after);
      return CHANGED;
    });
  }
}

const toName = (text: string) => text.trim().toLowerCase();

const isTopicName = (name: string) => name.length <= NAME_CHARACTERS_MAX && NAME.test(name);
