import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { refusalOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

test("the words of a line become the request", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(
    Object.fromEntries(
      ["GET", "POST", "PATCH"].map((method) => [`${method} /api/v1/x`, { body: [] }]),
    ),
  );
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const send = async (words: readonly string[]) => {
    const ran = await runCli(["api", ...words], { home: home.path, stdin: "{}" });
    expect(ran.code, ran.err).toBe(0);
    return daemon.requests.at(-1)!;
  };
  const line = ["post", "/api/v1/x", "-f", "name=a=b", "-F", "on=true", "-F", "n=3"];
  const sent = await send(line);
  expect([sent.method, sent.json()]).toEqual(["POST", { name: "a=b", on: true, n: 3 }]);
  for (const [words, method] of [
    [["/api/v1/x"], "GET"],
    [["/api/v1/x", "-f", "a=b"], "POST"],
    [["/api/v1/x", "-F", "a=1"], "POST"],
    [["/api/v1/x", "--input", "-"], "POST"],
    [["/api/v1/x", "-f", "a=b", "--paginate"], "GET"],
    [["/api/v1/x", "-f", "a=b", "-X", "PATCH"], "PATCH"],
  ] as const)
    expect((await send(words)).method, words.join(" ")).toBe(method);
  for (const bad of [
    ["GET"],
    ["GET", "/x", "-X", "POST"],
    ["/x", "-X", "FETCH"],
    ["FETCH", "/x"],
    ["GET", "/x", "-f", "nothing"],
    ["GET", "/x", "-F", "a=b"],
    ["GET", "/x", "--service", "cloud"],
  ])
    expect(await refusalOf("api", bad)).toMatch(/^croft: /);
});

describe("a request", () => {
  test("a request is sent to the service of its path, with the credentials for it", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/user": { body: { id: 1 } },
      "GET /api/auth/me": { body: { id: "x" } },
      "GET /api/packages/mira/npm/-/whoami": { body: { username: "mira" } },
      "GET /api/v1/repos/mira/tools/contents/deep/file.txt": { body: {} },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "ft", vault: {} });
    for (const words of [
      ["/api/v1/user"],
      ["user", "--service", "forge"],
      ["/api/auth/me"],
      ["auth/me", "--service", "vault"],
      ["/api/packages/mira/npm/-/whoami"],
      // Only one of the services has these.
      ["user"],
      ["/auth/me?x=1"],
      ["repos/mira/tools/contents/deep/file.txt"],
    ])
      expect((await runCli(["api", "GET", ...words], { home: home.path })).code).toBe(0);
    expect(daemon.requests.map(({ headers }) => headers.authorization)).toEqual([
      "token ft",
      "token ft",
      "Bearer access-1",
      "Bearer access-1",
      "token ft",
      "token ft",
      "Bearer access-1",
      "token ft",
    ]);
    for (const [path, message] of [
      ["admin/users", "/admin/users is a path of both services"],
      ["no/such/path", "neither service has the path /no/such/path"],
      ["admin//users", "neither service has the path /admin//users"],
    ] as const) {
      const unclear = await runCli(["api", "GET", path, "--json"], { home: home.path });
      expect(unclear.error()).toMatchObject({ code: "usage", message });
    }
  });

  test("puts fields into the query or the body", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": { body: [] },
      "POST /api/v1/admin/users": { status: 201, body: { id: 2 } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    await runCli(["api", "GET", "/api/v1/admin/users?page=2", "-f", "q=a b"], { home: home.path });
    expect(daemon.requests[0]?.path).toBe("/api/v1/admin/users?page=2&q=a+b");
    await runCli(
      ["api", "POST", "/api/v1/admin/users", "-f", "username=bob", "-F", "restricted=true"],
      { home: home.path },
    );
    expect(daemon.requests[1]?.json()).toEqual({ username: "bob", restricted: true });
    expect(daemon.requests[1]?.headers["content-type"]).toBe("application/json");
  });

  test("takes its body from standard input", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/v1/markdown/raw": {
        body: Buffer.from("<p>x</p>"),
        headers: { "Content-Type": "text/html" },
      },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = [
      "api",
      "POST",
      "/api/v1/markdown/raw",
      "--input",
      "-",
      "--content-type",
      "text/plain",
    ];
    const ran = await runCli(line, { home: home.path, stdin: "# x" });
    expect(ran).toMatchObject({ code: 0, out: "<p>x</p>" });
    expect(daemon.requests[0]).toMatchObject({ headers: { "content-type": "text/plain" } });
    expect(daemon.requests[0]?.body.toString()).toBe("# x");
  });

  test("a response with a failed outcome exits with its code, regardless of the status", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/cloud/x": {
        status: 200,
        body: { kind: "conflict", reason: "name_collision", existing_name: "a" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect(await runCli(["api", "POST", "/api/cloud/x"], { home: home.path })).toMatchObject({
      code: 7,
      out: "",
    });
  });

  test("a request that writes is only shown with --dry-run", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const ran = await runCli(["api", "DELETE", "/api/v1/admin/users/bob", "--dry-run", "--json"], {
      home: home.path,
    });
    expect(ran.json()).toMatchObject({
      dry_run: true,
      request: { method: "DELETE", url: `${daemon.url}/api/v1/admin/users/bob` },
    });
  });

  test("--dry-run shows a request without its secrets", async () => {
    await using home = await temporaryHome();
    const line = ["api", "POST", "/api/v1/x", "-f", "name=bob", "-f", "password=s3cret"];
    const ran = await runCli([...line, "--dry-run", "--json"], { home: home.path });
    expect(ran.json()).toMatchObject({ request: { body: { name: "bob", password: "(secret)" } } });
  });

  test("an anonymous request reaches public routes, and others require a sign-in", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/version": { body: { version: "28.2.0" } },
      "GET /api/v1/user": { status: 401, body: { message: "token is required" } },
    });
    const ask = (path: string) =>
      runCli(["api", "GET", path, "--json", "--url", daemon.url], { home: home.path });
    expect((await ask("/api/v1/version")).json()).toEqual({ version: "28.2.0" });
    expect(daemon.requests[0]?.headers["authorization"]).toBeUndefined();
    expect((await ask("/api/v1/user")).error()).toMatchObject({
      code: "not_signed_in",
      hint: '"croft login forge" signs in',
    });
  });

  test("answered with nothing prints nothing, and null as JSON", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "DELETE /api/v1/x": { status: 204 } });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    expect((await runCli(["api", "DELETE", "/api/v1/x"], { home: home.path })).out).toBe("");
    expect((await runCli(["api", "DELETE", "/api/v1/x", "--json"], { home: home.path })).out).toBe(
      "null\n",
    );
  });
});

test("a header is sent, and the client's own cannot be replaced", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/v1/version": { body: { version: "1" }, headers: { ETag: '"x"' } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const words = ["api", "GET", "/api/v1/version", "-H", 'If-None-Match: "y"', "-i"];
  const ran = await runCli(words, { home: home.path });
  expect(daemon.requests[0]?.headers["if-none-match"]).toBe('"y"');
  expect(ran.out).toMatch(/^HTTP\/1\.1 200\n(.*\n)*etag: "x"\n(.*\n)*\n\{"version":/);
  for (const bad of ["User-Agent: x", "Authorization: x", "no colon", "A: b\r\nC: d"])
    expect((await runCli([...words.slice(0, 3), "-H", bad], { home: home.path })).code).toBe(2);
});

test("--paginate ends at a list that has no pages, and takes numbers of pages only", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ "GET /api/v1/x": { body: [{ name: "main" }] } });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const all = await runCli(["api", "/api/v1/x", "--paginate"], { home: home.path });
  expect(all.json()).toEqual([{ name: "main" }]);
  expect(daemon.requests).toHaveLength(2);
  const line = ["api", "GET", "/api/v1/x", "--paginate", "-f", "page=abc", "--json"];
  const wrong = await runCli(line, { home: home.path });
  expect(wrong.error()).toMatchObject({ code: "usage" });
});

test("--paginate reads every page of a list into one array", async () => {
  await using home = await temporaryHome();
  const pages: Record<string, number[]> = { "1": [1, 2], "2": [3, 4], "3": [5] };
  await using daemon = await fakeDaemon({
    "GET /api/v1/admin/users": ({ path }: { readonly path: string }) => ({
      body: pages[new URLSearchParams(path.split("?")[1]).get("page") ?? ""] ?? [],
    }),
    "GET /api/v1/version": { body: { version: "1" } },
  });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const all = await runCli(["api", "GET", "/api/v1/admin/users", "--paginate", "--json"], {
    home: home.path,
  });
  expect(all.json()).toEqual([1, 2, 3, 4, 5]);
  expect(daemon.requests).toHaveLength(4);
  const noList = await runCli(["api", "GET", "/api/v1/version", "--paginate"], { home: home.path });
  expect(noList.code).toBe(2);
});
