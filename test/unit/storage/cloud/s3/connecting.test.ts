import { Agent } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import type { ProbeResult } from "../../../../../storage/cloud/provider.ts";
import { s3 } from "../../../../../storage/cloud/s3/provider.ts";
import { calm, tryUpload } from "../../../../conformance/cloud-provider/acting.ts";
import {
  startS3Server,
  type S3Server,
  type S3ServerOptions,
} from "../../../../stand-ins/s3-server.ts";
import { testProviderDeps } from "../../../../support/cloud/vault-cloud.ts";

const closers: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(options: S3ServerOptions = {}): Promise<S3Server> {
  const server = await startS3Server(options);
  closers.push(() => server[Symbol.asyncDispose]());
  return server;
}

async function connect(
  server: Pick<S3Server, "origin" | "bucket" | "key">,
  settings: Readonly<Record<string, string>> = {},
  credentials: Readonly<Record<string, string>> = {},
) {
  const agent = new Agent();
  closers.push(() => agent.destroy());
  const deps = {
    ...testProviderDeps("", Date.now),
    newId: () => crypto.randomUUID(),
    guarded: agent,
  };
  const outcome = await s3.connect(
    {
      connectionId: "one",
      settings: { endpoint: server.origin, bucket: server.bucket, ...settings },
      credentials: {
        access_key_id: server.key.id,
        secret_access_key: server.key.secret,
        ...credentials,
      },
      probeResult: undefined,
      saveCredentials: async () => undefined,
      signal: calm,
    },
    deps,
  );
  return { outcome, deps };
}

async function connected(...args: Parameters<typeof connect>) {
  const { outcome } = await connect(...args);
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  return outcome;
}

describe("servers that differ from Amazon's", () => {
  test("servers that differ from Amazon's may name the document element of a multipart upload otherwise", async () => {
    const { probeResult } = await connected(await start({ otherElements: true }));
    expect(probeResult).toMatchObject({ conditional_multipart: true });
  });

  test("servers that differ from Amazon's may refuse a name with status 400: an invalid name, not an outage", async () => {
    for (const code of ["", "InvalidArgument", "400 BAD_REQUEST"]) {
      const { provider } = await connected(await start({ refusesBackslash: code }));
      expect(await tryUpload(provider, "", "a\\b.txt", "x")).toMatchObject({
        kind: "invalid_name",
        rule: "refused_by_provider",
      });
      expect((await provider.list({ folder: "", signal: calm })).kind).toBe("ok");
    }
  });
});

describe("the probe of a server", () => {
  test("probing a bucket finds its capabilities and leaves no objects", async () => {
    const server = await start({ isVersioned: true });
    const { probeResult } = await connected(server);
    expect(probeResult).toEqual({
      region: "us-east-1",
      conditional_put: true,
      lists_deleted_folders: false,
      conditional_multipart: true,
      conditional_replace: true,
      conditional_multipart_replace: true,
      conditional_copy_source: true,
      conditional_copy_destination: true,
      conditional_delete: true,
      versioned: true,
      writable: true,
      key_spelling: "form",
      prefix_spelling: "form",
    });
    expect(server.store.versions("")).toEqual([]);
    expect(server.store.uploads.size).toBe(0);
  });

  test.each(["ignored", "not_implemented"] as const)(
    "conditions that are %s",
    async (conditions) => {
      const server = await start({ conditions });
      const { probeResult, provider } = await connected(server);
      expect(probeResult).toMatchObject({
        conditional_put: false,
        conditional_multipart: false,
        conditional_copy_source: false,
        conditional_copy_destination: false,
        conditional_delete: false,
      });
      expect(provider.capabilities).toMatchObject({
        createOnly: "emulated",
        guardedRename: "emulated",
        guardedDelete: "emulated",
        guardedReplace: "emulated",
      });
      expect(server.store.versions("")).toEqual([]);
    },
  );

  test.each([
    ["form", "form", "form"],
    ["percent", "percent", "percent"],
    ["keys", "form", "none"],
    ["none", "none", "none"],
  ] as const)("how %s encoding spells names", async (encoding, key_spelling, prefix_spelling) => {
    const { probeResult } = await connected(await start({ encoding }));
    // A probe with a plus sign and a space tells the two ways apart.
    expect(probeResult).toMatchObject({ key_spelling, prefix_spelling });
  });

  test("a read-only bucket can be connected, without changes", async () => {
    const server = await start();
    server.store.put("file.txt", Buffer.from("x"), {});
    server.refuse(({ method }) => !/^(GET|HEAD)$/.test(method), {
      status: 403,
      code: "AccessDenied",
    });
    const { provider, probeResult } = await connected(server);
    expect(probeResult).toMatchObject({ writable: false });
    const listed = await provider.list({ folder: "", signal: calm });
    expect(listed).toMatchObject({ kind: "ok", items: [{ name: "file.txt" }] });
    expect((await tryUpload(provider, "", "new.txt", "x")).kind).toBe("forbidden");
  });
});

describe("the region", () => {
  test.each([false, true])(
    "the region is taken from the server's response, once (redirect: %s)",
    async (redirectsRegions) => {
      const server = await start({ region: "eu-central-1", redirectsRegions });
      const { probeResult, provider } = await connected(server);
      expect(probeResult["region"]).toBe("eu-central-1");
      expect((await tryUpload(provider, "", "new.txt", "x")).kind).toBe("ok");
    },
  );

  test("a region of Amazon's has its own host, also when it is known already", async () => {
    const server = await start({ region: "eu-west-1", redirectsRegions: true });
    const { deps } = await connect(server);
    const hosts: string[] = [];
    const guarded = deps.guarded.compose((dispatch) => (options, handler) => {
      const { host } = new URL(String(options.origin));
      hosts.push(host);
      const headers = { ...(options.headers as Record<string, string>), host };
      return dispatch({ ...options, origin: server.origin, headers }, handler);
    });
    const open = (probeResult: ProbeResult | undefined) =>
      s3.connect(
        {
          connectionId: "one",
          settings: { endpoint: "http://s3.amazonaws.com", bucket: server.bucket },
          credentials: { access_key_id: server.key.id, secret_access_key: server.key.secret },
          probeResult,
          saveCredentials: async () => undefined,
          signal: calm,
        },
        { ...deps, guarded },
      );
    const first = await open(undefined);
    if (first.kind !== "ok") throw new Error(first.kind);
    expect(hosts.slice(0, 3)).toEqual([
      "s3.amazonaws.com",
      "s3.eu-west-1.amazonaws.com",
      "s3.eu-west-1.amazonaws.com",
    ]);
    hosts.length = 0;
    const again = await open(first.probeResult);
    if (again.kind !== "ok") throw new Error(again.kind);
    expect((await again.provider.list({ folder: "", signal: calm })).kind).toBe("ok");
    expect(new Set(hosts)).toEqual(new Set(["s3.eu-west-1.amazonaws.com"]));
  });

  test("a circular redirect between regions is an invalid setting", async () => {
    const server = await start();
    server.refuse(() => true, {
      status: 400,
      code: "AuthorizationHeaderMalformed",
      more: { Region: "eu-west-1" },
    });
    expect((await connect(server)).outcome).toMatchObject({
      kind: "invalid_setting",
      setting: "region",
    });
    expect(server.log).toHaveLength(2);
  });

  test("rejects an invalid region from the server", async () => {
    const server = await start();
    server.refuse(() => true, {
      status: 301,
      code: "PermanentRedirect",
      more: { Region: "evil.example/\r\nx: y", Endpoint: "169.254.169.254" },
    });
    expect((await connect(server)).outcome.kind).toBe("offline");
    expect(server.log).toHaveLength(1);
  });
});

describe("a refusal", () => {
  test.each([
    ["InvalidAccessKeyId", 403, "reauth"],
    ["SignatureDoesNotMatch", 403, "reauth"],
    ["ExpiredToken", 400, "reauth"],
    ["InvalidToken", 400, "reauth"],
    ["TokenRefreshRequired", 400, "reauth"],
    ["AccessDenied", 403, "forbidden"],
    ["InternalError", 500, "offline"],
    ["SlowDown", 503, "rate_limited"],
    ["secret text of <the> provider", 400, "offline"],
  ])("%s (%i) is %s", async (code, status, kind) => {
    const server = await start();
    server.refuse(() => true, { status, code });
    const { outcome } = await connect(server);
    expect(outcome.kind).toBe(kind);
    expect(JSON.stringify(outcome)).not.toContain("secret text");
  });

  test("reports a wrong clock and does not ask the user to sign in again", async () => {
    const server = await start({ clock: () => Date.now() - 3_600_000 });
    expect((await connect(server)).outcome).toEqual({
      kind: "offline",
      sent: true,
      note: "clock_skew",
    });
  });

  test("a refused HEAD request gets its reason from a listing", async () => {
    const server = await start();
    const { provider } = await connected(server);
    server.refuse(() => true, { status: 403, code: "ExpiredToken" });
    expect((await provider.stat({ id: "x", signal: calm })).kind).toBe("reauth");
    server.calm();
    server.refuse(({ method }) => method === "HEAD", { status: 403, code: "AccessDenied" });
    expect((await provider.stat({ id: "x", signal: calm })).kind).toBe("forbidden");
  });

  test("because the bucket is missing never means that an item is missing", async () => {
    const server = await start();
    const { provider } = await connected(server);
    server.refuse(() => true, { status: 404, code: "NoSuchBucket" });
    expect(await provider.stat({ id: "x", signal: calm })).toMatchObject({
      kind: "offline",
      note: "bucket_missing",
    });
    expect((await provider.list({ folder: "", signal: calm })).kind).toBe("offline");
    expect((await provider.delete({ id: "x", expected: {}, signal: calm })).kind).toBe("offline");
    expect((await connect(server)).outcome).toMatchObject({
      kind: "invalid_setting",
      setting: "bucket",
    });
  });
});

describe("settings", () => {
  test.each([
    ["endpoint", "ftp://files.example"],
    ["endpoint", "files.example"],
    ["endpoint", "https://key:secret@files.example"],
    ["endpoint", "https://files.example/bucket"],
    ["endpoint", "https://files.example?x=y"],
    ["bucket", "../other"],
    ["bucket", "a/b"],
    ["bucket", "-"],
    ["region", "eu west"],
    ["prefix", "a/../b"],
    ["prefix", "a//b"],
    ["prefix", "a\u0000b"],
    ["path_style", "perhaps"],
  ])("the setting %s rejects %j without a request", async (setting, value) => {
    const server = await start();
    expect((await connect(server, { [setting]: value })).outcome).toMatchObject({
      kind: "invalid_setting",
      setting,
    });
    expect(server.log).toEqual([]);
  });

  test.each([
    ["access_key_id", "two words"],
    ["secret_access_key", "line\r\nX-Injected: 1"],
    ["session_token", "späth"],
  ])("%s is a key, not %j", async (name, value) => {
    const server = await start();
    const { outcome } = await connect(server, {}, { [name]: value });
    expect(outcome).toMatchObject({ kind: "invalid_setting", setting: name });
    expect(JSON.stringify(outcome)).not.toContain(value);
  });

  test("temporary keys come with a token", async () => {
    const key = { id: "ASIAEXAMPLE", secret: "secret", sessionToken: "token/with+signs==" };
    const server = await start({ key });
    expect((await connect(server, {}, { session_token: key.sessionToken })).outcome.kind).toBe(
      "ok",
    );
    expect((await connect(server)).outcome.kind).toBe("reauth");
  });

  test("slashes around a prefix do not matter", async () => {
    const server = await start();
    const { provider } = await connected(server, { prefix: "/people/mira/" });
    await tryUpload(provider, "", "new.txt", "x");
    expect(server.store.versions("").map(({ key }) => key)).toEqual(["people/mira/new.txt"]);
  });

  test("the bucket can be in the host name", async () => {
    const server = await start();
    const seen: string[] = [];
    const { deps } = await connect(server);
    const guarded = deps.guarded.compose((dispatch) => (options, handler) => {
      seen.push(String(options.origin));
      // No name is resolved: the stand-in finds the bucket by the host name alone.
      const headers = {
        ...(options.headers as Record<string, string>),
        host: new URL(String(options.origin)).host,
      };
      return dispatch({ ...options, origin: server.origin, headers }, handler);
    });
    const outcome = await s3.connect(
      {
        connectionId: "one",
        settings: {
          endpoint: "http://storage.example:9000",
          bucket: server.bucket,
          path_style: "false",
        },
        credentials: { access_key_id: server.key.id, secret_access_key: server.key.secret },
        probeResult: undefined,
        saveCredentials: async () => undefined,
        signal: calm,
      },
      { ...deps, guarded },
    );
    expect(outcome.kind).toBe("ok");
    expect(new Set(seen)).toEqual(new Set([`http://${server.bucket}.storage.example:9000`]));
  });
});
