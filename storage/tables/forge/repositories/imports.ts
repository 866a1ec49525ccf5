import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, json, now, oneOf, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId, UserId } from "../ids.ts";

/** `waiting`: its job is queued or between two attempts. `failed` and `cancelled` imports can be resumed. */
const importStates = ["waiting", "running", "done", "failed", "cancelled"] as const;
export type ImportState = (typeof importStates)[number];

const progressSchema = z.object({
  /** The part under way, and the page of the source that comes next in it. */
  part: z.string(),
  page: z.number(),
  /** How many items were imported, by part. */
  imported: z.record(z.string(), z.number()),
  /** How many items the source said there are, by part; of some parts it does not say. */
  totals: z.record(z.string(), z.number()),
  /** How many items were left out because they do not fit, by part. */
  skipped: z.record(z.string(), z.number()),
  /** How many bytes of files the source has sent, and of pages. */
  fileBytes: z.number().default(0),
  pageBytes: z.number().default(0),
  /** Files of the page that do not fit, so that another attempt at it does not fetch them again. */
  leftOut: z.array(z.string()).readonly().default([]),
  /** Files of Git LFS that the page has brought from forks. */
  forkFiles: z.number().default(0),
  /** How often the import has waited for the source or for its turn: since the last page, and in all. */
  pauses: z.number().default(0),
  allPauses: z.number().default(0),
});
export type ImportProgress = Readonly<z.output<typeof progressSchema>>;

const imports = defineTable("forge_imports", {
  repositoryId: id<RepositoryId>(),
  /** The person who imports; undefined once the account is deleted. */
  actorId: optional(id<UserId>()),
  service: oneOf(["git", "gitea", "github"]),
  /** Of the repository at the source, without credentials. */
  address: text(),
  /** Undefined when the import has ended. */
  sealedCredentials: optional(text()),
  /** What is imported: `labels`, `issues` and so on. */
  parts: json(z.array(z.string())),
  state: oneOf(importStates),
  progress: json(progressSchema),
  /** Why the last attempt failed; empty when it did not. */
  error: text(),
  createdAt: now(),
  updatedAt: now(),
});
/** The import of what a repository has besides its code. Times are epoch milliseconds. */
export type ForgeImport = RecordOf<typeof imports>;

export async function insertImport(
  tx: Transaction,
  added: Pick<
    ForgeImport,
    "repositoryId" | "actorId" | "service" | "address" | "sealedCredentials" | "parts" | "progress"
  >,
): Promise<ForgeImport> {
  return imports.insert(tx, { ...added, state: "waiting", error: "" });
}

export function findImport(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<ForgeImport | undefined> {
  return imports.find(db, { repositoryId });
}

/** Writes the given members of an import in one of these states. Returns undefined when it is in another one. */
export function updateImport(
  tx: Transaction,
  repositoryId: RepositoryId,
  states: readonly ImportState[],
  changes: Partial<
    Pick<ForgeImport, "state" | "progress" | "error" | "sealedCredentials" | "actorId">
  >,
): Promise<ForgeImport | undefined> {
  return imports.change(tx, sql`repository_id = ${repositoryId} AND state IN (${states})`, {
    ...changes,
    updatedAt: tx.now,
  });
}
