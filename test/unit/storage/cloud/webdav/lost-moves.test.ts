import { expect, test } from "vitest";
import type { DavCore } from "../../../../../storage/cloud/webdav/core.ts";
import type { DavItem } from "../../../../../storage/cloud/webdav/items.ts";
import { moveOnto } from "../../../../../storage/cloud/webdav/relocate.ts";

const source: DavItem = {
  item: {
    ...{ id: "a", name: "a", kind: "file", parent: "", contentType: undefined, size: 1 },
    ...{ modifiedAt: 1, etag: "e", version: "v" },
  },
  ...{ strongTag: undefined, fileId: undefined, permissions: undefined },
};

/** A server that shows the source and no target, and answers requests in this order. */
function openCore(answers: readonly object[], parent?: object) {
  const left = [...answers];
  return {
    probeResult: {},
    client: { send: async () => left.shift(), destination: () => "/b" },
    lookUpWithRetries: async ([name]: readonly string[]) =>
      name === "a" ? { kind: "ok", davItem: source } : { kind: "not_found" },
    refuseParent: async () => parent,
  } as unknown as DavCore;
}

const move = (core: DavCore) =>
  moveOnto(core, { source, from: ["a"], to: ["b"], signal: new AbortController().signal });
const lost = { kind: "offline", sent: true, note: "ECONNRESET" };

test("a move whose first request may still be carried out is never reported as unsent", async () => {
  const unsent = { kind: "offline", sent: false, note: "ECONNREFUSED" };
  expect(await move(openCore([unsent]))).toEqual(unsent);
  expect(await move(openCore([lost, unsent]))).toEqual({
    kind: "unknown_outcome",
    note: "ECONNREFUSED",
  });
  expect(await move(openCore([lost], { kind: "offline", sent: false }))).toEqual({
    kind: "unknown_outcome",
    note: "look_failed",
  });
});
