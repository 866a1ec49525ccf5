import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

const friend = "https://app.example.org";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon({
    env: { CROFT_ALLOWED_ORIGINS: `${friend},http://localhost:3000` },
  });
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Sends the preflight request of a browser. */
const ask = (path: string, origin: string) =>
  daemon.request(path, {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,content-type",
    },
  });

describe("a page of an allowed origin", () => {
  test.each(["/api/v1/admin/users", "/api/auth/login", "/api/cloud/connections"])(
    "answers a preflight request of an allowed origin for %s",
    async (path) => {
      const { status, headers, text } = await ask(path, friend);
      expect([status, text]).toEqual([204, ""]);
      expect(headers.get("access-control-allow-origin")).toBe(friend);
      expect(headers.get("access-control-allow-methods")).toContain("POST");
      expect(headers.get("access-control-allow-headers")).toMatch(/Authorization.*Content-Type/);
      expect(headers.get("access-control-allow-credentials")).toBeNull();
      expect(headers.get("vary")).toContain("Origin");
    },
  );

  test("a page of an allowed origin may read answers, refusals and the headers of lists too", async () => {
    const headers = { Origin: "http://localhost:3000" };
    const refused = await daemon.request("/api/auth/login", {
      json: { email: "a@example.org", password: "x" },
      headers,
    });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
    const token = daemon.first?.forge.token ?? "";
    const list = await daemon.request("/api/v1/admin/users", { token, headers });
    expect(list.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
    expect(list.headers.get("access-control-expose-headers")).toContain("X-Total-Count");
  });
});

describe("attack: a page of any other origin", () => {
  test.each([
    "https://app.example.org.evil.example",
    "https://app.example.org:444",
    "http://app.example.org",
    "null",
    "https://APP.example.org",
  ])(
    "an origin that is not allowed, %s, gets no CORS headers and may not write",
    async (origin) => {
      const asked = await ask("/api/auth/login", origin);
      expect(asked.status).toBe(405);
      expect(asked.headers.get("access-control-allow-origin")).toBeNull();
      const read = await daemon.request("/api/v1/version", { headers: { Origin: origin } });
      expect(read.headers.get("access-control-allow-origin")).toBeNull();
      expect(read.headers.get("vary")).toContain("Origin");
    },
  );
});
