import { describe, expect, test } from "vitest";
import { createLogger } from "../../../../daemon/utilities/logging.ts";
import { createScrubber } from "../../../../daemon/utilities/redaction.ts";

const clock = () => Date.UTC(2026, 10, 20, 9, 30);

async function capture(
  format: "auto" | "pretty" | "json" = "json",
  secrets: string[] = [],
  isTTY = false,
) {
  const lines: string[] = [];
  const to = { write: (line: string) => lines.push(line), isTTY };
  return { log: await createLogger({ level: "debug", format, to, clock, secrets }), lines };
}

describe("a log line", () => {
  test("a log line is one JSON object with level, time, facts and message", async () => {
    const { log, lines } = await capture();
    log.child({ request_id: "r1" }).info({ status: 200 }, "answered");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      level: "info",
      time: "2026-11-20T09:30:00.000Z",
      request_id: "r1",
      status: 200,
      message: "answered",
    });
  });

  test("logs an error with its stack and causes", async () => {
    const { log, lines } = await capture();
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    log.error({ err: new Error("cannot send", { cause }) }, "a job failed");
    const { err } = JSON.parse(lines[0] ?? "") as { err: Record<string, unknown> };
    expect(err).toMatchObject({
      type: "Error",
      message: "cannot send",
      stack: expect.stringContaining("logging.test.ts") as string,
      cause: { message: "refused", code: "ECONNREFUSED" },
    });
  });

  test("below the level is not written", async () => {
    const lines: string[] = [];
    const log = await createLogger({
      level: "warn",
      format: "json",
      to: { write: (line) => lines.push(line) },
      clock,
    });
    log.info("quiet");
    expect(lines).toEqual([]);
    expect(log.isLevelEnabled("info")).toBe(false);
  });

  test("a log line is pretty on a terminal and on request", async () => {
    const terminal = await capture("auto", [], true);
    terminal.log.info({ status: 200 }, "answered");
    expect(terminal.lines.join("")).toContain("\u001b[");
    const asked = await capture("pretty");
    asked.log.info({ status: 200 }, "answered");
    expect(asked.lines.join("")).toMatch(/INFO.*: answered \{"status":200\}\n$/);
    const piped = await capture("auto");
    piped.log.info("answered");
    expect(piped.lines[0]?.startsWith("{")).toBe(true);
  });
});

describe("forging a line", () => {
  const hostile = 'x\r\n{"level":"fatal","message":"forged"}\n\u001b[2J\u001b]0;title\u0007\u202e';

  test.each(["json", "pretty"] as const)(
    "is impossible in a value, a name or the message: %s",
    async (format) => {
      const { log, lines } = await capture(format);
      log.info({ agent: hostile, [hostile]: 1, nested: [{ deep: hostile }] }, hostile);
      const text = lines.join("");
      expect(text.trimEnd().split("\n")).toHaveLength(1);
      // oxlint-disable-next-line no-control-regex -- the pattern matches control characters
      expect(text.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f]/);
    },
  );

  test("is impossible through the message of an error", async () => {
    const { log, lines } = await capture("pretty");
    log.error({ err: new Error(hostile) }, "failed");
    const text = lines.join("");
    expect(text).not.toContain("\u001b");
    expect(text.split("\n").filter((line) => line.startsWith("{"))).toEqual([]);
  });
});

describe("secrets", () => {
  const canaries = {
    password: "hunter2hunter2",
    new_password: "hunter3hunter3",
    Authorization: "Basic aHVudGVyNA==",
    cookie: "refresh=hunter5hunter5",
    apiKey: "hunter6hunter6",
    backup_codes: ["hunter7-hunter7"],
    credentials: { access: "hunter8hunter8" },
    totp_code: 123_456,
  };

  test("under secret names are redacted, at any depth and of any type", async () => {
    const { log, lines } = await capture();
    const error = Object.assign(new Error("x"), { config: { headers: canaries } });
    log.child({ session: canaries }).error({ err: error, body: { user: canaries } }, "failed");
    expect(lines.join("")).not.toMatch(/hunter|123456|aHVudGVyNA/);
  });

  test.each([
    ["smtp://mira:hunter2@mail.example:587", "smtp://[redacted]@mail.example:587"],
    ["https://hunter2@host/x", "https://[redacted]@host/x"],
    ["postgres://u:p@ss@host/db", "postgres://[redacted]@host/db"],
    ["cannot reach mira:hunter2@host", "cannot reach [redacted]@host"],
    ["Bearer hunter2hunter2", "Bearer [redacted]"],
    ["GET /x?access_token=hunter2&page=2", "GET /x?access_token=[redacted]&page=2"],
    ["https://s3/x?X-Amz-Signature=hunter2", "https://s3/x?X-Amz-Signature=[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.c2lnbmF0dXJl", "[redacted]"],
    ["plain: mira@example.org at 09:30:00", "plain: mira@example.org at 09:30:00"],
  ])("secrets in a log text are redacted: %s", async (text, clean) => {
    expect(createScrubber([])(text)).toBe(clean);
    const { log, lines } = await capture();
    log.warn({ err: new Error(text), nested: { url: text } }, text);
    const line = JSON.parse(lines[0] ?? "") as { message: string; nested: { url: string } };
    expect(line).toMatchObject({ message: clean, nested: { url: clean } });
  });

  test("secret settings are redacted everywhere in a log line", async () => {
    const { log, lines } = await capture("json", [
      "smtp://mira:p%40ss%22word@mail",
      'cli"ent+secret',
    ]);
    log.info(
      { a: 'p@ss"word', b: 'cli"ent+secret', c: encodeURIComponent('cli"ent+secret') },
      "p%40ss%22word",
    );
    const text = lines.join("");
    expect(text).not.toMatch(/word|ent/);
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  test("short values are not secrets that could be looked for", async () => {
    expect(createScrubber(["info"])("info")).toBe("info");
  });

  test("redacting a hostile text takes linear time", async () => {
    const scrub = createScrubber([]);
    for (const piece of ["a:,", "eyJaaaaaaaa-", "a", "a://", "?a", "token ", "x:y@", "="]) {
      const text = piece.repeat(200_000 / piece.length);
      const before = process.cpuUsage().user;
      scrub(text);
      expect((process.cpuUsage().user - before) / 1000).toBeLessThan(2000);
    }
  });

  test("long log values are cut, and deep or circular ones are truncated", async () => {
    const { log, lines } = await capture();
    const circular: Record<string, unknown> = { text: "x".repeat(100_000) };
    circular["self"] = circular;
    log.info(circular, "long");
    expect((lines[0] ?? "").length).toBeLessThan(100_000);
    expect(() => JSON.parse(lines[0] ?? "") as unknown).not.toThrow();
  });
});
