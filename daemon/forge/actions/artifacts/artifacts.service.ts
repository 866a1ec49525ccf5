import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import {
  type ActionArtifact,
  deleteArtifact,
  findArtifact,
  listArtifacts,
  listReadyArtifacts,
} from "../../../../storage/tables/forge/actions/artifacts.ts";
import { type ActionRun, findRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { AppError } from "../../../errors.ts";
import type { GrantedRepository, OpenedRepository } from "../../opened.ts";
import { type PageWindow, toRows } from "../../page-window.ts";
import { reopenRepository } from "../../repositories/open-repository.ts";
import { openRun } from "../runs/run-records.ts";
import type { ArtifactAddresses } from "./artifact-addresses.ts";
import type { RunningTask } from "./running-tasks.ts";
import { type RunId, type ArtifactId, toArtifactId } from "../../../../storage/tables/forge/ids.ts";
import { openObject } from "../../../utilities/open-object.ts";

/** An artifact with the related rows that its view shows. */
export interface ArtifactDetails {
  readonly owned: OpenedRepository;
  readonly run: ActionRun;
  readonly artifact: ActionArtifact;
}

/** Bytes that the holder of an address may download. */
export interface ArtifactDownload {
  readonly artifact: ActionArtifact;
  readonly sha256: string;
  /** Opens the bytes from `start` to `end`, both included. Throws `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

type ListQuery = PageWindow & { readonly name: string };

/** Artifacts as users and jobs read them. */
export type Artifacts = ReturnType<typeof createArtifacts>;

export function createArtifacts({
  db,
  store,
  addresses,
}: {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly addresses: ArtifactAddresses;
}) {
  return {
    list: (opened: GrantedRepository, query: ListQuery) => find(opened, undefined, query),

    async listOfRun(opened: GrantedRepository, runId: number, query: ListQuery) {
      return find(opened, (await openRun(db, opened, runId)).id, query);
    },

    get: (opened: GrantedRepository, id: number) => getArtifact(db, opened, id),

    async remove(opened: GrantedRepository, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const { artifact } = await getArtifact(tx, await reopenRepository(tx, opened), id);
        await deleteArtifact(tx, artifact.id);
      });
    },

    /** Returns an address from which the bytes are downloaded without credentials. Throws `not_found` once they have expired. */
    async getAddress(opened: GrantedRepository, id: number): Promise<string> {
      const { artifact } = await getArtifact(db, opened, id);
      if (artifact.state !== "ready") throw new AppError("not_found", "Artifact has expired");
      return addresses.sign({ artifactId: artifact.id, use: "download" });
    },

    /** Lists the artifacts that a job can read. Of several with one name, lists the one of the newest attempt. */
    async listReadable({ runId, fromAttempt, attempt }: RunningTask): Promise<ActionArtifact[]> {
      const all = await listReadyArtifacts(db, { runId, fromAttempt, toAttempt: attempt });
      const newest = new Map<string, ActionArtifact>();
      for (const artifact of all)
        if (!newest.has(artifact.name)) newest.set(artifact.name, artifact);
      return [...newest.values()];
    },

    async getReadableAddress(task: RunningTask, name: string): Promise<string> {
      const found = (await this.listReadable(task)).find((artifact) => artifact.name === name);
      if (found === undefined) throw artifactNotFound();
      return addresses.sign({ artifactId: found.id, use: "download" });
    },

    /** Deletes an artifact of the task's own attempt, and returns its id. */
    async removeOfTask({ runId, attempt }: RunningTask, name: string): Promise<number> {
      const own = { runId, fromAttempt: attempt, toAttempt: attempt };
      return db.transaction(async (tx) => {
        const found = (await listReadyArtifacts(tx, own)).find((each) => each.name === name);
        if (found === undefined) throw artifactNotFound();
        await deleteArtifact(tx, found.id);
        return found.id;
      });
    },

    /** Throws `not_found` for an artifact that was deleted or has expired. */
    async download(artifactId: ArtifactId): Promise<ArtifactDownload> {
      const artifact = await findArtifact(db, artifactId);
      if (artifact?.state !== "ready" || artifact.sha256 === undefined) throw artifactNotFound();
      const { sha256, size } = artifact;
      return {
        artifact,
        sha256,
        open: (range) => openObject(store, { sha256, size }, "artifact", range),
      };
    },
  };

  async function find(owned: OpenedRepository, runId: RunId | undefined, query: ListQuery) {
    const filter = {
      repositoryId: owned.repository.id,
      ...(runId === undefined ? {} : { runId }),
      ...(query.name === "" ? {} : { name: query.name }),
    };
    const { artifacts, total } = await listArtifacts(db, filter, toRows(query));
    const runs = new Map<RunId, ActionRun | undefined>();
    const details: ArtifactDetails[] = [];
    for (const artifact of artifacts) {
      if (!runs.has(artifact.runId)) runs.set(artifact.runId, await findRun(db, artifact.runId));
      const run = runs.get(artifact.runId);
      if (run !== undefined) details.push({ owned, run, artifact });
    }
    return { artifacts: details, total };
  }

  async function getArtifact(
    queries: Queries,
    owned: GrantedRepository,
    id: number,
  ): Promise<ArtifactDetails> {
    const artifact = await findArtifact(queries, toArtifactId(id));
    const isListed = artifact?.repositoryId === owned.repository.id && artifact.state !== "pending";
    const run = isListed ? await findRun(queries, artifact.runId) : undefined;
    if (artifact === undefined || run === undefined) throw artifactNotFound();
    return { owned, run, artifact };
  }
}

const artifactNotFound = () => new AppError("not_found", "artifact not found");
