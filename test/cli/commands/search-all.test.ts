import { expect, test } from "vitest";
import { fakeDaemon } from "../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";

const repository = {
  name: "notes",
  full_name: "mira/notes",
  owner: { login: "mira" },
  description: "About heating",
  html_url: "https://forge.example.org/mira/notes",
  default_branch: "main",
  empty: false,
};
const found = {
  "GET /api/v1/user": { body: { id: 4, login: "mira" } },
  "GET /api/v1/repos/search": { body: { ok: true, data: [repository] } },
  "GET /api/v1/repos/issues/search": {
    body: [
      {
        number: 3,
        title: "Heating fails",
        html_url: "https://forge.example.org/mira/notes/issues/3",
        repository: { full_name: "mira/notes" },
      },
    ],
  },
  "GET /api/v1/repos/mira/notes/code-search": {
    body: {
      matches: [{ path: "a b/c.ts", lines: [{ number: 12, text: "  // heating" }] }],
      truncated: false,
    },
  },
  "GET /api/search": {
    body: {
      items: [
        {
          kind: "document",
          document: { id: "d1", filename: "bill.pdf" },
          item: null,
          snippet: { text: "heating, 2026", marks: [] },
        },
      ],
      next_cursor: null,
    },
  },
};

test("words become one text, and a kind selects what is searched", async () => {
  expect(await optionsOf("search", ["gas", "bill", "--kind", "code"])).toEqual({
    words: ["gas", "bill"],
    kind: "code",
  });
  expect(await refusalOf("search", ["x", "--kind", "mail"])).toContain("repository");
});

test("prints what the forge and the vault find, as other commands take it", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(found);
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const ran = await runCli(["search", "heating", "--json"], { home: home.path });
  const web = "https://forge.example.org/mira/notes";
  expect(ran.json()).toEqual([
    { kind: "repository", where: "mira/notes", text: "About heating", url: web },
    { kind: "issue", where: "mira/notes#3", text: "Heating fails", url: `${web}/issues/3` },
    {
      kind: "code",
      where: "mira/notes:a b/c.ts:12",
      text: "// heating",
      url: `${web}/src/branch/main/a%20b/c.ts#L12`,
    },
    { kind: "document", where: "d1", text: "bill.pdf: heating, 2026", url: null },
    { kind: "item", where: "d1", text: "bill.pdf: heating, 2026", url: null },
  ]);
});

test("searches the service that the caller is signed in to, and is refused without any", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(found);
  await signIn(home.path, { url: daemon.url, vault: {} });
  const ran = await runCli(["search", "heating", "--kind", "document", "--json"], {
    home: home.path,
  });
  expect(ran.json()).toMatchObject([{ kind: "document", where: "d1" }]);
  await using stranger = await temporaryHome();
  const refused = await runCli(["search", "heating", "--json", "--url", daemon.url], {
    home: stranger.path,
  });
  expect(refused.error()).toMatchObject({ code: "not_signed_in", exit_code: 4 });
});
