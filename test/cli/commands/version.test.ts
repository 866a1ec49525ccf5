import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { compareVersions } from "../../../cli/commands/version.ts";
import { version } from "../../../cli/version.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

/** A server of releases that answers with `body`, and the requests that it got. */
async function releases(body: string, status = 200) {
  const requests: { method: string; url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers });
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/releases/latest`, requests };
}

async function check(url: string | undefined, words: readonly string[] = ["--json"]) {
  await using home = await temporaryHome();
  const env = url === undefined ? {} : { CROFT_UPDATE_URL: url };
  return await runCli(["version", "--check", ...words], { home: home.path, env });
}

describe("croft version --check", () => {
  test("reports a later release, and sends nothing but the request", async () => {
    const { url, requests } = await releases('{"tag_name":"v99.1.0","html_url":"https://x/99"}');
    const ran = await check(url);
    expect(ran.json()).toMatchObject({
      version,
      latest: "99.1.0",
      is_latest: false,
      release_url: "https://x/99",
    });
    expect(requests).toEqual([
      {
        method: "GET",
        url: "/releases/latest",
        headers: {
          accept: "application/json",
          "user-agent": "croft-cli",
          host: new URL(url).host,
          connection: "close",
        },
      },
    ]);
  });

  test("reports that this is the latest release", async () => {
    const { url } = await releases(`{"tag_name":"v${version}"}`);
    const ran = await check(url, []);
    expect(ran).toMatchObject({ code: 0, out: `croft ${version} is the latest release\n` });
  });

  test("is off until an address is set, and plain version sends no request", async () => {
    expect((await check(undefined)).error()).toMatchObject({ code: "unsupported", exit_code: 15 });
    await using home = await temporaryHome();
    const { url, requests } = await releases("{}");
    const env = { CROFT_UPDATE_URL: url };
    await runCli(["version"], { home: home.path, env });
    expect(requests).toEqual([]);
  });

  test.each<[string, string, number]>([
    ["no JSON", "<html>", 200],
    ["no version", '{"tag_name":"latest"}', 200],
    ["another status", "{}", 404],
    ["more than a mebibyte", " ".repeat(1024 * 1024 + 1), 200],
  ])("refuses an answer with %s", async (_, body, status) => {
    const { url } = await releases(body, status);
    expect((await check(url)).error()).toMatchObject({ code: "unexpected_answer", exit_code: 1 });
  });

  test("names the address that cannot be reached", async () => {
    const ran = await check("http://127.0.0.1:9/releases");
    expect(ran.error()["message"]).toContain("http://127.0.0.1:9/releases is unreachable");
  });
});

test.each([
  ["1.2.3", "1.2.3", 0],
  ["1.10.0", "1.9.9", 1],
  ["0.1.0", "1.0.0", -1],
  ["1.0.0-rc.1", "1.0.0", -1],
])("orders the version %s against %s", (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});
