import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import {
  createCommonPasswords,
  createBreachLookup,
} from "../../../../../daemon/outbound/breach/lookup.ts";

const breached = "a password out of a breach";
const suffixOf = (password: string) => hash("sha1", password, "hex").toUpperCase().slice(5);
const padding = `${"0".repeat(34)}1:0\r\n${"F".repeat(35)}:3`;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const range =
  (...lines: string[]): Answer =>
  (_request, response) =>
    void response.setHeader("Content-Type", "text/plain").end([...lines, padding].join("\r\n"));

async function rangeService(answer: Answer) {
  const requests: { url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? "", headers: request.headers, body: "" });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function lookupAt(url: string, more: { isCommon?: boolean; timeoutMs?: number } = {}) {
  const warnings: string[] = [];
  const lookup = createBreachLookup({
    url,
    isCommon: async () => more.isCommon ?? false,
    warn: (message) => warnings.push(message),
    timeoutMs: more.timeoutMs ?? 30_000,
  });
  return { lookup, warnings };
}

describe("the breached-password look-up", () => {
  test("sends only five characters of the hash, and asks for padding", async () => {
    await using service = await rangeService(range());
    const { lookup } = lookupAt(`${service.url}/`);
    await lookup.isBreached(breached);
    const [sent] = service.requests;
    expect(sent?.url).toBe(`/range/${hash("sha1", breached, "hex").toUpperCase().slice(0, 5)}`);
    expect(sent?.headers["add-padding"]).toBe("true");
    const whole = JSON.stringify(service.requests).toUpperCase();
    expect(whole).not.toContain(suffixOf(breached));
    expect(whole).not.toContain(breached.toUpperCase());
  });

  test("finds a password that the range lists", async () => {
    await using service = await rangeService(range(`${suffixOf(breached)}:42`));
    const { lookup, warnings } = lookupAt(service.url);
    expect(await lookup.isBreached(breached)).toBe(true);
    expect(warnings).toEqual([]);
  });

  test("ignores padding, which has count 0", async () => {
    await using service = await rangeService(range(`${suffixOf(breached)}:0`));
    expect(await lookupAt(service.url).lookup.isBreached(breached)).toBe(false);
  });

  const failures: Record<string, Answer> = {
    "an error": (_request, response) => void response.writeHead(503).end(),
    "a redirect": (_request, response) =>
      void response.writeHead(302, { Location: "http://127.0.0.1:9/" }).end(),
    "a page of a captive portal": (_request, response) =>
      void response.end("<html>Sign in to the Wi-Fi"),
    "an empty answer": (_request, response) => void response.end(),
    "a broken connection": (request) => void request.socket.destroy(),
    "more than any range": (_request, response) =>
      void response.end(`${"0".repeat(35)}:1\r\n`.repeat(40_000)),
    "nothing in time": () => {},
    "an answer that trickles": (_request, response) => {
      const timer = setInterval(() => response.write(`${"0".repeat(35)}:1\r\n`), 20);
      response.on("close", () => clearInterval(timer));
    },
  };
  test.each(Object.entries(failures))(
    "lets the bundled list decide after %s",
    async (_name, answer) => {
      await using service = await rangeService(answer);
      const timeoutMs = 300;
      const known = lookupAt(service.url, { isCommon: true, timeoutMs });
      expect(await known.lookup.isBreached(breached)).toBe(true);
      expect(known.warnings).toHaveLength(1);
      expect(await lookupAt(service.url, { timeoutMs }).lookup.isBreached(breached)).toBe(false);
    },
  );

  test("logs a degraded lookup once until the service answers again", async () => {
    let isDown = true;
    const up = range();
    await using service = await rangeService((request, response) =>
      isDown ? void response.writeHead(500).end() : up(request, response),
    );
    const { lookup, warnings } = lookupAt(service.url);
    await lookup.isBreached(breached);
    await lookup.isBreached(breached);
    expect(warnings).toHaveLength(1);
    isDown = false;
    await lookup.isBreached(breached);
    isDown = true;
    await lookup.isBreached(breached);
    expect(warnings).toHaveLength(2);
  });

  test("the lookup sends no request when it is off", async () => {
    const { lookup, warnings } = lookupAt("off", { isCommon: true });
    expect(await lookup.isBreached(breached)).toBe(true);
    expect(warnings).toEqual([]);
  });
});

describe("the bundled list", () => {
  test("knows common passwords in any case, and not the others", async () => {
    const isCommon = createCommonPasswords();
    expect(await isCommon("password1")).toBe(true);
    expect(await isCommon("QWERTYUIOP")).toBe(true);
    expect(await isCommon("correct Horse 7 battery")).toBe(false);
  });
});
