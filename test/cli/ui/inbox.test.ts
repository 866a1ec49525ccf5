import { describe, expect, test } from "vitest";
import { type FakeAnswer, fakeDaemon, type RecordedRequest } from "../support/fake-daemon.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";
import { signIn } from "../support/signed-in.ts";
import { type FakeTerminal, type InTerminal, keys, runInTerminal } from "../support/terminal.ts";

const now = Date.parse("2026-11-21T12:00:00Z");
const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();

interface Thread {
  readonly id: number;
  readonly title: string;
  readonly repository: string;
  readonly minutes: number;
  status: "unread" | "read" | "pinned";
}

const thread = (
  id: number,
  title: string,
  status: Thread["status"] = "unread",
  repository = "mira/website",
): Thread => ({ id, title, repository, minutes: id * 60, status });

function toWire({ id, title, repository, minutes, status }: Thread) {
  return {
    id,
    repository: { full_name: repository },
    subject: {
      title,
      type: "Issue",
      state: "open",
      url: `http://x/api/v1/repos/${repository}/issues/${id}`,
      html_url: `http://x/${repository}/issues/${id}`,
      latest_comment_url: "",
      latest_comment_html_url: "",
    },
    unread: status === "unread",
    pinned: status === "pinned",
    updated_at: at(minutes),
    url: "",
  };
}

/** A forge with these threads, which remembers marks as the real one does. */
function forge(threads: Thread[]): Record<string, (request: RecordedRequest) => FakeAnswer> {
  const query = ({ path }: RecordedRequest) => new URL(path, "http://x").searchParams;
  const unread = () => threads.filter(({ status }) => status === "unread").length;
  const marking = Object.fromEntries(
    threads.map((one) => [
      `PATCH /api/v1/notifications/threads/${one.id}`,
      (request: RecordedRequest): FakeAnswer => {
        one.status = query(request).get("to-status") as Thread["status"];
        return { status: 205, body: toWire(one) };
      },
    ]),
  );
  return {
    ...marking,
    "GET /api/v1/notifications": (request) => {
      const requested = query(request).getAll("status-types");
      const statuses = requested.length > 0 ? requested : ["unread", "pinned"];
      const before = Date.parse(query(request).get("before") ?? "") || Number.POSITIVE_INFINITY;
      const limit = Number(query(request).get("limit") ?? 30);
      const found = threads.filter(
        ({ status, minutes }) => statuses.includes(status) && Date.parse(at(minutes)) <= before,
      );
      return {
        body: found.slice(0, limit).map(toWire),
        headers: { "X-Total-Count": String(found.length) },
      };
    },
    "GET /api/v1/notifications/new": () => ({ body: { new: unread() } }),
    "GET /api/v1/notifications/stream": () => ({ status: 404, body: { message: "no" } }),
    "PUT /api/v1/notifications": (request) => {
      const upTo = Date.parse(query(request).get("last_read_at") ?? "");
      const marked = threads.filter(
        ({ status, minutes }) => status === "unread" && Date.parse(at(minutes)) <= upTo,
      );
      for (const one of marked) one.status = "read";
      return {
        status: 205,
        body: marked.map(toWire),
        headers: { "X-Total-Count": String(marked.length) },
      };
    },
  };
}

/** Opens the inbox on a forge with these threads; `use` looks and presses. */
async function inInbox(
  threads: Thread[],
  use: (terminal: FakeTerminal, requests: readonly RecordedRequest[]) => Promise<void>,
  {
    answers = {},
    line = [],
    ...options
  }: Partial<InTerminal> & {
    readonly answers?: Parameters<typeof fakeDaemon>[0];
    readonly line?: readonly string[];
  } = {},
) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({ ...forge(threads), ...answers });
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  return await runInTerminal(
    ["notification", "inbox", ...line],
    { home: home.path, now: () => now, ...options },
    (terminal) => use(terminal, daemon.requests),
  );
}

const few = () => [
  thread(1, "Footer overlaps the imprint"),
  thread(2, "Backup says that all is well", "unread", "jonas/infra-tools"),
  thread(3, "Keep me", "pinned"),
];
const changesOf = (requests: readonly RecordedRequest[]) =>
  requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
const patch = (id: number, status: string) =>
  `PATCH /api/v1/notifications/threads/${id}?to-status=${status}`;

describe("the inbox", () => {
  test("lists threads with state, repository, subject and age, and gives the terminal back", async () => {
    const { code, terminal, err } = await inInbox(few(), async (screen) => {
      await screen.sees("Footer");
      expect(screen.isAlternate()).toBe(true);
      expect(screen.rows()).toEqual([
        "Inbox: unread and pinned                                    2 unread, R reloads",
        "",
        "❯ * mira/website       Footer overlaps the imprint                           1h",
        "  * jonas/infra-tools  Backup says that all is well                          2h",
        "  ^ mira/website       Keep me                                               3h",
        ...Array.from({ length: 16 }, () => ""),
        "1 of 3  mira/website, issue 1, open, 1 hour ago",
        "Enter open  r read  u unread  p pin  a all  f view  / find  ? keys  q leave",
        "",
      ]);
      await screen.press("q");
    });
    expect([code, err]).toEqual([0, ""]);
    expect(terminal.isAlternate()).toBe(false);
    expect(terminal.written()).toContain("\u001b[?7l");
    expect(terminal.written().lastIndexOf("\u001b[?7h")).toBeGreaterThan(
      terminal.written().lastIndexOf("\u001b[?1049l"),
    );
  });

  test("the inbox is usable in 40 columns and 12 rows", async () => {
    await inInbox(
      few(),
      async (screen) => {
        await screen.sees("Footer");
        expect(screen.rows()).toEqual([
          "Inbox               2 unread, R reloads",
          "❯ * Footer overlaps the imprint      1h",
          "  * Backup says that all is well     2h",
          "  ^ Keep me                          3h",
          ...Array.from({ length: 5 }, () => ""),
          "1 of 3  mira/website, issue 1, open, 1…",
          "Enter open  r read  ? keys  q leave",
          "",
        ]);
        await screen.press("q");
      },
      { columns: 40, rows: 12 },
    );
  });

  test("follows the size of the window", async () => {
    await inInbox(few(), async (screen) => {
      await screen.sees("a all");
      screen.resize(40, 12);
      await screen.sees(
        (text) =>
          !text.includes("a all") &&
          text.includes("q leave") &&
          text.split("\n").every((row) => row.length < 40),
      );
      screen.resize(100, 30);
      await screen.press("q", "a all");
    });
  });

  test("moves with arrows, vi's letters, pages and the ends", async () => {
    const many = Array.from({ length: 40 }, (_, index) => thread(index + 1, `Thread ${index + 1}`));
    await inInbox(many, async (screen) => {
      const cursorOn = (title: string) => (text: string) =>
        text.split("\n").some((row) => row.startsWith("❯") && row.includes(`${title} `));
      await screen.press(keys.down, cursorOn("Thread 1"));
      await screen.press("jj", cursorOn("Thread 2"));
      await screen.press("k", cursorOn("Thread 4"));
      await screen.press(keys.up, cursorOn("Thread 3"));
      await screen.press(keys.pageDown, cursorOn("Thread 2"));
      await screen.press(keys.pageUp, cursorOn("Thread 19"));
      await screen.press("G", cursorOn("Thread 2"));
      await screen.press(keys.home, cursorOn("Thread 40"));
      await screen.press(keys.end, cursorOn("Thread 1"));
      await screen.press("g", cursorOn("Thread 40"));
      await screen.press("q", cursorOn("Thread 1"));
    });
  });

  test("loads further pages as the cursor approaches, and skips no thread when some are marked", async () => {
    const many = Array.from({ length: 120 }, (_, index) =>
      thread(index + 1, `Thread ${index + 1}`),
    );
    await inInbox(many, async (screen, requests) => {
      await screen.press("rrr", "1 of 50+");
      await screen.press("G", "117 unread");
      await screen.press("G", "of 99+");
      await screen.press("G", "of 120");
      await screen.press("q", "120 of 120");
      const lists = requests.filter(({ path }) => path.startsWith("/api/v1/notifications?"));
      expect(lists.length).toBe(3);
    });
  });
});

describe("marking", () => {
  test("r, u and p mark the thread under the cursor, and z undoes each", async () => {
    await inInbox(few(), async (screen, requests) => {
      await screen.press("r", "Footer");
      await screen.press("k", "Marked 1 thread as read. z takes it back.");
      await screen.press("p", /❯ {3}mira\/website +Footer/);
      await screen.press("u", /❯ \^ mira\/website +Footer/);
      await screen.press("z", "Marked 1 thread as unread");
      await screen.press("z", /❯ \^ mira\/website +Footer/);
      await screen.press("z", /❯ {3}mira\/website +Footer/);
      await screen.press("z", /❯ \* mira\/website +Footer/);
      await screen.press("q", "There is nothing to take back.");
      expect(changesOf(requests)).toEqual(
        ["read", "pinned", "unread", "pinned", "read", "unread"].map((one) => patch(1, one)),
      );
    });
  });

  test("p gives the pin of a pinned thread up", async () => {
    await inInbox(few(), async (screen, requests) => {
      await screen.press("Gp", "Keep me");
      await screen.press("q", "Marked 1 thread as read");
      expect(changesOf(requests)).toEqual([patch(3, "read")]);
    });
  });

  test("space selects several, which are marked together; Esc drops the selection", async () => {
    await inInbox(few(), async (screen, requests) => {
      await screen.press("  ", "Footer");
      await screen.press(keys.escape, "2 selected");
      await screen.press("g  ", (text) => !text.includes("selected"));
      await screen.press("r", "2 selected");
      await screen.press("q", "Marked 2 threads as read");
      expect(changesOf(requests)).toEqual([patch(1, "read"), patch(2, "read")]);
    });
  });

  test("a asks for confirmation and marks all threads that are not newer than the list; no changes nothing", async () => {
    const threads = few();
    await inInbox(threads, async (screen, requests) => {
      await screen.press("a", "Footer");
      await screen.press("n", "Mark 2 unread threads as read? (y/n)");
      await screen.press("a", (text) => !text.includes("(y/n)"));
      await screen.press("y", "(y/n)");
      await screen.press("z", "Marked 2 threads as read. z takes it back.");
      await screen.press("q", "Took it back for 2 threads.");
      const [all, ...undone] = changesOf(requests);
      expect(new URL(all?.slice(4) ?? "", "http://x").searchParams.get("last_read_at")).toBe(
        at(60),
      );
      expect(undone).toEqual([patch(1, "unread"), patch(2, "unread")]);
    });
    expect(threads.map(({ status }) => status)).toEqual(["unread", "unread", "pinned"]);
  });

  test("a refused mark is undone on the screen and its reason shown", async () => {
    await inInbox(
      few(),
      async (screen) => {
        await screen.press("r", "Footer");
        await screen.press("q", (text) => text.includes("not yours") && text.includes("  * mira"));
      },
      {
        answers: {
          "PATCH /api/v1/notifications/threads/1": { status: 403, body: { message: "not yours" } },
        },
      },
    );
  });

  test("nothing is sent in a dry run", async () => {
    await inInbox(
      few(),
      async (screen, requests) => {
        await screen.press("r", "Footer");
        await screen.press("q", "Nothing was sent: this is a dry run.");
        expect(changesOf(requests)).toEqual([]);
      },
      { line: ["--dry-run"] },
    );
  });
});

describe("finding and viewing", () => {
  test("f cycles through unread and pinned, all, pinned", async () => {
    const threads = [...few(), thread(4, "Done long ago", "read")];
    await inInbox(threads, async (screen) => {
      await screen.press("f", "Footer");
      await screen.press("f", (text) => text.includes("all threads") && text.includes("Done long"));
      await screen.press("f", (text) => text.includes("Inbox: pinned") && !text.includes("Footer"));
      await screen.press(
        "q",
        (text) => text.includes("unread and pinned") && text.includes("Footer"),
      );
    });
  });

  test("/ shows only threads with the words, Enter keeps and Esc drops them", async () => {
    await inInbox(few(), async (screen) => {
      await screen.press("/", "Footer");
      await screen.press("JONAS well", "Find: ▏");
      await screen.press(keys.enter, (text) => !text.includes("Footer") && text.includes("Backup"));
      await screen.press(keys.escape, 'with "JONAS well"');
      await screen.press("/xyz", "Footer");
      await screen.press("\r", "Not among these. f searches all threads.");
      await screen.press("f", 'with "xyz"');
      await screen.press(keys.escape, "No thread has these words. Esc drops them.");
      await screen.press("q", "Footer");
    });
  });

  test("a search includes older threads", async () => {
    const many = Array.from({ length: 120 }, (_, index) =>
      thread(index + 1, `Thread ${index + 1}`),
    );
    await inInbox(many, async (screen) => {
      await screen.press("/117\r", "1 of 50+");
      await screen.press("q", "Thread 117");
    });
  });

  test("an empty inbox has a note", async () => {
    await inInbox([], async (screen) => {
      await screen.press("a", "Nothing is waiting for you.");
      await screen.press("q", "There is nothing unread.");
    });
  });

  test("? explains the keys", async () => {
    await inInbox(
      few(),
      async (screen) => {
        await screen.press("?", "Footer");
        await screen.press("G", "undo the last change");
        await screen.press("x", "+ selected");
        await screen.press("q", "Footer");
      },
      { rows: 24 },
    );
  });

  test("R and Ctrl-R load the list again", async () => {
    const threads = few();
    await inInbox(threads, async (screen) => {
      await screen.sees("Footer");
      threads.push(thread(5, "Another one"));
      await screen.press("R");
      await screen.sees("Another one");
      threads.push(thread(6, "And one more"));
      await screen.press(keys.refresh);
      await screen.press("q", "And one more");
    });
  });
});

describe("an open thread", () => {
  const answers = {
    "GET /api/v1/repos/mira/website/issues/1": {
      body: { user: { login: "mira" }, body: "It **covers** all.", comments: 2 },
    },
    "GET /api/v1/repos/mira/website/issues/1/comments": {
      body: [
        { user: { login: "old" }, body: "first" },
        { user: null, body: "I see it, too" },
      ],
    },
    "POST /api/v1/repos/mira/website/issues/1/comments": { status: 201, body: { id: 3 } },
    "POST /api/v1/markdown": (request: RecordedRequest): FakeAnswer => {
      const { Text } = request.json() as { Text: string };
      const html = `<p>${Text.replaceAll(/\*\*(.*?)\*\*/g, "<strong>$1</strong>")}</p>${Text.includes("covers") ? "<p>filler</p>".repeat(20) : ""}`;
      return { body: Buffer.from(html), headers: { "Content-Type": "text/html" } };
    },
  };

  test("shows the issue and each of its comments, takes a reply, and is read from then on", async () => {
    await inInbox(
      few(),
      async (screen, requests) => {
        await screen.press(keys.enter, "Footer");
        await screen.sees("It covers all.");
        expect(screen.rows().slice(0, 6)).toEqual([
          expect.stringMatching(/^Footer overlaps the imprint +read$/),
          "",
          "http://x/mira/website/issues/1",
          "",
          "mira wrote:",
          "",
        ]);
        await screen.press("G");
        await screen.press("k", "filler");
        await screen.press("g", (text) => !text.includes("It covers"));
        await screen.press("   ", "It covers");
        await screen.press("G", "answered:");
        await screen.press("c", "Somebody answered:");
        await screen.press("On my way", "Reply:");
        await screen.press(keys.enter, "On my way");
        await screen.press("u", "Sent.");
        await screen.press(keys.escape, "Marked 1 thread as unread");
        await screen.press("q", "Backup");
        expect(changesOf(requests).filter((one) => !one.includes("markdown"))).toEqual([
          patch(1, "read"),
          "POST /api/v1/repos/mira/website/issues/1/comments",
          patch(1, "unread"),
        ]);
        const sent = requests.find(
          ({ method, path }) => method === "POST" && path.endsWith("comments"),
        );
        expect(sent?.json()).toEqual({ body: "On my way" });
      },
      { answers },
    );
  });

  test("a commit is named by its id, message and failed checks, and shows them", async () => {
    const sha = "4f5e6d7c8b".repeat(4);
    const { subject, ...rest } = toWire(thread(9, sha));
    const html_url = `http://x/mira/website/commit/${sha}`;
    const commits = [{ ...rest, subject: { ...subject, type: "Commit", url: html_url, html_url } }];
    const commit = { author: { name: "Mira" }, message: "Fix the gate\n\nIt <squeaked>." };
    const statuses = [
      { context: "build", status: "failure", description: "after 3 s" },
      { context: "lint", status: "success", description: "" },
    ];
    const ofCommit = {
      [`GET /api/v1/repos/mira/website/git/commits/${sha}`]: { body: { commit } },
      [`GET /api/v1/repos/mira/website/commits/${sha}/status`]: { body: { statuses } },
      "GET /api/v1/notifications": { body: commits, headers: { "X-Total-Count": "1" } },
    };
    await inInbox(
      few(),
      async (screen) => {
        await screen.press(keys.enter, "4f5e6d7c8b Fix the gate: build failed");
        await screen.sees("Mira committed:");
        await screen.sees("It <squeaked>.");
        await screen.press("c", "build: failure, after 3 s");
        await screen.press("q", "Only issues take a reply.");
        await screen.press("q", (text) => !text.includes("committed"));
      },
      {
        answers: {
          ...ofCommit,
          "PATCH /api/v1/notifications/threads/9": { status: 205, body: commits[0] },
        },
      },
    );
  });

  test("from 120 columns on, an open thread is shown beside the list", async () => {
    await inInbox(
      few(),
      async (screen) => {
        await screen.press(keys.enter, "Footer");
        await screen.sees("It covers");
        expect(screen.rows()[2]).toMatch(
          /^❯ {3}(?:mira\/website +)?Footer overlaps the imprint +1h │ http:\/\/x\/mira\/website\/issues\/1$/,
        );
        expect(screen.rows()[3]).toMatch(/Backup says that all.* │$/);
        await screen.press("q");
        await screen.sees((text) => !text.includes("│"));
        await screen.press("q");
      },
      { answers, columns: 120 },
    );
  });

  test("n and N open its neighbours; a thread that cannot be read shows the reason", async () => {
    await inInbox(
      few(),
      async (screen) => {
        await screen.press(keys.enter, "Footer");
        await screen.press("n", "It covers");
        await screen.press("N", "Gone for good.");
        await screen.press("q", "It covers");
        await screen.press("q", "Backup");
      },
      {
        answers: {
          ...answers,
          "GET /api/v1/repos/jonas/infra-tools/issues/2": {
            status: 404,
            body: { message: "gone for good" },
          },
        },
      },
    );
  });
});

describe("text from the server", () => {
  test("cannot reach the terminal: control, colour, title and direction sequences are removed", async () => {
    const hostile = "a\u001b]0;owned\u0007b\u001b[31mc\u001b[2Jd\u202ee\u0000f\u009b31mg\r\nh\ti";
    const { terminal } = await inInbox([thread(1, hostile)], (screen) =>
      screen.press("q", "abcdefg h i"),
    );
    for (const harm of ["owned", "\u001b[31m", "\u202e", "\u009b"])
      expect(terminal.written()).not.toContain(harm);
  });

  test("text from the server may be wide: columns stay in line and nothing wraps", async () => {
    const wide = [
      thread(
        1,
        "用語集：「添付ファイル」の訳を統一する、用語集：「添付ファイル」の訳を統一する件について",
      ),
      thread(2, "🎉 Release 🇩🇪 party"),
      thread(3, "הוסף תרגום לעברית לדף הבית"),
    ];
    await inInbox(
      wide,
      async (screen) => {
        await screen.sees("Release");
        for (const [row, age] of [
          [1, "1h"],
          [2, "2h"],
          [3, "3h"],
        ] as const)
          expect(screen.rows()[row]).toMatch(new RegExp(`${age}$`));
        expect(screen.rows()[1]).toContain("…");
        await screen.press("q");
      },
      { columns: 40, rows: 12 },
    );
  });
});

describe("colour", () => {
  // oxlint-disable-next-line no-control-regex -- colours are control sequences
  const colours = /\u001b\[[0-9;]*m/;

  test("colour is used on a terminal", async () => {
    const { terminal } = await inInbox(few(), (screen) => screen.press("q", "Footer"));
    expect(terminal.written()).toMatch(colours);
  });

  test.each([
    ["NO_COLOR", { env: { NO_COLOR: "1" } }],
    ["--no-color", { line: ["--no-color"] }],
  ])("%s turns colour off, and no text is lost", async (_name, options) => {
    const { terminal } = await inInbox(
      few(),
      async (screen) => {
        await screen.press("r", /❯ \* mira/);
        await screen.press("q", "Marked 1 thread as read");
      },
      options,
    );
    expect(terminal.written()).not.toMatch(colours);
  });
});

describe("news", () => {
  test("come into the list by themselves, and the cursor stays on its thread", async () => {
    let tell: (text: string) => void = () => undefined;
    const threads = few();
    await inInbox(
      threads,
      async (screen) => {
        await screen.press("j", "2 unread, live");
        await screen.sees(/❯ \* jonas/);
        const event = (name: string, value: object) =>
          tell(`event: ${name}\nid: 1\ndata: ${JSON.stringify(value)}\n\n`);
        event("thread", { ...toWire(thread(9, "Just happened")), updated_at: at(0) });
        event("count", { new: 3 });
        await screen.sees("3 unread, live");
        expect(screen.rows()[2]).toMatch(/^ {2}\* mira\/website +Just happened +now$/);
        await screen.press("q", /❯ \* jonas/);
      },
      {
        answers: {
          "GET /api/v1/notifications/stream": { stream: (write) => (tell = write) },
        },
      },
    );
  });
});

describe("trouble", () => {
  test("an unreachable daemon is reported with a hint and its exit code", async () => {
    await using home = await temporaryHome();
    await signIn(home.path, { url: "http://127.0.0.1:9", forgeToken: "t" });
    const ran = await runInTerminal(
      ["notification", "inbox"],
      { home: home.path },
      async (screen) => {
        await screen.sees("Cannot reach the daemon at http://127.0.0.1:9: connection refused.");
        await screen.press("q", '"croft daemon start" starts it.');
      },
    );
    expect(ran.code).toBe(10);
    expect(ran.err).toContain("cannot reach the daemon");
  });

  test("without a sign-in it prints the command to sign in", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon({});
    const ran = await runInTerminal(
      ["notification", "inbox"],
      { home: home.path, env: { CROFT_URL: daemon.url } },
      (screen) => screen.press("q", '"croft login forge" signs in.'),
    );
    expect(ran.code).toBe(4);
  });

  test("a refused token, and R after it was mended", async () => {
    let isRefused = true;
    const refusing: FakeAnswer = { status: 401, body: { message: "token is required" } };
    const threads = few();
    const list = forge(threads)["GET /api/v1/notifications"]!;
    const { code } = await inInbox(
      threads,
      async (screen) => {
        await screen.sees("Token is required.");
        isRefused = false;
        await screen.press("R", '"croft login forge" signs in.');
        await screen.press("q", "Footer");
      },
      {
        answers: {
          "GET /api/v1/notifications": (request: RecordedRequest) =>
            isRefused ? refusing : list(request),
        },
      },
    );
    expect(code).toBe(0);
  });

  test("a list that cannot be renewed stays, with a warning", async () => {
    const threads = few();
    const list = forge(threads)["GET /api/v1/notifications"]!;
    let isBroken = false;
    await inInbox(
      threads,
      async (screen) => {
        await screen.sees("Footer");
        isBroken = true;
        await screen.press("R");
        await screen.sees("! it broke");
        await screen.press("q", "R try again  Enter open");
      },
      {
        answers: {
          "GET /api/v1/notifications": (request: RecordedRequest) =>
            isBroken ? { status: 500, body: { message: "it broke" } } : list(request),
        },
      },
    );
  });

  test.each([
    ["Ctrl-C", keys.interrupt, 130],
    ["q", "q", 0],
  ])("%s leaves the terminal as it was", async (_name, key, code) => {
    const ran = await inInbox(few(), (screen) => screen.press(key, "Footer"));
    expect(ran.code).toBe(code);
    expect(ran.terminal.isAlternate()).toBe(false);
    expect(ran.terminal.written()).toContain("\u001b[?25h");
  });
});

test("SIGTERM leaves the terminal as it was, and ends with 143", async () => {
  const ran = await inInbox(few(), async (screen) => {
    await screen.sees("Footer");
    screen.signal("SIGTERM");
  });
  expect(ran.code).toBe(143);
  expect(ran.terminal.isAlternate()).toBe(false);
  expect(ran.terminal.written()).toContain("\u001b[?7h");
});

describe("without a terminal", () => {
  test("without a terminal the inbox is the list: rows in a pipe, JSON on request, a table with --no-input", async () => {
    await using home = await temporaryHome();
    await using daemon = await fakeDaemon(forge(few()));
    await signIn(home.path, { url: daemon.url, forgeToken: "t" });
    const piped = await runCli(["notification", "inbox"], { home: home.path });
    expect(piped.out.split("\n")[0]).toContain("1\tunread\tIssue\tFooter overlaps the imprint\t");
    const machine = await runCli(["notification", "inbox", "--json=id"], {
      home: home.path,
      terminal: true,
    });
    expect(machine.json()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    for (const more of [{ line: ["--no-input"] }, { env: { TERM: "dumb" } }]) {
      const { line = [], ...options } = more as { line?: string[]; env?: Record<string, string> };
      const requested = await runCli(["notification", "inbox", ...line], {
        home: home.path,
        terminal: true,
        ...options,
      });
      expect(requested.out).toContain("STATUS");
      expect(requested.out).not.toContain("\u001b[?1049h");
    }
  });
});
