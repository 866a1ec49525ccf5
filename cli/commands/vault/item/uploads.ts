import { readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { failedTask, type Task } from "../../../support/batch.ts";
import type { WireItem } from "../../../support/find-item.ts";
import { readFolder } from "./lookup.ts";
import { replaceFile } from "./replace-file.ts";
import { isResumed, uploadResumably } from "./resume-upload.ts";
import { type FileUpload, type Uploaded, uploadFile } from "./send-file.ts";
import {
  BATCHED_BYTES_MAX,
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
  /** Folders that would have to be created first. */
  readonly plan?: DryRun | undefined;
}

interface UploadsOptions extends TransferOptions {
  readonly progress: Progress;
  readonly replace: boolean;
  /** Set to send small files together in one request. */
  readonly batching: Retries | undefined;
}

/**
 * One task for each file below the sources, in the order of the sources and of names. Folders are created at the provider
 * while their files wait. Links and devices inside a folder are skipped, links named on the command line are followed.
 */
export async function* createUploads(
  cli: CliContext,
  sources: readonly string[],
  { folder: target, name: onlyName, plan: targetPlan }: UploadTarget,
  { recursive, skipExisting, replace, transfers, progress, batching }: UploadsOptions,
): AsyncGenerator<Task<UploadOutcome>> {
  const batches: UploadBatches | undefined =
    batching && createUploadBatches(cli, target.connectionId, batching);
  const replacements: UploadBatches | undefined =
    batching && createUploadBatches(cli, target.connectionId, batching, vault.replaceBatch);
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
    // The top of a disk has no name: what is in it goes right into the target.
    const name = basename(path);
    yield* name === "" ? walk(source, target, "") : enter(source, target, name, "");
  }
  batches?.flush();
  replacements?.flush();
  if (recursive) progress.expectNoMore();

  async function* enter(
    source: string,
    parent: RemoteFolder,
    name: string,
    above: string,
  ): AsyncGenerator<Task<UploadOutcome>> {
    try {
      const { folder, plan } = await enterOrPlan(cli, parent, name);
      if (plan !== undefined) yield failedTask(source, plan);
      yield* walk(source, folder, `${above}${name}/`);
    } catch (error) {
      yield failedTask(`${source}/`, error);
    }
  }

  async function* walk(
    source: string,
    folder: RemoteFolder,
    above: string,
  ): AsyncGenerator<Task<UploadOutcome>> {
    const entries = await readdir(resolve(cli.system.workingDirectory, source), {
      withFileTypes: true,
    });
    for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const { name } = entry;
      const item = join(source, name);
      if (entry.isDirectory()) yield* enter(item, folder, name, above);
      else if (entry.isFile()) {
        const path = resolve(cli.system.workingDirectory, item);
        progress.expect((await stat(path).catch(() => undefined))?.size ?? null);
        yield {
          item,
          run: () => send({ source: item, folder, filename: name, title: `${above}${name}` }),
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
                  replaceFile(cli, connectionId, there, source, shown),
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
    return found?.isFile() === true && found.size <= BATCHED_BYTES_MAX;
  }
}

/** A folder of a connection that a tree is put into. */
export interface RemoteFolder {
  readonly connectionId: string;
  /** Empty for the top. */
  readonly id: string;
  /** Its address without a trailing slash. */
  readonly text: string;
  /** Its items by name, listed at the provider on first use. */
  items(): Promise<ReadonlyMap<string, WireItem>>;
}

/** A folder that is there, or with `isNew` one that was just made. */
export function openRemoteFolder(
  cli: CliContext,
  facts: Pick<RemoteFolder, "connectionId" | "id" | "text">,
  isNew = false,
): RemoteFolder {
  let reading: Promise<ReadonlyMap<string, WireItem>> | undefined;
  return {
    ...facts,
    items: () => (reading ??= isNew ? Promise.resolve(new Map()) : read()),
  };

  async function read(): Promise<ReadonlyMap<string, WireItem>> {
    const { items, failure } = await readFolder(cli, facts.connectionId, facts.id, true);
    if (failure !== undefined) throw failure;
    return new Map(items.map((item) => [toKey(item.name), item]));
  }
}

/** The item of this name in a folder. The vault keeps names in one spelling, disks in any. */
async function findIn(folder: RemoteFolder, name: string): Promise<WireItem | undefined> {
  return (await folder.items()).get(toKey(name));
}

/** The folder of this name in another one, made when it is missing. @throws CliError `name_collision` for a file's name */
async function enterRemoteFolder(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
): Promise<RemoteFolder> {
  const { connectionId } = parent;
  const text = `${parent.text}/${name}`;
  const there = await findIn(parent, name);
  if (there?.kind === "folder")
    return openRemoteFolder(cli, { connectionId, id: there.provider_item_id, text });
  if (there !== undefined) throw new CliError("name_collision", `${text} is a file`);
  const { body } = await cli.client.call(vault.createFolder, {
    params: { connection_id: connectionId },
    body: { parent_ref: parent.id, name },
  });
  if (body.kind !== "folder")
    throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
  // The vault gives a taken name a counter: another client made the folder meanwhile.
  if (toKey(body.name) !== toKey(name))
    throw new CliError("name_collision", `another client created ${text} meanwhile`, {
      hint: `an empty ${parent.text}/${body.name} was made beside it; repeat the upload`,
    });
  return openRemoteFolder(cli, { connectionId, id: body.provider_item_id, text }, true);
}

/** The same for `--dry-run`: a missing folder is represented by its path, so that the plan can list its content. */
export async function enterOrPlan(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
): Promise<{ readonly folder: RemoteFolder; readonly plan: DryRun | undefined }> {
  try {
    return { folder: await enterRemoteFolder(cli, parent, name), plan: undefined };
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
    const text = `${parent.text}/${name}`;
    const facts = { connectionId: parent.connectionId, id: `(the id of ${text})`, text };
    return { folder: openRemoteFolder(cli, facts, true), plan: error };
  }
}

function toKey(name: string): string {
  return name.normalize("NFC");
}
