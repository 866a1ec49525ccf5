import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { fakeJwt, freshSession, readEntry, signIn } from "../support/signed-in.ts";

const me = {
  id: "1",
  handle: "mira",
  email: "mira@example.org",
  role: "user",
  totp_enabled: false,
  created_at: null,
};

describe("a request", () => {
  test("carries headers that no upgrade changes, since access tokens are bound to them", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/auth/me": { body: me } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    await runCli(["vault", "me"], { home: home.path });
    expect(daemon.requests[0]?.headers).toMatchObject({
      "user-agent": "croft-cli",
      "accept-language": "en",
      authorization: "Bearer access-1",
    });
  });

  test("a request to this machine never goes through the proxy of the environment", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/version": { body: { version: "28.2.0" } },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const proxy = "http://127.0.0.1:9";
    const env = { HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy };
    const ran = await runCli(["api", "GET", "/api/v1/version"], { home: home.path, env });
    expect(ran).toMatchObject({ code: 0, out: '{"version":"28.2.0"}' });
  });

  test("a request to another machine does go through it", async () => {
    await using home = await temporaryHome();
    const requestLines: string[] = [];
    const proxy = createServer((socket) =>
      socket.once("data", (chunk) => {
        requestLines.push(chunk.toString().split("\r\n")[0] ?? "");
        socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
      }),
    );
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    await signIn(home.path, { url: "http://croft.example", forgeToken: "t" });
    const env = { http_proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const ran = await runCli(["api", "GET", "/api/v1/version"], { home: home.path, env });
    await new Promise((resolve) => proxy.close(resolve));
    expect(ran.code).toBe(1);
    // Some clients tunnel plain http too: either way the proxy receives the request.
    expect(requestLines[0]).toMatch(
      /^(?:CONNECT croft\.example:80|GET http:\/\/croft\.example\/api\/v1\/version) /,
    );
  });

  test("follows the redirect from an old user name once, and never to another server", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/users/old": { status: 307, headers: { Location: "/api/v1/users/new?x=1" } },
      "GET /api/v1/users/new": { body: { id: 1 } },
      "GET /api/v1/users/loop": { status: 307, headers: { Location: "/api/v1/users/loop" } },
      "GET /api/v1/users/away": {
        status: 307,
        headers: { Location: "http://evil.example/api/v1/x" },
      },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const ran = await runCli(["api", "GET", "/api/v1/users/old"], { home: home.path });
    expect(ran).toMatchObject({ code: 0, out: '{"id":1}' });
    expect(daemon.requests[1]?.path).toBe("/api/v1/users/new?x=1");
    for (const name of ["loop", "away"]) {
      const failed = await runCli(["api", "GET", `/api/v1/users/${name}`, "--json"], {
        home: home.path,
      });
      expect(failed.error()).toMatchObject({ code: "unexpected_answer", http_status: 307 });
    }
  });

  test("deletes nothing by a former name", async () => {
    await using home = await temporaryHome();
    const present = "/api/v1/repos/mira/new";
    await using daemon = await fakeDaemon({
      "DELETE /api/v1/repos/mira/old": { status: 307, headers: { Location: present } },
      [`DELETE ${present}`]: { status: 204 },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const line = ["repo", "delete", "mira/old", "--confirm", "mira/old", "--json"];
    expect((await runCli(line, { home: home.path })).error()).toMatchObject({
      code: "not_found",
      message: "repos/mira/old is the former name of repos/mira/new",
    });
    expect(daemon.requests).toHaveLength(1);
  });

  test("keeps the body of a 205", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "PUT /api/v1/notifications": { status: 205, body: [{ id: 3 }] },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const ran = await runCli(["api", "PUT", "/api/v1/notifications", "--jq", ".[].id"], {
      home: home.path,
    });
    expect(ran).toMatchObject({ code: 0, out: "3\n" });
  });

  test("a request without a running daemon exits 10 and shows how to start it", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", forgeToken: "t" });
    const ran = await runCli(["admin", "user", "list", "--json"], { home: home.path });
    expect(ran).toMatchObject({ code: 10, out: "" });
    expect(ran.error()).toMatchObject({
      code: "daemon_unreachable",
      message: "cannot reach the daemon at http://127.0.0.1:9: connection refused",
      hint: '"croft daemon start" starts it',
    });
  });

  test("a request by https to a plain http server names the cause", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    await signIn(home.path, { url: daemon.url.replace("http:", "https:"), forgeToken: "t" });
    const ran = await runCli(["admin", "user", "list", "--json"], { home: home.path });
    expect(ran.code).toBe(10);
    expect(ran.error()).toMatchObject({
      message: expect.stringMatching(/^cannot reach .*: TLS handshake failed/),
      hint: "check the address with --url, CROFT_URL or the profile",
    });
  });

  test("a throttled request exits 9 and states when to try again", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/me": {
        status: 429,
        headers: { "Retry-After": "42" },
        body: { detail: "Too many requests." },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "me", "--json"], { home: home.path });
    expect(ran.code).toBe(9);
    expect(ran.error()).toMatchObject({ retry_after_s: 42, http_status: 429 });
  });

  test("a request that fails inside the daemon names the request for its log", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/me": {
        status: 500,
        headers: { "X-Request-Id": "r-77" },
        body: { detail: "Internal server error" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "me"], { home: home.path });
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toContain("request r-77");
  });

  test("a request for a list that is answered with something else is an unexpected answer, and no bug of croft", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/v1/admin/users": { body: { hello: "world" } },
      "GET /api/admin/users": { body: {} },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
    for (const words of [
      ["admin", "user", "list"],
      ["vault", "admin", "user", "list"],
    ]) {
      const ran = await runCli([...words, "--json"], { home: home.path });
      expect(ran).toMatchObject({ code: 1, out: "" });
      expect(ran.error()).toMatchObject({ code: "unexpected_answer" });
    }
  });

  test("answered by something else than croft is an unexpected answer", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/me": {
        headers: { "Content-Type": "application/json" },
        body: Buffer.from("{broken"),
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "me", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "unexpected_answer", exit_code: 1 });
  });
});

describe("credentials", () => {
  test("credentials of one daemon are not sent to another", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "https://croft.example", forgeToken: "t", vault: {} });
    await using daemon = await fakeDaemon({});
    for (const line of [
      ["vault", "me"],
      ["admin", "user", "list"],
    ]) {
      const ran = await runCli([...line, "--url", daemon.url, "--json"], { home: home.path });
      expect(ran.code).toBe(4);
      expect(ran.error()["message"]).toContain("belongs to https://croft.example");
    }
    expect(daemon.requests).toEqual([]);
  });

  test("credentials of the environment are used before stored ones", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/auth/me": { body: me },
      "GET /api/v1/admin/users": { body: [] },
    });
    await signIn(home.path, { url: daemon.url, forgeToken: "stored", vault: {} });
    const env = { CROFT_FORGE_TOKEN: "ft", CROFT_VAULT_TOKEN: "vt" };
    await runCli(["vault", "me"], { home: home.path, env });
    await runCli(["admin", "user", "list"], { home: home.path, env });
    expect(daemon.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer vt",
      "token ft",
    ]);
  });

  test("come from the command that CROFT_TOKEN_COMMAND names", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({ "GET /api/v1/admin/users": { body: [] } });
    const env = {
      CROFT_URL: daemon.url,
      CROFT_TOKEN_COMMAND: "echo from-$CROFT_SERVICE",
      PATH: process.env["PATH"],
    };
    const ran = await runCli(["admin", "user", "list"], { home: home.path, env });
    expect(ran.code).toBe(0);
    expect(daemon.requests[0]?.headers.authorization).toBe("token from-forge");
    const failing = await runCli(["admin", "user", "list", "--json"], {
      home: home.path,
      env: { ...env, CROFT_TOKEN_COMMAND: "exit 3" },
    });
    expect(failing.error()).toMatchObject({ code: "invalid_credentials", exit_code: 4 });
  });

  test("credentials that are missing exit 4 and name the login", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    for (const [service, line] of [
      ["vault", ["vault", "me"]],
      ["forge", ["admin", "user", "list"]],
    ] as const) {
      const ran = await runCli([...line, "--url", daemon.url, "--json"], { home: home.path });
      expect(ran.error()).toMatchObject({
        code: "not_signed_in",
        exit_code: 4,
        service,
        hint: `"croft login ${service}" signs in`,
      });
    }
  });
});

describe("a vault session", () => {
  const refreshed = (expiresAt = Date.now() + 900_000) => ({
    body: { access_token: fakeJwt(expiresAt), user: me },
    headers: {
      "Set-Cookie":
        "refresh_token=refresh-2; Max-Age=57600; Path=/api/auth/refresh; HttpOnly; Secure; SameSite=Strict",
    },
  });

  test("a vault session whose access token expires soon is refreshed first, and the new tokens are kept", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": refreshed(),
      "GET /api/auth/me": { body: me },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: Date.now() + 5_000 } });
    expect((await runCli(["vault", "me"], { home: home.path })).code).toBe(0);
    expect(daemon.requests[0]?.headers.cookie).toBe("refresh_token=refresh-1");
    expect(daemon.requests[0]?.headers.authorization).toBeUndefined();
    expect(await readEntry(home.path, "vault")).toMatchObject({
      refresh_token: "refresh-2",
      url: daemon.url,
    });
  });

  test("a vault session whose access token is refused is refreshed once and the request repeated", async () => {
    await using home = await temporaryHome();
    const refusal = { status: 401, body: { detail: "Invalid or expired token" } };
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": refreshed(),
      "GET /api/auth/me": [refusal, { body: me }],
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect((await runCli(["vault", "me"], { home: home.path })).code).toBe(0);
    expect(daemon.requests.map(({ path }) => path)).toEqual([
      "/api/auth/me",
      "/api/auth/refresh",
      "/api/auth/me",
    ]);
  });

  test("a vault session is not refreshed for a refusal of the cloud provider", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "GET /api/cloud/connections": {
        status: 401,
        body: { kind: "reauth_required", reason: "revoked" },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "connection", "list", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "reauth_required", exit_code: 13 });
  });

  test("a vault session that the daemon has ended is forgotten", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": { status: 401, body: { detail: "Session revoked" } },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const ran = await runCli(["vault", "me", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "session_revoked",
      exit_code: 4,
      message: "your session in the vault was revoked",
    });
    expect(await readEntry(home.path, "vault")).toBeUndefined();
  });

  test("a session of a deactivated account names the administrator, not a new sign-in", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": { status: 401, body: { detail: "User not found or deactivated" } },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const ran = await runCli(["vault", "me", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      exit_code: 4,
      hint: expect.stringMatching(/^an administrator of the vault can activate it/),
    });
  });

  test("a vault session that another daemon of this machine does not know is kept for its own", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": { status: 401, body: { detail: "Invalid refresh token" } },
    });
    const url = "http://127.0.0.1:1";
    await signIn(home.path, { url, vault: { access_expires_at: 0 } });
    const ran = await runCli(["vault", "me", "--json", "--url", daemon.url], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "session_revoked", exit_code: 4 });
    expect(await readEntry(home.path, "vault")).toMatchObject({ url });
  });

  test.each([
    ["while this home's daemon does not run", undefined, /no daemon runs on/],
    ["while this home's daemon starts", [], /is still starting/],
  ])(
    "a vault session is not handed to another server at its address %s",
    async (_when, urls, message) => {
      await using home = await temporaryHome();
      await using stranger = await fakeDaemon({});
      const { url } = stranger;
      await signIn(home.path, {
        url,
        profileUrl: null,
        forgeToken: "f".repeat(40),
        vault: { access_expires_at: 0 },
      });
      await writeFile(join(home.path, "croft.lock"), "");
      await writeFile(join(home.path, "config.yaml"), `port: ${new URL(url).port}\n`);
      if (urls !== undefined)
        await writeFile(
          join(home.path, "daemon.json"),
          JSON.stringify({ pid: process.pid, started_at: 1, urls }),
        );
      for (const line of [["vault", "me"], ["token", "list"], ["logout"], ["doctor"]])
        await runCli([...line, "--json"], { home: home.path });
      const login = ["login", "vault", "--email", "mira@example.org", "--password-stdin", "--json"];
      const ran = await runCli(login, { home: home.path, stdin: "secret" });
      expect(ran.error()).toMatchObject({
        code: "daemon_unreachable",
        message: expect.stringMatching(message) as string,
      });
      expect(stranger.requests).toEqual([]);
    },
  );

  test("survives a refresh that could not be answered", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": {
        status: 429,
        headers: { "Retry-After": "3" },
        body: { detail: "Too many requests." },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const ran = await runCli(["vault", "me", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({ code: "rate_limited" });
    expect(await readEntry(home.path, "vault")).toMatchObject({ refresh_token: "refresh-1" });
  });

  test("a vault session is refreshed once for twenty commands that need it at once", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      "POST /api/auth/refresh": [refreshed(), { status: 401, body: { detail: "Session revoked" } }],
      "GET /api/auth/me": { body: me },
    });
    await signIn(home.path, { url: daemon.url, vault: { access_expires_at: 0 } });
    const runs = await Promise.all(
      Array.from({ length: 20 }, () => runCli(["vault", "me"], { home: home.path })),
    );
    expect(runs.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, () => 0));
    expect(daemon.requests.filter(({ path }) => path === "/api/auth/refresh")).toHaveLength(1);
  });

  test("sends its refresh cookie to the routes that spare it, and to no others", async () => {
    await using home = await temporaryHome();
    const sparing = ["logout", "logout-all", "change-password", "totp/enable"].map(
      (path) => `POST /api/auth/${path}`,
    );
    const routes = [...sparing, "DELETE /api/auth/totp"];
    await using daemon = await fakeDaemon(
      Object.fromEntries([...routes, "GET /api/auth/me"].map((route) => [route, { body: {} }])),
    );
    await signIn(home.path, { url: daemon.url, vault: freshSession(daemon.url) });
    for (const route of [...routes, "GET /api/auth/me"])
      await runCli(["api", ...route.split(" ")], { home: home.path });
    const cookies = daemon.requests.map(({ path, headers }) => [path, headers.cookie]);
    expect(cookies).toEqual([
      ...routes.map((route) => [route.split(" ")[1], "refresh_token=refresh-1"]),
      ["/api/auth/me", undefined],
    ]);
  });
});
