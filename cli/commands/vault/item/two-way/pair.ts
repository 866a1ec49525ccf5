import { mkdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { vault } from "../../../../client/operations.ts";
import type { CliContext } from "../../../../context.ts";
import { CliError } from "../../../../errors.ts";
import { createItemFinder, toItemAddress } from "../../../../support/items.ts";
import { codeOf } from "../../../../support/save-stream.ts";
import { findMissingFolder, makeFolders, type MissingFolder } from "../folder-batch.ts";
import { findFolder } from "../lookup.ts";
import { openStateFile, type StateFile } from "./pair-state.ts";

/** A local folder and a folder of a connection that are kept equal. */
export interface Pair {
  readonly state: StateFile;
  readonly localRoot: string;
  readonly localWord: string;
  readonly remoteWord: string;
  /** Set while one of the folders does not exist, which only a first run allows. */
  readonly missing: { readonly local: boolean; readonly remote: MissingFolder | undefined };
  readonly connectionId: string;
  readonly folderId: string;
  readonly isCaseSensitive: boolean;
}

/** Finds both folders. Changes nothing. @throws CliError when a folder of an earlier run is missing */
export async function openPair(
  cli: CliContext,
  localWord: string,
  remoteWord: string,
): Promise<Pair> {
  const path = resolve(cli.system.workingDirectory, localWord);
  const real = await toRealPath(path);
  const address = toItemAddress(remoteWord);
  const finder = createItemFinder(cli, { isFresh: true });
  const found =
    address.kind === "id" ||
    (await finder.findIfThere({ ...address, isFolder: false })) !== undefined
      ? await findFolder(cli, finder, remoteWord)
      : undefined;
  const missing =
    found === undefined && address.kind === "path"
      ? await findMissingFolder(finder, address)
      : undefined;
  const connection = found?.connection ?? missing?.parent.connection;
  if (connection === undefined) throw new Error("a folder is found or missing");
  const place = address.kind === "path" ? address.path.join("/").normalize("NFC") : address.id;
  const state = await openStateFile(
    cli,
    real.path,
    JSON.stringify([connection.id, address.kind, place]),
  );
  if ((await state.load()) !== undefined) {
    if (real.isMissing)
      throw new CliError("file_error", `${localWord} is missing; nothing was deleted`, {
        hint: "is its disk mounted? If it was removed on purpose, remove the other folder, too",
      });
    if (missing !== undefined)
      throw new CliError("not_found", `${remoteWord} is missing; nothing was deleted`, {
        service: "vault",
        hint: "if it was removed on purpose, remove the local folder, too",
      });
  }
  const { body } = await cli.client.call(vault.listProviders);
  const provider = body.items.find(({ type }) => type === connection.provider);
  return {
    state,
    localRoot: real.path,
    localWord,
    remoteWord,
    missing: { local: real.isMissing, remote: missing },
    connectionId: connection.id,
    folderId: found?.id ?? "",
    isCaseSensitive: provider?.can.case_sensitive ?? true,
  };
}

/** The path without links; of a missing folder that of the one above it. */
async function toRealPath(
  path: string,
): Promise<{ readonly path: string; readonly isMissing: boolean }> {
  try {
    return { path: await realpath(path), isMissing: false };
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    const above = await toRealPath(dirname(path));
    return { path: join(above.path, basename(path)), isMissing: true };
  }
}

/** Creates the folders of a first run that do not exist. */
export async function makePair(cli: CliContext, pair: Pair): Promise<Pair> {
  const { missing, localRoot } = pair;
  if (missing.local) await mkdir(localRoot, { recursive: true });
  if (missing.remote === undefined)
    return { ...pair, missing: { local: false, remote: undefined } };
  const { provider_item_id: folderId } = await makeFolders(cli, missing.remote);
  return { ...pair, folderId, missing: { local: false, remote: undefined } };
}
