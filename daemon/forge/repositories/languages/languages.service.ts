import { z } from "zod";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import type { Git } from "../../../../storage/git/git.ts";
import { findObjects } from "../../../../storage/git/objects.ts";
import { listTree } from "../../../../storage/git/trees.ts";
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
import type { ForgeCaller } from "../../caller.ts";
import { openRepository } from "../../issues/issue-access.ts";
import type { RepositoryEvents } from "../events.ts";
import type { FolderMoves } from "../folder-moves.ts";
import type { RepositoryPath } from "../repositories.service.ts";
import { workInFolder } from "../work-in-folder.ts";
import { findLanguage } from "./language-names.ts";

/**
 * The languages of repositories. A job counts them after each change of the default branch and stores them with the
 * commit.
 */
export interface Languages {
  /**
   * Returns the bytes by language, in descending order; empty until the job has run. Refuses with `not_found` a caller
   * who may not read the code.
   */
  get(
    path: RepositoryPath,
    caller: ForgeCaller | undefined,
  ): Promise<Readonly<Record<string, number>>>;
  /** Enqueues the count. */
  readonly events: RepositoryEvents;
  readonly job: JobKind;
}

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
const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });

export function createLanguages({ db, git, locate, moves, enqueue }: LanguagesDeps): Languages {
  const { complete } = moves;
  const folders = { find: (id: RepositoryId) => findRepositoryById(db, id), complete, locate };
  const countSoon = (tx: Transaction, { id }: ForgeRepository) =>
    enqueue(tx, { kind: KIND, payload: { repositoryId: id }, key: String(id) });
  return {
    async get(path, caller) {
      const { repository } = await openRepository(db, path, caller, "/languages");
      const found = await findLanguages(db, repository.id);
      return Object.fromEntries(toOrder(found?.sizes ?? {}));
    },

    events: {
      async created(tx, { repository }) {
        if (!repository.isEmpty) await countSoon(tx, repository);
      },
      async edited(tx, { repository, former }) {
        if (repository.defaultBranch !== former.defaultBranch) await countSoon(tx, repository);
      },
      async pushed(tx, { repository, changes }) {
        const head = `refs/heads/${repository.defaultBranch}`;
        if (changes.some(({ ref }) => ref === head)) await countSoon(tx, repository);
      },
    },

    job: {
      kind: KIND,
      async run(payload, { signal }) {
        const { repositoryId } = parsePayload(payloadSchema, payload);
        await workInFolder(folders, repositoryId, async (directory, repository) => {
          const name = `refs/heads/${repository.defaultBranch}^{commit}`;
          const [commit] = await findObjects(git, [name], { directory, signal });
          const commitId = commit?.id ?? "";
          if ((await findLanguages(db, repositoryId))?.commitId === commitId) return;
          const sizes = commitId === "" ? {} : await count(directory, commitId, signal);
          const [main] = toOrder(sizes);
          await db.transaction(async (tx) => {
            if ((await findRepositoryById(tx, repositoryId)) === undefined) return;
            await saveLanguages(tx, repositoryId, { commitId, sizes }, main?.[0] ?? "");
          });
        });
      },
    },
  };

  async function count(directory: string, commitId: string, signal: AbortSignal) {
    const sizes: Record<string, number> = {};
    let entries = 0;
    for await (const entry of listTree(git, commitId, { directory, signal, isRecursive: true })) {
      entries += 1;
      if (entries > ENTRIES_MAX) break;
      if (!entry.mode.startsWith("100") || entry.size === 0) continue;
      const language = findLanguage(entry.path);
      if (language !== undefined) sizes[language] = (sizes[language] ?? 0) + entry.size;
    }
    return sizes;
  }
}

function toOrder(sizes: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(sizes).toSorted(
    ([oneName, one], [otherName, other]) => other - one || (oneName < otherName ? -1 : 1),
  );
}
