import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { containerTypes } from "../../../daemon/contract/forge/packages/containers.ts";
import { startTestDaemon, type TestDaemon, type TestRequest } from "../../support/daemon.ts";
import {
  codeOf,
  createContainerClient,
  digestOf,
  imageOf,
  toDescriptor,
  toManifest,
} from "../../support/forge/container-client.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";
import { startReceiver, type Receiver } from "../../support/receiver.ts";

const DAY = 24 * 3_600_000;

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
let now = Date.now();
const people = createForgePeople(() => daemon);
const clientOf = (as: Pick<TestRequest, "token" | "basic" | "bearer">) =>
  createContainerClient(() => daemon, as);
const by = (user: string) => clientOf({ token: people.tokenOf(user) });
const anonymous = clientOf({});

beforeAll(async () => {
  daemon = await startTestDaemon({
    clock: () => now,
    env: {
      CROFT_RATE_LIMITS: "off",
      CROFT_MAX_UPLOAD_BYTES: "1MiB",
      CROFT_MAX_OWNER_CONTAINER_BYTES: "2MiB",
    },
  });
  git = await createGitClient();
  receiver = await startReceiver();
  for (const name of ["mira", "nora", "full"]) await people.newUser(name);
  await people.newUser("quiet", { visibility: "private" });
  await people.newUser("shy", { visibility: "limited" });
  await people.by("mira", "POST", "/orgs", { username: "team" });
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const runTask = async (name: string) =>
  expect((await people.api("POST", `/admin/cron/${name}`)).status).toBe(204);

/** The status of reading a manifest and of beginning an upload. */
async function rightsOf(client: ReturnType<typeof clientOf>, image: string) {
  const read = await client.send("GET", `${image}/manifests/one`);
  const write = await client.send("POST", `${image}/blobs/uploads/`);
  return [read.status, write.status];
}

describe("permissions", () => {
  test("images have the rights of their owner's packages", async () => {
    for (const owner of ["mira", "quiet", "shy"])
      await by(owner).push(`${owner}/own`, "one", ["x"]);
    await by("mira").push("team/own", "one", ["x"]);
    const rights: Record<string, unknown> = {};
    for (const owner of ["mira", "quiet", "shy", "team"])
      rights[owner] = [
        await rightsOf(anonymous, `${owner}/own`),
        await rightsOf(by("nora"), `${owner}/own`),
        await rightsOf(by(owner === "team" ? "mira" : owner), `${owner}/own`),
      ];
    expect(rights).toEqual({
      mira: [
        [200, 401],
        [200, 403],
        [200, 202],
      ],
      quiet: [
        [401, 401],
        [404, 404],
        [200, 202],
      ],
      shy: [
        [401, 401],
        [200, 403],
        [200, 202],
      ],
      team: [
        [200, 401],
        [200, 403],
        [200, 202],
      ],
    });
  });

  test("tokens need the scope, and one for public things only reaches public owners", async () => {
    const withScope = async (...scopes: string[]) =>
      rightsOf(clientOf({ token: await people.newToken("quiet", scopes) }), "quiet/own");
    await by("quiet").push("quiet/own", "one", ["x"]);
    expect(await withScope("read:package")).toEqual([200, 403]);
    expect(await withScope("write:package")).toEqual([200, 202]);
    expect(await withScope("write:repository")).toEqual([403, 403]);
    expect(await withScope("write:package", "public-only")).toEqual([403, 403]);
  });

  test("a private account's blobs are not mounted by others, and names tell nothing of it", async () => {
    await by("quiet").push("quiet/own", "one", ["secret layer"]);
    const digest = digestOf("secret layer");
    const mount = (from: string) =>
      by("nora").send("POST", `nora/taken/blobs/uploads/?mount=${digest}&from=${from}`);
    expect((await mount("quiet/own")).status).toBe(202);
    expect((await mount("")).status).toBe(202);
    expect((await by("nora").send("HEAD", `nora/taken/blobs/${digest}`)).status).toBe(404);
    const refusals = await Promise.all(
      ["quiet/own", "quiet/none", "nobody/none"].map((image) =>
        by("nora").send("GET", `${image}/tags/list`),
      ),
    );
    expect(refusals.map((each) => [each.status, codeOf(each)])).toEqual(
      Array(3).fill([404, "NAME_UNKNOWN"]),
    );
  });

  test("the catalogue lists the images that the caller may read, in pages", async () => {
    await by("mira").push("mira/own", "one", ["x"]);
    await by("mira").push("mira/a/b", "one", ["x"]);
    await by("quiet").push("quiet/own", "one", ["x"]);
    await by("shy").push("shy/own", "one", ["x"]);
    const catalog = async (client: typeof anonymous, query = "") =>
      (await client.send("GET", `_catalog${query}`)).json.repositories.filter((name: string) =>
        /^(?:mira|quiet|shy)\/(?:own|a\/b)$/.test(name),
      );
    expect(await catalog(anonymous)).toEqual(["mira/a/b", "mira/own"]);
    expect(await catalog(by("nora"))).toEqual(["mira/a/b", "mira/own", "shy/own"]);
    expect(await catalog(by("quiet"))).toContain("quiet/own");
    expect(await catalog(clientOf({ token: people.admin }))).toHaveLength(4);
    const first = await anonymous.send("GET", "_catalog?n=1");
    const link = /<(.+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect(link).toMatch(/^\/v2\/_catalog\?n=1&last=mira%2F/);
    const next = await anonymous.send("GET", link);
    expect(next.json.repositories).toHaveLength(1);
    expect(next.json.repositories[0] > first.json.repositories[0]).toBe(true);
  });

  test("a job's token pushes to its owner as its workflow allows", async () => {
    const start = async (name: string, permissions: string) => {
      const repository = createWorkflowRepository({ daemon, people, git }, "mira", name);
      await repository.create();
      const job = `{ runs-on: ${name}, steps: [{ run: echo }] }`;
      await repository.push({
        "ci.yml": `on: push\npermissions: ${permissions}\njobs: { a: ${job} }\n`,
      });
      await repository.waitForRuns(1);
      const { task } = await repository.take();
      const { token } = (task?.context ?? {}) as { token?: string };
      return clientOf({ basic: `mira:${token}` });
    };
    const writer = await start("pushing", "{ packages: write }");
    await writer.push("mira/built", "one", ["x"]);
    expect((await writer.send("POST", "nora/built/blobs/uploads/")).status).toBe(403);
    const reader = await start("reading", "{ packages: read }");
    expect(await rightsOf(reader, "mira/built")).toEqual([200, 403]);
    const issued = await writer.send("GET", "/v2/token?scope=repository:mira/built:pull,push");
    const bearer = clientOf({ bearer: issued.json.token });
    expect(await rightsOf(bearer, "mira/built")).toEqual([200, 202]);
  });
});

describe("tokens of the registry", () => {
  test("a client without credentials learns how to get a token, for what it wants to do", async () => {
    const ping = await anonymous.send("GET", "/v2/");
    const realm = `Bearer realm="${daemon.url}/v2/token",service="container_registry"`;
    expect([ping.status, codeOf(ping)]).toEqual([401, "UNAUTHORIZED"]);
    expect(ping.headers.get("www-authenticate")).toBe(`${realm}, Basic realm="croft"`);
    const push = await anonymous.send("POST", "mira/a/b/blobs/uploads/");
    expect(push.headers.get("www-authenticate")).toContain(
      `${realm},scope="repository:mira/a/b:pull,push"`,
    );
    const wrong = await clientOf({ basic: "mira:wrong" }).send("GET", "/v2/");
    expect([wrong.status, codeOf(wrong)]).toEqual([401, "UNAUTHORIZED"]);
  });

  test("an anonymous token pulls public images and nothing else", async () => {
    await by("mira").push("mira/own", "one", ["x"]);
    const scope = "scope=repository:mira/own:pull&scope=repository:quiet/own:pull";
    const issued = await anonymous.send("GET", `/v2/token?${scope}`);
    expect(issued.json).toMatchObject({ expires_in: 3600, access_token: issued.json.token });
    const client = clientOf({ bearer: issued.json.token });
    expect((await client.send("GET", "/v2/")).status).toBe(200);
    expect(await rightsOf(client, "mira/own")).toEqual([200, 401]);
    expect(await rightsOf(client, "quiet/own")).toEqual([401, 401]);
  });

  test("a token is narrowed to the images and actions of its scopes, and never widens a right", async () => {
    await by("mira").push("mira/own", "one", ["x"]);
    await by("mira").push("mira/other", "one", ["x"]);
    const issue = async (user: string, scope: string) => {
      const client = clientOf({ basic: `${user}:user-password` });
      const issued = await client.send("GET", `/v2/token?scope=${encodeURIComponent(scope)}`);
      return clientOf({ bearer: issued.json.token });
    };
    const puller = await issue("mira", "repository:mira/own:pull");
    expect(await rightsOf(puller, "mira/own")).toEqual([200, 401]);
    expect(await rightsOf(puller, "mira/other")).toEqual([401, 401]);
    const both = await issue("mira", "repository:mira/own:pull,push repository:mira/other:pull");
    expect(await rightsOf(both, "mira/own")).toEqual([200, 202]);
    expect((await both.send("DELETE", "mira/own/manifests/one")).status).toBe(401);
    await by("mira").putBlob("mira/secret", "of another image");
    const mount = (client: typeof both) =>
      client.send("POST", `mira/own/blobs/uploads/?mount=${digestOf("of another image")}`);
    expect((await mount(both)).status).toBe(202);
    const reaching = await issue(
      "mira",
      "repository:mira/own:pull,push repository:mira/secret:pull",
    );
    expect((await mount(reaching)).status).toBe(201);
    const catalog = async (client: typeof both) =>
      (await client.send("GET", "_catalog")).json.repositories;
    expect(await catalog(puller)).toEqual(["mira/own"]);
    expect(await catalog(both)).toEqual(["mira/other", "mira/own"]);
    expect(await catalog(await issue("mira", "registry:catalog:*"))).toEqual([]);
    const pages = await both.send("GET", "_catalog?n=1");
    expect(pages.json.repositories).toEqual(["mira/other"]);
    expect((await both.send("GET", "_catalog?last=mira/other")).json.repositories).toEqual([
      "mira/own",
    ]);
    const foreign = await issue("nora", "repository:mira/own:pull,push,delete");
    const hidden = await issue("nora", "repository:quiet/own:pull");
    expect(await catalog(hidden)).toEqual([]);
    expect(await rightsOf(foreign, "mira/own")).toEqual([200, 403]);
  });

  test("a token ends with the credentials that it was made with, and after an hour", async () => {
    const user = await people.newUser();
    const secret = await people.newToken(user, ["write:package"], "laptop");
    const issue = async (as: Pick<TestRequest, "token" | "basic">) => {
      const query = `scope=repository:${user}/own:pull,push`;
      const { json } = await clientOf(as).send("GET", `/v2/token?${query}`);
      return clientOf({ bearer: json.token });
    };
    const status = async (client: typeof anonymous) =>
      (await client.send("POST", `${user}/own/blobs/uploads/`)).status;
    const byToken = await issue({ basic: `${user}:${secret}` });
    const byPassword = await issue({ basic: `${user}:user-password` });
    expect([await status(byToken), await status(byPassword)]).toEqual([202, 202]);
    await daemon.request(`/api/v1/users/${user}/tokens/laptop`, {
      method: "DELETE",
      basic: `${user}:user-password`,
    });
    expect(await status(byToken)).toBe(401);
    const fields = { login_name: user, source_id: 0, password: "another-password" };
    await people.api("PATCH", `/admin/users/${user}`, fields);
    expect(await status(byPassword)).toBe(401);
    const later = await issue({ basic: `${user}:another-password` });
    now += 3_601_000;
    expect(await status(later)).toBe(401);
    expect((await clientOf({ bearer: "croft-oci-forged" }).send("GET", "/v2/")).status).toBe(401);
  });
});

describe("versions", () => {
  const versions = async (image: string) => {
    const [owner = "", ...name] = image.split("/");
    const path = `/packages/${owner}/container/${encodeURIComponent(name.join("/"))}`;
    const { json } = await people.by(owner, "GET", path);
    return Array.isArray(json) ? json.map(({ version }: { version: string }) => version) : [];
  };

  test("tags and untagged manifests are the versions of a package", async () => {
    const client = by("mira");
    const image = "mira/versions";
    const first = await client.push(image, "latest", ["first"]);
    await client.push(image, "Latest", ["first"]);
    expect(await versions(image)).toEqual(["Latest", "latest"]);
    now += 1_000;
    const second = await client.push(image, "latest", ["second"]);
    expect(await versions(image)).toEqual(["latest", "Latest"]);
    now += 1_000;
    await client.send("DELETE", `${image}/manifests/Latest`);
    expect(await versions(image)).toEqual([first.digest, "latest"]);
    expect((await client.send("GET", `${image}/manifests/${first.digest}`)).status).toBe(200);
    now += 1_000;
    await client.putManifest(image, "again", first);
    expect(await versions(image)).toEqual(["again", "latest"]);
    const files = await people.by("mira", "GET", "/packages/mira/container/versions/latest/files");
    expect(files.json.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["manifest.json", digestOf("second").replace(":", "_")]),
    );
    expect(files.json[0]).toMatchObject({ sha256: second.digest.slice(7), md5: "" });
    const listed = await people.by("mira", "GET", "/packages/mira?type=container&q=versions");
    expect(listed.json[0]).toMatchObject({ type: "container", creator: { login: "mira" } });
    const image1 = await people.by("mira", "GET", "/packages/mira/container/versions/again/image");
    expect(image1.json).toMatchObject({
      digest: first.digest,
      platforms: ["linux/arm64"],
      labels: { a: "b" },
      tags: ["again"],
      reference: `${new URL(daemon.url).host}/mira/versions:again`,
    });
  });

  test("a version is deleted with its manifest and the images of its platforms", async () => {
    const client = by("mira");
    const image = "mira/platforms";
    const [one, two] = [
      await client.push(image, undefined, ["one"]),
      await client.push(image, undefined, ["two"]),
    ];
    const shared = await client.push(image, undefined, ["shared"]);
    const indexOf = (children: readonly { text: string; type: string }[]) =>
      toManifest(
        { manifests: children.map(({ text, type }) => toDescriptor(text, type)) },
        containerTypes.index,
      );
    await client.putManifest(image, "all", indexOf([one, two, shared]));
    await client.putManifest(image, "some", indexOf([shared]));
    await client.putManifest(image, "kept", two);
    const path = "/packages/mira/container/platforms";
    expect((await people.by("nora", "DELETE", `${path}/all`)).status).toBe(403);
    expect((await people.by("mira", "DELETE", `${path}/all`)).status).toBe(204);
    expect((await versions(image)).toSorted()).toEqual(["kept", shared.digest, "some"].toSorted());
    expect((await people.by("mira", "DELETE", path)).status).toBe(204);
    expect((await client.send("GET", `${image}/tags/list`)).status).toBe(404);
    expect((await client.send("HEAD", `${image}/manifests/${shared.digest}`)).status).toBe(404);
  });

  test("a package is linked by its source label, and hooks receive its tags", async () => {
    await people.by("mira", "POST", "/user/repos", { name: "sources" });
    const config = { url: receiver.url, content_type: "json" };
    const hook = { type: "gitea", active: true, events: ["package"], config };
    await people.by("mira", "POST", "/repos/mira/sources/hooks", hook);
    const labels = { "org.opencontainers.image.source": `${daemon.url}/mira/sources` };
    await by("mira").push("mira/hooked", "one", ["x"], {
      config: JSON.stringify({ os: "linux", architecture: "amd64", config: { Labels: labels } }),
    });
    await by("mira").send("DELETE", "mira/hooked/manifests/one");
    const told = await receiver.waitFor(2, ({ body }) => body.includes(`"hooked"`));
    expect(
      told.map(({ body }) => {
        const { action, package: subject, repository } = JSON.parse(body);
        return [action, subject.type, subject.version, repository.full_name];
      }),
    ).toEqual([
      ["created", "container", "one", "mira/sources"],
      ["deleted", "container", "one", "mira/sources"],
    ]);
  });

  test("an image keeps few labels of a configuration that many manifests may have", async () => {
    const client = by("mira");
    const names = Array.from({ length: 100 }, (_, index) => `l${index}`);
    const labels = Object.fromEntries(names.map((name) => [name, "x".repeat(5_000)]));
    const long = "y".repeat(1_000);
    const config = JSON.stringify({ os: long, architecture: long, config: { Labels: labels } });
    const manifest = await client.push("mira/labelled", "one", ["x"], { config });
    const { json } = await people.by("mira", "GET", "/packages/mira/container/labelled/one/image");
    expect(Object.keys(json.labels)).toEqual(["l0", "l1", "l2"]);
    expect(Object.values<string>(json.labels).map(({ length }) => length)).toEqual(
      Array(3).fill(4_096),
    );
    expect(json.platforms).toEqual([long.slice(0, 100)]);
    const content = { ...JSON.parse(manifest.text), artifactType: `application/${long}` };
    const refused = await client.putManifest("mira/labelled", "two", toManifest(content));
    expect([refused.status, codeOf(refused)]).toEqual([400, "MANIFEST_INVALID"]);
    expect(refused.text).toContain("its artifactType has more than 255 characters");
  });

  test("the page of an image shows how to pull it", async () => {
    await by("mira").push("mira/shown", "one", ["x"], {
      more: { annotations: { "org.opencontainers.image.documentation": "https://docs.example" } },
    });
    const { text } = await daemon.request("/mira/-/packages/container/shown/one");
    expect(text).toContain(`docker pull ${new URL(daemon.url).host}/mira/shown:one`);
    for (const shown of ["linux/arm64", "https://docs.example", "manifest.json"])
      expect(text).toContain(shown);
  });
});

describe("hostile input", () => {
  test("names, digests and references of other forms are refused", async () => {
    const client = by("mira");
    const codes = async (paths: readonly string[]) =>
      Promise.all(
        paths.map(async (path) => {
          const answer = await client.send("GET", path);
          return [answer.status, codeOf(answer)];
        }),
      );
    expect(
      await codes([
        "mira/Upper/tags/list",
        "mira/-a/tags/list",
        `mira/${"a".repeat(255)}/tags/list`,
        "mira/a%00b/tags/list",
        "mira/a/blobs/sha256:12",
        `mira/a/blobs/md5:${"0".repeat(32)}`,
        `mira/a/blobs/${digestOf("x").toUpperCase()}`,
        "mira/a/manifests/.x",
        "mira/a/manifests/%00",
      ]),
    ).toEqual([
      [400, "NAME_INVALID"],
      [400, "NAME_INVALID"],
      [400, "NAME_INVALID"],
      [400, "UNSUPPORTED"],
      [400, "DIGEST_INVALID"],
      [400, "DIGEST_INVALID"],
      [400, "DIGEST_INVALID"],
      [400, "TAG_INVALID"],
      [400, "UNSUPPORTED"],
    ]);
    expect((await client.send("GET", "mira/manifests/latest")).status).toBe(404);
    expect((await client.send("POST", "mira/a/tags/list")).status).toBe(405);
  });

  test("manifests of strange content are stored as they are or refused, and never break a list", async () => {
    const client = by("mira");
    const image = "mira/strange";
    await client.putBlob(image, "{}");
    const config = toDescriptor("{}");
    const subject = toDescriptor("about");
    const strange = toManifest({
      config,
      layers: [],
      subject,
      artifactType: "a\u0000b",
      annotations: { "\u0000": "\ud800", __proto__: "x", number: 1, emoji: "😀" },
    });
    expect((await client.putManifest(image, strange.digest, strange)).status).toBe(201);
    expect((await client.send("GET", `${image}/manifests/${strange.digest}`)).text).toBe(
      strange.text,
    );
    const listed = await client.send("GET", `${image}/referrers/${subject.digest}`);
    expect(listed.json.manifests).toHaveLength(1);
    // Without a type of its own, an artifact has that of its configuration.
    const typed = toManifest({ config: { ...config, mediaType: "a\u0000b" }, layers: [] });
    expect((await client.putManifest(image, typed.digest, typed)).status).toBe(201);
    const put = async (text: string | Uint8Array<ArrayBuffer>) =>
      codeOf(
        await client.send("PUT", `${image}/manifests/bad`, {
          headers: { "Content-Type": containerTypes.image },
          body: text,
        }),
      );
    const layers = JSON.stringify(Array(2_001).fill(config));
    expect(
      await put(`{"schemaVersion":2,"config":${JSON.stringify(config)},"layers":${layers}}`),
    ).toBe("MANIFEST_INVALID");
    expect(await put("[".repeat(100_000))).toBe("MANIFEST_INVALID");
    expect(await put(new Uint8Array([0xff, 0xfe]))).toBe("MANIFEST_INVALID");
    expect(await put(`\ufeff${strange.text}`)).toBe("MANIFEST_INVALID");
    expect(await put("null")).toBe("MANIFEST_INVALID");
  });

  test("a blob has at most max_upload_bytes, and an owner's images max_owner_container_bytes", async () => {
    const client = by("full");
    const large = randomBytes(1024 * 1024)
      .toString("latin1")
      .slice(0, 700_000);
    const huge = "x".repeat(1024 * 1024 + 1);
    const tooLarge = await client.putBlob("full/own", huge);
    expect([tooLarge.status, codeOf(tooLarge)]).toEqual([413, "SIZE_INVALID"]);
    const location = await client.start("full/own");
    expect((await client.send("PATCH", location, { body: huge.slice(1) })).status).toBe(202);
    expect((await client.send("PATCH", location, { body: "x" })).status).toBe(413);
    const bytes = new Uint8Array(Buffer.from(large, "latin1"));
    const digest = digestOf(bytes);
    const path = `full/own/blobs/uploads/?digest=${digest}`;
    expect((await client.send("POST", path, { body: bytes })).status).toBe(201);
    // The same blob in another image counts once.
    const mount = `full/other/blobs/uploads/?mount=${digest}&from=full/own`;
    expect((await client.send("POST", mount)).status).toBe(201);
    // A blob that is mounted from another owner counts as if it had been uploaded.
    const theirs = digestOf("z".repeat(900_000));
    expect((await by("mira").putBlob("mira/own", "z".repeat(900_000))).status).toBe(201);
    const taken = `full/other/blobs/uploads/?mount=${theirs}&from=mira/own`;
    expect((await client.send("POST", taken)).status).toBe(413);
    const rest = "y".repeat(700_000);
    const full = await client.putBlob("full/own", rest);
    expect(full.status).toBe(413);
    await client.send("DELETE", location);
    expect((await client.putBlob("full/own", rest)).status).toBe(201);
    const last = await client.start("full/own");
    const ended = await client.send("PUT", `${last}?digest=${digestOf(huge)}`, { body: huge });
    expect(ended.status).toBe(413);
  });

  test("two chunks at once at the same place: one of them is kept", async () => {
    const client = by("mira");
    const location = await client.start("mira/raced");
    const send = (body: string) =>
      client.send("PATCH", location, { body, headers: { "Content-Range": "0-3" } });
    const sent = await Promise.all([send("aaaa"), send("bbbb")]);
    expect(sent.map(({ status }) => status).toSorted()).toEqual([202, 416]);
    const kept = sent[0]?.status === 202 ? "aaaa" : "bbbb";
    const put = await client.send("PUT", `${location}?digest=${digestOf(kept)}`);
    expect(put.status).toBe(201);
  });
});

describe("uploads", () => {
  test("a lost connection leaves the upload as it was before the chunk", async () => {
    const client = by("mira");
    const location = await client.start("mira/lost");
    await client.send("PATCH", location, { body: "kept ", headers: { "Content-Range": "0-4" } });
    const { hostname, port } = new URL(daemon.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PATCH ${location} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Length: 100\r\n` +
        `Authorization: token ${people.tokenOf("mira")}\r\n\r\npart of it`,
    );
    await new Promise((resolve) => socket.once("ready", resolve));
    socket.destroySoon();
    await new Promise((resolve) => socket.once("close", resolve));
    const status = await client.send("GET", location);
    expect(status.headers.get("range")).toBe("0-4");
    await client.send("PATCH", location, { body: "whole", headers: { "Content-Range": "5-9" } });
    const put = await client.send("PUT", `${location}?digest=${digestOf("kept whole")}`);
    expect(put.status).toBe(201);
  });

  test("the clean-up ends old uploads and removes blobs that no manifest names, and no manifest", async () => {
    const client = by("mira");
    const image = "mira/cleaned";
    await client.push(image, "one", ["named"]);
    await client.push(image, "two", ["untagged"]);
    await client.send("DELETE", `${image}/manifests/two`);
    await client.putBlob(image, "unnamed");
    await client.putBlob(image, "found again");
    const location = await client.start(image);
    await runTask("cleanup_containers");
    const has = async (bytes: string) =>
      (await client.send("HEAD", `${image}/blobs/${digestOf(bytes)}`)).status === 200;
    expect((await client.send("GET", location)).status).toBe(204);
    now += DAY + 1;
    expect(await has("found again")).toBe(true);
    await runTask("cleanup_containers");
    expect((await client.send("GET", location)).status).toBe(404);
    expect(await has("unnamed")).toBe(false);
    for (const bytes of ["named", "untagged", "found again"])
      expect([bytes, await has(bytes)]).toEqual([bytes, true]);
    expect((await client.putManifest(image, "three", imageOf(["found again"]))).status).toBe(201);
  });

  test("an upload goes on after a restart", async () => {
    const client = by("mira");
    const location = await client.start("mira/restarted");
    await client.send("PATCH", location, { body: "before " });
    const { home } = daemon;
    await daemon.stop();
    daemon = await startTestDaemon({ home, clock: () => now, env: { CROFT_RATE_LIMITS: "off" } });
    const status = await client.send("GET", location);
    expect([status.status, status.headers.get("range")]).toEqual([204, "0-6"]);
    const put = await client.send("PUT", `${location}?digest=${digestOf("before and after")}`, {
      body: "and after",
      headers: { "Content-Range": "7-15" },
    });
    expect(put.status).toBe(201);
    const blob = await client.send("GET", `mira/restarted/blobs/${digestOf("before and after")}`);
    expect(blob.text).toBe("before and after");
  });
});
