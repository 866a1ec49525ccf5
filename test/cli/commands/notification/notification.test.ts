import { describe, expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf, refusalOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const thread = {
  id: 7,
  repository: { full_name: "mira/notes" },
  subject: {
    type: "Issue",
    title: "Broken",
    state: "open",
    html_url: "http://h/mira/notes/issues/1",
  },
  unread: true,
  pinned: false,
  updated_at: "2026-11-20T12:00:00Z",
  url: "http://h/api/v1/notifications/threads/7",
};
const hidden = { ...thread, id: 8, repository: null, subject: null, unread: false, pinned: true };

type Answers = Parameters<typeof fakeDaemon>[0];

/** Runs a line of a signed-in person against these answers. */
async function runSignedIn(words: readonly string[], answers: Answers, terminal = false) {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon(answers);
  await signIn(home.path, { url: daemon.url, forgeToken: "t" });
  const ran = await runCli(words, { home: home.path, hurried: true, terminal: { out: terminal } });
  return { ran, requests: daemon.requests };
}

describe("croft notification list", () => {
  test("turns flags into filters", async () => {
    const line = ["--status", "read", "--status=pinned", "--type", "commit", "--since", "x"];
    expect(await optionsOf("notification list", line)).toEqual({
      status: ["read", "pinned"],
      type: ["commit"],
      since: "x",
    });
    expect(await refusalOf("notification list", ["--status", "new"])).toContain("unread, read");
    expect(await refusalOf("notification list", ["--type", "new"])).toContain("issue, pull");
  });

  test("prints threads, also those that may not be read any more", async () => {
    const { ran, requests } = await runSignedIn(
      ["notification", "list", "--status", "read", "--status", "pinned", "--type", "issue"],
      {
        "GET /api/v1/notifications": { body: [thread, hidden], headers: { "X-Total-Count": "2" } },
      },
    );
    expect(ran.code).toBe(0);
    expect(ran.out).toBe(
      "7\tunread\tIssue\tBroken\tmira/notes\t2026-11-20T12:00:00Z\n8\tpinned\t\t\t\t2026-11-20T12:00:00Z\n",
    );
    const query = new URL(requests[0]?.path ?? "", "http://h").searchParams;
    expect(query.getAll("status-types")).toEqual(["read", "pinned"]);
    expect(query.getAll("subject-type")).toEqual(["issue"]);
  });

  test("asks for one repository", async () => {
    const { ran } = await runSignedIn(["notification", "list", "--repo", "mira/notes", "--json"], {
      "GET /api/v1/repos/mira/notes/notifications": { body: [thread] },
    });
    expect(ran.json()).toEqual([thread]);
  });
});

describe("croft notification list --follow", () => {
  const event = (name: string, id: number, data: object) =>
    `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const fresh = { ...thread, id: 9, updated_at: "2026-11-20T13:00:00Z" };
  const answers: Answers = {
    "GET /api/v1/notifications": { body: [thread, hidden], headers: { "X-Total-Count": "2" } },
    "GET /api/v1/notifications/stream": [
      {
        body: Buffer.from(
          event("count", 1, { new: 2 }) +
            // It came while the list was read, and is in both.
            event("thread", 2, thread) +
            event("thread", 3, { ...fresh, id: 10, unread: false }) +
            event("thread", 4, fresh),
        ),
        headers: { "Content-Type": "text/event-stream" },
      },
      { status: 401, body: { message: "token is required" } },
    ],
  };

  test("prints the list from its end, followed by new threads", async () => {
    const { ran, requests } = await runSignedIn(["notification", "list", "--follow"], answers);
    expect(ran.out.split("\n").map((line) => line.split("\t")[0])).toEqual(["8", "7", "9", ""]);
    expect(ran.code).toBe(4);
    expect(requests.map(({ path }) => path.split("?")[0])).toEqual([
      "/api/v1/notifications/stream",
      "/api/v1/notifications",
      "/api/v1/notifications/stream",
    ]);
  });

  test("prints a document a line for scripts", async () => {
    const { ran } = await runSignedIn(
      ["notification", "list", "-f", "--ndjson", "--json=id", "--type", "issue"],
      answers,
    );
    expect(ran.out).toBe('{"id":8}\n{"id":7}\n{"id":9}\n');
    const csv = await runSignedIn(
      ["notification", "list", "-f", "--format", "csv", "--json=id", "--status", "read"],
      answers,
    );
    expect(csv.ran.out.trim().split(/\r?\n/)).toEqual(["id", "8", "7", "10"]);
  });

  test("prints rows on a terminal", async () => {
    const { ran } = await runSignedIn(["notification", "list", "-f"], answers, true);
    expect(ran.out.split("\n").map((line) => line.split(" ")[0])).toEqual(["8", "7", "9", ""]);
  });

  test("refuses formats of a single document", async () => {
    for (const flags of [
      ["--json"],
      ["--jq", "."],
      ["--meta"],
      ["--before", "2026-11-20T12:00:00Z"],
    ])
      expect((await runSignedIn(["notification", "list", "-f", ...flags], {})).ran.code).toBe(2);
  });
});

test("croft notification count prints a number", async () => {
  const answers = { "GET /api/v1/notifications/new": { body: { new: 3 } } };
  expect((await runSignedIn(["notification", "count"], answers)).ran.out).toBe("3\n");
  const machine = await runSignedIn(["notification", "count", "--json"], answers);
  expect(machine.ran.json()).toEqual({ new: 3 });
});

test("croft notification view prints a thread", async () => {
  const { ran } = await runSignedIn(["notification", "view", "7", "--json"], {
    "GET /api/v1/notifications/threads/7": { body: thread },
  });
  expect(ran.json()).toEqual(thread);
});

describe("croft notification mark", () => {
  test("marks as read by default", async () => {
    expect(await optionsOf("notification mark", ["7", "8"])).toEqual({
      id: ["7", "8"],
      as: "read",
    });
    expect(await refusalOf("notification mark", ["7", "--as", "done"])).toContain("unread, read");
  });

  test("marks the named threads, and reports those that failed", async () => {
    const { ran, requests } = await runSignedIn(
      ["notification", "mark", "7", "9", "--as", "pinned", "--json"],
      {
        "PATCH /api/v1/notifications/threads/7": { status: 205, body: thread },
        "PATCH /api/v1/notifications/threads/9": { status: 404, body: { message: "none" } },
      },
    );
    expect(requests[0]?.path).toBe("/api/v1/notifications/threads/7?to-status=pinned");
    expect(ran.json()).toMatchObject({ marked: 1, status: "pinned", failed: [{ item: "9" }] });
    expect(ran.error()).toMatchObject({ code: "partial" });
    expect(ran.code).not.toBe(0);
  });

  test("marks all of them in one request, and counts by the header", async () => {
    const { ran, requests } = await runSignedIn(
      ["notification", "mark", "--all", "--up-to", "2026-11-20T12:00:00Z", "--json"],
      {
        "PUT /api/v1/notifications": {
          status: 205,
          body: [thread],
          headers: { "X-Total-Count": "5000" },
        },
      },
    );
    expect(ran.json()).toEqual({ marked: 5000, status: "read", failed: [] });
    expect(requests[0]?.path).toContain("last_read_at=2026-11-20T12%3A00%3A00Z");
  });

  test.each([
    [["7", "--all"], "exclude"],
    [[], "--all"],
    [["7", "--repo", "mira/notes"], "--all"],
  ])("refuses %j before it sends anything", async (words, why) => {
    const { ran, requests } = await runSignedIn(["notification", "mark", ...words, "--json"], {});
    expect(ran.code).toBe(2);
    expect(ran.error()["message"]).toContain(why);
    expect(requests).toEqual([]);
  });
});

describe("croft notification watch", () => {
  test("takes a repository or an issue", async () => {
    expect(await optionsOf("notification watch", ["mira/notes#3", "--off"])).toEqual({
      subject: "mira/notes#3",
      off: true,
    });
    const repository = await runSignedIn(["notification", "watch", "mira/notes", "--json"], {
      "PUT /api/v1/repos/mira/notes/subscription": { body: {} },
    });
    expect(repository.ran.json()).toEqual({ watching: true, subject: "mira/notes" });
    const issue = await runSignedIn(["notification", "watch", "mira/notes#3", "--off", "--json"], {
      "GET /api/v1/user": { body: { login: "nora" } },
      "DELETE /api/v1/repos/mira/notes/issues/3/subscriptions/nora": { status: 201 },
    });
    expect(issue.ran.json()).toEqual({ watching: false, subject: "mira/notes#3" });
    const wrong = await runSignedIn(["notification", "watch", "mira/notes#x", "--json"], {});
    expect(wrong.ran.code).toBe(2);
  });
});
