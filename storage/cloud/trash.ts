import type { Call, ItemKind, ItemOutcome } from "./item.ts";
import type { Failure } from "./outcomes.ts";

/** A deleted item that can be restored. */
export interface TrashedItem {
  /** Opaque, for `restore`; not empty, at most 4096 characters. */
  readonly id: string;
  readonly name: string;
  /** Undefined when the provider does not state it. */
  readonly kind: ItemKind | undefined;
  /** Where it was: the id of its folder, or the names of the folders from the root. Undefined when neither is known. */
  readonly from:
    | { readonly kind: "folder"; readonly id: string }
    | { readonly kind: "path"; readonly names: readonly string[] }
    | undefined;
  readonly size: number | undefined;
  /** Epoch milliseconds. */
  readonly deletedAt: number | undefined;
}

export type TrashOutcome =
  | {
      readonly kind: "ok";
      readonly items: readonly TrashedItem[];
      /** Continues the listing; undefined at its end. A page may be empty although others follow. */
      readonly next: string | undefined;
    }
  | Failure;

export type EmptyOutcome =
  | {
      readonly kind: "ok";
      /** How many items were removed; undefined when the provider does not state it. */
      readonly removed: number | undefined;
      /** False when more items are left for another call. */
      readonly isComplete: boolean;
    }
  | Failure;

/** The deleted items of a storage. All methods return outcomes, like those of `CloudProvider`. */
export interface Trash {
  /** Returns about `TRASH_PAGE_ITEMS` items, in an order of the provider's. An invalid cursor is `stale`. */
  list(input: Call & { readonly cursor: string | undefined }): Promise<TrashOutcome>;
  /**
   * Restores an item under its old name in its old folder. `stale` when it is not in the trash any more or its folder is
   * missing, `conflict` when the name is taken; nothing is overwritten. `unsupported` for items that the provider cannot restore.
   */
  restore(input: Call & { readonly id: string }): Promise<ItemOutcome>;
  /** Removes deleted items permanently, `TRASH_EMPTY_ITEMS` at most. Absent if the provider cannot do this. */
  empty?(input: Call): Promise<EmptyOutcome>;
}

/** Items of one page of a trash. */
export const TRASH_PAGE_ITEMS = 500;
/** Maximum number of items that one call of `empty` removes, so that its request ends in time. */
export const TRASH_EMPTY_ITEMS = 500;

/** Cuts one page out of all items of a trash, which are ordered by id; the cursor is the id of a page's last item. */
export function toTrashPage(items: readonly TrashedItem[], cursor: string | undefined) {
  const rest = items
    .filter(({ id }) => cursor === undefined || id > cursor)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const page = rest.slice(0, TRASH_PAGE_ITEMS);
  const next = rest.length > page.length ? page.at(-1)?.id : undefined;
  return { kind: "ok", items: page, next } as const;
}

/** Returns whether an untrusted id of a trashed item can be one. */
export function isTrashId(id: string): boolean {
  return id !== "" && id.length <= 4096 && !id.includes("\0") && id.isWellFormed();
}
