import { expect, test } from "vitest";
import { startTestDaemon } from "../../support/daemon.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

test("adds, lists and deletes the caller's addresses", async () => {
  expect(await optionsOf("email add", ["a@b.org", "c@d.org"])).toEqual({
    email: ["a@b.org", "c@d.org"],
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: daemon.first?.forge.token ?? "" };
  const croft = (...line: readonly string[]) =>
    runCli(["email", ...line, "--json"], { home: home.path, env });
  expect((await croft("add", "two@example.org")).json()).toMatchObject([
    { email: "two@example.org", primary: false },
  ]);
  expect((await croft("list")).json()).toHaveLength(2);
  expect((await croft("add", "two@example.org")).code).toBe(12);
  expect((await croft("delete", "two@example.org")).json()).toEqual({
    deleted: true,
    emails: "two@example.org",
  });
  expect((await croft("delete", "two@example.org")).code).toBe(6);
});
