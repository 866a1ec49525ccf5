import { isDeepStrictEqual } from "node:util";
import { assertUnlocked, type DavContext, type DavMethod, depthOf, headerOf } from "./context.ts";
import { copyProperties, copyTo, RemovalFailed, removeCopied, withBytes } from "./copying.ts";
import { overDestination } from "./destination.ts";
import { isJunk } from "./junk-files.ts";
import { DavRefusal, noParent, notFound, preconditionFailed, toDavRefusal } from "./refusals.ts";
import { type Found, toWholeChange } from "./spaces.ts";
import { isBelow, isSamePath, toNewName } from "./target.ts";
import type { DavFolder, DavResource } from "./tree.ts";

/** COPY: writes the bytes and properties again, in the same space or another. */
export const copy: DavMethod = async (context) => {
  const isWhole = depthOf(context) === "infinity";
  // The depth of a file means nothing.
  if (context.found.resource?.kind === "folder" && depthOf(context) === "1")
    throw new DavRefusal(400, "A copy has the depth 0 or infinity.");
  const { source, target } = await openTransfer(context);
  await assertUnlocked(context, toWholeChange(target, target.resource === undefined));
  await copyOver(context, source, target, isWhole);
  return { status: target.resource === undefined ? 201 : 204 };
};

/** MOVE: in its space as the storage moves it; into another space by a copy, which is complete before the deletion. */
export const move: DavMethod = async (context) => {
  const { found, locks, caller } = context;
  if (depthOf(context) !== "infinity" && found.resource?.kind === "folder")
    throw new DavRefusal(400, "A folder is moved with everything in it.");
  const { source, target } = await openTransfer(context);
  if (source.isFixed === true) throw new DavRefusal(403, "This folder is always there.");
  await assertUnlocked(
    context,
    toWholeChange(found),
    toWholeChange(target, target.resource === undefined),
  );
  const { move } = source;
  if (move !== undefined && found.path[0] === target.path[0]) {
    const work = () => move(target.path.slice(1));
    await (isSame(source, target.resource) ? work() : overDestination(context, target, work));
  } else {
    await removeMoved(await copyOver(context, source, target, true));
  }
  await locks.removeBelow(caller.userId, found.place);
  return { status: target.resource === undefined ? 201 : 204 };
};

/** Whether both are one document or item: the document is in the folder of each of its topics. */
function isSame(source: DavResource, target: DavResource | undefined): boolean {
  return source.holder !== undefined && isDeepStrictEqual(source.holder, target?.holder);
}

/** Whether one is a document, and the other its file in connected storage. */
function isSameFile(source: DavResource, target: DavResource | undefined): boolean {
  if (source.kind !== "file" || target?.kind !== "file") return false;
  return source.id !== undefined && source.id === target.id;
}

/** Finds both ends of a copy or a move, and refuses what cannot be. */
async function openTransfer(
  context: DavContext,
): Promise<{ readonly source: DavResource; readonly target: Found & { folder: DavFolder } }> {
  const { found, tree, addresses } = context;
  const destination = headerOf(context, "destination");
  if (destination === undefined) throw new DavRefusal(400, "The header Destination is missing.");
  const overwrite = headerOf(context, "overwrite")?.trim().toUpperCase() ?? "T";
  if (overwrite !== "T" && overwrite !== "F")
    throw new DavRefusal(400, "The header Overwrite is T or F.");
  const path = addresses.parse(destination);
  const source = found.resource;
  if (source === undefined) throw notFound();
  if (isSamePath(path, found.path) || isBelow(path, found.path) || isBelow(found.path, path))
    throw new DavRefusal(403, "The destination is the source, or one lies in the other.");
  const target = await tree.find(path);
  const { folder } = target;
  if (folder === undefined)
    throw path.length === 0 ? new DavRefusal(403, "This is the root.") : noParent();
  if (path[0] !== found.path[0] && isSameFile(source, target.resource))
    throw new DavRefusal(403, "The destination is the source: the document has this file.");
  const name = target.resource?.name ?? toNewName(path);
  if (target.resource !== undefined && overwrite === "F") throw preconditionFailed();
  // Checked before the destination is set aside for something that cannot take its place.
  if (target.resource !== undefined && folder.takes !== undefined && folder.takes !== source.kind)
    throw new DavRefusal(403, `The folder of the destination takes no ${source.kind}.`);
  return { source, target: { ...target, path: [...path.slice(0, -1), name], folder } };
}

/** Deletes the source of a complete copy: what has come into it meanwhile is not in the copy, and stays. */
async function removeMoved(copied: readonly DavResource[]): Promise<void> {
  try {
    await removeCopied(copied);
  } catch (error) {
    const cause = error instanceof RemovalFailed ? error.cause : error;
    const refusal = toDavRefusal(cause);
    if (refusal === undefined) throw cause;
    const { status, message, headers } = refusal;
    throw new DavRefusal(
      status,
      `${message} The copy at the destination is complete, and the source holds what was not deleted.`,
      { cause, headers },
    );
  }
}

/**
 * Copies over what is at the destination: a file gets other bytes in one step, unless it is another version by now. Returns
 * what was copied.
 */
async function copyOver(
  context: DavContext,
  source: DavResource,
  target: Found & { readonly folder: DavFolder },
  isWhole: boolean,
): Promise<readonly DavResource[]> {
  const { resource: before, folder } = target;
  const name = target.path.at(-1) ?? "";
  // A file of a storage never becomes one that may vanish.
  const isKept = source.kind === "file" && source.isJunk !== true;
  if (source.kind === "file" && before?.kind === "file" && !(isKept && before.isJunk === true)) {
    const replaced = await withBytes(source, (upload) => before.replace(upload, true));
    await copyProperties(context, source, replaced);
    return [source];
  }
  if (source.kind === "file" && !isKept && before === undefined && isJunk(name)) {
    const { junk, caller } = context;
    await withBytes(source, (upload) => junk.store(caller.userId, target.place, upload));
    return [source];
  }
  let copied: readonly DavResource[] = [];
  await overDestination(context, target, async () => {
    copied = await copyTo(context, source, { folder, name }, isWhole);
  });
  return copied;
}
