import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { containerTypes } from "../../../daemon/contract/forge/packages/containers.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import {
  codeOf,
  createContainerClient,
  digestOf,
  imageOf,
  toDescriptor,
  toManifest,
} from "../../support/forge/container-client.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { skipUnless } from "../../support/skip.ts";

// The checks of the conformance suite of the OCI distribution specification 1.1, by its workflows: pull, push, discovery and
// management of content. The suite itself is a Go program; its test is at the end.

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const client = createContainerClient(() => daemon, { basic: "mira:user-password" });
const { send, start, push, putBlob, putManifest } = client;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await people.newUser("mira");
});
afterAll(() => daemon[Symbol.asyncDispose]());

const IMAGE = "mira/conformance/one";
const OTHER = "mira/conformance/two";

const patch = (location: string, body: string, range?: string) =>
  send("PATCH", location, {
    body,
    headers: {
      "Content-Type": "application/octet-stream",
      ...(range === undefined ? {} : { "Content-Range": range }),
    },
  });
const put = (location: string, digest: string, body?: string) =>
  send("PUT", `${location}?digest=${digest}`, body === undefined ? {} : { body });

describe("pull", () => {
  test("the registry answers with its version, and with its own code for what it does not have", async () => {
    const ping = await send("GET", "/v2/");
    expect(ping.status).toBe(200);
    expect(ping.headers.get("docker-distribution-api-version")).toBe("registry/2.0");
    await push(IMAGE, "pulled", ["pulled layer"]);
    const missing = digestOf("missing");
    const blob = await send("GET", `${IMAGE}/blobs/${missing}`);
    expect([blob.status, codeOf(blob)]).toEqual([404, "BLOB_UNKNOWN"]);
    const manifest = await send("GET", `${IMAGE}/manifests/${missing}`);
    expect([manifest.status, codeOf(manifest)]).toEqual([404, "MANIFEST_UNKNOWN"]);
    const tag = await send("GET", `${IMAGE}/manifests/missing`);
    expect([tag.status, codeOf(tag)]).toEqual([404, "MANIFEST_UNKNOWN"]);
    const image = await send("GET", "mira/none/tags/list");
    expect([image.status, codeOf(image)]).toEqual([404, "NAME_UNKNOWN"]);
    expect((await send("HEAD", `${IMAGE}/blobs/${missing}`)).status).toBe(404);
  });

  test("blobs are served whole, by HEAD and in ranges", async () => {
    const layer = "0123456789";
    await push(IMAGE, "pulled", [layer]);
    const path = `${IMAGE}/blobs/${digestOf(layer)}`;
    const whole = await send("GET", path);
    expect([whole.status, whole.text]).toEqual([200, layer]);
    expect(whole.headers.get("docker-content-digest")).toBe(digestOf(layer));
    const head = await send("HEAD", path);
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
    for (const [range, text] of [
      ["bytes=0-3", "0123"],
      ["bytes=4-", "456789"],
      ["bytes=-2", "89"],
    ] as const) {
      const part = await send("GET", path, { headers: { Range: range } });
      expect([part.status, part.text]).toEqual([206, text]);
    }
    const beyond = await send("GET", path, { headers: { Range: "bytes=10-20" } });
    expect(beyond.status).toBe(416);
  });

  test("manifests are served by tag and digest with their type and length", async () => {
    const manifest = await push(IMAGE, "pulled", ["a layer"]);
    for (const reference of ["pulled", manifest.digest]) {
      const got = await send("GET", `${IMAGE}/manifests/${reference}`);
      expect([got.status, got.text]).toEqual([200, manifest.text]);
      expect(got.headers.get("content-type")).toBe(containerTypes.image);
      expect(got.headers.get("docker-content-digest")).toBe(manifest.digest);
      const head = await send("HEAD", `${IMAGE}/manifests/${reference}`);
      expect(head.headers.get("content-length")).toBe(String(manifest.text.length));
    }
  });
});

describe("push", () => {
  test("a blob is stored by one request, by two, as a stream and in chunks", async () => {
    const single = await putBlob(IMAGE, "by one");
    expect(single.status).toBe(201);
    expect(single.headers.get("location")).toBe(`/v2/${IMAGE}/blobs/${digestOf("by one")}`);
    expect((await put(await start(IMAGE), digestOf("by two"), "by two")).status).toBe(201);

    const streamed = await start(IMAGE);
    expect((await patch(streamed, "as a stream")).status).toBe(202);
    expect((await put(streamed, digestOf("as a stream"))).status).toBe(201);

    const chunked = await start(IMAGE);
    const first = await patch(chunked, "chunk", "0-4");
    expect([first.status, first.headers.get("range")]).toEqual([202, "0-4"]);
    expect((await patch(chunked, "ed and ", "5-11")).status).toBe(202);
    const last = await send("PUT", `${chunked}?digest=${digestOf("chunked and put")}`, {
      body: "put",
      headers: { "Content-Range": "12-14" },
    });
    expect(last.status).toBe(201);
    for (const text of ["by one", "by two", "as a stream", "chunked and put"])
      expect((await send("GET", `${IMAGE}/blobs/${digestOf(text)}`)).text).toBe(text);
  });

  test("a chunk out of order is 416 and leaves the upload as it was", async () => {
    const location = await start(IMAGE);
    expect((await patch(location, "chunk", "5-9")).status).toBe(416);
    expect((await patch(location, "chunk", "0-4")).status).toBe(202);
    const again = await patch(location, "chunk", "0-4");
    expect([again.status, again.headers.get("range")]).toEqual([416, "0-4"]);
    const status = await send("GET", location);
    expect([status.status, status.headers.get("range")]).toEqual([204, "0-4"]);
    expect(status.headers.get("location")).toBe(location);
    const late = await send("PUT", `${location}?digest=${digestOf("chunk")}`, {
      body: "x",
      headers: { "Content-Range": "7-7" },
    });
    expect(late.status).toBe(416);
    expect((await put(location, digestOf("chunk"))).status).toBe(201);
  });

  test("bytes that do not match their digest are refused by every way of upload", async () => {
    const wrong = digestOf("something else");
    const single = await send("POST", `${IMAGE}/blobs/uploads/?digest=${wrong}`, { body: "bytes" });
    expect([single.status, codeOf(single)]).toEqual([400, "DIGEST_INVALID"]);
    const double = await put(await start(IMAGE), wrong, "bytes");
    expect([double.status, codeOf(double)]).toEqual([400, "DIGEST_INVALID"]);
    const chunked = await start(IMAGE);
    await patch(chunked, "by", "0-1");
    await patch(chunked, "tes", "2-4");
    expect(codeOf(await put(chunked, wrong))).toBe("DIGEST_INVALID");
    expect(codeOf(await put(chunked, digestOf("bytes")))).toBe("BLOB_UPLOAD_UNKNOWN");
    expect((await send("HEAD", `${IMAGE}/blobs/${wrong}`)).status).toBe(404);
    expect((await send("HEAD", `${IMAGE}/blobs/${digestOf("bytes")}`)).status).toBe(404);
  });

  test("SHA-512 names blobs of every way of upload, and manifests", async () => {
    const named = digestOf("by one", "sha512");
    expect((await putBlob(OTHER, "by one", "sha512")).status).toBe(201);
    const chunked = await start(OTHER);
    await patch(chunked, "by ", "0-2");
    await patch(chunked, "two", "3-5");
    expect((await put(chunked, digestOf("by two", "sha512"))).status).toBe(201);
    expect((await put(await start(OTHER), named, "by two")).status).toBe(400);
    expect((await send("GET", `${OTHER}/blobs/${named}`)).text).toBe("by one");
    const { text, type } = toManifest({
      config: { ...toDescriptor("by one"), digest: named },
      layers: [],
    });
    const digest = digestOf(text, "sha512");
    expect((await putManifest(OTHER, digest, { text, type, digest })).status).toBe(201);
    expect((await send("GET", `${OTHER}/manifests/${digest}`)).text).toBe(text);
  });

  test("a blob of another image is mounted, and otherwise uploaded", async () => {
    await putBlob(OTHER, "mounted");
    const digest = digestOf("mounted");
    const mount = (query: string) => send("POST", `${IMAGE}/blobs/uploads/?${query}`);
    const mounted = await mount(`mount=${digest}&from=${OTHER}`);
    expect([mounted.status, mounted.headers.get("docker-content-digest")]).toEqual([201, digest]);
    expect((await send("GET", `${IMAGE}/blobs/${digest}`)).text).toBe("mounted");
    await putBlob(OTHER, "mounted by itself");
    expect((await mount(`mount=${digestOf("mounted by itself")}`)).status).toBe(201);
    const missing = await mount(`mount=${digestOf("missing")}&from=${OTHER}`);
    expect(missing.status).toBe(202);
    const location = missing.headers.get("location") ?? "";
    expect((await put(location, digestOf("missing"), "missing")).status).toBe(201);
  });

  test("an upload that is cancelled has ended", async () => {
    const location = await start(IMAGE);
    await patch(location, "bytes");
    expect((await send("DELETE", location)).status).toBe(204);
    expect(codeOf(await patch(location, "bytes"))).toBe("BLOB_UPLOAD_UNKNOWN");
    expect((await send("GET", location)).status).toBe(404);
  });

  test("manifests of every type are stored, with empty blobs and lists too", async () => {
    await putBlob(IMAGE, "");
    await putBlob(IMAGE, "{}");
    const child = await push(IMAGE, undefined, [""]);
    const docker = toManifest(
      { config: toDescriptor("{}"), layers: [toDescriptor("")] },
      containerTypes.dockerImage,
    );
    const dockerIndex = toManifest(
      { manifests: [{ ...toDescriptor(child.text, child.type) }] },
      containerTypes.dockerIndex,
    );
    const index = toManifest({ manifests: [] }, containerTypes.index);
    const nested = toManifest(
      { manifests: [toDescriptor(index.text, index.type)] },
      containerTypes.index,
    );
    const artifact = toManifest({
      artifactType: "application/vnd.example",
      config: toDescriptor("{}", "application/vnd.oci.empty.v1+json"),
      layers: [],
      "org.example.custom": { of: "any kind" },
    });
    const foreign = toManifest({
      config: toDescriptor("{}"),
      layers: [
        toDescriptor("never uploaded", "application/vnd.oci.image.layer.nondistributable.v1.tar"),
      ],
    });
    for (const [tag, manifest] of Object.entries({
      docker,
      dockerIndex,
      index,
      nested,
      artifact,
      foreign,
    })) {
      const stored = await putManifest(IMAGE, tag, manifest);
      expect([tag, stored.status]).toEqual([tag, 201]);
      expect(stored.headers.get("docker-content-digest")).toBe(manifest.digest);
      expect(stored.headers.get("location")).toBe(`/v2/${IMAGE}/manifests/${manifest.digest}`);
      const got = await send("GET", `${IMAGE}/manifests/${tag}`);
      expect([got.text, got.headers.get("content-type")]).toEqual([manifest.text, manifest.type]);
    }
  });

  test("a manifest is refused that names what is not there, or is not what it says", async () => {
    await putBlob(IMAGE, "{}");
    const config = toDescriptor("{}");
    const refusals: Record<string, string | undefined> = {};
    const refuse = async (name: string, manifest: ReturnType<typeof toManifest>, tag = "bad") => {
      refusals[name] = codeOf(await putManifest(IMAGE, tag, manifest));
    };
    await refuse("missing layer", imageOf(["never uploaded layer"], { config }));
    await refuse(
      "missing manifest",
      toManifest({ manifests: [toDescriptor("never uploaded")] }, containerTypes.index),
    );
    await refuse("other media type", {
      ...toManifest({ config, layers: [] }),
      type: containerTypes.dockerImage,
    });
    await refuse("other digest", toManifest({ config, layers: [] }), digestOf("other"));
    await refuse("no digest", toManifest({ config, layers: [] }), "sha256:baddigeststring");
    await refuse("no tag", toManifest({ config, layers: [] }), ".bad");
    await refuse("no JSON", { ...toManifest({}), text: "{" });
    await refuse("two kinds", toManifest({ config, layers: [], manifests: [] }));
    await refuse("no layers", toManifest({ config }));
    await refuse(
      "bad descriptor",
      toManifest({ config: { ...config, digest: "md5:0" }, layers: [] }),
    );
    expect(refusals).toEqual({
      "missing layer": "MANIFEST_BLOB_UNKNOWN",
      "missing manifest": "MANIFEST_BLOB_UNKNOWN",
      "other media type": "MANIFEST_INVALID",
      "other digest": "DIGEST_INVALID",
      "no digest": "DIGEST_INVALID",
      "no tag": "TAG_INVALID",
      "no JSON": "MANIFEST_INVALID",
      "two kinds": "MANIFEST_INVALID",
      "no layers": "MANIFEST_INVALID",
      "bad descriptor": "MANIFEST_INVALID",
    });
    expect((await send("HEAD", `${IMAGE}/manifests/bad`)).status).toBe(404);
  });

  test("a manifest has up to 4 MiB", async () => {
    await putBlob(IMAGE, "{}");
    const empty = { config: toDescriptor("{}"), layers: [], annotations: { long: "" } };
    const rest = 4 * 1024 * 1024 - toManifest(empty).text.length;
    const sized = (length: number) =>
      toManifest({ ...empty, annotations: { long: "x".repeat(length) } });
    expect((await putManifest(IMAGE, "large", sized(rest))).status).toBe(201);
    const larger = await putManifest(IMAGE, "larger", sized(rest + 1));
    expect([larger.status, codeOf(larger)]).toEqual([413, "SIZE_INVALID"]);
  });
});

describe("discovery", () => {
  test("tags are listed in the order of their bytes, in pages", async () => {
    for (const tag of ["b", "A", "a", "c"]) await push("mira/listed", tag, ["layer"]);
    await push("mira/listed", undefined, ["no tag"]);
    expect((await send("GET", "mira/listed/tags/list")).json).toEqual({
      name: "mira/listed",
      tags: ["A", "a", "b", "c"],
    });
    const page = await send("GET", "mira/listed/tags/list?n=3");
    expect(page.json.tags).toEqual(["A", "a", "b"]);
    const link = /<(.+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1] ?? "";
    const next = await send("GET", link);
    expect([next.json.tags, next.headers.get("link")]).toEqual([["c"], null]);
    expect((await send("GET", "mira/listed/tags/list?n=0")).json.tags).toEqual([]);
    expect((await send("GET", "mira/listed/tags/list?last=b")).json.tags).toEqual(["c"]);
    expect(codeOf(await send("GET", "mira/listed/tags/list?n=x"))).toBe(
      "PAGINATION_NUMBER_INVALID",
    );
  });

  test("referrers are listed with type and annotations, by type, and before their subject is there", async () => {
    const subject = imageOf(["subject layer"]);
    const image = "mira/referred";
    const about = {
      subject: toDescriptor(subject.text, subject.type),
      annotations: { by: "mira" },
    };
    await putBlob(image, "{}");
    const signature = toManifest({
      ...about,
      artifactType: "application/vnd.example.signature",
      config: toDescriptor("{}"),
      layers: [],
    });
    const put1 = await putManifest(image, signature.digest, signature);
    expect([put1.status, put1.headers.get("oci-subject")]).toEqual([201, subject.digest]);
    const report = toManifest({
      ...about,
      config: toDescriptor("{}", "application/vnd.example.report"),
      layers: [],
    });
    await putManifest(image, "report", report);
    const index = toManifest({ ...about, manifests: [] }, containerTypes.index);
    await putManifest(image, index.digest, index);
    const listed = await send("GET", `${image}/referrers/${subject.digest}`);
    expect(listed.headers.get("content-type")).toBe(containerTypes.index);
    expect(listed.json).toEqual({
      schemaVersion: 2,
      mediaType: containerTypes.index,
      manifests: [
        {
          ...toDescriptor(signature.text, signature.type),
          artifactType: "application/vnd.example.signature",
          annotations: { by: "mira" },
        },
        {
          ...toDescriptor(report.text, report.type),
          artifactType: "application/vnd.example.report",
          annotations: { by: "mira" },
        },
        { ...toDescriptor(index.text, index.type), annotations: { by: "mira" } },
      ],
    });
    const type = "application/vnd.example.report";
    const filtered = await send("GET", `${image}/referrers/${subject.digest}?artifactType=${type}`);
    expect(filtered.headers.get("oci-filters-applied")).toBe("artifactType");
    expect(filtered.json.manifests).toHaveLength(1);
    await send("DELETE", `${image}/manifests/${signature.digest}`);
    const after = await send("GET", `${image}/referrers/${subject.digest}`);
    expect(after.json.manifests).toHaveLength(2);
    const none = await send("GET", `${image}/referrers/${digestOf("nothing")}`);
    expect([none.status, none.json.manifests]).toEqual([200, []]);
    expect((await send("GET", `${image}/referrers/nothing`)).status).toBe(400);
  });
});

describe("management", () => {
  test("a tag is deleted without its manifest, a manifest with its tags, a blob without a manifest", async () => {
    const image = "mira/managed";
    const manifest = await push(image, "one", ["managed"]);
    await putManifest(image, "two", manifest);
    expect((await send("DELETE", `${image}/manifests/one`)).status).toBe(202);
    expect((await send("GET", `${image}/manifests/one`)).status).toBe(404);
    expect(await client.tags(image)).toEqual(["two"]);
    const blob = `${image}/blobs/${digestOf("managed")}`;
    const named = await send("DELETE", blob);
    expect([named.status, codeOf(named)]).toEqual([409, "DENIED"]);
    expect((await send("DELETE", `${image}/manifests/${manifest.digest}`)).status).toBe(202);
    expect((await send("GET", `${image}/manifests/two`)).status).toBe(404);
    expect((await send("DELETE", `${image}/manifests/${manifest.digest}`)).status).toBe(404);
    expect((await send("DELETE", blob)).status).toBe(202);
    expect((await send("DELETE", blob)).status).toBe(404);
  });
});

const suite = process.env["CROFT_TEST_OCI_CONFORMANCE"];

skipUnless(suite, "CROFT_TEST_OCI_CONFORMANCE names no program of the distribution specification")(
  "the conformance suite of the distribution specification finds no fault",
  async () => {
    const results = await mkdtemp(join(tmpdir(), "croft-oci-"));
    try {
      const run = await promisify(execFile)(suite ?? "", {
        cwd: results,
        env: {
          OCI_REGISTRY: new URL(daemon.url).host,
          OCI_TLS: "disabled",
          OCI_USERNAME: "mira",
          OCI_PASSWORD: "user-password",
          OCI_REPO1: "mira/suite/one",
          OCI_REPO2: "mira/suite/two",
          OCI_API_BLOBS_UPLOAD_CANCEL: "true",
          OCI_API_BLOBS_DIGEST_HEADER: "true",
          OCI_API_MANIFESTS_DIGEST_HEADER: "true",
        },
      });
      expect(run.stdout).toMatch(/FAIL\.+: +0\n/);
      expect(run.stdout).toMatch(/Error\.+: +0\n/);
    } finally {
      await rm(results, { recursive: true, force: true });
    }
  },
  120_000,
);
