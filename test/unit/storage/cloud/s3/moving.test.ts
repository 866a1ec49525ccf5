import { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import {
  list,
  names,
  put,
  rename,
  stat,
  tree,
} from "../../../../conformance/cloud-provider/acting.ts";
import type { ProxiedRequest } from "../../../../support/cloud/fault-proxy.ts";
import {
  openS3Subject,
  type S3Subject,
  type S3SubjectOptions,
} from "../../../../support/cloud/s3-subject.ts";

let subject: S3Subject | undefined;
afterEach(async () => {
  await subject?.[Symbol.asyncDispose]();
  subject = undefined;
});

async function open(options: S3SubjectOptions = {}) {
  subject = await openS3Subject({ isProxied: true, ...options });
  const { proxy } = subject;
  if (proxy === undefined) throw new Error("the proxy is not running");
  return { ...subject, proxy, probeResult: subject.probeResult };
}

const isOwn = ({ path }: ProxiedRequest) => path.includes("/.croft/");
const steps = {
  "the journal's entry": (what: ProxiedRequest) => what.method === "PUT" && isOwn(what),
  "the copy": (what: ProxiedRequest) =>
    what.method === "PUT" && what.headers["x-amz-copy-source"] !== undefined,
  "the delete of the source": (what: ProxiedRequest) => what.method === "DELETE" && !isOwn(what),
  "the end of the journal": (what: ProxiedRequest) => what.method === "DELETE" && isOwn(what),
} as const;

const servers = {
  "keeps conditions": {},
  "ignores conditions": { conditions: "ignored" as const },
  "keeps versions": { isVersioned: true },
};

describe.each(Object.entries(servers))("a rename on a server that %s", (_name, server) => {
  test.each(Object.entries(steps))(
    "is done although the answer to %s is lost",
    async (_step, accept) => {
      const { provider, proxy, leftovers } = await open({ server });
      const file = await put(provider, "", "before.txt", "content");
      proxy.loseNext(accept);
      expect((await rename(provider, file, "after.txt")).kind).toBe("ok");
      expect(await tree(provider)).toEqual({ "after.txt": "content" });
      expect(await leftovers()).toEqual([]);
    },
  );

  test.each(Object.entries(steps))(
    "that a daemon's death interrupted at %s leaves a complete file",
    async (_step, accept) => {
      const subject = await open({ server });
      const { provider, proxy, leftovers, connect, probeResult } = subject;
      const file = await put(provider, "", "before.txt", "content");
      // From this step on the proxy refuses every request, as after a kill of the process.
      proxy.after(accept, async () => proxy.faults.refuse());
      const outcome = await rename(provider, file, "after.txt");
      proxy.faults.clear();
      const contents = Object.values(await tree(provider));
      expect(contents.length).toBeGreaterThan(0);
      expect(new Set(contents)).toEqual(new Set(["content"]));
      const again = await connect({ probeResult });
      const recovered = await list(again, "");
      expect(recovered).toHaveLength(1);
      if (outcome.kind === "ok") expect(recovered[0]?.name).toBe("after.txt");
      // Without a copy the entry stays until the server cannot be copying any more.
      subject.server.store.age(16 * 60_000);
      await list(await connect({ probeResult }), "");
      expect(await leftovers()).toEqual([]);
    },
  );
});

describe("a copy", () => {
  test("a copy that fails after its status was sent is not a copy", async () => {
    const { provider, server, leftovers } = await open();
    const file = await put(provider, "", "before.txt", "content");
    server.failInBody("InternalError");
    // Tried once more, which a condition makes harmless.
    expect((await rename(provider, file, "after.txt")).kind).toBe("ok");
    server.failInBody("SlowDown");
    const renamed = await stat(provider, "after.txt");
    expect((await rename(provider, renamed, "third.txt")).kind).toBe("rate_limited");
    expect(await tree(provider)).toEqual({ "after.txt": "content" });
    expect(await leftovers()).toEqual([]);
  });

  test("a copy of a large file is made of parts, and its properties stay", async () => {
    const { provider, server } = await open();
    const bytes = Buffer.alloc(900_000, "abcdefg");
    const made = await provider.upload({
      parent: "",
      name: "large.bin",
      content: Readable.from([bytes], { objectMode: false }),
      size: bytes.length,
      contentType: "application/x-special",
      signal: new AbortController().signal,
    });
    if (made.kind !== "ok") throw new Error(made.kind);
    expect((await rename(provider, made.item, "renamed.bin")).kind).toBe("ok");
    const stored = server.store.current("renamed.bin");
    expect(stored?.headers["content-type"]).toBe("application/x-special");
    expect(stored?.bytes.equals(bytes)).toBe(true);
    expect(stored?.etag).toMatch(/-4$/);
    expect(server.store.uploads.size).toBe(0);
  });

  test("a multipart copy has another etag, which the journal records: the source is deleted when the daemon restarts", async () => {
    const { provider, proxy, connect, probeResult, leftovers } = await open();
    const file = await put(provider, "", "large.bin", "x".repeat(550_000));
    expect(file.etag).toMatch(/-3$/);
    let written = 0;
    proxy.after(
      (what) => steps["the journal's entry"](what) && ++written === 2,
      async () => proxy.faults.refuse(),
    );
    expect((await rename(provider, file, "renamed.bin")).kind).not.toBe("ok");
    proxy.faults.clear();
    expect(await names(provider, "")).toEqual(["large.bin", "renamed.bin"]);
    expect(await names(await connect({ probeResult }), "")).toEqual(["renamed.bin"]);
    expect(await leftovers()).toEqual([]);
  });
});

describe("a daemon that dies during the copy", () => {
  /** Renames a file made of parts while the connection breaks right after the journal's entry was written. */
  async function dieBeforeCopy() {
    const subject = await open();
    const { provider, proxy, server } = subject;
    const file = await put(provider, "", "large.bin", "x".repeat(550_000));
    proxy.after(steps["the journal's entry"], async () => proxy.faults.refuse());
    expect((await rename(provider, file, "renamed.bin")).kind).not.toBe("ok");
    proxy.faults.clear();
    const finishCopy = (bytes = server.store.current("large.bin")?.bytes) =>
      server.store.put("renamed.bin", bytes ?? Buffer.alloc(0), {});
    return { ...subject, finishCopy };
  }

  test("finishes the rename on its next start although the copy has an unknown tag", async () => {
    const { connect, probeResult, leftovers, finishCopy } = await dieBeforeCopy();
    finishCopy();
    expect(await names(await connect({ probeResult }), "")).toEqual(["renamed.bin"]);
    expect(await leftovers()).toEqual([]);
  });

  test("keeps the journal entry while the server may still be copying", async () => {
    const { connect, probeResult, leftovers, finishCopy } = await dieBeforeCopy();
    expect(await names(await connect({ probeResult }), "")).toEqual(["large.bin"]);
    expect(await leftovers()).toHaveLength(1);
    finishCopy();
    expect(await names(await connect({ probeResult }), "")).toEqual(["renamed.bin"]);
    expect(await leftovers()).toEqual([]);
  });

  test("keeps both files if another client stored other bytes under the new name", async () => {
    const { connect, probeResult, leftovers, finishCopy } = await dieBeforeCopy();
    finishCopy(Buffer.alloc(550_000, "y"));
    expect(await names(await connect({ probeResult }), "")).toEqual(["large.bin", "renamed.bin"]);
    expect(await leftovers()).toEqual([]);
  });
});

describe("another client", () => {
  test("a source that another client rewrites after the copy is kept", async () => {
    const { provider, proxy, overwrite, leftovers } = await open();
    const file = await put(provider, "", "file.txt", "old");
    proxy.after(steps["the copy"], () => overwrite("file.txt", Buffer.from("rewritten")));
    expect((await rename(provider, file, "renamed.txt")).kind).toBe("stale");
    expect(await tree(provider)).toEqual({ "file.txt": "rewritten" });
    expect(await leftovers()).toEqual([]);
  });

  test("another client that takes the new name at the last moment keeps it", async () => {
    const { provider, proxy, server, leftovers } = await open();
    const file = await put(provider, "", "file.txt", "mine");
    proxy.after(steps["the journal's entry"], async () => {
      server.store.put("wanted.txt", Buffer.from("theirs"), {});
    });
    expect((await rename(provider, file, "wanted.txt")).kind).toBe("conflict");
    expect(await tree(provider)).toEqual({ "file.txt": "mine", "wanted.txt": "theirs" });
    expect(await leftovers()).toEqual([]);
  });

  test("a source that another client deletes after the copy stays deleted", async () => {
    const { provider, proxy, server, leftovers } = await open();
    const file = await put(provider, "", "file.txt", "x");
    proxy.after(steps["the copy"], async () => {
      server.store.remove("file.txt");
    });
    expect((await rename(provider, file, "renamed.txt")).kind).toBe("stale");
    expect(await tree(provider)).toEqual({});
    expect(await leftovers()).toEqual([]);
  });

  test("equal content that another client puts at the old place is kept, despite the journal of a dead daemon", async () => {
    const { provider, proxy, connect, probeResult, server, leftovers } = await open();
    const file = await put(provider, "", "before.txt", "content");
    proxy.after(steps["the delete of the source"], async () => proxy.faults.refuse());
    await rename(provider, file, "after.txt");
    proxy.faults.clear();
    expect(await tree(provider)).toEqual({ "after.txt": "content" });
    expect(await leftovers()).toHaveLength(1);
    server.store.put("before.txt", Buffer.from("content"), {});
    const again = server.store.current("before.txt");
    if (again !== undefined) Object.assign(again, { modifiedAt: again.modifiedAt + 60_000 });
    expect(await tree(await connect({ probeResult }))).toEqual({
      "before.txt": "content",
      "after.txt": "content",
    });
    expect(await leftovers()).toEqual([]);
  });

  test("another daemon that lists the same connection does not complete a running move", async () => {
    const { provider, proxy, connect, probeResult, leftovers } = await open();
    const file = await put(provider, "", "before.txt", "content");
    proxy.after(steps["the copy"], async () => {
      expect(await names(await connect({ probeResult, home: "elsewhere" }), "")).toHaveLength(2);
    });
    expect((await rename(provider, file, "after.txt")).kind).toBe("ok");
    expect(await tree(provider)).toEqual({ "after.txt": "content" });
    expect(await leftovers()).toEqual([]);
  });

  test("forged journal entries cannot delete objects that are not verified copies", async () => {
    const { provider, server, connect, probeResult } = await open({ prefix: "root" });
    await put(provider, "", "a.txt", "a");
    await put(provider, "", "b.txt", "b");
    server.store.put("secret", Buffer.from("outside"), {});
    const etag = (await stat(provider, "a.txt")).etag;
    const outside = server.store.current("secret")?.etag;
    for (const [at, entry] of [
      { kind: "move", from: "root/a.txt", to: "root/b.txt", etag },
      { kind: "move", from: "root/a.txt", to: "root/a.txt", etag },
      { kind: "move", from: "secret", to: "secret", etag: outside },
      {
        kind: "move",
        from: "secret",
        to: "root/b.txt",
        etag: outside,
        copied: (await stat(provider, "b.txt")).etag,
      },
      { kind: "upload", key: "secret", uploadId: "x" },
      "rubbish",
    ].entries())
      server.store.put(
        `root/.croft/journal/one/home-${at}`,
        Buffer.from(JSON.stringify(entry)),
        {},
      );
    server.store.put("root/.croft/journal/one/home-bytes", Buffer.from([0, 255, 3]), {});
    expect(await tree(await connect({ probeResult }))).toEqual({ "a.txt": "a", "b.txt": "b" });
    expect(server.store.current("secret")).toBeDefined();
  });
});

test("a folder that was only a key prefix stays when its last file is deleted", async () => {
  const { provider, server } = await open();
  server.store.put("photos/2026/one.jpg", Buffer.from("1"), {});
  const file = await stat(provider, "photos/2026/one.jpg");
  expect((await rename(provider, file, "two.jpg")).kind).toBe("ok");
  const two = await stat(provider, "photos/2026/two.jpg");
  await provider.delete({ id: two.id, expected: {}, signal: new AbortController().signal });
  expect(await tree(provider)).toEqual({ "photos/": "", "photos/2026/": "" });
});
