import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";
import { type FakeTerminal, type InTerminal, keys, runInTerminal } from "../support/terminal.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const base = "/api/cloud/connections/c1";
const connection = {
  id: "c1",
  provider: "local_folder",
  display_name: "home",
  status: "connected",
  quota: { used_bytes: 1024, total_bytes: 4096 },
};
const other = { ...connection, id: "c2", display_name: "nas", status: "offline", quota: null };

interface Item {
  readonly id: string;
  readonly name: string;
  readonly kind: "file" | "folder";
  readonly parent: string;
  readonly size: number | null;
  readonly type?: string;
}

const folder = (id: string, parent = ""): Item => ({
  id,
  name: id.split("/").at(-1) ?? "",
  kind: "folder",
  parent,
  size: null,
});
const file = (id: string, size: number, parent = "", type = "text/plain"): Item => ({
  id,
  name: id.split("/").at(-1) ?? "",
  kind: "file",
  parent,
  size,
  type,
});

const tree = (): Item[] => [
  folder("docs"),
  folder("empty"),
  file("a.txt", 5),
  file("b.pdf", 1_572_864, "", "application/pdf"),
  folder("docs/deep", "docs"),
  file("docs/note.md", 12, "docs", "text/markdown"),
];

const toWire = ({ id, name, kind, parent, size, type }: Item) => ({
  id,
  provider_item_id: id,
  name,
  kind,
  parent_ref: parent === "" ? null : parent,
  content_type: type ?? null,
  size,
  modified_at: new Date(now - 7_200_000).toISOString(),
  etag: `e-${id}`,
  analysis_status: "none",
  semantic_index_status: "none",
});

type Answers = Parameters<typeof fakeDaemon>[0];

/** A vault with one storage that holds these items. */
function vault(items: Item[]): Answers {
  const list = ({ path }: RecordedRequest): FakeAnswer => {
    const query = new URL(path, "http://x").searchParams;
    const name = query.get("name");
    const found = items.filter(
      (one) =>
        one.parent === (query.get("parent_ref") ?? "") && (name === null || one.name === name),
    );
    const from = Number(query.get("cursor") ?? 0);
    const limit = Number(query.get("limit") ?? 100);
    return {
      body: {
        parent_ref: query.get("parent_ref") ?? "",
        refresh_state: "fresh",
        error_code: null,
        error_message: null,
        listed_at: new Date(now - 180_000).toISOString(),
        items: found.slice(from, from + limit).map(toWire),
        next_cursor: from + limit < found.length ? String(from + limit) : null,
      },
    };
  };
  const at = (id: string) => items.findIndex((one) => one.id === id);
  const each = items.slice(0, 20).flatMap(({ id }) => {
    const path = `${base}/items/${id}`;
    return [
      [
        `PATCH ${path}/rename`,
        (request: RecordedRequest): FakeAnswer => {
          const { new_name: name } = request.json() as { new_name: string };
          items[at(id)] = { ...items[at(id)]!, name };
          return { body: { kind: "renamed", provider_item_id: id, name } };
        },
      ],
      [
        `POST ${path}/move`,
        (request: RecordedRequest): FakeAnswer => {
          const { destination_parent_ref: parent } = request.json() as Record<string, string>;
          items[at(id)] = { ...items[at(id)]!, parent: parent ?? "" };
          return { body: { kind: "moved", provider_item_id: id, parent_ref: parent } };
        },
      ],
      [
        `DELETE ${path}`,
        (): FakeAnswer => {
          items.splice(at(id), 1);
          const kind = { item_kind: "file", is_folder: false };
          return { body: { kind: "deleted", reason: "trashed", provider_item_id: id, ...kind } };
        },
      ],
      [
        `GET ${path}/download`,
        (): FakeAnswer => ({
          body: Buffer.from("hello\tworld\nsecond line"),
          headers: { "Content-Type": "text/plain" },
        }),
      ],
    ] as const;
  });
  return {
    ...Object.fromEntries(each),
    "GET /api/cloud/connections": {
      body: { items: [connection, other], total: 2, page: 1, per_page: 100 },
    },
    [`GET ${base}/items`]: list,
    [`POST ${base}/folders`]: (request) => {
      const { name, parent_ref: parent } = request.json() as Record<string, string>;
      const id = `made-${name}`;
      items.push({ ...folder(id, parent), name: name ?? "" });
      return { status: 201, body: { kind: "folder", provider_item_id: id, name, parent_ref: "" } };
    },
    [`POST ${base}/items/upload`]: (request) => {
      const name = /name="filename"\r\n\r\n(.*)\r\n/.exec(request.body.toString())?.[1] ?? "";
      items.push(file(name, 3));
      const made = { provider_item_id: name, name, parent_ref: null, size: 3 };
      return { body: { kind: "uploaded", ...made } };
    },
  };
}

interface Around extends Partial<InTerminal> {
  readonly answers?: Answers;
  readonly line?: readonly string[];
  /** Checks the home when the command has ended. */
  readonly after?: (home: string) => Promise<void>;
}

/** Opens the browser on a vault with these items; `use` looks and presses. */
async function inBrowser(
  items: Item[],
  use: (
    terminal: FakeTerminal,
    more: { readonly requests: readonly RecordedRequest[]; readonly home: string },
  ) => Promise<void>,
  { answers = {}, line = ["home:/"], after, ...options }: Around = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ ...vault(items), ...answers });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const workingDirectory = join(home.path, "work");
  await mkdir(workingDirectory);
  const ran = await runInTerminal(
    ["vault", "item", "browse", ...line],
    { home: home.path, workingDirectory, now: () => now, ...options },
    (terminal) => use(terminal, { requests: daemon.requests, home: home.path }),
  );
  await after?.(home.path);
  return ran;
}

const changesOf = (requests: readonly RecordedRequest[]) =>
  requests
    .filter(({ method }) => method !== "GET")
    .map((request) => [
      `${request.method} ${request.path.slice(base.length)}`,
      request.body.byteLength === 0 ? undefined : request.json(),
    ]);
const cursorOn = (name: string) => new RegExp(`❯.. ?${name.replace(".", "\\.")} `);

describe("the browser", () => {
  test("lists folders and files with size and age, and gives the terminal back", async () => {
    const { code, terminal, err } = await inBrowser(tree(), async (screen) => {
      await screen.sees("a.txt");
      expect(screen.rows()).toEqual([
        "home:/                                                     listed 3 minutes ago",
        "",
        "   name                                                           size  changed",
        "❯  docs/                                                                     2h",
        "   empty/                                                                    2h",
        "   a.txt                                                           5 B       2h",
        "   b.pdf                                                       1.5 MiB       2h",
        ...Array.from({ length: 14 }, () => ""),
        "1 of 4  folder, changed 2 hours ago",
        "Enter open  ← up  d save  u upload  n new  r rename  m move  ? keys  q leave",
        "",
      ]);
      await screen.press("q");
    });
    expect([code, err]).toEqual([0, ""]);
    expect(terminal.isAlternate()).toBe(false);
    expect(terminal.written().lastIndexOf("\u001b[?7h")).toBeGreaterThan(0);
  });

  test("the browser is usable in 40 columns and 12 rows", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.sees("a.txt");
        expect(screen.rows()).toEqual([
          "home:/             listed 3 minutes ago",
          "❯  docs/",
          "   empty/",
          "   a.txt                            5 B",
          "   b.pdf                        1.5 MiB",
          ...Array.from({ length: 4 }, () => ""),
          "1 of 4  folder, changed 2 hours ago",
          "Enter open  ← up  ? keys  q leave",
          "",
        ]);
        screen.resize(80, 24);
        await screen.press("q", "r rename");
      },
      { columns: 40, rows: 12 },
    );
  });

  test("starts with the storages when no place is named, and returns to them", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.sees("nas");
        expect(screen.rows().slice(2, 4)).toEqual([
          "❯  home  local_folder, 1.0 KiB of 4.0 KiB used",
          "   nas   local_folder, offline",
        ]);
        await screen.press(keys.enter);
        await screen.press(keys.left, "a.txt");
        await screen.press("j", "Your storages");
        await screen.press("q", "❯  nas");
      },
      { line: [] },
    );
  });

  test("the browser shows how to connect a storage when no storage is connected", async () => {
    await inBrowser(
      [],
      (screen) => screen.press("q", '"croft vault connection add" connects one.'),
      {
        line: [],
        answers: {
          "GET /api/cloud/connections": { body: { items: [], total: 0, page: 1, per_page: 100 } },
        },
      },
    );
  });

  test("enters and leaves folders, and the cursor is where it was", async () => {
    await inBrowser(tree(), async (screen) => {
      await screen.press("j", cursorOn("docs/"));
      await screen.press("k", cursorOn("empty/"));
      await screen.press(keys.enter, cursorOn("docs/"));
      await screen.press(keys.right, "note.md");
      await screen.press("h", "This folder is empty.");
      await screen.press(keys.backspace, cursorOn("deep/"));
      await screen.press("q", cursorOn("docs/"));
    });
  });

  test("begins in a folder, or on a file, and leads up from there", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.press(keys.escape, cursorOn("note.md"));
        await screen.press("q", (text) => text.startsWith("home:/ ") && text.includes("❯  docs/"));
      },
      { line: ["home:/docs/note.md"] },
    );
  });

  test("a missing place is an error of the command", async () => {
    const { code, err } = await inBrowser(tree(), async () => undefined, { line: ["home:/nope"] });
    expect([code, err]).toEqual([6, expect.stringContaining("there is no home:/nope")]);
  });
});

describe("a folder of 50,000 items", () => {
  const many = () => Array.from({ length: 50_000 }, (_, index) => file(`f${index}`, index));
  const listings = (requests: readonly RecordedRequest[]) =>
    requests.filter(({ path }) => path.includes("limit=200") || path.includes("limit=1000"));

  test("a large folder is loaded by pages as the cursor moves, never as a whole", async () => {
    await inBrowser(many(), async (screen, { requests }) => {
      await screen.sees("1 of 200+");
      expect(listings(requests)).toHaveLength(1);
      await screen.press(keys.pageDown);
      await screen.press("G", cursorOn("f16"));
      await screen.press("G", "200 of 1200+");
      await screen.press(keys.up, "1200 of 2200+");
      await screen.press("q", cursorOn("f1198"));
      expect(listings(requests).length).toBeLessThanOrEqual(3);
    });
  });

  test("a folder of 50,000 items is looked through for a name, as far as is reasonable", async () => {
    await inBrowser(many(), async (screen, { requests }) => {
      await screen.press("ff3141\r", "1 of 200+");
      await screen.press(keys.escape, cursorOn("f3141"));
      await screen.press("ff49999\r", (text) => /❯ {2}f3141 .*\n.*3142 of/s.test(text));
      await screen.press("q", /No such name among the first 2\d\d00\./);
      expect(listings(requests).length).toBeLessThan(25);
    });
  });

  test("a refresh reloads the loaded part of a folder and keeps the cursor on its item", async () => {
    await inBrowser(many(), async (screen, { requests }) => {
      await screen.press("G", "1 of 200+");
      await screen.press("R", (text) => text.includes("200 of 1200+") && text.includes("listed"));
      await screen.sees(() => requests.some(({ path }) => path.includes("refresh=true")));
      await screen.press("q", /200 of \d+\+ {2}text.*\n.*/);
    });
  });

  test("a refresh keeps a cursor that moves meanwhile", async () => {
    const { promise: later, resolve } = Promise.withResolvers<void>();
    const items = tree();
    const list = vault(items)[`GET ${base}/items`] as (request: RecordedRequest) => FakeAnswer;
    const slow = async (request: RecordedRequest) => {
      if (request.path.includes("refresh=true")) await later;
      return list(request);
    };
    await inBrowser(
      items,
      async (screen) => {
        await screen.press("R", cursorOn("docs/"));
        await screen.press("jj", "loading…");
        await screen.sees(cursorOn("a.txt"));
        resolve();
        await screen.sees((text) => !text.includes("loading…"));
        await screen.press("q", cursorOn("a.txt"));
      },
      { answers: { [`GET ${base}/items`]: slow } },
    );
  });

  test("the cursor stays on its item when a filter ends, and in a refresh with one", async () => {
    await inBrowser(tree(), async (screen) => {
      await screen.press("f", "a.txt");
      await screen.press("pdf\r", "Find: ▏");
      await screen.press("R", cursorOn("b.pdf"));
      await screen.press(keys.escape, cursorOn("b.pdf"));
      await screen.press("q", (text) => text.includes("a.txt") && cursorOn("b.pdf").test(text));
    });
  });
});

describe("changes", () => {
  test("n creates a folder and moves the cursor to it", async () => {
    await inBrowser(tree(), async (screen, { requests }) => {
      await screen.press("n", "a.txt");
      await screen.press("plans\r", "New folder: ▏");
      await screen.press("q", (text) => /❯ {2}plans\//.test(text) && text.includes("Made plans."));
      expect(changesOf(requests)).toEqual([["POST /folders", { parent_ref: "", name: "plans" }]]);
    });
  });

  test("r renames: the name can be edited, Esc leaves it as it is", async () => {
    await inBrowser(tree(), async (screen, { requests }) => {
      await screen.press("jj", "a.txt");
      await screen.press("r", cursorOn("a.txt"));
      await screen.press(keys.escape, "New name: a.txt▏");
      await screen.press("r", (text) => !text.includes("New name"));
      await screen.press(`${keys.home}${keys.delete}z${keys.end}${keys.backspace}`, "New name:");
      await screen.press("\r", "New name: z.tx▏");
      await screen.press("q", "Renamed a.txt to z.tx.");
      expect(changesOf(requests)).toEqual([
        ["PATCH /items/a.txt/rename", { new_name: "z.tx", etag: "e-a.txt" }],
      ]);
    });
  });

  test("m picks up and, in another folder, puts there", async () => {
    await inBrowser(tree(), async (screen, { requests }) => {
      await screen.press("jj  ", "a.txt");
      await screen.press("m", "2 selected");
      await screen.press("m", "2 items picked up: m puts it here, Esc leaves it");
      await screen.press("g", "They are in this folder already.");
      await screen.press("jj ", cursorOn("docs/"));
      await screen.press("m", "1 selected");
      await screen.press(`g${keys.enter}`, "1 item picked up");
      await screen.press("m", "home:/docs");
      await screen.press("q", (text) => text.includes("Moved a.txt.") && text.includes("   a.txt"));
      expect(changesOf(requests)).toEqual([
        [
          "POST /items/a.txt/move",
          { destination_parent_ref: "docs", destination_connection_id: "c1", etag: "e-a.txt" },
        ],
      ]);
    });
  });

  test("x asks before it deletes; anything but y leaves all as it is", async () => {
    await inBrowser(tree(), async (screen, { requests }) => {
      await screen.press("x", "a.txt");
      await screen.press("n", "Delete docs/ with all that is in it? (y/n)");
      await screen.press("jj", (text) => !text.includes("(y/n)"));
      await screen.press(keys.delete, cursorOn("a.txt"));
      await screen.press("\u001b[200~y\u001b[201~", "Delete a.txt? (y/n)");
      await screen.press("  ", (text) => !text.includes("(y/n)"));
      expect(changesOf(requests)).toEqual([]);
      await screen.press("x", "2 selected");
      await screen.press("y", "Delete these 2 items? (y/n)");
      await screen.press(
        "q",
        (text) => text.includes("Deleted 2 items.") && !text.includes("a.txt"),
      );
      expect(changesOf(requests)).toEqual([
        ["DELETE /items/a.txt", undefined],
        ["DELETE /items/b.pdf", undefined],
      ]);
      // Not a version that came after the list.
      const deletes = requests.filter(({ method }) => method === "DELETE");
      expect(deletes.map(({ headers }) => headers["if-match"])).toEqual(['"e-a.txt"', '"e-b.pdf"']);
    });
  });

  test("shows a refusal, and for several items the number of successes", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.press("jj  x", "a.txt");
        await screen.press("y", "(y/n)");
        await screen.press(
          "q",
          "Deleted 1 of 2; b.pdf: the item was changed or deleted since it was listed.",
        );
      },
      {
        answers: {
          [`DELETE ${base}/items/b.pdf`]: {
            status: 409,
            body: { kind: "stale", reason: "item_changed" },
          },
        },
      },
    );
  });

  test("nothing is sent in a dry run", async () => {
    await inBrowser(
      tree(),
      async (screen, { requests }) => {
        await screen.press("n", "a.txt");
        await screen.press("plans\r", "New folder:");
        await screen.press("q", "Nothing was sent: this is a dry run.");
        expect(changesOf(requests)).toEqual([]);
      },
      { line: ["home:/", "--dry-run"] },
    );
  });
});

describe("transfers", () => {
  test("d saves files, without replacing any", async () => {
    await inBrowser(tree(), async (screen, { home }) => {
      await screen.press("jj  d", "a.txt");
      await screen.press("\r", "Save 2 files into: ./▏");
      await screen.sees(/Saved \.\/(a\.txt|b\.pdf)/);
      await screen.press("g", (text) => !text.includes("waits"));
      await screen.press("jjd", cursorOn("docs/"));
      await screen.press("\r", "Save into: ./▏");
      await screen.press("q", "a.txt exists");
      expect((await readdir(join(home, "work"))).toSorted()).toEqual(["a.txt", "b.pdf"]);
      expect(await readFile(join(home, "work", "a.txt"), "utf8")).toContain("hello");
    });
  });

  test("does not save folders, and reports a missing target folder", async () => {
    await inBrowser(tree(), async (screen) => {
      await screen.press("d", "a.txt");
      await screen.press("jjd", "Only files can be downloaded.");
      await screen.press(`${keys.clear}/nowhere/at/all\r`, "Save into:");
      await screen.press("q", "there is no folder /nowhere/at/all");
    });
  });

  test("u uploads a file; Tab completes its path and quotes of a dropped one are taken off", async () => {
    await inBrowser(tree(), async (screen, { home, requests }) => {
      await mkdir(join(home, "work", "reports"));
      await writeFile(join(home, "work", "reports", "a long name.txt"), "abc");
      await screen.press("u", "a.txt");
      await screen.press(`rep${keys.tab}`, "Upload file: ▏");
      await screen.press(keys.tab, "Upload file: reports/▏");
      await screen.press("\r", "Upload file: reports/a long name.txt▏");
      await screen.sees("Uploaded a long name.txt.");
      await screen.press("u", cursorOn("a long name.txt"));
      await screen.press("'reports/a long name.txt'\r", "Upload file: ▏");
      await screen.press("q", (text) => (text.match(/a long name\.txt +3 B/g) ?? []).length === 2);
      expect(requests.filter(({ method }) => method === "POST")).toHaveLength(2);
    });
  });

  test("show their progress, can be stopped, and leave no partial file", async () => {
    const slow: FakeAnswer = {
      headers: { "Content-Length": "10485760" },
      stream: (write) => write("x".repeat(1_048_576)),
    };
    await inBrowser(
      tree(),
      async (screen, { home }) => {
        await screen.press("jjd", "a.txt");
        await screen.press("\r", "Save into:");
        await screen.press("q", /↓ a\.txt .*10%.*1\.0 MiB\/10\.0 MiB/);
        await screen.press("n", "Leave, and stop a transfer? (y/n)");
        await screen.press("c", (text) => !text.includes("(y/n)"));
        await screen.press("y", "Stop the transfer? (y/n)");
        await screen.press("c", "a.txt: the transfer was stopped");
        await screen.press("d", "No transfer is running.");
        await screen.press("\r", "Save into:");
        await screen.press("q", "10%");
        await screen.press("y", "Leave, and stop a transfer? (y/n)");
        expect(await readdir(join(home, "work"))).toEqual([
          expect.stringMatching(/^a\.txt\.~\w+\.croft-part$/),
        ]);
      },
      {
        answers: { [`GET ${base}/items/a.txt/download`]: slow },
        now: () => now + performance.now(),
        after: async (home) => expect(await readdir(join(home, "work"))).toEqual([]),
      },
    );
  });
});

describe("looking", () => {
  test("Enter shows the beginning of a text, made safe", async () => {
    await inBrowser(
      tree(),
      async (screen, { requests }) => {
        await screen.press(`jj${keys.enter}`, "a.txt");
        await screen.sees("secondred line");
        expect(screen.rows().slice(0, 6)).toEqual([
          expect.stringMatching(/^home:\/a\.txt +5 B$/),
          "",
          "text/plain, changed 2 hours ago",
          "",
          "hello    world",
          "secondred line",
        ]);
        expect(requests.at(-1)?.headers["range"]).toBe("bytes=0-65535");
        await screen.press("q");
        await screen.press("q", "b.pdf");
      },
      {
        answers: {
          [`GET ${base}/items/a.txt/download`]: {
            body: Buffer.from("hello\tworld\nsecond\u001b[31mred\u001b]0;owned\u0007 line"),
          },
        },
      },
    );
  });

  test("from 120 columns on, a text is shown beside its folder", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.press(`jj${keys.enter}`, "a.txt");
        await screen.sees("│ hello");
        expect(screen.screen()).toMatch(/^ {3}empty\/ .*│ hello\n❯ {2}a\.txt .* │$/m);
        await screen.press("q");
        await screen.sees((text) => !text.includes("│"));
        await screen.press("q");
      },
      {
        columns: 120,
        answers: { [`GET ${base}/items/a.txt/download`]: { body: Buffer.from("hello") } },
      },
    );
  });

  test("a file that is not text is not fetched", async () => {
    await inBrowser(tree(), async (screen, { requests }) => {
      await screen.press(`jjj${keys.enter}`, "a.txt");
      await screen.press(keys.left, "This is not text. d saves it on this machine.");
      await screen.press("q", "a.txt");
      expect(requests.filter(({ path }) => path.endsWith("/download"))).toEqual([]);
    });
  });

  describe("/ searches documents and analysed items", () => {
    const found = {
      kind: "document",
      document: { id: "d1", filename: "tax\u001b[31m 2025.pdf" },
      item: null,
      snippet: { text: "the tax office wrote", marks: [[4, 7]] },
      score: 1,
    };
    const analysed = {
      kind: "item",
      document: null,
      item: { name: "letter.txt", provider_item_id: "docs/letter.txt", connection_id: "c1" },
      snippet: { text: "about tax", marks: [[6, 9]] },
      score: 0.5,
    };
    const answers = {
      "GET /api/search": ({ path }: RecordedRequest): FakeAnswer => {
        const q = new URL(path, "http://x").searchParams.get("q");
        const items = q === "tax" ? [found, analysed] : [];
        return { body: { items, total: items.length, page: 1, per_page: 100 } };
      },
      "GET /api/documents/d1": {
        body: { ...found.document, extracted_text: "Dear Mira,\nthe tax office wrote.\u001b[2J" },
      },
      [`GET ${base}/items/docs/letter.txt/detail`]: { body: { extracted_text: null } },
    };

    test.each([
      [80, 24],
      [40, 12],
    ])("the search fits %d columns and %d rows", async (columns, rows) => {
      await inBrowser(
        tree(),
        async (screen) => {
          await screen.press("/", "a.txt");
          await screen.press("tax\r", "Search: ▏");
          await screen.sees("2 found");
          expect(screen.screen()).toContain("letter.txt");
          expect(screen.rows().every((row) => row.length < columns)).toBe(true);
          await screen.press("\r", /❯.*tax 2025\.pdf/);
          await screen.press("q", "the tax office wrote.");
          await screen.press("j", "2 found");
          await screen.press("\r", "2 of 2");
          await screen.press(keys.escape, "No text was extracted.");
          await screen.press("/", "2 found");
          await screen.press(`${keys.clear}nothing\r`, "Search: tax▏");
          await screen.press("q", "No document and no analysed");
          await screen.press("q", "a.txt");
        },
        { columns, rows, answers },
      );
    });

    test("shows why a preview failed, and returns to the folder", async () => {
      await inBrowser(
        tree(),
        async (screen) => {
          await screen.press("/tax\r", "a.txt");
          await screen.press("q", "The server is busy.");
          await screen.press("q", "a.txt");
        },
        {
          answers: { "GET /api/search": { status: 503, body: { detail: "The server is busy." } } },
        },
      );
    });
  });

  test("f finds by words in names", async () => {
    await inBrowser(tree(), async (screen) => {
      await screen.press("f", "a.txt");
      await screen.press("PDF", "Find: ▏");
      await screen.press("\r", (text) => !text.includes("a.txt") && text.includes("b.pdf"));
      await screen.press(keys.escape, 'names with "PDF"; Esc shows all');
      await screen.press("fzzz", "a.txt");
      await screen.press(keys.escape, "No such name.");
      await screen.press("q", "a.txt");
    });
  });

  test("? explains the keys", async () => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.press("?", "a.txt");
        await screen.press("G", "move by one item");
        await screen.press("x", "leave");
        await screen.press("q", "a.txt");
      },
      { columns: 40, rows: 12 },
    );
  });
});

describe("the state of a folder", () => {
  const listing = (state: string, message: string | null): FakeAnswer => ({
    body: {
      parent_ref: "",
      refresh_state: state,
      error_code: "offline",
      error_message: message,
      listed_at: new Date(now - 86_400_000).toISOString(),
      items: [toWire(file("a.txt", 5))],
      next_cursor: null,
    },
  });

  test.each([
    [
      "failed",
      "The storage cannot be reached at the moment.",
      "! The storage cannot be reached at the moment.",
    ],
    ["warning", "Something changed here.", "! Something changed here. R lists it again"],
    ["warning", null, "! This list may be out of date. R lists it again"],
  ])("shows %s above the last listing", async (state, message, shown) => {
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.press("q", (text) => text.includes(shown) && text.includes("a.txt"));
        expect(screen.rows()[0]).toMatch(/listed 1 day ago$/);
      },
      { answers: { [`GET ${base}/items`]: listing(state, message) } },
    );
  });

  test("a folder that was never listed shows why, and not that it is empty", async () => {
    const failed = listing("never", "The storage cannot be reached at the moment.");
    const body = { ...(failed.body as object), items: [] };
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.sees("  The storage cannot be reached at the moment.");
        expect(screen.screen()).not.toContain("empty");
        expect(screen.screen()).toContain("R try again  ← up  ? keys  q leave");
        await screen.press("q");
      },
      { answers: { [`GET ${base}/items`]: { body } } },
    );
  });

  test("storages that cannot be listed again show the reason above the last list", async () => {
    let isBroken = false;
    const all = vault(tree())["GET /api/cloud/connections"] as FakeAnswer;
    await inBrowser(
      tree(),
      async (screen) => {
        await screen.sees("Your storages");
        isBroken = true;
        await screen.press("R", "home");
        await screen.sees((text) => text.includes("! The server is busy.") && text.includes("nas"));
        isBroken = false;
        await screen.press("R", "R try again  Enter open");
        await screen.press("q", (text) => !text.includes("busy"));
      },
      {
        line: [],
        answers: {
          "GET /api/cloud/connections": () =>
            isBroken ? { status: 503, body: { detail: "The server is busy." } } : all,
        },
      },
    );
  });

  test.each([
    ["n", "New folder:", "Enter creates the folder"],
    ["jjr", "New name:", "Enter renames"],
    ["jjd", "Save into:", "Enter saves"],
    ["u", "Upload file:", "Enter uploads"],
    ["f", "Find:", "Enter filters"],
    ["/", "Search:", "Enter searches"],
  ])("%s names what Enter does", async (key, label, enter) => {
    await inBrowser(tree(), async (screen) => {
      await screen.press(key, "a.txt");
      await screen.sees(label);
      await screen.press(keys.escape, `${enter}  Esc cancels`);
      await screen.press("q", "? keys");
    });
  });

  test("a folder that fails to load shows the reason, and R tries again", async () => {
    let count = 0;
    const list = vault(tree())[`GET ${base}/items`] as (request: RecordedRequest) => FakeAnswer;
    const limited: FakeAnswer = {
      status: 429,
      headers: { "Retry-After": "17" },
      body: { detail: "Too many requests" },
    };
    const { code } = await inBrowser(
      tree(),
      async (screen) => {
        await screen.press(
          "R",
          (text) => /Too many requests\./.test(text) && /Try again in 17 s\./.test(text),
        );
        await screen.press("q", "a.txt");
      },
      {
        answers: {
          [`GET ${base}/items`]: (request: RecordedRequest) =>
            count++ === 0 ? limited : list(request),
        },
      },
    );
    expect(code).toBe(0);
  });
});

describe("the terminal", () => {
  test("gets no control characters of names; wide ones stay in line", async () => {
    const items = [
      file("1\u001b]0;owned\u0007\u001b[2Jx\u202ey", 1),
      {
        ...file("w", 1),
        name: "用語集：「添付ファイル」の訳を統一する、用語集：「添付ファイル」の訳.txt",
      },
      { ...file("e", 1), name: "🎉 party 🇩🇪" },
    ];
    const { terminal } = await inBrowser(
      items,
      async (screen) => {
        await screen.sees("party");
        for (const row of screen.rows().slice(1, 4)) expect(row).toMatch(/ 1 B$/);
        await screen.press("q", "1xy");
      },
      { columns: 40, rows: 12 },
    );
    for (const harm of ["owned", "\u202e"]) expect(terminal.written()).not.toContain(harm);
  });

  test.each([
    ["NO_COLOR", { env: { NO_COLOR: "1" } }],
    ["--no-color", { line: ["home:/", "--no-color"] }],
  ])("gets no colours with %s", async (_name, options: Around) => {
    const { terminal } = await inBrowser(
      tree(),
      async (screen) => {
        await screen.press(" ", "a.txt");
        await screen.press("q", " + docs/");
      },
      options,
    );
    // oxlint-disable-next-line no-control-regex -- colours are control sequences
    expect(terminal.written()).not.toMatch(/\u001b\[[0-9;]*m/);
  });

  test("the terminal may not know its size, and is taken for 80x24", async () => {
    await inBrowser(tree(), async (screen) => {
      await screen.sees("a.txt");
      screen.resize(0, 0);
      await screen.press("q", "m move");
    });
  });

  test("the terminal is as it was after SIGTERM, which ends with 143 and leaves no half file", async () => {
    const slow: FakeAnswer = {
      headers: { "Content-Length": "10485760" },
      stream: (write) => write("x".repeat(1_048_576)),
    };
    const ran = await inBrowser(
      tree(),
      async (screen) => {
        await screen.press("jjd", "a.txt");
        await screen.press("\r", "Save into:");
        await screen.sees("10%");
        screen.signal("SIGTERM");
      },
      {
        answers: { [`GET ${base}/items/a.txt/download`]: slow },
        now: () => now + performance.now(),
        after: async (home) => expect(await readdir(join(home, "work"))).toEqual([]),
      },
    );
    expect(ran.code).toBe(143);
    expect(ran.terminal.isAlternate()).toBe(false);
  });

  test("the terminal is as it was after Ctrl-C, which ends with 130", async () => {
    const ran = await inBrowser(tree(), (screen) => screen.press(keys.interrupt, "a.txt"));
    expect(ran.code).toBe(130);
    expect(ran.terminal.isAlternate()).toBe(false);
  });
});

describe("without a terminal", () => {
  test("it is the list of the folder; without a place that of the only storage", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({
      ...vault(tree()),
      "GET /api/cloud/connections": {
        body: { items: [connection], total: 1, page: 1, per_page: 100 },
      },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const browse = (...words: string[]) =>
      runCli(["vault", "item", "browse", ...words], { home: home.path });
    expect((await browse("home:/docs")).out).toMatch(/^folder\tdeep\t/);
    expect((await browse("--json=name")).json()).toEqual([
      { name: "docs" },
      { name: "empty" },
      { name: "a.txt" },
      { name: "b.pdf" },
    ]);
  });

  test("several storages and no place is a usage error that names them", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(vault(tree()));
    await signIn(home.path, { url: daemon.url, vault: {} });
    const ran = await runCli(["vault", "item", "browse", "--json"], { home: home.path });
    expect(ran.error()).toMatchObject({
      code: "usage",
      hint: expect.stringContaining("home, nas"),
    });
  });
});
