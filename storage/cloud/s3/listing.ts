import { contentTypeOf } from "../content-type.ts";
import type { Failure } from "../outcomes.ts";
import { createListedItems } from "../listed-items.ts";
import type { ListOutcome } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import type { ListedObject, ListedPage } from "../../s3/responses.ts";
import { toSeconds, toVersionId, unquote, type ObjectHead } from "../../s3/client.ts";
import { hasKeys, type Findings, type Spelling, type Store } from "./context.ts";
import { childOf, OWN_FOLDER, splitId, toShadow } from "./keys.ts";
import type { ListedFolder } from "./shared-listings.ts";
import { toChangeFailure } from "../../s3/failures.ts";

/** An object of a listing, decoded. */
export interface KeyEntry {
  readonly key: string;
  readonly etag: string;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly versionId: string | undefined;
  /** In a listing of versions: whether this is the newest entry of the key. */
  readonly isLatest: boolean;
  /** In a listing of versions: whether this is a delete marker. */
  readonly isMarker: boolean;
}

/** Collaborators of listings. */
export interface ListedBucket {
  readonly client: Pick<Store["client"], "page">;
  readonly findings: Pick<Findings, "keySpelling" | "prefixSpelling">;
}

export interface KeyPage {
  readonly kind: "ok";
  readonly entries: readonly KeyEntry[];
  readonly prefixes: readonly string[];
}

/** Pages in a row without content: a server that sends more is broken. */
const EMPTY_PAGES_MAX = 1000;
/**
 * Maximum number of characters of all tokens of a listing, which are in memory until its end: enough for a thousand
 * million objects.
 */
const TOKEN_CHARACTERS_MAX = 100 * 1024 * 1024;

/**
 * Yields the pages of a listing. A failure is the last value. A repeated token, keys outside the prefix, and too many
 * pages without content are failures, too.
 */
export async function* pagesOf(
  store: ListedBucket,
  query: Readonly<Record<string, string>> & { readonly prefix: string },
  signal: AbortSignal,
): AsyncGenerator<KeyPage | Failure, void, undefined> {
  const current = new Set<string>();
  let next: Readonly<Record<string, string>> = {};
  let before = "";
  let empty = 0;
  let characters = 0;
  for (;;) {
    const page = await store.client.page({ ...query, ...next }, signal);
    if (page.kind === "refused") return yield toListFailure(page.failure);
    const read = understand(page, query.prefix, store);
    if (read === undefined) return yield broken("other_keys");
    const beginning = beginningOf(read);
    // A listing that continues from the same place would never end.
    if (beginning !== "" && beginning === before) return yield broken("listing_without_end");
    before = beginning;
    yield read;
    if (page.next === undefined) return;
    empty = read.entries.length + read.prefixes.length === 0 ? empty + 1 : 0;
    next = toNextQuery(page, page.next, store);
    const token = JSON.stringify(next);
    characters += token.length;
    const isEndless = empty > EMPTY_PAGES_MAX || characters > TOKEN_CHARACTERS_MAX;
    if (isEndless || current.has(token)) return yield broken("listing_without_end");
    current.add(token);
  }
}

/** Keys that continue a listing are encoded like all others; tokens are sent back unchanged. */
function toNextQuery(
  { isEncoded }: ListedPage,
  next: Readonly<Record<string, string>>,
  { findings }: ListedBucket,
): Readonly<Record<string, string>> {
  const marker = next["key-marker"];
  if (marker === undefined || !isEncoded) return next;
  return { ...next, "key-marker": decodeKey(marker, findings.keySpelling) ?? marker };
}

/** Identifies the content of a page; empty when it has no content. */
function beginningOf({ entries: [entry], prefixes: [prefix] }: KeyPage): string {
  return entry === undefined && prefix === undefined
    ? ""
    : JSON.stringify([entry?.key, entry?.versionId, prefix]);
}

/**
 * Returns whether a folder contains anything but `own`, including its marker: otherwise the folder disappears with `own`.
 * `own` is the key of a file or the prefix of a folder.
 */
export async function existsWithout(
  store: Store,
  prefix: string,
  own: string,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  if (prefix === store.keys.root) return true;
  const { listsDeletedFolders } = store.findings;
  const query = { prefix, delimiter: "/", ...(listsDeletedFolders ? {} : { "max-keys": "2" }) };
  for await (const page of pagesOf(store, query, signal)) {
    if (page.kind !== "ok") return page;
    if (page.entries.some(({ key }) => key !== own)) return true;
    const live = await keepLive(
      store,
      page.prefixes.filter((found) => found !== own),
      signal,
    );
    if ("kind" in live) return live;
    if (live.length > 0) return true;
  }
  return false;
}

/** Folders that are checked concurrently. */
const CHECKS_AT_ONCE = 8;

/**
 * Returns the prefixes that contain an object. MinIO, Versity's gateway and moto list folders in a versioned bucket
 * that contain delete markers only; for these servers, each folder takes one request to check.
 */
async function keepLive(
  store: Store,
  prefixes: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[] | Failure> {
  if (!store.findings.listsDeletedFolders) return prefixes;
  const live: string[] = [];
  for (let at = 0; at < prefixes.length; at += CHECKS_AT_ONCE) {
    const batch = prefixes.slice(at, at + CHECKS_AT_ONCE);
    const found = await Promise.all(batch.map((prefix) => hasKeys(store, prefix, signal)));
    for (const [index, isLive] of found.entries()) {
      if (typeof isLive === "object") return toListFailure(isLive.failure);
      const prefix = batch[index];
      if (isLive && prefix !== undefined) live.push(prefix);
    }
  }
  return live;
}

/** A listing of more pages takes longer than the requests that it saves. */
const SHARED_PAGES_MAX = 4;

/** Returns the listing that the uploads into a folder share, if there is one. */
export function findShared(
  store: Store,
  prefix: string,
  signal: AbortSignal,
): Promise<ListedFolder | undefined> {
  const { scope, listings, deps, findings } = store;
  return listings.find({ scope, prefix }, deps.clock(), async () => {
    const prefixes = new Set<string>();
    const some = new Set<string>();
    let pages = 0;
    for await (const page of pagesOf(store, { prefix, delimiter: "/" }, signal)) {
      if (page.kind !== "ok" || ++pages > SHARED_PAGES_MAX) return undefined;
      for (const below of page.prefixes) prefixes.add(below);
      for (const { key } of page.entries.slice(0, 2)) some.add(key);
      // See `keepLive`.
      if (!findings.listsDeletedFolders)
        for (const below of page.prefixes.slice(0, 2)) some.add(below);
    }
    return { prefixes, hasOther: (own) => [...some].some((key) => key !== own) };
  });
}

/** Lists a folder. */
export async function listFolder(
  store: Store,
  folder: string,
  signal: AbortSignal,
): Promise<ListOutcome> {
  const prefix = store.keys.toFolderPrefix(folder);
  if (prefix === undefined) return { kind: "stale", note: "impossible_id" };
  const files = new Map<string, ProviderItem>();
  const folders = new Set<string>();
  const accumulated = createListedItems();
  const addFolder = (name: string) => {
    folders.add(name);
    return accumulated.add(toFolderItem(folder, name), undefined);
  };
  let exists = folder === "";
  for await (const page of pagesOf(store, { prefix, delimiter: "/" }, signal)) {
    if (page.kind !== "ok") return page;
    for (const entry of page.entries) {
      exists = true;
      // The folder's own marker.
      if (entry.key === prefix) continue;
      // A key from a deeper level, which the delimiter should have excluded.
      if (entry.key.slice(prefix.length, -1).includes("/")) return broken("other_keys");
      if (entry.key.endsWith("/")) {
        // Some servers list a marker beside its common prefix.
        const failure = addFolder(toLeaf(store, entry.key.slice(0, -1)));
        if (failure !== undefined) return failure;
        continue;
      }
      const name = toLeaf(store, entry.key);
      const item = toFileItem(folder, name, entry);
      files.set(name, item);
      const failure = accumulated.add(item, undefined);
      if (failure !== undefined) return failure;
    }
    const prefixes = await keepLive(store, page.prefixes, signal);
    if ("kind" in prefixes) return prefixes;
    for (const below of prefixes) {
      exists = true;
      const name = toLeaf(store, below.slice(0, -1));
      if (folder === "" && name === OWN_FOLDER) continue;
      const failure = addFolder(name);
      if (failure !== undefined) return failure;
    }
    const failure = accumulated.endPage();
    if (failure !== undefined) return failure;
  }
  if (!exists) return { kind: "stale" };
  const folderItems = [...folders].map((name) =>
    toFolderItem(folder, files.has(name) ? toShadow(name) : name),
  );
  return { kind: "ok", items: [...files.values(), ...folderItems] };
}

/** Returns a file item of a folder by its name. */
function toFileItem(
  parent: string,
  name: string,
  found: Pick<KeyEntry, "etag" | "size" | "modifiedAt">,
): ProviderItem {
  const { etag, size, modifiedAt } = found;
  return {
    id: childOf(parent, name),
    name,
    kind: "file",
    parent,
    contentType: contentTypeOf(name),
    size,
    modifiedAt,
    etag,
    version: toVersion(found),
  };
}

/** Returns the item of an object, by its id. */
export function toItem(id: string, head: ObjectHead): ProviderItem {
  const { parent, name } = splitId(id);
  return toFileItem(parent, name, head);
}

export function toFolderItem(parent: string, name: string): ProviderItem {
  return {
    id: childOf(parent, name),
    name,
    kind: "folder",
    parent,
    contentType: undefined,
    size: undefined,
    modifiedAt: undefined,
    etag: undefined,
    version: undefined,
  };
}

/** Listings have no version ids; an entity tag is derived from the content, and size and time resolve the remaining doubt. */
export function toVersion(found: Pick<KeyEntry, "etag" | "size" | "modifiedAt">): string {
  return `${found.etag}:${found.size ?? ""}:${found.modifiedAt ?? ""}`;
}

/** Decodes a key; undefined when it is not encoded as the server declared. */
export function decodeKey(text: string, spelling: Spelling): string | undefined {
  if (spelling === "none") return text;
  try {
    return decodeURIComponent(spelling === "form" ? text.replaceAll("+", "%20") : text);
  } catch {
    return undefined;
  }
}

function understand(page: ListedPage, prefix: string, store: ListedBucket): KeyPage | undefined {
  const { keySpelling, prefixSpelling } = store.findings;
  const entries: KeyEntry[] = [];
  const prefixes: string[] = [];
  for (const object of page.objects) {
    const key = decodeKey(object.key, page.isEncoded ? keySpelling : "none");
    if (key === undefined || !key.startsWith(prefix)) return undefined;
    entries.push(toEntry(key, object));
  }
  for (const text of page.prefixes) {
    const below = decodeKey(text, page.isEncoded ? prefixSpelling : "none");
    if (below === undefined || !below.startsWith(prefix) || !below.endsWith("/")) return undefined;
    prefixes.push(below);
  }
  return { kind: "ok", entries, prefixes };
}

function toEntry(key: string, object: ListedObject): KeyEntry {
  return {
    key,
    etag: unquote(object.etag),
    size: /^\d{1,15}$/.test(object.size) ? Number(object.size) : undefined,
    modifiedAt: toSeconds(object.modified),
    versionId: toVersionId(object.versionId),
    isLatest: object.isLatest,
    isMarker: object.isMarker,
  };
}

/** Returns the displayed name of a key's last segment. */
function toLeaf(store: Store, key: string): string {
  return splitId(store.keys.toId(key)).name;
}

function toListFailure(failure: Parameters<typeof toChangeFailure>[0]): Failure {
  // A listing that is not found is not an empty folder: the server or the bucket is missing.
  return failure.kind === "not_found"
    ? broken(failure.note ?? "not_found")
    : toChangeFailure(failure);
}

function broken(note: string): Failure {
  return { kind: "offline", sent: true, note };
}
