import type { Failure, ReadFailure } from "./outcomes.ts";
import type { CloudProvider } from "./provider.ts";
import type { ProviderItem } from "./item.ts";
import { isTrashId, type Trash, type TrashedItem } from "./trash.ts";

/** The years 1 to 9999, which ISO 8601 writes with four digits. */
const TIME_MIN = Date.parse("0001-01-01T00:00:00Z");
const TIME_MAX = Date.parse("9999-12-31T23:59:59.999Z");
const ID_CHARACTERS_MAX = 4096;
const NAME_CHARACTERS_MAX = 1024;
const TYPE_CHARACTERS_MAX = 255;
/** Etags and versions: they are compared, so they cannot be truncated. */
const MARK_CHARACTERS_MAX = 4096;

/**
 * Wraps a provider and validates its items: invalid times and sizes become undefined, and names that databases cannot store
 * are replaced by similar ones. A listing drops items without a usable id, the folder itself and duplicates; an
 * invalid item as the only result makes the call fail.
 */
export function withValidItems(provider: CloudProvider): CloudProvider {
  const replace = provider.replace?.bind(provider);
  const { trash } = provider;
  return {
    ...provider,
    async list(input) {
      const outcome = await provider.list(input);
      return outcome.kind === "ok"
        ? { ...outcome, items: toValidItems(outcome.items, input.folder) }
        : outcome;
    },
    stat: (input) => toValidOutcome(provider.stat(input), strange),
    async read(input) {
      const outcome = await provider.read(input);
      if (outcome.kind !== "ok") return outcome;
      const item = toValidItem(outcome.item);
      if (item !== undefined) return { ...outcome, item };
      outcome.stream.destroy();
      return strange;
    },
    createFolder: (input) => toValidOutcome(provider.createFolder(input), changed),
    upload: (input) => toValidOutcome(provider.upload(input), changed),
    ...(replace && { replace: (input) => toValidOutcome(replace(input), changed) }),
    ...(trash && { trash: withValidTrash(trash) }),
    rename: (input) => toValidOutcome(provider.rename(input), changed),
    move: (input) => toValidOutcome(provider.move(input), changed),
  };
}

function withValidTrash(trash: Trash): Trash {
  return {
    ...trash,
    async list(input) {
      const outcome = await trash.list(input);
      if (outcome.kind !== "ok") return outcome;
      const items = outcome.items.filter(({ id }) => isTrashId(id)).map(toValidTrashed);
      return { ...outcome, items };
    },
    restore: (input) => toValidOutcome(trash.restore(input), changed),
  };
}

function toValidTrashed(item: TrashedItem): TrashedItem {
  const { name, size, deletedAt } = item;
  return {
    ...item,
    name: toName(name),
    size: size !== undefined && isSize(size) ? size : undefined,
    deletedAt: deletedAt !== undefined && isTime(deletedAt) ? deletedAt : undefined,
  };
}

interface Found {
  readonly kind: "ok";
  readonly item: ProviderItem;
}

const strange: Failure = { kind: "offline", sent: true, note: "strange_item" };
/** The change succeeded; the next listing shows the result. */
const changed: Failure = { kind: "unknown_outcome", note: "strange_item" };

function toValidItems(items: readonly ProviderItem[], folder: string): readonly ProviderItem[] {
  const valid = new Map<string, ProviderItem>();
  for (const reported of items) {
    const item = toValidItem(reported);
    if (item !== undefined && item.id !== folder && !valid.has(item.id)) valid.set(item.id, item);
  }
  return [...valid.values()];
}

async function toValidOutcome<F extends ReadFailure>(
  answering: Promise<Found | F>,
  otherwise: Failure,
): Promise<Found | F | Failure> {
  const outcome = await answering;
  if (outcome.kind !== "ok") return outcome;
  const item = toValidItem(outcome.item);
  return item === undefined ? otherwise : { kind: "ok", item };
}

/** Undefined for an item without a usable id or version. */
function toValidItem(item: ProviderItem): ProviderItem | undefined {
  const { id, parent, name, contentType, size, modifiedAt, etag, version } = item;
  // An item cannot be its own parent.
  if (
    id === "" ||
    id === parent ||
    !isText(id, ID_CHARACTERS_MAX) ||
    !isText(parent, ID_CHARACTERS_MAX)
  )
    return undefined;
  if (!isText(etag ?? "", MARK_CHARACTERS_MAX) || !isText(version ?? "", MARK_CHARACTERS_MAX))
    return undefined;
  const isValid =
    name !== "" &&
    isText(name, NAME_CHARACTERS_MAX) &&
    isText(contentType ?? "", TYPE_CHARACTERS_MAX) &&
    (size === undefined || isSize(size)) &&
    (modifiedAt === undefined || isTime(modifiedAt));
  if (isValid) return item;
  return {
    ...item,
    name: toName(name),
    contentType: isText(contentType ?? "", TYPE_CHARACTERS_MAX) ? contentType : undefined,
    size: size !== undefined && isSize(size) ? size : undefined,
    modifiedAt: modifiedAt !== undefined && isTime(modifiedAt) ? modifiedAt : undefined,
  };
}

function isText(text: string, charactersMax: number): boolean {
  return text.length <= charactersMax && !text.includes("\0") && text.isWellFormed();
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}

function isTime(time: number): boolean {
  return Number.isInteger(time) && time >= TIME_MIN && time <= TIME_MAX;
}

/** Returns the closest name that can be stored. */
function toName(name: string): string {
  const cut = name.slice(0, NAME_CHARACTERS_MAX).replaceAll("\0", "\u2400").toWellFormed();
  return cut === "" ? "\ufffd" : cut;
}
