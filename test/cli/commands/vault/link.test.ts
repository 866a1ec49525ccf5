import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const ID = "01a1fdff-ed3d-7ce1-8986-d032f4367fd1";
const TOPIC = "01a1fdff-ed3d-7ce1-8986-d032f4367fd2";
const link = {
  id: ID,
  url: "http://127.0.0.1:1/s/abc",
  kind: "download",
  name: "bill.pdf",
  status: "active",
  document_id: ID,
  document_ids: [],
  connection_id: null,
  item_id: null,
  expires_at: null,
  has_password: false,
  max_downloads: 1,
  downloads: 0,
  max_files: null,
  files: 0,
  max_bytes: null,
  received_bytes: 0,
  topic_ids: [],
  message: null,
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
};

test("link create sends what the flags say, and prints the address with its QR code", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "POST /api/links": { status: 201, body: link },
    "GET /api/topics": { body: { items: [{ id: TOPIC, name: "Inbox" }], total: 1 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const run = (words: readonly string[], stdin?: string) =>
    runCli(["vault", "link", "create", ...words], {
      home: home.path,
      ...(stdin === undefined ? {} : { stdin }),
    });
  const sent = () => daemon.requests.at(-1)?.json();
  const made = await run([ID, "--max-downloads", "1", "--expires", "never", "--qr"]);
  expect(made).toMatchObject({ code: 0 });
  expect(made.out).toContain(link.url);
  expect(made.out).toContain("█");
  expect(sent()).toEqual({ document_id: ID, max_downloads: 1, expires_at: null });
  await run([ID, TOPIC, "--password-stdin"], "open sesame");
  expect(sent()).toEqual({ document_ids: [ID, TOPIC], password: "open sesame" });
  await run(["--upload", "--topic", "inbox", "--max-bytes", "1MiB", "--message", "Hi"]);
  expect(sent()).toEqual({
    kind: "upload",
    topic_ids: [TOPIC],
    max_bytes: 1_048_576,
    message: "Hi",
  });
  expect(await run([])).toMatchObject({ code: 2 });
  expect(await run([ID, "--upload"])).toMatchObject({ code: 2 });
});

test("link list, edit and delete", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/links": { body: { items: [link], total: 1, page: 1, per_page: 100 } },
    [`GET /api/links/${ID}`]: { body: link },
    [`PATCH /api/links/${ID}`]: { body: link },
    [`DELETE /api/links/${ID}`]: { status: 204 },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const run = (...words: string[]) => runCli(["vault", "link", ...words], { home: home.path });
  expect((await run("list", "--json=id,url")).json()).toEqual([{ id: ID, url: link.url }]);
  expect(await run("edit", ID)).toMatchObject({ code: 2 });
  await run("edit", ID, "--no-password", "--no-max-downloads", "--name", "For you");
  expect(daemon.requests.at(-1)?.json()).toEqual({
    name: "For you",
    password: null,
    max_downloads: null,
  });
  expect(await run("delete", ID)).toMatchObject({ code: 2 });
  expect(await run("delete", ID, "--yes")).toMatchObject({ code: 0 });
});
