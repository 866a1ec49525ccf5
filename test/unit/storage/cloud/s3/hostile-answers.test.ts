import { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { copyObject } from "../../../../../storage/cloud/s3/copying.ts";
import type { Store } from "../../../../../storage/cloud/s3/context.ts";
import {
  calm,
  list,
  mkdir,
  names,
  pattern,
  put,
  rename,
  tree,
  tryUpload,
} from "../../../../conformance/cloud-provider/acting.ts";
import type { ProxiedRequest } from "../../../../support/cloud/fault-proxy.ts";
import {
  openS3Subject,
  SMALL_PARTS,
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

const isJournal = ({ path }: ProxiedRequest) => path.includes("prefix=.croft%2Fjournal");

describe("the probe", () => {
  test.each([
    ["an upload", "PUT", 503],
    ["an upload", "PUT", 429],
    ["the completion of an upload in parts", "POST", 503],
  ])(
    "of an overloaded server that refuses the condition of %s fails (%s, %i)",
    async (_what, refused, status) => {
      const { server, connect } = await open();
      server.refuse(
        ({ method, headers }) => method === refused && headers["if-none-match"] !== undefined,
        { status, code: "SlowDown" },
        1,
      );
      await expect(connect()).rejects.toThrow("rate_limited");
    },
  );
});

describe("the source of an upload", () => {
  test.each(["upload", "replace"] as const)(
    "may fail while the journal is recovered before the %s, and its error is the call's",
    async (verb) => {
      const { provider, connect, proxy, probeResult } = await open();
      const { id } = await put(provider, "", "file.txt", "before");
      const again = await connect({ probeResult });
      const content = new Readable({ read: () => undefined });
      proxy.after(isJournal, async () => {
        content.destroy(new Error("the client has gone"));
        // The error is emitted while the answer is under way.
        await new Promise(setImmediate);
      });
      const source = { content, size: 5, contentType: undefined, signal: calm };
      const sent =
        verb === "upload"
          ? again.upload({ parent: "", name: "new.txt", ...source })
          : again.replace?.({ id, expected: {}, ...source });
      await expect(sent).rejects.toThrow("the client has gone");
    },
  );

  test("gives nothing any more: a call that was aborted before does not wait for it", async () => {
    const { connect, proxy, probeResult } = await open();
    const again = await connect({ probeResult });
    const stop = new AbortController();
    proxy.after(isJournal, async () => stop.abort());
    const content = new Readable({ read: () => undefined });
    const source = { content, size: 5, contentType: undefined, signal: stop.signal };
    const sent = await again.upload({ parent: "", name: "new.txt", ...source });
    expect(sent).toEqual({ kind: "offline", sent: true, note: "aborted" });
    expect(content.destroyed).toBe(true);
  });
});

test("a completed upload whose tag has another form is neither a conflict nor stale after a lost response", async () => {
  const { provider, server, proxy } = await open();
  // As of a server that encrypts.
  server.refuse(
    ({ method }) => {
      const made = server.store.current("file.bin");
      if (method === "HEAD" && made !== undefined) Object.assign(made, { etag: "opaque" });
      return false;
    },
    { status: 500, code: "never" },
  );
  const isCompletion = ({ method, path }: ProxiedRequest) =>
    method === "POST" && path.includes("?uploadId=");
  proxy.loseNext(isCompletion);
  // The name is taken, by the object itself.
  let completions = 0;
  proxy.answerNext((request) => isCompletion(request) && ++completions === 2, 412);
  const sent = await tryUpload(provider, "", "file.bin", pattern(900_000));
  expect(sent).toEqual({ kind: "unknown_outcome", note: "completion_unanswered" });
});

test("a file that another client wrote over an upload is not deleted with the folder that has gone", async () => {
  const { provider, server, proxy, overwrite } = await open({ server: { conditions: "ignored" } });
  await mkdir(provider, "", "folder");
  proxy.after(
    ({ method, path }) => method === "PUT" && path.endsWith("/folder/file.txt"),
    async () => {
      server.store.remove("folder/");
      await overwrite("folder/file.txt", Buffer.from("theirs"));
    },
  );
  expect((await tryUpload(provider, "folder", "file.txt", "ours")).kind).toBe("stale");
  expect(await tree(provider)).toEqual({ "folder/": "", "folder/file.txt": "theirs" });
});

test.each(["file.txt", "folder"])(
  "deleting %s permanently spares what another client writes before its versions go",
  async (what) => {
    const { provider, proxy, overwrite } = await open({ server: { isVersioned: true } });
    await mkdir(provider, "", "folder");
    const inFolder = await put(provider, "folder", "file.txt", "ours");
    const alone = await put(provider, "", "file.txt", "ours");
    for (const { id } of [inFolder, alone]) await overwrite(id, Buffer.from("ours, too"));
    const written = what === "folder" ? "folder/file.txt" : "file.txt";
    let hasDeleted = false;
    // The look after the delete, before the listing of versions.
    proxy.after(
      ({ method, path }) => {
        hasDeleted ||= method === "DELETE" || (method === "POST" && path.endsWith("?delete="));
        const isLook = method === "HEAD" || (method === "GET" && path.includes("max-keys=1&"));
        return hasDeleted && isLook;
      },
      () => overwrite(written, Buffer.from("theirs")),
    );
    const outcome = await provider.delete({
      id: what,
      expected: {},
      permanently: true,
      signal: calm,
    });
    expect(outcome).toEqual({ kind: "stale", note: "written_meanwhile" });
    expect(await tree(provider)).toMatchObject({ [written]: "theirs" });
  },
);

test("parts of a resumed upload without end are a failure", async () => {
  const { provider, proxy } = await open({ limits: { ...SMALL_PARTS, partsMax: 5 } });
  const saved = { key: "file.bin", uploadId: "one", partBytes: 262_144, entry: ".croft/entry" };
  const part = (number: number) =>
    `<Part><PartNumber>${number}</PartNumber><ETag>"a"</ETag><Size>1</Size></Part>`;
  const parts = Array.from({ length: 50 }, (_, at) => part(at + 1)).join("");
  const isListing = ({ path }: ProxiedRequest) => path.includes("part-number-marker");
  proxy.answerNext(
    isListing,
    200,
    { "content-type": "application/xml" },
    `<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>50</NextPartNumberMarker>${parts}</ListPartsResult>`,
  );
  const sent = await provider.upload({
    parent: "",
    name: "file.bin",
    content: Readable.from([Buffer.alloc(600_000)], { objectMode: false }),
    size: 600_000,
    contentType: undefined,
    session: { saved: JSON.stringify(saved), save: async () => undefined },
    signal: calm,
  });
  expect(sent).toEqual({ kind: "offline", sent: true, note: "parts_without_end" });
  expect(proxy.log.filter((line) => line.includes("part-number-marker"))).toHaveLength(1);
});

test("a length that no object has is not copied in parts for weeks", async () => {
  let requests = 0;
  const client = {
    sendForFields: async () => {
      requests += 1;
      throw new Error("a request");
    },
  };
  const store = { client, limits: SMALL_PARTS } as unknown as Store;
  const size = 999_999_999_999_999;
  const source = {
    ...({ kind: "object", etag: "a", size, headers: {} } as const),
    modifiedAt: undefined,
    versionId: undefined,
  };
  expect(await copyObject(store, { from: "a", source, to: "b", signal: calm })).toEqual({
    kind: "unsupported",
    reason: "file_too_large",
  });
  expect(requests).toBe(0);
});

describe("recovery", () => {
  /** Renames a file made of parts; the daemon dies after the copy, whose tag is unknown. */
  async function dieAfterCopy() {
    const opened = await open();
    const { provider, proxy, server } = opened;
    const file = await put(provider, "", "large.bin", "x".repeat(550_000));
    proxy.after(
      ({ method, path }) => method === "PUT" && path.includes("/.croft/"),
      async () => proxy.faults.refuse(),
    );
    expect((await rename(provider, file, "renamed.bin")).kind).not.toBe("ok");
    proxy.faults.clear();
    const { bytes } = server.store.current("large.bin") ?? { bytes: Buffer.alloc(0) };
    server.store.put("renamed.bin", bytes, {});
    return opened;
  }

  test("compares two files once for all calls that wait for it", async () => {
    const { connect, probeResult, proxy } = await dieAfterCopy();
    const again = await connect({ probeResult });
    const before = proxy.log.length;
    await Promise.all(Array.from({ length: 6 }, () => list(again, "")));
    const reads = proxy.log.slice(before).filter((line) => /^GET .*\/\w+\.bin$/.test(line));
    expect(reads).toHaveLength(2);
    expect(await names(again, "")).toEqual(["renamed.bin"]);
  });

  test("goes on after an entry whose object the server refuses, and looks at it again later", async () => {
    const { server, connect, deps, probeResult } = await dieAfterCopy();
    server.store.put("kept.txt", Buffer.from("kept"), {});
    const entry = { kind: "move", from: "kept.txt", to: "else.txt", etag: "a" };
    server.store.put(".croft/journal/one/home-0", Buffer.from(JSON.stringify(entry)), {});
    server.refuse(({ key }) => key === "kept.txt", { status: 403, code: "AccessDenied" });
    let now = Date.now();
    const again = await connect({ probeResult, deps: { ...deps, clock: () => now } });
    expect(await names(again, "")).toEqual(["kept.txt", "renamed.bin"]);
    const looks = () => server.log.filter((line) => line === "HEAD kept.txt").length;
    const once = looks();
    await list(again, "");
    expect(looks()).toBe(once);
    // A clock that was set back does not keep it from being looked at.
    now -= 600_000;
    await list(again, "");
    expect(looks()).toBe(once + 1);
  });
});
