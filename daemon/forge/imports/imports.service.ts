import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  findImport,
  type ForgeImport,
  updateImport,
} from "../../../storage/tables/forge/repositories/imports.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedRepository } from "../opened.ts";
import { orNotFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { IMPORT_KIND, newProgress } from "./import-parts.ts";
import type { Credentials, CredentialSeals } from "./remote-address.ts";

export type Imports = ReturnType<typeof createImports>;

/** Enqueues the job of an import: at once, or when the source takes requests again. */
export async function enqueueImport(
  enqueue: Enqueue,
  tx: Transaction,
  { repositoryId, actorId }: Pick<ForgeImport, "repositoryId" | "actorId">,
  runAt: number = tx.now,
): Promise<void> {
  await enqueue(tx, {
    kind: IMPORT_KIND,
    payload: { repositoryId },
    key: String(repositoryId),
    account: String(actorId ?? 0),
    runAt,
  });
}

/**
 * Imports the files of Git LFS of a mirror again, whose branches have changed: those that are there are not fetched. Does
 * nothing for a mirror without them, and after a cancellation.
 */
export async function followLargeFiles(
  { enqueue, seals }: { readonly enqueue: Enqueue; readonly seals: CredentialSeals },
  tx: Transaction,
  { repositoryId }: Pick<ForgeImport, "repositoryId">,
  credentials: Credentials,
): Promise<void> {
  const { parts = [] } = (await findImport(tx, repositoryId)) ?? {};
  if (!parts.includes("large_files")) return;
  // An attempt under way, which has read the former commits, ends at its next page.
  const begun = await updateImport(tx, repositoryId, ["waiting", "running", "done", "failed"], {
    state: "waiting",
    error: "",
    sealedCredentials: seals.sealOfImport(repositoryId, credentials),
    progress: newProgress(["large_files"]),
  });
  if (begun !== undefined) await enqueueImport(enqueue, tx, begun);
}

/** Imports of issues, pull requests and releases, as people watch and steer them. */
export function createImports({
  db,
  seals,
  enqueue,
}: {
  readonly db: Database;
  readonly seals: CredentialSeals;
  readonly enqueue: Enqueue;
}) {
  return {
    /** Refuses with `not_found` a repository without an import. */
    async get({ repository }: GrantedRepository): Promise<ForgeImport> {
      return orNotFound(await findImport(db, repository.id));
    },

    /** Ends an import after the page under way. Refuses with `conflict` one that has ended. */
    cancel: (opened: GrantedRepository): Promise<ForgeImport> =>
      db.transaction(async (tx) => {
        const { id } = (await reopenRepository(tx, opened)).repository;
        orNotFound(await findImport(tx, id));
        const cancelled = await updateImport(tx, id, ["waiting", "running"], {
          state: "cancelled",
          sealedCredentials: undefined,
        });
        if (cancelled === undefined) throw new AppError("conflict", "the import has ended already");
        return cancelled;
      }),

    /**
     * Resumes an import where it ended; without credentials with the former ones, if it failed. Refuses with `conflict` one
     * that is under way or done.
     */
    resume: (
      opened: GrantedRepository,
      credentials: Credentials,
      { user }: ForgeCaller,
    ): Promise<ForgeImport> =>
      db.transaction(async (tx) => {
        const { id } = (await reopenRepository(tx, opened)).repository;
        const { progress } = orNotFound(await findImport(tx, id));
        const hasOwn = Object.values(credentials).some((each) => each !== "");
        const resumed = await updateImport(tx, id, ["failed", "cancelled"], {
          state: "waiting",
          error: "",
          actorId: user.id,
          progress: { ...progress, pauses: 0, allPauses: 0 },
          ...(hasOwn ? { sealedCredentials: seals.sealOfImport(id, credentials) } : {}),
        });
        if (resumed === undefined)
          throw new AppError("conflict", "the import is under way or done");
        await enqueueImport(enqueue, tx, resumed);
        return resumed;
      }),
  };
}
