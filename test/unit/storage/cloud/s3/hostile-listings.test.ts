import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Store } from "../../../../../storage/cloud/s3/context.ts";
import { createKeys } from "../../../../../storage/cloud/s3/keys.ts";
import { listFolder } from "../../../../../storage/cloud/s3/listing.ts";
import { createTrash } from "../../../../../storage/cloud/s3/trash.ts";
import { createLocks } from "../../../../../storage/locks.ts";

const signal = new AbortController().signal;
const PAGE_KEYS = 1_000;

interface ListedKey {
  readonly key: string;
  readonly versionId?: string;
  readonly isMarker?: boolean;
  readonly isLatest?: boolean;
}

/** A server whose listing has these pages, and that answers each batch of deletes with `deleteResult`. */
function openBucket(
  toPage: (number: number) => readonly ListedKey[] | undefined,
  deleteResult = "<DeleteResult/>",
) {
  let pages = 0;
  const store = {
    keys: createKeys(""),
    scope: "bucket",
    findings: { keySpelling: "none", prefixSpelling: "none" },
    deps: { locks: createLocks(), sleep: async () => undefined, clock: () => 0 },
    client: {
      async page() {
        const keys = toPage(pages++) ?? [];
        const objects = keys.map((key) => ({ etag: "", size: "1", modified: "", ...key }));
        const next = toPage(pages) === undefined ? undefined : { "key-marker": String(pages) };
        return { kind: "ok", objects, prefixes: [], isEncoded: false, next };
      },
      async send() {
        const stream = () => Readable.from([Buffer.from(deleteResult)]);
        return { kind: "ok", answer: { kind: "answered", status: 200, headers: {}, stream } };
      },
    },
  } as unknown as Store;
  return { store, pages: () => pages };
}

/** A page of keys that no other page has. */
const uniqueKeys = (page: number, end: string): readonly ListedKey[] =>
  Array.from({ length: PAGE_KEYS }, (_, at) => ({ key: `${page * PAGE_KEYS + at}${end}` }));

test.each([
  ["files", ""],
  ["markers of folders", "/"],
])("ends a listing with more %s than a folder may have", async (_what, end) => {
  const { store, pages } = openBucket((page) => (page < 900 ? uniqueKeys(page, end) : undefined));
  expect(await listFolder(store, "", signal)).toMatchObject({ reason: "folder_too_large" });
  expect(pages()).toBeLessThan(500);
});

test("ends a listing of one deleted key with delete markers without end", async () => {
  const marker = (versionId: string) => ({ key: "a", versionId, isMarker: true, isLatest: false });
  const { store, pages } = openBucket((page) =>
    page < 100 ? uniqueKeys(page, "").map(({ key }) => marker(key)) : undefined,
  );
  const restored = await createTrash(store).restore({ id: "a", signal });
  expect(restored).toMatchObject({ kind: "offline", note: "listing_without_end" });
  expect(pages()).toBeLessThan(10);
});

test.each(["", "<Key>%61</Key>"])(
  "reports deletes that failed when the server names their key as %j",
  async (key) => {
    const deleted = { key: "a", versionId: "v1", isMarker: true, isLatest: true };
    const { store } = openBucket(
      (page) => (page === 0 ? [deleted] : undefined),
      `<DeleteResult><Error>${key}<Code>InternalError</Code></Error></DeleteResult>`,
    );
    expect(await createTrash(store).empty?.({ signal })).not.toMatchObject({ kind: "ok" });
  },
);
