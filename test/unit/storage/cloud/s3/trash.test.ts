import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Store } from "../../../../../storage/cloud/s3/context.ts";
import { createKeys } from "../../../../../storage/cloud/s3/keys.ts";
import { createTrash } from "../../../../../storage/cloud/s3/trash.ts";
import { createLocks } from "../../../../../storage/locks.ts";

interface Version {
  readonly key: string;
  readonly versionId: string;
  readonly isMarker: boolean;
  readonly isLatest: boolean;
}

/** A bucket that lists these versions; `meanwhile` replaces them after the first listing. */
function openBucket(versions: readonly Version[], meanwhile: readonly Version[]) {
  const deleted: string[] = [];
  let listings = 0;
  const store = {
    keys: createKeys(""),
    scope: "bucket",
    findings: { keySpelling: "plain", prefixSpelling: "plain" },
    deps: { locks: createLocks(), sleep: async () => undefined, clock: () => 0 },
    client: {
      async page({ prefix = "" }: { readonly prefix?: string }) {
        listings += 1;
        const present = listings === 1 ? versions : meanwhile;
        const objects = present
          .filter(({ key }) => key.startsWith(prefix))
          .map((version) => ({ ...version, etag: "", size: 1, modifiedAt: undefined }));
        return { kind: "ok", objects, prefixes: [], isEncoded: false, next: undefined };
      },
      async send({ body }: { readonly body: Buffer }) {
        deleted.push(...(body.toString().match(/<Key>.*?<\/VersionId>/g) ?? []));
        const stream = () => Readable.from([Buffer.from("<DeleteResult/>")]);
        const answer = { kind: "answered", status: 200, headers: {}, stream };
        return { kind: "ok", answer };
      },
    },
  } as unknown as Store;
  return { trash: createTrash(store), deleted };
}

test("emptying the trash spares a key that was written again where versioning is suspended", async () => {
  const marker = (key: string, versionId: string): Version => ({
    key,
    versionId,
    isMarker: true,
    isLatest: true,
  });
  const old = { key: "b", versionId: "v1", isMarker: false, isLatest: false };
  const listed = [marker("a", "null"), marker("b", "v2"), old, marker("c", "null")];
  const again: Version = { key: "a", versionId: "null", isMarker: false, isLatest: true };
  const { trash, deleted } = openBucket(listed, [again, ...listed.slice(1)]);
  const signal = new AbortController().signal;
  expect(await trash.empty?.({ signal })).toMatchObject({ kind: "ok", isComplete: true });
  expect(deleted.map((line) => line.replace(/<[^>]+>/g, " ").trim())).toEqual([
    "b  v1",
    "b  v2",
    "c  null",
  ]);
});
