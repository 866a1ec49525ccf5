import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, rmdir, statfs } from "node:fs/promises";
import type { Writable } from "node:stream";
import { createOwner } from "../../owner.ts";
import type { Failure } from "../outcomes.ts";
import {
  type CloudProvider,
  type ConnectOutcome,
  type ProbeResult,
  type LocalFolderAccess,
  type ProviderCapabilities,
  type ProviderDeps,
} from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { openBelow, using, type Folder } from "./anchor.ts";
import { toFailure, unless } from "./errno.ts";
import { cleanUp, cleanUpBeside, toTemporaryName } from "./clean-up.ts";
import { listFolder } from "./listing.ts";
import { refuseName, toId, toPlace, toSegments } from "./paths.ts";
import { relocate, type Place, type Staging } from "./relocate.ts";
import {
  allowLocalRoots,
  openOwn,
  openRoot,
  placeRoot,
  probeRoot,
  RootGone,
  type RootPlace,
} from "./root.ts";
import { openForReading, sendTo, streamOf } from "./transfer.ts";
import { createTrash } from "./trash-items.ts";
import { discard } from "./trash.ts";
import { createItemReader, isSame } from "./versions.ts";
import { createFile, replaceFile, type FileWriter } from "./write-file.ts";

/** Options of a local folder. */
export interface LocalFolderRequest {
  readonly root: string;
  /** Undefined: the root may be anywhere below the local roots. */
  readonly access: LocalFolderAccess | undefined;
  readonly probeResult: ProbeResult | undefined;
  readonly capabilities: ProviderCapabilities;
}

/** Opens a folder of this machine as a storage. Every call opens the path from the allowed folder down and follows no link. */
export async function openLocalFolder(
  request: LocalFolderRequest,
  deps: ProviderDeps,
): Promise<ConnectOutcome> {
  const access = request.access ?? allowLocalRoots(deps.localRoots);
  const place = await placeRoot(request.root, access, deps.ownFolders);
  if ("kind" in place) return place;
  if (request.probeResult !== undefined)
    return {
      kind: "ok",
      provider: createLocalFolder(place, request.probeResult, request.capabilities, deps),
      probeResult: request.probeResult,
    };
  const probed = await check(place, undefined, deps);
  if (probed.kind === "ok")
    return {
      kind: "ok",
      provider: createLocalFolder(place, probed.probeResult, request.capabilities, deps),
      probeResult: probed.probeResult,
    };
  return probed.kind === "stale"
    ? { kind: "invalid_setting", setting: "root", reason: "folder_missing" }
    : probed;
}

function createLocalFolder(
  place: RootPlace,
  probeResult: ProbeResult,
  best: ProviderCapabilities,
  deps: ProviderDeps,
): CloudProvider {
  const capabilities: ProviderCapabilities = {
    ...best,
    caseSensitive: probeResult["case_sensitive"] !== false,
    normalisationSensitive: probeResult["normalisation_sensitive"] !== false,
  };

  const reader = createItemReader(probeResult["birth_times"] === true, deps.clock);
  let recovery: Promise<void> | undefined;

  /** Recovers unfinished operations of an earlier run. If that fails, the next call retries. */
  async function recover(root: Folder): Promise<void> {
    try {
      if (probeResult["writable"] === true) await cleanUp(root, deps);
    } catch (error) {
      toFailure(error);
      recovery = undefined;
    }
  }

  /** Runs `work` with the root open, and maps a failed system call to its outcome. */
  async function below<T>(work: (root: Folder) => Promise<T>): Promise<T | Failure> {
    try {
      const root = await openRoot(place, probeResult);
      try {
        await (recovery ??= recover(root));
        return await work(root);
      } finally {
        await root.close();
      }
    } catch (error) {
      if (error instanceof RootGone) return { kind: "offline", sent: false, note: "root_gone" };
      return toFailure(error);
    }
  }

  /** Runs `work` with the folder of an id open. */
  function inFolder<T>(id: string, work: (folder: Folder, root: Folder) => Promise<T>) {
    return below<T | Failure>(async (root) => {
      const segments = toSegments(id);
      if (segments === undefined) return { kind: "stale", note: "impossible_id" };
      const folder = await openBelow(root, segments);
      try {
        return await work(folder, root);
      } finally {
        await folder.close();
      }
    });
  }

  /**
   * Returns whether an id still leads to the open folder: a handle follows its folder anywhere, even into the
   * trash.
   */
  async function isStillAt(root: Folder, id: string, folder: Folder): Promise<boolean> {
    const found = await unless(
      ["ENOENT", "ENOTDIR", "ELOOP"],
      openBelow(root, toSegments(id) ?? []),
    );
    if (!found.ok) return false;
    await found.value.close();
    return isSame(found.value, folder);
  }

  function own<T>(
    root: Folder,
    kind: "tmp" | "trash" | "staging",
    work: (folder: Folder) => Promise<T>,
  ) {
    return using(openOwn(root, kind), work);
  }

  return {
    capabilities,

    list: ({ folder, signal }) =>
      inFolder(folder, (opened) =>
        listFolder(opened, folder, reader, signal, () => cleanUpBeside(opened, deps)),
      ),

    async stat({ id }) {
      const where = toPlace(id);
      if (where === undefined) return { kind: "not_found", note: "impossible_id" };
      const found = await inFolder(where.parentId, async (folder) => {
        await folder.verify();
        const stats = await lstat(folder.at(where.name), { bigint: true });
        return {
          kind: "ok",
          item: reader.toItem(where.parentId, where.name, stats),
        } as const;
      });
      return found.kind === "stale" ? { kind: "not_found" } : found;
    },

    async read({ id, range, version, signal }) {
      const where = toPlace(id);
      if (where === undefined) return { kind: "not_found", note: "impossible_id" };
      const found = await inFolder(where.parentId, async (folder) => {
        const opened = await openForReading({ folder, name: where.name });
        if (opened === undefined) return { kind: "unsupported", reason: "no_bytes" } as const;
        await using owner = createOwner(opened.handle);
        const item = reader.toItem(where.parentId, where.name, opened.stats);
        const size = item.size ?? 0;
        const start = range?.start ?? 0;
        const end = Math.min(range?.end ?? size - 1, size - 1);
        const isOther = version !== undefined && version !== item.version;
        if (isOther) return { kind: "changed" } as const;
        if (range !== undefined && start >= size)
          return { kind: "range_not_satisfiable", size } as const;
        owner.handOver(opened.handle);
        const stream = streamOf(opened, { start, end }, signal);
        const send = (to: Writable) => sendTo(opened, { start, end }, to);
        return { kind: "ok", item, length: end + 1 - start, stream, send } as const;
      });
      return found.kind === "stale" ? { kind: "not_found" } : found;
    },

    async createFolder({ parent, name }) {
      const refusal = refuseName(parent, name);
      if (refusal !== undefined) return refusal;
      return inFolder(parent, async (folder, root): Promise<ItemOutcome> => {
        await folder.verify();
        const created = await unless(["EEXIST"], mkdir(folder.at(name)));
        if (!created.ok) return { kind: "conflict", existingName: name };
        await folder.sync();
        const stats = await lstat(folder.at(name), { bigint: true });
        if (!(await isStillAt(root, parent, folder))) {
          await unless(["ENOENT", "ENOTEMPTY", "EEXIST"], rmdir(folder.at(name)));
          return { kind: "stale", note: "parent_moved" };
        }
        return { kind: "ok", item: reader.toItem(parent, name, stats) };
      });
    },

    async upload({ parent, name, content, size, signal }) {
      try {
        const refusal = refuseName(parent, name);
        if (refusal !== undefined) return refusal;
        const conflict = await inFolder(parent, async (folder) => {
          const found = await unless(["ENOENT"], lstat(folder.at(name)));
          return found.ok ? ({ kind: "conflict", existingName: name } as const) : undefined;
        });
        if (conflict !== undefined) return conflict;
        return await below((root) =>
          own(root, "tmp", (tmp) =>
            createFile(toWriter(root, tmp), { parent, name, content, size, signal }),
          ),
        );
      } finally {
        content.destroy();
      }
    },

    async replace({ id, expected, content, size, signal }) {
      try {
        const where = toPlace(id);
        if (where === undefined) return { kind: "stale", note: "impossible_id" };
        const { parentId: parent, name } = where;
        const isExpected = (stats: BigIntStats) =>
          stats.isFile() && reader.isExpected(stats, expected);
        return await below((root) =>
          own(root, "tmp", (tmp) =>
            own(root, "staging", (staging) =>
              replaceFile(
                toWriter(root, tmp),
                { parent, name, content, size, signal },
                {
                  staging: toStaging(staging, id, id),
                  isExpected,
                  trash: (from) => own(root, "trash", (trash) => keep(from, id, trash)),
                },
              ),
            ),
          ),
        );
      } finally {
        content.destroy();
      }
    },

    async rename({ id, name, expected }) {
      const where = toPlace(id);
      if (where === undefined) return { kind: "stale", note: "impossible_id" };
      const refusal = refuseName(where.parentId, name);
      if (refusal !== undefined) return refusal;
      return inFolder(where.parentId, (folder, root): Promise<ItemOutcome> =>
        own(root, "staging", async (staging) => {
          const from = { folder, name: where.name };
          const moved = await relocate(
            from,
            { folder, name },
            (stats) => reader.isExpected(stats, expected),
            toStaging(staging, id, toId(where.parentId, name)),
          );
          if (moved.kind !== "ok") return moved;
          if (!(await isStillAt(root, where.parentId, folder)))
            return { kind: "stale", note: "parent_moved" };
          return { kind: "ok", item: reader.toItem(where.parentId, name, moved.stats) };
        }),
      );
    },

    async move({ id, parent, expected }) {
      const where = toPlace(id);
      if (where === undefined) return { kind: "stale", note: "impossible_id" };
      const refusal = await refuseDestination(id, parent);
      if (refusal !== undefined) return refusal;
      const name = where.name;
      return inFolder(where.parentId, (source, root) =>
        own(root, "staging", (staging) =>
          using(openBelow(root, toSegments(parent) ?? []), async (target): Promise<ItemOutcome> => {
            const moved = await relocate(
              { folder: source, name },
              { folder: target, name },
              (stats) => reader.isExpected(stats, expected),
              toStaging(staging, id, toId(parent, name)),
            );
            if (moved.kind !== "ok") return moved;
            if (!(await isStillAt(root, parent, target)))
              return { kind: "stale", note: "parent_moved" };
            return { kind: "ok", item: reader.toItem(parent, name, moved.stats) };
          }),
        ),
      );
    },

    async delete({ id, expected, permanently }) {
      const where = toPlace(id);
      if (where === undefined) return { kind: "stale", note: "impossible_id" };
      return inFolder(where.parentId, (folder, root) =>
        own(root, "trash", (trash) => {
          const record = { path: id, deleted_at: new Date(deps.clock()).toISOString() };
          const from = { folder, name: where.name };
          return discard(
            from,
            (stats) => reader.isExpected(stats, expected),
            trash,
            deps.newId(),
            record,
            toTemporaryName("removal", deps),
            permanently === true,
          );
        }),
      );
    },

    trash: createTrash({
      inTrash: (work) =>
        below((root) =>
          own(root, "trash", (trash) =>
            own(root, "staging", (staging) => work({ root, trash, staging })),
          ),
        ),
      toItem: reader.toItem,
      toStaging,
      isStillAt,
      newRemovalName: () => toTemporaryName("removal", deps),
    }),

    quota: () =>
      below(async (root) => {
        const { blocks, bfree, bsize } = await statfs(root.self);
        return {
          kind: "ok",
          usedBytes: (blocks - bfree) * bsize,
          totalBytes: blocks * bsize,
        } as const;
      }),

    check: () => check(place, probeResult, deps),
    close: async () => undefined,
  };

  /** Moves an entry of any kind to the trash. */
  async function keep(from: Place, id: string, trash: Folder): Promise<void> {
    const record = { path: id, deleted_at: new Date(deps.clock()).toISOString() };
    const removal = toTemporaryName("removal", deps);
    await discard(from, () => true, trash, deps.newId(), record, removal, false);
  }

  function toStaging(folder: Folder, origin: string, destination: string): Staging {
    return { folder, origin, destination, newName: () => toTemporaryName("claim", deps) };
  }

  function toWriter(root: Folder, tmp: Folder): FileWriter {
    return {
      root,
      tmp,
      newName: () => toTemporaryName("upload", deps),
      toItem: reader.toItem,
      isStillAt: (id, folder) => isStillAt(root, id, folder),
    };
  }

  async function refuseDestination(id: string, parent: string): Promise<Failure | undefined> {
    const segments = toSegments(parent);
    if (segments === undefined) return { kind: "stale", note: "impossible_id" };
    if (parent === id) return { kind: "invalid_destination", reason: "self_destination" };
    if (parent.startsWith(`${id}/`))
      return { kind: "invalid_destination", reason: "descendant_destination" };
    const where = toPlace(parent);
    if (where === undefined) return undefined;
    return below<Failure | undefined>(async (root) => {
      const isFile = await using(openBelow(root, where.parent), async (folder) =>
        (await lstat(folder.at(where.name))).isFile(),
      );
      return isFile ? { kind: "invalid_destination", reason: "not_a_folder" } : undefined;
    });
  }
}

async function check(place: RootPlace, probeResult: ProbeResult | undefined, deps: ProviderDeps) {
  try {
    return await using(openRoot(place, probeResult), async (root) => {
      await readdir(root.self);
      const found = await probeRoot(root, deps.newId);
      if (found["writable"] === true) await cleanUp(root, deps);
      return { kind: "ok", probeResult: found } as const;
    });
  } catch (error) {
    if (error instanceof RootGone)
      return { kind: "offline", sent: false, note: "root_gone" } as const;
    return toFailure(error);
  }
}
