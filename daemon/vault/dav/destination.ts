import { markName } from "../../../storage/cloud/outcomes.ts";
import type { DavContext } from "./context.ts";
import { copyTo, RemovalFailed, removeCopied } from "./copying.ts";
import { DavRefusal, toDavRefusal } from "./refusals.ts";
import type { Found } from "./spaces.ts";
import type { DavPath } from "./target.ts";
import type { DavFolder, DavResource, Undo } from "./tree.ts";

/** A destination with the folder that it is in. */
export type Destination = Found & { readonly folder: DavFolder };

/**
 * Runs `work`, which creates the destination, over what is there. The old destination gets another name in its folder first,
 * goes to the trash after `work` has succeeded, and gets its name back when it fails. So it is never lost: after a
 * crash, or when it cannot be put back, it is under the other name. Refuses with 412 when it is no longer the version that
 * was found. Where both may have the name at the same time, `work` may return a function that undoes it.
 */
export async function overDestination(
  context: DavContext,
  target: Destination,
  work: () => Promise<Undo | void>,
): Promise<void> {
  const { resource: before } = target;
  if (before === undefined) {
    await work();
    return;
  }
  if (before.sharesName === true) return removeAfter(before, work);
  const aside = toAsidePath(target, context.newId());
  const { move } = before;
  if (move === undefined) await copyAside(context, target, before, aside);
  try {
    await move?.(aside.slice(1), true);
    await work();
  } catch (error) {
    await putBack(context, target, aside, error);
    throw error;
  }
  await removeAside(context, aside);
}

async function removeAfter(before: DavResource, work: () => Promise<Undo | void>): Promise<void> {
  const undo = await work();
  try {
    await before.remove(true);
  } catch (error) {
    await undo?.();
    throw error;
  }
}

/** Statuses of refusals after which a storage has changed nothing. */
const UNCHANGED: ReadonlySet<number | undefined> = new Set([403, 412, 423]);

/**
 * Gives the destination the other name by a copy and a deletion of what was copied. When nothing could be deleted, the copy
 * is deleted again. When a part was deleted, the copy is all of it, and stays.
 */
async function copyAside(
  context: DavContext,
  target: Destination,
  before: DavResource,
  aside: DavPath,
): Promise<void> {
  const copied = await copyTo(context, before, toCopyPlace(target, aside), true);
  try {
    await removeCopied(copied);
  } catch (error) {
    const { removed, cause } =
      error instanceof RemovalFailed ? error : { removed: 1, cause: error };
    if (removed > 0 || !UNCHANGED.has(toDavRefusal(cause)?.status))
      await putBack(context, target, aside, cause);
    else await removeAside(context, aside);
    throw cause;
  }
}

/**
 * Puts the old destination back if it has the other name. Throws `cause` with that name when something has taken its place,
 * or when the storage fails.
 */
async function putBack(
  context: DavContext,
  target: Destination,
  aside: DavPath,
  cause: unknown,
): Promise<void> {
  const { tree, log } = context;
  try {
    const { resource } = await tree.find(aside);
    if (resource === undefined) return;
    const { resource: taker } = await tree.find(target.path);
    if (taker === undefined) return await rename(context, resource, target);
  } catch (error) {
    log.warn({ err: error }, "failed to put back the destination of a WebDAV request");
  }
  throw withAsideName(cause, aside);
}

/** The request has succeeded by now: a file that stays under its other name is no reason to say that it failed. */
async function removeAside(context: DavContext, aside: DavPath): Promise<void> {
  try {
    const { resource } = await context.tree.find(aside);
    if (resource?.kind === "folder" && resource.discard !== undefined) await resource.discard();
    else await resource?.remove(true);
  } catch (error) {
    context.log.warn(
      { err: error },
      "failed to delete the replaced destination of a WebDAV request",
    );
  }
}

/** Gives a file or folder another name in its folder. A storage that cannot rename folders copies it and deletes it. */
async function rename(
  context: DavContext,
  resource: DavResource,
  { folder, path }: Pick<Destination, "folder" | "path">,
): Promise<void> {
  if (resource.move === undefined)
    await removeCopied(await copyTo(context, resource, toCopyPlace({ folder }, path), true));
  else await resource.move(path.slice(1));
}

const toCopyPlace = ({ folder }: Pick<Destination, "folder">, path: DavPath) => ({
  folder,
  name: path.at(-1) ?? "",
});

function withAsideName(cause: unknown, aside: DavPath): DavRefusal {
  const refusal = toDavRefusal(cause);
  const text = refusal?.message ?? "The storage failed.";
  return new DavRefusal(
    refusal?.status ?? 500,
    `${text} What was at the destination is called "${aside.at(-1)}" now.`,
    { cause, headers: refusal?.headers ?? {} },
  );
}

/** Returns the path of the other name: `report (replaced 1a2b3c4d).pdf`. */
function toAsidePath({ path, folder: { nameMax } }: Destination, id: string): DavPath {
  const name = path.at(-1) ?? "";
  const mark = ` (replaced ${id.slice(-8)})`;
  const stem = nameMax === undefined ? name : name.slice(0, nameMax - mark.length).toWellFormed();
  return [...path.slice(0, -1), markName(stem, mark)];
}
