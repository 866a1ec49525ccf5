import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const file = { size_bytes: 5, modified_at: "2026-11-21T12:00:00.000Z" };
const inbox = {
  is_enabled: true,
  folder: "inbox/mira",
  problem: null,
  files: [
    { ...file, name: "big.pdf", status: "refused", reason: "Storage quota exceeded" },
    { ...file, name: "new.pdf", status: "waiting", reason: null },
  ],
};

test("inbox retry takes a name or none", async () => {
  expect(await optionsOf("vault inbox retry", ["scan.pdf"])).toMatchObject({ name: "scan.pdf" });
  expect(await optionsOf("vault inbox retry", [])).not.toHaveProperty("name");
});

test("inbox status counts files, list shows the reasons, and retry tries them again", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/inbox": { body: inbox },
    "POST /api/inbox/retry": { body: { retried: 1 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const run = (...words: string[]) => runCli(["vault", "inbox", ...words], { home: home.path });
  const status = await run("status");
  expect(status).toMatchObject({ code: 0 });
  expect(status.out).toMatch(/refused\s+1/);
  expect((await run("status", "--json")).json()).toEqual(inbox);
  expect((await run("list")).out).toContain("Storage quota exceeded");
  expect((await run("list", "--json=name,status")).json()).toEqual(
    inbox.files.map(({ name, status: state }) => ({ name, status: state })),
  );
  expect((await run("retry", "big.pdf", "--json")).json()).toEqual({ retried: 1 });
  expect(String(daemon.requests.at(-1)?.body)).toBe('{"name":"big.pdf"}');
});
