import { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import type { CloudProvider } from "../../../../../storage/cloud/provider.ts";
import {
  calm,
  get,
  inChunks,
  mkdir,
  names,
  pattern,
  rename,
  same,
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

const isOwn = ({ path }: ProxiedRequest) => path.includes("/.croft/");
const steps = {
  "the beginning": ({ method, path }: ProxiedRequest) =>
    method === "POST" && path.endsWith("?uploads="),
  "the journal's entry": (what: ProxiedRequest) => what.method === "PUT" && isOwn(what),
  "a part": ({ method, path }: ProxiedRequest) => method === "PUT" && path.includes("partNumber=2"),
  "the completion": ({ method, path }: ProxiedRequest) =>
    method === "POST" && path.includes("?uploadId="),
} as const;
const { "the beginning": _beginning, ...lossless } = steps;

const DAY_MS = 86_400_000;

test("a bucket that requires checksums of writes gets them", async () => {
  const { provider, server, connect, probeResult } = await open({
    server: { wantsChecksums: true },
  });
  const made = await tryUpload(provider, "", "small.txt", "small");
  if (made.kind !== "ok") throw new Error(made.kind);
  const large = pattern(900_000);
  const again = await connect({ probeResult });
  expect((await tryUpload(again, "", "large.bin", large)).kind).toBe("ok");
  expect((await rename(again, made.item, "renamed.txt")).kind).toBe("ok");
  await mkdir(again, "", "folder");
  same(await get(again, "large.bin"), large);
  expect(await names(again, "")).toEqual(["folder", "large.bin", "renamed.txt"]);
  expect(server.store.versions(".croft/")).toEqual([]);
});

test("a server has time to put parts together and to copy", async () => {
  const { deps, connect } = await open();
  const patience: { method: string; path: string; headersTimeout: unknown }[] = [];
  const guarded = deps.guarded.compose((dispatch) => (request, handler) => {
    const { method, path, headersTimeout } = request;
    patience.push({ method, path, headersTimeout });
    return dispatch(request, handler);
  });
  const provider = await connect({ deps: { ...deps, guarded } });
  // The trial objects of connecting are tiny.
  patience.length = 0;
  const file = await tryUpload(provider, "", "file.bin", pattern(500_000));
  if (file.kind !== "ok") throw new Error(file.kind);
  expect((await rename(provider, file.item, "other.bin")).kind).toBe("ok");
  const isLong = ({ method, path }: { method: string; path: string }) =>
    (method === "POST" && path.includes("?uploadId=")) ||
    (method === "PUT" && path.endsWith("/other.bin"));
  const [long, short] = [patience.filter(isLong), patience.filter((one) => !isLong(one))];
  expect(long.map(({ headersTimeout }) => headersTimeout)).toEqual([300_000, 300_000]);
  expect(new Set(short.map(({ headersTimeout }) => headersTimeout))).toEqual(new Set([60_000]));
});

/** Uploads `file.bin` with one part before `meanwhile` and the rest after it; expects a complete file. */
async function uploadDuring(provider: CloudProvider, meanwhile: () => Promise<void>) {
  const uploads = () => [...(subject?.server.store.uploads.values() ?? [])];
  const bytes = pattern(900_000, 7);
  async function* source() {
    yield bytes.subarray(0, 600_000);
    while (!uploads().some(({ parts }) => parts.size > 0)) await new Promise(setImmediate);
    await meanwhile();
    yield bytes.subarray(600_000);
  }
  const made = await provider.upload({
    parent: "",
    name: "file.bin",
    content: Readable.from(source(), { objectMode: false }),
    size: undefined,
    contentType: undefined,
    signal: calm,
  });
  expect(made.kind).toBe("ok");
  same(await get(provider, "file.bin"), bytes);
}

test("an upload that the server holds otherwise is no success, and stays", async () => {
  const { provider, server } = await open();
  server.alterUploads();
  const unknown = { kind: "unknown_outcome", note: "other_bytes" };
  expect(await tryUpload(provider, "", "small.bin", pattern(50_000))).toEqual(unknown);
  expect(Object.keys(await tree(provider))).toEqual(["small.bin"]);
});

describe("an upload in parts", () => {
  test.each(Object.entries(lossless))(
    "is complete although the response to %s is lost",
    async (_step, accept) => {
      const { provider, proxy, leftovers } = await open();
      const bytes = pattern(900_000);
      proxy.loseNext(accept);
      expect((await tryUpload(provider, "", "file.bin", bytes)).kind).toBe("ok");
      same(await get(provider, "file.bin"), bytes);
      expect(await leftovers()).toEqual([]);
    },
  );

  test.each(["InternalError", "SlowDown", "ServiceUnavailable"])(
    "sends a part again after %s",
    async (code) => {
      const { provider, server } = await open();
      server.refuse(({ query }) => query.get("partNumber") === "2", { status: 503, code }, 2);
      const bytes = pattern(900_000);
      expect((await tryUpload(provider, "", "file.bin", bytes)).kind).toBe("ok");
      same(await get(provider, "file.bin"), bytes);
    },
  );

  test("a multipart upload whose parts are refused permanently leaves nothing", async () => {
    const { provider, server, leftovers } = await open();
    server.refuse(({ query }) => query.has("partNumber"), { status: 403, code: "AccessDenied" });
    expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("forbidden");
    expect(await tree(provider)).toEqual({});
    expect(await leftovers()).toEqual([]);
  });

  test("an upload in parts that fails after its status was sent is retried once", async () => {
    const { provider, server, leftovers } = await open();
    server.failInBody("InternalError");
    expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("ok");
    expect(await leftovers()).toEqual([]);
  });

  test("a multipart upload of a dead daemon is aborted by the next one, and by no other connection", async () => {
    const { provider, proxy, connect, probeResult, leftovers, server } = await open();
    proxy.after(steps["a part"], async () => proxy.faults.refuse());
    expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("offline");
    proxy.faults.clear();
    expect(server.store.uploads.size).toBe(1);
    await tree(await connect({ probeResult, connectionId: "another" }));
    expect(server.store.uploads.size).toBe(1);
    await tree(await connect({ probeResult }));
    expect(await leftovers()).toEqual([]);
  });

  test.each([
    ["the beginning", "after"],
    ["the id in the journal", "before"],
  ] as const)(
    "whose daemon died after %s is found and aborted by the next one",
    async (step, when) => {
      const { provider, proxy, connect, probeResult, leftovers, server } = await open();
      const die = async () => proxy.faults.refuse();
      let entries = 0;
      if (when === "after") proxy.after(steps["the beginning"], die);
      else proxy.after((what) => steps["the journal's entry"](what) && ++entries === 2, die);
      expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind, step).not.toBe(
        "ok",
      );
      proxy.faults.clear();
      expect(server.store.uploads.size).toBe(1);
      expect(await tree(await connect({ probeResult }))).toEqual({});
      expect(await leftovers()).toEqual([]);
    },
  );

  test("an upload of another client under the same name is kept when leftovers of a dead daemon are aborted", async () => {
    const { provider, proxy, connect, probeResult, server } = await open();
    const { uploads } = server.store;
    const hour = 3_600_000;
    proxy.after(steps["the beginning"], async () => proxy.faults.refuse());
    await tryUpload(provider, "", "file.bin", pattern(900_000));
    const [[ours, begun] = []] = uploads;
    if (ours === undefined || begun === undefined) throw new Error("nothing was begun");
    uploads.set("earlier", { ...begun, startedAt: begun.startedAt - hour });
    uploads.set("later", { ...begun, startedAt: begun.startedAt + hour });
    uploads.set("longer", { ...begun, key: "file.bin.part" });
    proxy.faults.clear();
    await tree(await connect({ probeResult }));
    expect([...uploads.keys()]).toEqual(["earlier", "later", "longer"]);
    expect(ours).not.toMatch(/earlier|later|longer/);
  });

  test("that another daemon has started in the same connection is kept until it is a week old", async () => {
    const { provider, proxy, connect, probeResult, server, leftovers } = await open();
    const elsewhere = await connect({ probeResult, home: "elsewhere" });
    await uploadDuring(provider, async () => {
      await tree(elsewhere);
      expect((await elsewhere.check({ signal: calm })).kind).toBe("ok");
    });
    proxy.after(steps["a part"], async () => proxy.faults.refuse());
    await tryUpload(provider, "", "dead.bin", pattern(900_000));
    proxy.faults.clear();
    await tree(await connect({ probeResult, home: "third" }));
    expect(server.store.uploads.size).toBe(1);
    server.store.age(8 * DAY_MS);
    await tree(await connect({ probeResult, home: "third" }));
    expect(await leftovers()).toEqual([]);
  });

  test.each(["home", "elsewhere"])(
    "a multipart upload of %s continues while the leftover of a lost response under the same name is aborted",
    async (home) => {
      const { provider, proxy, connect, probeResult, leftovers } = await open();
      proxy.loseNext(steps["the beginning"]);
      expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("offline");
      expect(await leftovers()).toHaveLength(2);
      const again = home === "home" ? provider : await connect({ probeResult, home });
      await uploadDuring(again, async () => {
        expect((await provider.check({ signal: calm })).kind).toBe("ok");
      });
      expect(await leftovers()).toEqual([]);
    },
  );

  test("an upload in parts that a dead probe began is aborted after a day", async () => {
    const { provider, server } = await open();
    const startedAt = Date.now();
    const begun = { headers: {}, parts: new Map() };
    server.store.uploads.set("old", {
      ...begun,
      key: ".croft/probe/1",
      startedAt: startedAt - 90_000_000,
    });
    server.store.uploads.set("new", { ...begun, key: ".croft/probe/2", startedAt });
    await provider.check({ signal: calm });
    expect([...server.store.uploads.keys()]).toEqual(["new"]);
  });

  test("an upload in parts is not taken for a remainder while it is under way", async () => {
    const { provider, connect, leftovers } = await open();
    await uploadDuring(provider, async () => void (await connect()));
    expect(await leftovers()).toEqual([]);
  });

  test("aborting an upload with a silent source releases all resources at once", async () => {
    const { provider, leftovers } = await open();
    const controller = new AbortController();
    const content = new Readable({ read: () => undefined });
    content.push(pattern(600_000));
    const uploading = provider.upload({
      parent: "",
      name: "file.bin",
      content,
      size: 900_000,
      contentType: undefined,
      signal: controller.signal,
    });
    while (subject?.server.store.uploads.size !== 1) await new Promise(setImmediate);
    controller.abort();
    expect(await uploading).toMatchObject({ kind: "offline", note: "aborted" });
    expect(content.destroyed).toBe(true);
    expect(await leftovers()).toEqual([]);
  });

  test("an upload in parts of more parts than there may be is refused, before or while it is sent", async () => {
    const few = { ...SMALL_PARTS, partsMax: 2 };
    const { provider, leftovers } = await open({ limits: few });
    const send = (size: number | undefined) =>
      provider.upload({
        parent: "",
        name: "file.bin",
        content: Readable.from(inChunks(pattern(900_000)), { objectMode: false }),
        size,
        contentType: undefined,
        signal: calm,
      });
    const refusal = { kind: "unsupported", reason: "file_too_large" };
    expect(await send(200 * 1024 * 1024)).toEqual(refusal);
    expect(await send(undefined)).toEqual(refusal);
    // With a known length the parts grow.
    expect((await send(900_000)).kind).toBe("ok");
    expect(await leftovers()).toEqual([]);
  });
});

describe("a concurrent upload of the same name", () => {
  const conflict = { status: 409, code: "ConditionalRequestConflict" };
  const isPut = ({ method, key }: { method: string; key: string | undefined }) =>
    method === "PUT" && key === "file.bin";

  test("a concurrent upload of the same name in the same moment is waited for", async () => {
    const { provider, server } = await open();
    server.refuse(isPut, conflict, 2);
    expect((await tryUpload(provider, "", "file.bin", "bytes")).kind).toBe("ok");
  });

  test("a concurrent upload of the same name that never ends is no success and no conflict", async () => {
    const { provider, server } = await open();
    server.refuse(isPut, conflict);
    expect((await tryUpload(provider, "", "file.bin", "bytes")).kind).not.toMatch(/ok|conflict/);
    expect(await tree(provider)).toEqual({});
  });

  const isCompletion = ({
    method,
    query,
  }: {
    method: string;
    query: ReadonlyMap<string, string>;
  }) => method === "POST" && query.has("uploadId");

  test("when parts are put together is waited for", async () => {
    const { provider, server, leftovers } = await open();
    server.refuse(isCompletion, conflict, 1);
    expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("ok");
    expect(await leftovers()).toEqual([]);
  });

  test("when parts are put together has the name, where the parts are lost by that", async () => {
    const { provider, proxy, server, leftovers } = await open();
    server.refuse(isCompletion, conflict, 1);
    proxy.after(steps["the completion"], async () => {
      server.store.uploads.clear();
      server.store.put("file.bin", Buffer.from("theirs"), {});
    });
    expect((await tryUpload(provider, "", "file.bin", pattern(900_000))).kind).toBe("conflict");
    expect(await tree(provider)).toEqual({ "file.bin": "theirs" });
    expect(await leftovers()).toEqual([]);
  });
});

test.each([
  ["text/plain; charset=utf-8", "text/plain; charset=utf-8"],
  ['text/plain; name="\u2603"', "image/png"],
  ["text/plain\r\nx-amz-acl: public-read", "image/png"],
  ["", "image/png"],
])("the media type %j is kept as %j", async (given, kept) => {
  const { provider, server } = await open();
  for (const [name, size] of [
    ["small.png", 10],
    ["large.png", 900_000],
  ] as const) {
    const outcome = await provider.upload({
      parent: "",
      name,
      content: Readable.from(inChunks(pattern(size)), { objectMode: false }),
      size,
      contentType: given,
      signal: calm,
    });
    expect(outcome.kind).toBe("ok");
    expect(server.store.current(name)?.headers).toEqual({ "content-type": kept });
  }
});

test("a folder that is deleted while parts come is stale, also when they were put together", async () => {
  const { provider, proxy, server, leftovers } = await open();
  await mkdir(provider, "", "folder");
  proxy.after(steps["the completion"], async () => {
    server.store.remove("folder/");
  });
  expect((await tryUpload(provider, "folder", "file.bin", pattern(900_000))).kind).toBe("stale");
  expect(await tree(provider)).toEqual({});
  expect(await leftovers()).toEqual([]);
});
