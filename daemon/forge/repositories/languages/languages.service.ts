import { z } from "zod";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { findCommits } from "../../../../storage/git/ref-files.ts";
import { type AttributeValue, readAttributes } from "../../../../storage/git/attributes.ts";
import { type Git, GitError } from "../../../../storage/git/git.ts";
import type { ReadOptions } from "../../../../storage/git/objects.ts";
import { listTree, type TreeEntry } from "../../../../storage/git/trees.ts";
import type { RepositoryId } from "../../../../storage/tables/forge/ids.ts";
import {
  findLanguages,
  saveLanguages,
} from "../../../../storage/tables/forge/repositories/languages.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type JobKind, parsePayload } from "../../../jobs/job-kind.ts";
import type { Enqueue } from "../../../jobs/queue.ts";
import type { Subscribers } from "../../events.ts";
import type { FolderMoves } from "../folder-moves.ts";
import { toFirstRun, workInFolder } from "../work-in-folder.ts";
import { ATTRIBUTES_BYTES_MAX, findLanguage, LANGUAGE_ATTRIBUTES } from "./language-names.ts";

export type Languages = ReturnType<typeof createLanguages>;

export interface LanguagesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly moves: Pick<FolderMoves, "complete">;
  readonly enqueue: Enqueue;
}

const KIND = "forge.repositories.languages";
/** Maximum number of entries of a tree that are counted. */
const ENTRIES_MAX = 500_000;
/** Maximum characters of the paths of these entries. */
const PATH_CHARACTERS_MAX = 64 * 1024 * 1024;
/** Maximum number of languages of a repository: attributes may name any. */
const LANGUAGES_MAX = 200;
const ATTRIBUTES_FILE = /(?:^|\/)\.gitattributes$/;
const ATTRIBUTES_FILES_MAX = 1_000;
const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });

/**
 * The languages of repositories. A job counts them after each change of the default branch and stores them with the
 * commit.
 */
export function createLanguages({ db, git, locate, moves, enqueue }: LanguagesDeps) {
  const { complete } = moves;
  const folders = { find: (id: RepositoryId) => findRepositoryById(db, id), complete, locate };
  const countSoon = (tx: Transaction, { id }: ForgeRepository, runAt = tx.now) =>
    enqueue(tx, { kind: KIND, payload: { repositoryId: id }, key: String(id), runAt });
  return {
    /** Returns the bytes by language, in descending order; empty until the job has run. */
    async get({ id }: Pick<ForgeRepository, "id">): Promise<Readonly<Record<string, number>>> {
      const found = await findLanguages(db, id);
      return Object.fromEntries(toOrder(found?.sizes ?? {}));
    },

    /** Enqueues the count. */
    subscribers: {
      async "repository.created"(tx, { repository, isAdopted }) {
        if (!repository.isEmpty) await countSoon(tx, repository, toFirstRun(tx, isAdopted));
      },
      async "repository.edited"(tx, { repository, former }) {
        if (repository.defaultBranch !== former.defaultBranch) await countSoon(tx, repository);
      },
      async push(tx, { repository, changes }) {
        const head = `refs/heads/${repository.defaultBranch}`;
        if (changes.some(({ ref }) => ref === head)) await countSoon(tx, repository);
      },
    } satisfies Subscribers,

    job: {
      kind: KIND,
      async run(payload, { signal }) {
        const { repositoryId } = parsePayload(payloadSchema, payload);
        await workInFolder(folders, repositoryId, async (directory, repository) => {
          const name = `refs/heads/${repository.defaultBranch}`;
          const [commitId = ""] = await findCommits(git, [name], { directory, signal });
          if ((await findLanguages(db, repositoryId))?.commitId === commitId) return;
          const sizes = commitId === "" ? {} : await count(directory, commitId, signal);
          const [main] = toOrder(sizes);
          await db.transaction(async (tx) => {
            if ((await findRepositoryById(tx, repositoryId)) === undefined) return;
            await saveLanguages(tx, repositoryId, { commitId, sizes }, main?.[0] ?? "");
          });
        });
      },
    } satisfies JobKind,
  };

  async function count(directory: string, commitId: string, signal: AbortSignal) {
    const options = { directory, signal };
    const files: TreeEntry[] = [];
    let entries = 0;
    let characters = 0;
    for await (const entry of listTree(git, commitId, { ...options, isRecursive: true })) {
      entries += 1;
      characters += entry.path.length;
      if (entries > ENTRIES_MAX || characters > PATH_CHARACTERS_MAX) break;
      if (entry.mode.startsWith("100") && entry.size > 0) files.push(entry);
    }
    const attributes = await findAttributes(files, options);
    const sizes = new Map<string, number>();
    for (const { path, size } of files) {
      const language = findLanguage(path, attributes.get(path));
      if (language === undefined) continue;
      if (sizes.size < LANGUAGES_MAX || sizes.has(language))
        sizes.set(language, (sizes.get(language) ?? 0) + size);
    }
    return Object.fromEntries(sizes);
  }

  /** Returns the attributes of the files that have any; none when git takes too long for them. */
  async function findAttributes(files: readonly TreeEntry[], options: ReadOptions) {
    const found = new Map<string, ReadonlyMap<string, AttributeValue>>();
    const sources = files
      .filter(({ path, size }) => ATTRIBUTES_FILE.test(path) && size <= ATTRIBUTES_BYTES_MAX)
      .slice(0, ATTRIBUTES_FILES_MAX);
    if (sources.length === 0) return found;
    const request = {
      files: sources,
      paths: files.map(({ path }) => path),
      names: LANGUAGE_ATTRIBUTES,
    };
    try {
      for await (const [path, values] of readAttributes(git, request, options))
        found.set(path, values);
    } catch (error) {
      // The files that users push decide how long git takes.
      if (error instanceof GitError && error.code === "too_long") return new Map<string, never>();
      throw error;
    }
    return found;
  }
}

function toOrder(sizes: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(sizes).toSorted(
    ([oneName, one], [otherName, other]) => other - one || (oneName < otherName ? -1 : 1),
  );
}
