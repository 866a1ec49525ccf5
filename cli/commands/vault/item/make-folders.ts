import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import {
  type ItemAddress,
  noSuchItem,
  type FoundItem,
  type ItemFinder,
} from "../../../support/items.ts";

type PathAddress = Extract<ItemAddress, { readonly kind: "path" }>;

/** A folder as the vault reports its creation. */
interface WireFolder {
  readonly kind: "folder";
  readonly provider_item_id: string;
  readonly name: string;
}

/** A path whose last folders do not exist yet. */
export interface MissingFolder {
  /** The deepest folder that exists. */
  readonly parent: FoundItem;
  /** The names below it that do not, outermost first. */
  readonly names: readonly string[];
}

/** Finds where the folders of a missing path begin. @throws CliError `not_found` when one of them is a file */
export async function findMissingFolder(
  finder: ItemFinder,
  address: PathAddress,
): Promise<MissingFolder> {
  let depth = address.path.length;
  let parent: FoundItem | undefined;
  while (parent === undefined)
    parent = await finder.findIfThere({
      ...address,
      path: address.path.slice(0, --depth),
      isFolder: false,
    });
  if (parent.item?.kind === "file")
    throw noSuchItem(address.connection, address.path.slice(0, depth));
  return { parent, names: address.path.slice(depth) };
}

/** Creates the folders of a path one below the other, and returns the last one. */
export async function makeFolders(
  cli: CliContext,
  { parent, names }: MissingFolder,
): Promise<WireFolder> {
  let made: WireFolder | undefined;
  for (const name of names) {
    const { body } = await cli.client.call(vault.createFolder, {
      params: { connection_id: parent.connection.id },
      body: { parent_ref: made?.provider_item_id ?? parent.id, name },
    });
    if (body.kind !== "folder")
      throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
    made = body;
  }
  if (made === undefined) throw new Error("no folder is missing");
  return made;
}
