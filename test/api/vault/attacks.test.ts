import { readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { withOneDaemon } from "../../support/skip.ts";
import { OTHER_STRONG, STRONG, totpCode } from "../../support/vault/vault-accounts.ts";
import { createPerson } from "../../support/vault/vault-person.ts";

const unlimited = { env: { CROFT_RATE_LIMITS: "off" } };
const unauthorized = { status: 401, json: { detail: "Invalid or expired token" } };
const statuses = (answers: readonly TestAnswer[]) => answers.map(({ status }) => status);
const count = (answers: readonly TestAnswer[], status: number) =>
  answers.filter((answer) => answer.status === status).length;

describe("attack: another site's page (CSRF and CORS)", () => {
  const state = { method: "POST", path: "/api/auth/login" };
  const body = JSON.stringify({ email: "mira@example.org", password: STRONG });
  const foreign: Record<string, Record<string, string>> = {
    "a form": { "Content-Type": "application/x-www-form-urlencoded" },
    "a multipart form": { "Content-Type": "multipart/form-data; boundary=x" },
    "JSON dressed as text": { "Content-Type": "text/plain" },
    "another origin": { "Content-Type": "application/json", Origin: "https://attacker.example" },
    "an opaque origin": { "Content-Type": "application/json", Origin: "null" },
    "a cross-site fetch": { "Content-Type": "application/json", "Sec-Fetch-Site": "cross-site" },
  };

  test.each(Object.entries(foreign))(
    "a cross-site request with %s does not sign in",
    async (_name, headers) => {
      await using daemon = await startTestDaemon(unlimited);
      await createPerson(daemon, "mira", "198.51.100.1").register();
      const answer = await daemon.request(state.path, { method: state.method, headers, body });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers.get("set-cookie")).toBeNull();
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    },
  );

  test("a preflight allows nothing", async () => {
    await using daemon = await startTestDaemon(unlimited);
    const answer = await daemon.request(state.path, {
      method: "OPTIONS",
      headers: { Origin: "https://attacker.example", "Access-Control-Request-Method": "POST" },
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    for (const name of answer.headers.keys()) expect(name).not.toMatch(/^access-control-/);
  });

  test("the cookie alone opens no route but its own", async () => {
    await using daemon = await startTestDaemon(unlimited);
    const person = createPerson(daemon, "mira", "198.51.100.1");
    await person.register();
    await person.signIn();
    person.accessToken = "";
    for (const [method, path] of [
      ["GET", "/api/auth/me"],
      ["POST", "/api/auth/logout-all"],
      ["DELETE", "/api/auth/totp"],
      ["GET", "/api/auth/sessions"],
    ] as const)
      expect(await person.request(path, { method })).toMatchObject(unauthorized);
  });
});

describe("attack: guessing passwords of one address", () => {
  test("the counter sees through spelling, counts successes, and outlives a restart", async () => {
    let now = Date.UTC(2026, 10, 20, 9, 30);
    const first = await startTestDaemon({ clock: () => now });
    const { home } = first;
    try {
      let person = createPerson(first, "mira", "198.51.100.1");
      await person.register();
      const spellings = [
        "mira@example.org",
        "MIRA@example.org",
        " mira@Example.org",
        "Mira@EXAMPLE.org ",
      ];
      for (let attempt = 0; attempt < 8; attempt += 1) {
        const password = attempt % 2 === 0 ? STRONG : "wrong";
        const answer = await person.signIn({ email: spellings[attempt % 4], password });
        expect(answer.status).toBe(attempt % 2 === 0 ? 200 : 401);
      }
      await first.stop();
      now += 600_000;

      await using second = await startTestDaemon({ home, clock: () => now });
      person = createPerson(second, "mira", "198.51.100.2");
      expect(await person.signIn()).toMatchObject({ status: 200 });
      expect(await person.signIn({ password: "wrong" })).toMatchObject({ status: 401 });
      const refused = await person.signIn();
      expect(refused).toMatchObject({
        status: 429,
        json: { detail: "Too many login attempts. Try again in 15 minutes." },
      });
      expect(refused.headers.get("retry-after")).toBe("300");
      // Those of the address have tries left, which would be of no use.
      expect(
        ["limit", "remaining", "reset"].map((name) => refused.headers.get(`ratelimit-${name}`)),
      ).toEqual(["10", "0", "300"]);
      expect(refused.headers.get("set-cookie")).toBeNull();
      now += 300_000;
      expect(await person.signIn()).toMatchObject({ status: 200 });
    } finally {
      await first.stop();
      await rm(home, { recursive: true, force: true });
    }
  });

  test("the counter holds for codes too", async () => {
    let now = Date.UTC(2026, 10, 20, 9, 30);
    await using daemon = await startTestDaemon({ clock: () => now });
    const person = createPerson(daemon, "mira", "198.51.100.1");
    await person.register();
    await person.signIn();
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    await person.request("/api/auth/totp/enable", { json: { code: totpCode(secret, now) } });
    now += 60_000;
    const from = (address: string) => createPerson(daemon, "mira", address);
    for (let attempt = 0; attempt < 9; attempt += 1)
      expect(
        await from(`198.51.100.${attempt + 10}`).signIn({ totp_code: "000000" }),
      ).toMatchObject({ status: 401 });
    expect(await from("198.51.100.99").signIn({ totp_code: totpCode(secret, now) })).toMatchObject({
      status: 429,
    });
  });

  test("exactly the attempts that are left of 60 parallel ones are checked, and a right code among the others is refused", async () => {
    let now = Date.UTC(2026, 10, 20, 9, 30);
    await using daemon = await startTestDaemon({ clock: () => now });
    const person = createPerson(daemon, "mira", "198.51.100.1");
    await person.register();
    await person.signIn();
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    await person.request("/api/auth/totp/enable", { json: { code: totpCode(secret, now) } });
    now += 60_000;
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        createPerson(daemon, "mira", `198.51.100.${index + 10}`).signIn({
          totp_code: index === 59 ? totpCode(secret, now) : String(index).padStart(6, "0"),
        }),
      ),
    );
    // Ten in fifteen minutes; the sign-in that turned the second factor on was one.
    expect(count(answers, 401)).toBe(9);
    expect(count(answers, 429)).toBe(51);
    expect(answers.at(-1)).toMatchObject({ status: 429 });
  });
});

describe("attack: going round the limit of an address", () => {
  const clock = () => Date.UTC(2026, 10, 20, 9, 30);
  const login = (daemon: TestDaemon, attempt: number, headers: Record<string, string> = {}) =>
    daemon.request("/api/auth/login", {
      headers,
      json: { email: `nobody-${attempt}@example.org`, password: "x" },
    });

  test("exactly ten of 100 concurrent requests pass the limit, and the others get a retry time", async () => {
    await using daemon = await startTestDaemon({ clock });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => login(daemon, index)),
    );
    expect(count(answers, 401)).toBe(10);
    expect(count(answers, 429)).toBe(90);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.json).toEqual({ detail: "Too many requests. Try again in 60 seconds." });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      "retry-after": "60",
      "ratelimit-limit": "10",
      "ratelimit-remaining": "0",
      "ratelimit-reset": "60",
    });
  });

  const claims: Record<string, (attempt: number) => Record<string, string>> = {
    "invented hops before the real one": (attempt) => ({
      "X-Forwarded-For": `192.0.2.${attempt}, 203.0.113.5`,
    }),
    "addresses of one IPv6 network": (attempt) => ({
      "X-Forwarded-For": `2001:db8:1:2:${(attempt + 1).toString(16)}::1`,
    }),
    "one address mapped into IPv6 and not": (attempt) => ({
      "X-Forwarded-For": attempt % 2 === 0 ? "203.0.113.6" : "::ffff:203.0.113.6",
    }),
    "other headers": (attempt) => ({
      Forwarded: `for=192.0.2.${attempt}`,
      "X-Real-IP": `192.0.2.${attempt}`,
      "X-Client-IP": `192.0.2.${attempt}`,
    }),
  };
  test.each(Object.entries(claims))(
    "counts a client under one address in spite of %s",
    async (_name, headers) => {
      await using daemon = await startTestDaemon({ clock });
      const answers = [];
      for (let attempt = 0; attempt < 12; attempt += 1)
        answers.push(await login(daemon, attempt, headers(attempt)));
      expect(statuses(answers)).toEqual([...Array<number>(10).fill(401), 429, 429]);
    },
  );

  test("ignores the forwarded header where no proxy is trusted", async () => {
    await using daemon = await startTestDaemon({ clock, env: { CROFT_TRUSTED_PROXIES: "none" } });
    const answers = [];
    for (let attempt = 0; attempt < 12; attempt += 1)
      answers.push(await login(daemon, attempt, { "X-Forwarded-For": `192.0.2.${attempt}` }));
    expect(count(answers, 401)).toBe(10);
  });

  test("an address gets five reset mails an hour", async () => {
    await using daemon = await startTestDaemon({ clock });
    const answers = [];
    for (let attempt = 0; attempt < 6; attempt += 1)
      answers.push(
        await daemon.request("/api/auth/password-reset", {
          json: { email: `nobody-${attempt}@example.org` },
        }),
      );
    expect(statuses(answers)).toEqual([202, 202, 202, 202, 202, 429]);
  });
});

// Each daemon has a queue of its own, because it bounds the processor time of its machine.
withOneDaemon.describe("attack: a storm of sign-ins (argon2)", () => {
  test("the queue of password hashes is bounded: further sign-ins get a retry time, and other requests are served", async () => {
    await using daemon = await startTestDaemon({ ...unlimited, realHashes: true });
    const answers: Promise<TestAnswer>[] = [];
    for (let attempt = 0; attempt < 150; attempt += 1)
      answers.push(
        daemon.request("/api/auth/login", {
          json: { email: `nobody-${attempt}@example.org`, password: "x" },
        }),
      );
    expect(await daemon.request("/healthz")).toMatchObject({ status: 200 });
    const settled = await Promise.all(answers);
    const refused = settled.filter(({ status }) => status === 503);
    expect(count(settled, 401) + refused.length).toBe(150);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, json } of refused) {
      expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(headers.get("x-request-id")).toBeTruthy();
      expect(json).toEqual({ detail: expect.any(String) });
    }
    expect(count(settled, 401)).toBeGreaterThanOrEqual(64);
  });
});

describe("attack: holding a body back until the session is over", () => {
  test("a second factor cannot be turned on with a token that a change of password ended", async () => {
    await using daemon = await startTestDaemon(unlimited);
    const person = createPerson(daemon, "mira", "198.51.100.1");
    await person.register();
    await person.signIn();
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    const held = await holdBack(daemon, "/api/auth/totp/enable", person.accessToken, {
      code: totpCode(secret, Date.now()),
    });
    await person.request("/api/auth/change-password", {
      json: { current_password: STRONG, new_password: OTHER_STRONG },
    });
    expect(await held.send()).toMatch(/^HTTP\/1\.1 401 /);
    person.password = OTHER_STRONG;
    expect((await person.signIn()).json).toHaveProperty("access_token");
  });

  test("an administrator who signed out creates no accounts; a merely slow body is accepted", async () => {
    await using daemon = await startTestDaemon(unlimited);
    const signIn = await daemon.request("/api/auth/login", {
      headers: { "User-Agent": "croft-test" },
      json: { email: daemon.first?.vault.email, password: daemon.first?.password },
    });
    const token = signIn.json.access_token as string;
    const slow = await holdBack(daemon, "/api/admin/users", token, {
      handle: "slow",
      email: "slow@example.org",
    });
    expect(await slow.send()).toMatch(/^HTTP\/1\.1 201 /);
    const held = await holdBack(daemon, "/api/admin/users", token, {
      handle: "late",
      email: "late@example.org",
      role: "admin",
    });
    await daemon.request("/api/auth/logout-all", {
      method: "POST",
      bearer: token,
      headers: { "User-Agent": "croft-test" },
    });
    expect(await held.send()).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("attack: smuggling a second request past the sign-in", () => {
  const body = JSON.stringify({ email: "mira@example.org", password: "x" });
  const inner = "GET /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n";
  const requests: Record<string, (host: string) => string> = {
    "Content-Length and Transfer-Encoding": (host) =>
      `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    "two Content-Lengths": (host) =>
      `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    "a disguised Transfer-Encoding": (host) =>
      `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`,
    "a folded header": (host) =>
      `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${inner}`,
    "a bare line feed": (host) =>
      `POST /api/auth/login HTTP/1.1\nHost: ${host}\nContent-Length: 0\n\n${inner}`,
    "a signed length": (host) =>
      `POST /api/auth/login HTTP/1.1\r\nHost: ${host}\r\nContent-Length: +2\r\n\r\n{}${inner}`,
  };

  test.each(Object.entries(requests))("%s", async (_name, toText) => {
    await using daemon = await startTestDaemon(unlimited);
    const { host, hostname, port } = new URL(daemon.url);
    const answer = await exchange(Number(port), hostname, toText(host));
    const lines = answer.match(/^HTTP\/1\.1 \d+/gm) ?? [];
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/ 4\d\d$/);
    expect(answer).not.toContain("Invalid or expired token");
  });
});

/** Sends the head of a request, waits until the daemon requests the body, and sends it on demand. */
async function holdBack(
  daemon: TestDaemon,
  path: string,
  token: string,
  json: unknown,
): Promise<{ send(): Promise<string> }> {
  const { host, hostname, port } = new URL(daemon.url);
  const body = JSON.stringify(json);
  const socket = connect(Number(port), hostname);
  const answer = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
    if (received.includes("100 Continue")) asked.resolve();
  });
  socket.on("close", () => answer.resolve(received.replace("HTTP/1.1 100 Continue\r\n\r\n", "")));
  socket.on("error", answer.reject);
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      `Host: ${host}`,
      "User-Agent: croft-test",
      `Authorization: Bearer ${token}`,
      "Accept-Language: *",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Expect: 100-continue",
      "Connection: close",
      "\r\n",
    ].join("\r\n"),
  );
  await asked.promise;
  return {
    send() {
      socket.write(body);
      return answer.promise;
    },
  };
}

/** Sends raw bytes and returns the response until the server closes the connection. */
function exchange(port: number, host: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(port, host, () => socket.end(text));
    socket.setTimeout(30_000, () => socket.destroy(new Error("the connection stays open")));
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}

describe("attack: reading secrets out of logs, records and errors", () => {
  test("no file contains a secret that was sent or returned", async () => {
    let now = Date.UTC(2026, 10, 20, 9, 30);
    await using daemon = await startTestDaemon({
      clock: () => now,
      env: { ...unlimited.env, CROFT_LOG_LEVEL: "trace" },
    });
    const person = createPerson(daemon, "mira", "198.51.100.1");
    const secrets = new Set([STRONG, OTHER_STRONG]);
    const canary = (name: string) => {
      const value = `Canary-${name}-7f3a9c`;
      secrets.add(value);
      return value;
    };
    const refusals: string[] = [];
    const keep = (answer: TestAnswer) => {
      if (answer.status >= 400) refusals.push(answer.text);
      for (const secret of [person.accessToken, person.refreshToken])
        if (secret !== "") secrets.add(secret);
      return answer;
    };

    keep(await person.register());
    keep(await person.register());
    keep(await person.signIn({ password: canary("wrong-password") }));
    keep(await person.signIn());
    keep(await person.refresh());
    const { secret, provisioning_uri: uri } = (await person.request("/api/auth/totp/setup")).json;
    secrets.add(secret).add(uri);
    const code = totpCode(secret, now);
    const { backup_codes: codes } = (
      await person.request("/api/auth/totp/enable", { json: { code } })
    ).json;
    for (const each of codes) secrets.add(each);
    now += 30_000;
    keep(await person.signIn({ totp_code: canary("code") }));
    keep(await person.signIn({ backup_code: canary("backup-code") }));
    keep(await person.signIn({ backup_code: codes[0] }));
    keep(
      await person.request("/api/auth/change-password", {
        json: { current_password: canary("current"), new_password: canary("new") },
      }),
    );
    keep(
      await person.request("/api/auth/password-reset/confirm", {
        json: { token: canary("reset-token"), new_password: OTHER_STRONG },
      }),
    );
    keep(await person.request(`/password-reset/confirm?token=${canary("link-token")}`, {}));
    person.refreshToken = canary("cookie");
    keep(await person.refresh());
    keep(await person.request("/api/auth/me", { bearer: canary("bearer") }));
    keep(await person.request(`/api/auth/me?access_token=${canary("query")}`, { bearer: "x" }));
    keep(
      await person.request("/api/auth/login", {
        json: { email: "mira@example.org", password: { nested: canary("nested") } },
      }),
    );
    keep(
      await daemon.request("/api/auth/login", {
        body: `{"password":"${canary("broken")}`,
        headers: { "Content-Type": "application/json" },
      }),
    );
    await person.request("/api/auth/password-reset", { json: { email: person.email } });

    const administrator = createPerson(daemon, "keeper", "198.51.100.2");
    await administrator.signIn({
      email: daemon.first?.vault.email,
      password: daemon.first?.password,
    });
    const audit = await administrator.request("/api/admin/audit?per_page=100");
    expect(audit.json.total).toBeGreaterThan(4);
    const metrics = await daemon.request("/metrics");
    const places = {
      log: JSON.stringify(daemon.log),
      audit: audit.text,
      refusals: refusals.join("\n"),
      metrics: metrics.text,
    };
    for (const [place, text] of Object.entries(places))
      for (const each of secrets)
        expect(text.includes(each) ? `${each} is in the ${place}` : "").toBe("");
    // Six digits may be a part of any id or number.
    const alone = new RegExp(`(?<![\\w.-])${code}(?![\\w.-])`);
    for (const text of Object.values(places)) expect(text).not.toMatch(alone);
    expect(places.log).not.toContain("mira@example.org");
    expect(places.audit).not.toContain("nobody@example.org");
  });

  test("no file of the home contains a secret in plain text", async () => {
    const now = Date.UTC(2026, 10, 20, 9, 30);
    await using daemon = await startTestDaemon({ clock: () => now, ...unlimited });
    const person = createPerson(daemon, "mira", "198.51.100.1");
    await person.register();
    await person.signIn();
    const { secret } = (await person.request("/api/auth/totp/setup")).json;
    const { backup_codes: codes } = (
      await person.request("/api/auth/totp/enable", { json: { code: totpCode(secret, now) } })
    ).json;
    await daemon.stop();
    const files = (await readdir(daemon.home, { recursive: true, withFileTypes: true })).filter(
      (entry) => entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name), "latin1");
      for (const each of [STRONG, secret, person.refreshToken, person.accessToken, ...codes])
        expect(bytes.includes(each) ? `${each} is in ${file.name}` : "").toBe("");
    }
  });
});
