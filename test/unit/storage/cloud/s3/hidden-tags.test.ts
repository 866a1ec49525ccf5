import { afterEach, describe, expect, test } from "vitest";
import {
  get,
  pattern,
  put,
  rename,
  same,
  stat,
  tree,
} from "../../../../conformance/cloud-provider/acting.ts";
import { openS3Subject, type S3Subject } from "../../../../support/cloud/s3-subject.ts";

let subject: S3Subject | undefined;
afterEach(async () => {
  await subject?.[Symbol.asyncDispose]();
  subject = undefined;
});

async function open() {
  subject = await openS3Subject({ isProxied: true, server: { hidesPartTags: true } });
  const { proxy } = subject;
  if (proxy === undefined) throw new Error("the proxy is not running");
  return { ...subject, proxy };
}

const signal = new AbortController().signal;
const bytes = pattern(900_000);

describe("on a server whose conditions never hold for files that were uploaded in parts", () => {
  test("renames a multipart file, and renames it again", async () => {
    const { provider, leftovers } = await open();
    const file = await put(provider, "", "large.bin", bytes);
    expect(file.etag).toContain("-");
    expect((await rename(provider, file, "second.bin")).kind).toBe("ok");
    expect((await rename(provider, await stat(provider, "second.bin"), "third.bin")).kind).toBe(
      "ok",
    );
    expect(Object.keys(await tree(provider))).toEqual(["third.bin"]);
    same(await get(provider, "third.bin"), bytes);
    expect(await leftovers()).toEqual([]);
  });

  test("deletes a multipart file", async () => {
    const { provider } = await open();
    const { id, etag } = await put(provider, "", "large.bin", bytes);
    const outcome = await provider.delete({ id, expected: { kind: "file", etag }, signal });
    expect(outcome.kind).toBe("ok");
    expect(await tree(provider)).toEqual({});
  });

  test("keeps a source that another client replaces during the copy", async () => {
    const { provider, proxy, overwrite, leftovers } = await open();
    const file = await put(provider, "", "large.bin", bytes);
    const theirs = Buffer.alloc(bytes.length, "theirs");
    let copies = 0;
    proxy.after(
      ({ headers }) => headers["x-amz-copy-source"] !== undefined && ++copies === 2,
      () => overwrite("large.bin", theirs),
    );
    expect((await rename(provider, file, "renamed.bin")).kind).toBe("stale");
    expect(Object.keys(await tree(provider))).toEqual(["large.bin"]);
    same(await get(provider, "large.bin"), theirs);
    expect(await leftovers()).toEqual([]);
  });

  test("a file that is another one by now is not deleted", async () => {
    const { provider, overwrite } = await open();
    const { id, etag } = await put(provider, "", "large.bin", bytes);
    await overwrite("large.bin", Buffer.from("theirs"));
    const outcome = await provider.delete({ id, expected: { kind: "file", etag }, signal });
    expect(outcome.kind).toBe("stale");
    expect(await tree(provider)).toEqual({ "large.bin": "theirs" });
  });
});
