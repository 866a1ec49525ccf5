import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findTarget, isLoopbackHost } from "../../../cli/client/target.ts";
import { createContext } from "../../../cli/context.ts";
import { type CommonFlags, noFlags } from "../../../cli/flags.ts";
import { neverStopping } from "../../../cli/report.ts";
import { fakeSystem, temporaryHome } from "../support/run-cli.ts";

/** A home where every source of an address has one; `without` takes sources away. */
async function targetWithout(without: readonly string[]): Promise<string> {
  await using home = await temporaryHome();
  const has = (source: string) => !without.includes(source);
  await mkdir(home.path, { recursive: true });
  const profile = (url: string | null) => ({ id: "x", url, store: null, forge: null, vault: null });
  const profiles = {
    version: 1,
    current: "current",
    file_store_notice_given: true,
    profiles: {
      current: profile(has("profile") ? "http://profile" : null),
      named: profile("http://named"),
    },
  };
  await writeFile(join(home.path, "profiles.json"), JSON.stringify(profiles));
  if (has("file")) await writeFile(join(home.path, "config.yaml"), "url: http://file\n");
  if (has("port"))
    await writeFile(
      join(home.path, "config.yaml"),
      has("file") ? "url: http://file\n" : "port: 8000\n",
    );
  if (has("daemon"))
    await writeFile(
      join(home.path, "daemon.json"),
      JSON.stringify({
        pid: process.pid,
        started_at: 1,
        urls: ["http://127.0.0.1:1111", "https://x"],
      }),
    );
  const env = has("environment") ? { CROFT_URL: "http://environment" } : {};
  const flags: CommonFlags = {
    ...noFlags,
    url: has("flag") ? "http://flag/" : undefined,
    profile: has("named") ? "named" : undefined,
  };
  const cli = createContext(fakeSystem({ home: home.path, env }), neverStopping);
  cli.useFlags(flags);
  return (await findTarget(cli)).url;
}

describe("the daemon is chosen by", () => {
  const order = ["flag", "named", "environment", "profile", "file", "daemon", "port"];
  test.each([
    ["--url", 0, "http://flag"],
    ["the profile that --profile names", 1, "http://named"],
    ["CROFT_URL", 2, "http://environment"],
    ["the profile in use", 3, "http://profile"],
    ["the config file", 4, "http://file"],
    ["this home, when it runs", 5, "http://127.0.0.1:1111"],
    ["the configured port", 6, "http://127.0.0.1:8000"],
    ["the default port", 7, "http://127.0.0.1:7420"],
  ])("chooses the daemon by %s", async (_what, taken, url) => {
    expect(await targetWithout(order.slice(0, taken))).toBe(url);
  });
});

test.each([
  ["localhost", true],
  ["sub.localhost", true],
  ["LOCALHOST.", true],
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["[::1]", true],
  ["127.0.0.1.example.org", false],
  ["localhost.example.org", false],
  ["10.0.0.1", false],
  ["0.0.0.0", false],
])("%s is this machine: %s", (host, isLoopback) => {
  expect(isLoopbackHost(host)).toBe(isLoopback);
});
