import { expect, test } from "vitest";
import type { Drive } from "../../../../../storage/cloud/google-drive/drive.ts";
import type { Names } from "../../../../../storage/cloud/google-drive/names.ts";
import { rename } from "../../../../../storage/cloud/google-drive/relocate.ts";

/** A drive that shows the item under its old name, and answers changes in this order. */
function openDrive(answers: readonly object[]) {
  const left = [...answers];
  const item = { id: "a", name: "a", kind: "file", parent: "", etag: "e" };
  const found = { kind: "ok", file: { item, parentId: "root", isTrashed: false } };
  return {
    lookUpWithEtag: async () => found,
    change: async () => left.shift(),
  } as unknown as Drive;
}

const names = { isFree: async () => ({ kind: "ok", isFree: true }) } as unknown as Names;
const { signal } = new AbortController();
const renamed = (drive: Drive) =>
  rename(drive, names, { id: "a", name: "b", expected: {}, signal });
const unsent = { kind: "offline", sent: false, note: "ECONNREFUSED" };

test("a rename whose first request may still be carried out is never reported as unsent", async () => {
  expect(await renamed(openDrive([unsent]))).toEqual(unsent);
  const lost = { kind: "offline", sent: true, note: "ECONNRESET" };
  expect(await renamed(openDrive([lost, unsent]))).toEqual({
    kind: "unknown_outcome",
    note: "ECONNREFUSED",
  });
});
