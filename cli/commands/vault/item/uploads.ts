import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, type DryRun, toCliError, usageError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { failedTask, type Task } from "../../../support/batch.ts";
import { partSuffix } from "../../../support/file-names.ts";
import { explainPrecondition, isSameEtag, preconditionFailed } from "../../../support/if-match.ts";
import { createFolderBatches, type FolderCreation } from "./folder-batch.ts";
import {
  beginFolder,
  enterOrPlan,
  findIn,
  type OpenedFolder,
  openRemoteFolder,
  type RemoteFolder,
  toKey,
  createFolderListings,
  type Follow,
} from "./remote-folders.ts";
import { isResumed, uploadResumably } from "./resume-upload.ts";
import { type FileUpload, type Uploaded, uploadFile, replaceFile } from "./send-file.ts";
import {
  SMALL_UPLOAD_BYTES_MAX,
  type BatchedFile,
  createUploadBatches,
  fitsIntoHead,
  readSmall,
  toNewFile,
  toReplacement,
  type UploadBatches,
} from "./upload-batch.ts";
import {
  createLimit,
  isSameFile,
  type Retries,
  trackTransfer,
  type TransferOptions,
} from "./transfer.ts";

/** The outcome of one file: the uploaded item, or the reason for skipping it. */
type UploadOutcome = (Uploaded | { readonly name: string; readonly size: number | null }) & {
  readonly skipped: string | null;
};

/** One file to one folder of this run. */
interface PlannedUpload extends FileUpload {
  readonly folder: RemoteFolder;
  /** The name that progress shows. */
  readonly title: string;
}

/** The target of the files of a run. */
export interface UploadTarget {
  readonly folder: RemoteFolder;
  /** For a single file that gets another name. */
  readonly name: string | undefined;
  /** The creation of folders that a dry run would need. */
  readonly plan?: DryRun | undefined;
}

interface UploadsOptions extends TransferOptions {
  readonly progress: Progress;
  readonly replace: boolean;
  /** The version that a single file must have to be replaced. */
  readonly etag?: string;
  /** Set to send small files together in one request. */
  readonly batching: Retries | undefined;
}

/**
 * One task for each file below the sources, in the order of the sources and of names. Folders are created at the provider
 * while their files wait. Links, devices and part files of downloads inside a folder are skipped, links named on the command line are followed.
 */
export async function* createUploads(
  cli: CliContext,
  sources: readonly string[],
  { folder: targetFolder, name: onlyName, plan: targetPlan }: UploadTarget,
  { recursive, skipExisting, replace, etag, transfers, progress, batching }: UploadsOptions,
): AsyncGenerator<Task<UploadOutcome>> {
  const batches: UploadBatches | undefined =
    batching && createUploadBatches(cli, targetFolder.connectionId, batching);
  const replacements: UploadBatches | undefined =
    batching && createUploadBatches(cli, targetFolder.connectionId, batching, vault.replaceBatch);
  const listings = createFolderListings(cli, targetFolder.connectionId, {
    refresh: true,
    follow: createFollow(
      targetFolder.id,
      sources.map((source) => resolve(cli.system.workingDirectory, source)),
    ),
    // Together with the batches of folders, files and replacements this reaches the account's limit of concurrent
    // requests.
    requests: 1,
  });
  const target = openRemoteFolder(targetFolder, listings);
  const folders = batching && createFolderBatches(batching, target.connectionId);
  /** Outcomes of folders that are created while their files wait. */
  const creations: { readonly source: string; readonly creation: FolderCreation }[] = [];
  const alone = createLimit(transfers);
  if (targetPlan !== undefined) yield failedTask(target.text, targetPlan);
  for (const source of sources) {
    const path = resolve(cli.system.workingDirectory, source);
    const found = source === "-" ? undefined : await stat(path).catch(() => undefined);
    if (found?.isDirectory() !== true) {
      const name = onlyName ?? basename(path);
      yield {
        item: source,
        run: () => send({ source, folder: target, filename: name, title: name }),
      };
      continue;
    }
    if (!recursive) {
      const hint = "--recursive uploads it with everything in it";
      yield failedTask(source, usageError(`${source} is a folder`, hint));
      continue;
    }
    // The root of a disk has no name: its files go directly into the target.
    const name = basename(path);
    const top = { text: target.text, opened: Promise.resolve(target) };
    yield* name === "" ? walk(source, top, "") : enter(source, top, name, "");
  }
  for (const { source, creation } of creations)
    try {
      await creation.done;
    } catch (error) {
      if (!(toCliError(error).cause instanceof CliError)) yield failedTask(`${source}/`, error);
    }
  batches?.flush();
  replacements?.flush();
  if (recursive) progress.expectNoMore();

  async function* enter(
    source: string,
    parent: OpenedFolder,
    name: string,
    above: string,
  ): AsyncGenerator<Task<UploadOutcome>> {
    try {
      if (folders === undefined) {
        const { folder, plan } = await enterOrPlan(cli, await parent.opened, name, listings);
        if (plan !== undefined) yield failedTask(source, plan);
        const { text } = folder;
        yield* walk(source, { text, opened: Promise.resolve(folder) }, `${above}${name}/`);
        return;
      }
      const folder = await beginFolder({ folders, listings }, parent, name);
      if (folder.creation !== undefined) creations.push({ source, creation: folder.creation });
      yield* walk(source, folder, `${above}${name}/`);
    } catch (error) {
      yield failedTask(`${source}/`, error);
    }
  }

  async function* walk(
    source: string,
    folder: OpenedFolder,
    above: string,
  ): AsyncGenerator<Task<UploadOutcome>> {
    const entries = await readdir(resolve(cli.system.workingDirectory, source), {
      withFileTypes: true,
    });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const { name } = entry;
      const item = join(source, name);
      if (entry.isDirectory()) yield* enter(item, folder, name, above);
      else if (entry.isFile() && name.endsWith(partSuffix))
        yield { item, run: async () => ({ name, size: null, skipped: "partial download" }) };
      else if (entry.isFile()) {
        const path = resolve(cli.system.workingDirectory, item);
        progress.expect((await stat(path).catch(() => undefined))?.size ?? null);
        yield {
          item,
          run: async () =>
            send({
              source: item,
              folder: await folder.opened,
              filename: name,
              title: `${above}${name}`,
            }),
        };
      } else {
        const skipped = entry.isSymbolicLink() ? "link" : "special";
        yield { item, run: async () => ({ name, size: null, skipped }) };
      }
    }
  }

  async function send(upload: PlannedUpload): Promise<UploadOutcome> {
    const { source, folder, filename, title } = upload;
    if (recursive || skipExisting || replace) {
      const there = await findIn(folder, filename);
      if (etag !== undefined && !isSameEtag(etag, there?.etag ?? ""))
        throw preconditionFailed(`${folder.text}/${filename}`, etag);
      if (there !== undefined) {
        const path = resolve(cli.system.workingDirectory, source);
        const isSame =
          skipExisting && source !== "-" && isSameFile("local", await stat(path), there);
        if (isSame) {
          if (recursive) progress.leaveOut(there.size);
          return { name: there.name, size: there.size, skipped: "same" };
        }
        if (replace && there.kind === "file") {
          const { connectionId } = folder;
          const entry = toReplacement(there, () => readSmall(cli, source));
          const isSmall = replacements !== undefined && (await isBatched(source, entry));
          const replaced = isSmall
            ? await trackTransfer(progress, title, (shown) => replacements.upload(entry, shown))
            : await alone(() =>
                trackTransfer(progress, title, (shown) =>
                  replaceFile(cli, connectionId, there, source, shown).catch(
                    explainPrecondition(`${folder.text}/${filename}`, etag),
                  ),
                ),
              );
          return { ...replaced, skipped: null };
        }
        throw new CliError("name_collision", `${folder.text}/${there.name} already exists`, {
          hint: skipExisting
            ? "it differs; --replace replaces it"
            : "--replace replaces it, --skip-existing leaves what is the same",
        });
      }
    }
    const entry = toNewFile(upload, () => readSmall(cli, source));
    const isSmall = batches !== undefined && (await isBatched(source, entry));
    const uploaded = isSmall
      ? await trackTransfer(progress, title, (shown) => batches.upload(entry, shown))
      : await alone(() =>
          trackTransfer(progress, title, async (shown) =>
            (await isResumed(cli, source))
              ? uploadResumably(cli, upload, shown)
              : uploadFile(cli, upload, shown),
          ),
        );
    return { ...uploaded, skipped: null };
  }

  async function isBatched(source: string, entry: BatchedFile): Promise<boolean> {
    if (source === "-" || !fitsIntoHead(entry)) return false;
    const path = resolve(cli.system.workingDirectory, source);
    const found = await stat(path).catch(() => undefined);
    return found?.isFile() === true && found.size <= SMALL_UPLOAD_BYTES_MAX;
  }
}

/**
 * Returns a function that selects the folders of the target that an upload of `sources` enters: those that the local folders
 * have too. The sources go into the folder `targetId`.
 */
function createFollow(targetId: string, sources: readonly string[]): Follow {
  /** Local folders by the id of their target folder. */
  const locals = new Map<string, readonly string[]>();
  return async (id, items) => {
    const below = (await Promise.all((locals.get(id) ?? []).map(readSubfolders))).flat();
    const paths = id === targetId ? [...sources, ...below] : below;
    const byName = Map.groupBy(paths, (path) => toKey(basename(path)));
    locals.delete(id);
    return items.filter(({ kind, name, provider_item_id: itemId }) => {
      const same = byName.get(toKey(name));
      if (kind !== "folder" || same === undefined) return false;
      locals.set(itemId, same);
      return true;
    });
  };
}

async function readSubfolders(path: string): Promise<readonly string[]> {
  // The walk reads the same folder and reports its errors.
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
}
