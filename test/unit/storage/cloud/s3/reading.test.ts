import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type {
  CloudProvider,
  ProbeResult,
  ReadRequest,
} from "../../../../../storage/cloud/provider.ts";
import type { Store } from "../../../../../storage/cloud/s3/context.ts";
import { read } from "../../../../../storage/cloud/s3/reading.ts";
import { s3 } from "../../../../../storage/cloud/s3/provider.ts";
import {
  calm,
  get,
  list,
  move,
  names,
  put,
  remove,
  rename,
  same,
  stat,
  tree,
} from "../../../../conformance/cloud-provider/acting.ts";
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
  subject = await openS3Subject(options);
  return subject;
}

describe("keys of other programs", () => {
  const odd = [
    "a//b",
    "a/./c",
    "a/../d",
    "/e",
    "f/",
    "f//",
    "␛g",
    "h␛",
    " lead",
    "trail ",
    "x\ny",
    "n\u00e4",
    "na\u0308",
  ];

  test.each([{}, { encoding: "percent" as const }])(
    "keys of other programs are all shown, read, and found again (%o)",
    async (server) => {
      const { provider, server: bucket } = await open({ server });
      for (const key of odd) bucket.store.put(key, Buffer.from(key.endsWith("/") ? "" : key), {});
      const seen = await tree(provider);
      const files = Object.values(seen).filter((content) => content !== "");
      expect(files.sort()).toEqual(
        odd
          .filter((key) => !key.endsWith("/"))
          .map((key) => Buffer.from(key).toString("latin1"))
          .sort(),
      );
      for (const item of await list(provider, ""))
        expect(await stat(provider, item.id)).toEqual(item);
      // An item whose name is invalid for creation can still be renamed.
      const [inner] = (await list(provider, "a")).filter(({ kind }) => kind === "folder");
      expect(inner?.name.startsWith("␛")).toBe(true);
      const b = await stat(provider, "a/␛/b");
      expect((await move(provider, b, "a")).kind).toBe("ok");
      expect((await get(provider, "a/b")).toString()).toBe("a//b");
      for (const item of await list(provider, ""))
        expect((await remove(provider, item)).kind).toBe("ok");
      expect(bucket.store.versions("")).toEqual([]);
    },
  );

  test("a file and a folder of one name are both shown, and each can go", async () => {
    const { provider, server } = await open();
    server.store.put("same", Buffer.from("file"), {});
    server.store.put("same/inner", Buffer.from("inner"), {});
    expect(await tree(provider)).toEqual({ same: "file", "same␛/": "", "same␛/inner": "inner" });
    for (const item of await list(provider, ""))
      expect(await stat(provider, item.id)).toEqual(item);
    expect((await remove(provider, await stat(provider, "same"))).kind).toBe("ok");
    expect(await tree(provider)).toEqual({ "same/": "", "same/inner": "inner" });
  });

  test("a marker with content is a folder", async () => {
    const { provider, server } = await open();
    server.store.put("folder/", Buffer.from("some program's notes"), {});
    expect(await list(provider, "folder")).toEqual([]);
    expect((await provider.read({ id: "folder", signal: calm })).kind).toBe("unsupported");
  });

  test("thousands of them come in pages", async () => {
    const { provider, server } = await open({ server: { pageEntries: 1000 } });
    const wanted = Array.from({ length: 2_345 }, (_, at) => `file ${at}+&.txt`);
    for (const name of wanted) server.store.put(`folder/${name}`, Buffer.from("x"), {});
    expect(await names(provider, "folder")).toEqual(wanted.sort());
    expect((await provider.delete({ id: "folder", expected: {}, signal: calm })).kind).toBe("ok");
    expect(server.store.versions("")).toEqual([]);
  });

  test("below the root's prefix are the only ones visible", async () => {
    const { provider, server } = await open({ prefix: "home" });
    server.store.put("home2/secret", Buffer.from("x"), {});
    server.store.put("homer", Buffer.from("x"), {});
    await put(provider, "", "mine", "m");
    expect(await tree(provider)).toEqual({ mine: "m" });
    for (const id of ["../homer", "..", "/homer", "␛../homer"])
      expect((await provider.stat({ id, signal: calm })).kind).toBe("not_found");
  });
});

describe("bytes", () => {
  test("bytes that are stored compressed are given as they are stored", async () => {
    const { provider, server } = await open();
    const bytes = gzipSync("plain ".repeat(1000));
    server.store.put("page.html", bytes, { "content-encoding": "gzip" });
    same(await get(provider, "page.html"), bytes);
    same(await get(provider, "page.html", { range: { start: 3, end: 20 } }), bytes.subarray(3, 21));
    expect((await stat(provider, "page.html")).size).toBe(bytes.length);
  });

  test("bytes of an archived object cannot be had", async () => {
    const { provider, server } = await open();
    await put(provider, "", "cold.bin", "x");
    server.refuse(({ method, key }) => method === "GET" && key === "cold.bin", {
      status: 403,
      code: "InvalidObjectState",
    });
    expect(await provider.read({ id: "cold.bin", signal: calm })).toMatchObject({
      kind: "unsupported",
      reason: "archived",
    });
  });

  test("bytes of another version are not given", async () => {
    const { provider, overwrite } = await open({ server: { conditions: "ignored" } });
    const { version } = await put(provider, "", "file.txt", "one");
    await overwrite("file.txt", Buffer.from("two"));
    expect((await provider.read({ id: "file.txt", version, signal: calm })).kind).toBe("changed");
    expect(
      (await provider.read({ id: "file.txt", version, range: { start: 9 }, signal: calm })).kind,
    ).toBe("changed");
  });
});

test("the root is not an item that could be looked at, renamed, moved or deleted", async () => {
  const { provider } = await open();
  await put(provider, "", "file", "x");
  const root = { id: "", expected: {}, signal: calm };
  expect((await provider.stat(root)).kind).toBe("not_found");
  expect((await provider.read(root)).kind).toBe("not_found");
  for (const id of ["", "/", ".", "..", ".croft"]) {
    expect((await provider.delete({ ...root, id, permanently: true })).kind).toBe("stale");
    expect((await provider.rename({ ...root, id, name: "x" })).kind).toBe("stale");
  }
  expect(await tree(provider)).toEqual({ file: "x" });
});

describe("deleting a folder", () => {
  test("deleting a folder resumes where single keys or a whole batch failed for a moment", async () => {
    const { provider, server } = await open();
    for (let at = 0; at < 12; at++) server.store.put(`folder/${at}`, Buffer.from("x"), {});
    const busy = { status: 503, code: "SlowDown" };
    server.refuse(({ query }) => query.has("delete"), busy, 2);
    server.refuse(({ method, key }) => method === "DELETE" && key === "folder/3", {
      status: 500,
      code: "InternalError",
    });
    const failing = provider.delete({ id: "folder", expected: {}, signal: calm });
    expect(await failing).toMatchObject({ kind: "stale", note: "deleted_in_part" });
    expect(await names(provider, "folder")).toContain("3");
    server.calm();
    server.refuse(({ query }) => query.has("delete"), busy, 2);
    expect((await provider.delete({ id: "folder", expected: {}, signal: calm })).kind).toBe("ok");
    expect(server.store.versions("")).toEqual([]);
  });
});

test.each(["NoSuchKey", "NoSuchVersion"])(
  "a folder is deleted although the server reports already deleted keys as missing (%s)",
  async (code) => {
    const { provider, server } = await open();
    for (const name of ["a", "b", "c"]) server.store.put(`folder/${name}`, Buffer.from("x"), {});
    const goesFirst = ({ method, key }: { method: string; key: string | undefined }) => {
      const isIt = method === "DELETE" && key === "folder/b";
      if (isIt) server.store.remove("folder/b");
      return isIt;
    };
    server.refuse(goesFirst, { status: 404, code });
    const gone = await provider.delete({ id: "folder", expected: {}, signal: calm });
    expect(gone).toEqual({ kind: "ok", how: "permanent" });
  },
);

test("a folder is deleted with names in it that a batch has no way to spell", async () => {
  const { provider, server } = await open();
  for (const name of ["a", "b\u0001", "c\r\n", "d"])
    server.store.put(`folder/${name}`, Buffer.from("x"), {});
  const gone = await provider.delete({ id: "folder", expected: {}, signal: calm });
  expect(gone).toEqual({ kind: "ok", how: "permanent" });
  expect(server.store.versions("")).toEqual([]);
});

describe("deleting with versions", () => {
  test("permanent deletion removes all versions of one key only", async () => {
    const { provider, server } = await open({ server: { isVersioned: true, pageEntries: 3 } });
    for (const text of ["1", "2", "3", "4", "5"]) server.store.put("file", Buffer.from(text), {});
    server.store.put("file2", Buffer.from("x"), {});
    const file = await stat(provider, "file");
    expect(await remove(provider, file, { permanently: true })).toEqual({
      kind: "ok",
      how: "permanent",
    });
    expect(server.store.versions("").map(({ key }) => key)).toEqual(["file2"]);
  });

  test.each(["form", "percent", "none"] as const)(
    "permanently deletes all of a folder, page by page, with any spelling of keys (%s)",
    async (encoding) => {
      const { provider, server } = await open({
        server: { isVersioned: true, pageEntries: 3, encoding },
      });
      const all = ["a #1", "a #2", "a 3", "a$4", "a!5", "b+6", "ü 7", "日 8"];
      for (const name of all) server.store.put(`old files/${name}`, Buffer.from("x"), {});
      const gone = provider.delete({
        id: "old files",
        expected: {},
        permanently: true,
        signal: calm,
      });
      expect(await gone).toEqual({ kind: "ok", how: "permanent" });
      expect(server.store.versions("")).toEqual([]);
    },
  );

  test("a rename leaves the old place as a deleted object, and the new one whole", async () => {
    const { provider, server } = await open({ server: { isVersioned: true } });
    const file = await put(provider, "", "file", "x");
    expect((await rename(provider, file, "renamed")).kind).toBe("ok");
    expect(await tree(provider)).toEqual({ renamed: "x" });
    expect(server.store.versions("file").map(({ version }) => version.isMarker)).toEqual([
      true,
      false,
    ]);
  });
});

describe("a server with false responses", () => {
  const page = (inner: string) =>
    `<?xml version="1.0"?><ListBucketResult>${inner}</ListBucketResult>`;
  const entry = (key: string) =>
    `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;

  test.each([
    ["cut without a way to go on", page("<IsTruncated>true</IsTruncated>")],
    [
      "that never ends",
      page(
        `<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>${entry("a")}`,
      ),
    ],
    ["of keys from deeper down", page(`<IsTruncated>false</IsTruncated>${entry("root/x/y")}`)],
    ["of other keys", page(`<IsTruncated>false</IsTruncated>${entry("elsewhere/a")}`)],
    ["without its end", page(`<IsTruncated>false</IsTruncated>${entry("root/a")}`).slice(0, -8)],
    ["that does not say whether it is whole", page(entry("root/a"))],
    [
      "with entities",
      `<!DOCTYPE x [<!ENTITY e "root/a">]>${page(`<IsTruncated>false</IsTruncated>${entry("&e;")}`)}`,
    ],
    ["that is a page for people", "<html><body>Back soon</body></html>"],
    ["that is an error after all", "<Error><Code>InternalError</Code></Error>"],
    ["that is nothing", ""],
    ["of deep elements", page("<a>".repeat(10_000))],
  ])("about a listing %s is offline, never empty", async (_what, body) => {
    await connectTo(
      (_request, response) => response.end(body),
      async (provider) => {
        for (const folder of ["", "a"])
          expect((await provider.list({ folder, signal: calm })).kind).toBe("offline");
      },
    );
  });

  /** A bucket of a server that says whatever `answer` does. */
  async function connectTo(
    answer: RequestListener,
    work: (provider: CloudProvider) => Promise<void>,
    more: ProbeResult = {},
  ) {
    const server = createServer(answer).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { deps, probeResult } = await open();
      const outcome = await s3.connect(
        {
          connectionId: "one",
          settings: {
            endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
            bucket: "bucket",
            prefix: "root",
          },
          credentials: { access_key_id: "id", secret_access_key: "secret" },
          probeResult: { ...probeResult, writable: false, ...more },
          saveCredentials: async () => undefined,
          signal: calm,
        },
        deps,
      );
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      await work(outcome.provider);
    } finally {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  }

  test("stops a listing or deletion whose server repeats one page under new tokens", async () => {
    let asked = 0;
    await connectTo(
      (request, response) => {
        request.resume();
        const url = new URL(request.url ?? "", "http://localhost");
        if (request.method === "HEAD") response.writeHead(404).end();
        else if (url.searchParams.has("delete")) response.end("<DeleteResult/>");
        else {
          const token = `<NextContinuationToken>${++asked}</NextContinuationToken>`;
          response.end(page(`<IsTruncated>true</IsTruncated>${token}${entry("root/a/b")}`));
        }
      },
      async (provider) => {
        expect((await provider.list({ folder: "a", signal: calm })).kind).toBe("offline");
        expect((await provider.delete({ id: "a", expected: {}, signal: calm })).kind).toBe("stale");
      },
    );
    expect(asked).toBeLessThan(20);
  });

  test("an endless list of leftovers of earlier runs does not block a call", async () => {
    let asked = 0;
    await connectTo(
      (request, response) => {
        request.resume();
        const url = new URL(request.url ?? "", "http://localhost");
        const prefix = url.searchParams.get("prefix") ?? "";
        if (!prefix.includes("/.croft/")) {
          response.end(page(`<IsTruncated>false</IsTruncated>${entry("root/a")}`));
          return;
        }
        const first = ++asked * 100;
        const entries = Array.from({ length: 100 }, (_, at) => entry(`${prefix}${first + at}`));
        const token = `<NextContinuationToken>${asked}</NextContinuationToken>`;
        response.end(page(`<IsTruncated>true</IsTruncated>${token}${entries.join("")}`));
      },
      async (provider) => {
        expect(await list(provider, "")).toHaveLength(1);
        expect(await list(provider, "")).toHaveLength(1);
      },
      { writable: true },
    );
    expect(asked).toBeLessThan(20);
  });

  test("about the object that it sends: a parallel HEAD request must show the same one", async () => {
    const modified = { "last-modified": "Sat, 21 Nov 2026 15:16:14 GMT" };
    await connectTo(
      (request, response) => {
        if (request.method === "HEAD")
          response.writeHead(200, { ...modified, etag: '"old"', "content-length": 5 }).end();
        // Without a length, so that a HEAD request has to determine it.
        else response.writeHead(200, { ...modified, etag: '"new"' }).end("22222");
      },
      async (provider) => {
        expect((await provider.read({ id: "a", signal: calm })).kind).toBe("changed");
      },
    );
  });

  test("rejects a listing that only states the end of its next page", async () => {
    const { provider, server } = await open();
    for (let at = 0; at < 5; at++) await put(provider, "", `file ${at}`, "x");
    server.cutNextPage();
    expect((await provider.list({ folder: "", signal: calm })).kind).toBe("offline");
    expect(await list(provider, "")).toHaveLength(5);
  });
});

test.each([
  ["a compressed one", {}, { status: 200, headers: { "content-encoding": "gzip" } }],
  ["a range", { range: { start: 0, end: 3 } }, { status: 206, headers: { "content-range": "x" } }],
])("a response is discarded when the lookup after it fails: %s", async (_name, more, sent) => {
  let discarded = 0;
  const answer = { kind: "answered", ...sent, discard: () => (discarded += 1) };
  const store = {
    keys: { toFileKey: (id: string) => id },
    client: {
      send: async () => ({ kind: "answered", answer }),
      head: async () => {
        throw new Error("the connection was reset");
      },
    },
  };
  const reading = { id: "file", signal: new AbortController().signal, ...more };
  await expect(read(store as unknown as Store, reading as ReadRequest)).rejects.toThrow("reset");
  expect(discarded).toBe(1);
});
