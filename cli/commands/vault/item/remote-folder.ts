import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import type { FolderBatches, FolderCreation } from "./folder-batch.ts";
import type { FolderListings } from "./folder-listings.ts";

/** A folder of a connection that a tree is put into. */
export interface RemoteFolder {
  readonly connectionId: string;
  /** Empty for the top. */
  readonly id: string;
  /** Its address without a trailing slash. */
  readonly text: string;
  /** This run created it, so it is empty. */
  readonly isNew: boolean;
  /** Its items by name, listed at the provider on first use. */
  items(): Promise<ReadonlyMap<string, WireItem>>;
}

/** A folder of a walk, which may still be being created. */
export interface OpenedFolder {
  readonly text: string;
  readonly opened: Promise<RemoteFolder>;
  readonly creation?: FolderCreation;
}

/** Opens the folder of this name in another one, or starts to create it. @throws CliError `name_collision` for a file's name */
export async function beginFolder(
  { folders, listings }: { readonly folders: FolderBatches; readonly listings: FolderListings },
  parent: OpenedFolder,
  name: string,
): Promise<OpenedFolder> {
  const text = `${parent.text}/${name}`;
  const above = parent.creation ?? (await parent.opened);
  const there = "items" in above ? await findIn(above, name) : undefined;
  const open = (id: string, isNew: boolean) =>
    parent.opened.then(({ connectionId }) =>
      openRemoteFolder({ connectionId, id, text, isNew }, listings),
    );
  if (there?.kind === "folder") return { text, opened: open(there.provider_item_id, false) };
  if (there !== undefined) throw new CliError("name_collision", `${text} is a file`);
  const creation = folders.create("items" in above ? above.id : above, name);
  const opened = creation.done.then(({ id, isNew }) => open(id, isNew));
  // The files of the folder report its failure.
  opened.catch(() => undefined);
  return { text, opened, creation };
}

/** Opens a folder. One that is not new is listed on first use. */
export function openRemoteFolder(
  folder: Omit<RemoteFolder, "items">,
  listings: FolderListings,
): RemoteFolder {
  let reading: Promise<ReadonlyMap<string, WireItem>> | undefined;
  return {
    ...folder,
    items: () => (reading ??= folder.isNew ? Promise.resolve(new Map()) : read()),
  };

  async function read(): Promise<ReadonlyMap<string, WireItem>> {
    const { items, failure } = await listings.read(folder.id);
    if (failure !== undefined) throw failure;
    return new Map(items.map((item) => [toKey(item.name), item]));
  }
}

/** The item of this name in a folder. The vault keeps names in one spelling, disks in any. */
export async function findIn(folder: RemoteFolder, name: string): Promise<WireItem | undefined> {
  return (await folder.items()).get(toKey(name));
}

/** The folder of this name in another one, made when it is missing. @throws CliError `name_collision` for a file's name */
async function enterRemoteFolder(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
  listings: FolderListings,
): Promise<RemoteFolder> {
  const { connectionId } = parent;
  const text = `${parent.text}/${name}`;
  const there = await findIn(parent, name);
  if (there?.kind === "folder")
    return openRemoteFolder(
      { connectionId, id: there.provider_item_id, text, isNew: false },
      listings,
    );
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
  const { provider_item_id: id } = body;
  return openRemoteFolder({ connectionId, id, text, isNew: true }, listings);
}

/** The same for `--dry-run`: a missing folder is represented by its path, so that the plan can list its content. */
export async function enterOrPlan(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
  listings: FolderListings,
): Promise<{ readonly folder: RemoteFolder; readonly plan: DryRun | undefined }> {
  try {
    return { folder: await enterRemoteFolder(cli, parent, name, listings), plan: undefined };
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
    const text = `${parent.text}/${name}`;
    const { connectionId } = parent;
    const folder = { connectionId, id: `(the id of ${text})`, text, isNew: true };
    return { folder: openRemoteFolder(folder, listings), plan: error };
  }
}

/** The key of a name, in one spelling of its characters. */
export function toKey(name: string): string {
  return name.normalize("NFC");
}
