import { segmentsBelow } from "../../../../storage/path-segments.ts";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { CloudProvider } from "../../../../storage/cloud/provider.ts";

/** The folders of accounts below a connection's root: the path of each local root that is inside it. */
export function findLocalRootsInside(
  root: string,
  localRoots: readonly string[],
): readonly (readonly string[])[] {
  return localRoots.flatMap((localRoot) => {
    const path = segmentsBelow(root, localRoot);
    return path === undefined ? [] : [path];
  });
}

/**
 * Wraps a local folder that contains local roots and hides the folders of other accounts: they are not listed, cannot
 * be read or changed, and their names count as taken. Such folders could be connected before folders belonged to
 * accounts.
 *
 * @param rootsInside the ids of the local roots, as path segments
 * @param listHandles the handles of other accounts that have a folder, in lower case
 */
export function hideAccountFolders(
  provider: CloudProvider,
  rootsInside: readonly (readonly string[])[],
  listHandles: () => Promise<ReadonlySet<string>>,
): CloudProvider {
  const isHidden = (id: string, handles: ReadonlySet<string>) => {
    const segments = id.split("/");
    return rootsInside.some((root) => {
      const handle = segments[root.length]?.toLowerCase();
      return handle !== undefined && handles.has(handle) && startsWith(segments, root);
    });
  };
  /** A folder above a local root cannot be moved or deleted, because that would include the folders of accounts. */
  const isOnTheWay = (id: string) =>
    rootsInside.some((root) => root.length > 0 && startsWith(root, id.split("/")));

  async function unlessHidden<T>(
    ids: readonly string[],
    target: string | undefined,
    call: () => Promise<T>,
  ): Promise<T | Failure> {
    const handles = await listHandles();
    if (ids.some((id) => isHidden(id, handles))) return { kind: "stale", note: "account_folder" };
    if (target !== undefined && isHidden(target, handles)) return { kind: "conflict" };
    return call();
  }

  const replace = provider.replace?.bind(provider);
  // The trash also has items deleted from folders of other accounts.
  const { trash: _trash, ...others } = provider;
  return {
    ...others,
    async list(input) {
      const handles = await listHandles();
      if (isHidden(input.folder, handles)) return { kind: "stale", note: "account_folder" };
      const outcome = await provider.list(input);
      if (outcome.kind !== "ok") return outcome;
      return { ...outcome, items: outcome.items.filter(({ id }) => !isHidden(id, handles)) };
    },
    async stat(input) {
      const isGone = isHidden(input.id, await listHandles());
      return isGone ? { kind: "not_found", note: "account_folder" } : provider.stat(input);
    },
    async read(input) {
      const isGone = isHidden(input.id, await listHandles());
      return isGone ? { kind: "not_found", note: "account_folder" } : provider.read(input);
    },
    createFolder: (input) =>
      unlessHidden([input.parent], toId(input.parent, input.name), () =>
        provider.createFolder(input),
      ),
    async upload(input) {
      const outcome = await unlessHidden([input.parent], toId(input.parent, input.name), () =>
        provider.upload(input),
      );
      if (outcome.kind !== "ok") input.content.destroy();
      return outcome;
    },
    ...(replace && {
      async replace(input) {
        const outcome = await unlessHidden([input.id], undefined, () => replace(input));
        if (outcome.kind !== "ok") input.content.destroy();
        return outcome;
      },
    }),
    async rename(input) {
      if (isOnTheWay(input.id)) return { kind: "forbidden", note: "account_folder" };
      const parent = input.id.split("/").slice(0, -1).join("/");
      return unlessHidden([input.id], toId(parent, input.name), () => provider.rename(input));
    },
    async move(input) {
      if (isOnTheWay(input.id)) return { kind: "forbidden", note: "account_folder" };
      const name = input.id.split("/").at(-1) ?? "";
      return unlessHidden([input.id, input.parent], toId(input.parent, name), () =>
        provider.move(input),
      );
    },
    async delete(input) {
      if (isOnTheWay(input.id)) return { kind: "forbidden", note: "account_folder" };
      return unlessHidden([input.id], undefined, () => provider.delete(input));
    },
  };
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((segment, index) => path[index] === segment);
}

function toId(parent: string, name: string): string {
  return parent === "" ? name : `${parent}/${name}`;
}
