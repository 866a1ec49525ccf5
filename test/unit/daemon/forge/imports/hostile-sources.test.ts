import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { gitea, github } from "../../../../../daemon/forge/imports/dialects.ts";
import { createRemotes, RemoteUnusable } from "../../../../../daemon/forge/imports/remotes.ts";
import { createSource } from "../../../../../daemon/forge/imports/source.ts";
import type { Git } from "../../../../../storage/git/git.ts";

// Servers that answer with as much as they can, in a process that has other work.
const { signal } = new AbortController();
const at = "2024-03-01T10:00:00Z";
const user = { login: "octo" };

/** Returns a source whose lists are those of `answer`, and the paths that were asked. */
function sourceOf(
  answer: (path: string) => unknown,
  { dialect = gitea, clock = () => 0 }: { dialect?: typeof gitea; clock?: () => number } = {},
) {
  const asked: string[] = [];
  const address = "https://git.example/octo/notes";
  const source = createSource({
    dialect,
    address,
    credentials: { username: "", password: "", token: "" },
    clock,
    async request({ url }) {
      const path = url.replace(/^.*\/repos\/octo\/notes/, "");
      asked.push(path);
      const body = Buffer.from(JSON.stringify(answer(path)));
      return { kind: "answered", status: 200, headers: {}, body, isCut: false };
    },
  });
  return { source, asked };
}

/** Returns remotes that list `lines`. */
function remotesOf(lines: readonly string[]) {
  const listed = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  const git = { run: async () => listed } as unknown as Git;
  const session = { url: "", env: {}, config: {}, failure: () => undefined };
  const gateway = {
    open: async () => ({ ...session, [Symbol.asyncDispose]: async () => undefined }),
  };
  return createRemotes({ git, gateway, workFolder: "/", bytesMax: 1 });
}
const list = (lines: readonly string[]) =>
  remotesOf(lines).list({ url: "", username: "", password: "" }, { hasPulls: true }, signal);

test("of a list longer than any page 1,000 items are looked at, and the rest is left out", async () => {
  const labels = Array.from({ length: 2_500 }, (_, index) => ({ name: `label ${index}` }));
  const { source } = sourceOf(() => labels);
  const page = await source.read("labels", 1, signal);
  expect(page.items.length).toBe(1_000);
  expect(page.items.at(-1)?.name).toBe("label 999");
  expect(page.malformed).toBe(1_500);
  const empty = sourceOf(() => Array.from({ length: 100_000 }, () => ({})));
  const { items, malformed } = await empty.source.read("milestones", 1, signal);
  expect([items.length, malformed]).toEqual([0, 100_000]);
});

test("an answer with more values than any list has is refused before it is parsed", async () => {
  for (const many of [
    Array.from({ length: 500_000 }, () => ({})),
    [Array.from({ length: 500_000 }, () => 1)],
  ]) {
    const read = sourceOf(() => many).source.read("labels", 1, signal);
    await expect(read).rejects.toThrow("the source answers with too much at once");
  }
  // The characters of texts are not values.
  const name = `${",[{".repeat(300_000)}"\\`;
  const page = await sourceOf(() => [{ name, state: "open", title: name }]).source.read(
    "milestones",
    1,
    signal,
  );
  expect(page.items.map(({ title }) => title.slice(0, 6))).toEqual([",[{,[{"]);
});

test("of the labels of an issue and the files of a release the first are looked at", async () => {
  const labels = [
    ...Array.from({ length: 100 }, (_, index) => ({ name: `label ${index}` })),
    ...Array.from({ length: 1_000 }, () => "no label"),
  ];
  const issue = { number: 1, title: "One", state: "open", user, labels };
  const assets = [
    ...Array.from({ length: 250 }, (_, index) => ({
      name: `file ${index}`,
      browser_download_url: "https://git.example/file",
    })),
    ...Array.from({ length: 1_000 }, () => "no file"),
  ];
  const release = { tag_name: "v1", draft: false, prerelease: false, author: user, assets };
  const times = { created_at: at, updated_at: at };
  const { source } = sourceOf((path) =>
    path.startsWith("/releases") ? [{ ...release, ...times }] : [{ ...issue, ...times }],
  );
  const issues = await source.read("issues", 1, signal);
  expect(issues.items.map((each) => each.labels.length)).toEqual([100]);
  const releases = await source.read("releases", 1, signal);
  expect(releases.items.map((each) => each.assets.length)).toEqual([250]);
  const none = sourceOf(() => [
    { ...issue, ...times, labels: null },
    { ...issue, ...times, labels: undefined },
    { ...issue, ...times, labels: "bug" },
  ]);
  const { items, malformed } = await none.source.read("issues", 1, signal);
  expect([items.map((each) => each.labels), malformed]).toEqual([[[], []], 1]);
});

test("the reviews of one pull request have a maximum of characters and of requests", async () => {
  const review = (id: number, body: string) => ({
    id,
    state: "COMMENT",
    body,
    user,
    comments_count: 1,
    submitted_at: at,
  });
  const long = sourceOf((path) =>
    path.includes("/comments")
      ? []
      : Array.from({ length: 20 }, (_, index) => review(index + 1, "x".repeat(200_000))),
  );
  const read = await long.source.readReviews(3, signal);
  // 80 texts of 200,000 characters are 16 million; the comments of the last one are not asked for.
  expect(read.items.length).toBe(80);
  expect(long.asked.length).toBe(4 + 79);
  const many = sourceOf((path) =>
    path.includes("/comments")
      ? []
      : Array.from({ length: 400 }, (_, index) => review(index + 1, "")),
  );
  const found = await many.source.readReviews(3, signal);
  expect([found.items.length, found.malformed]).toEqual([1_000, 200]);
  expect(many.asked.length).toBe(3 + 1_000);
});

test("the reviews of one pull request have a maximum of time", async () => {
  let now = 0;
  const slow = sourceOf(
    (path) => {
      now += 60_000;
      if (path.includes("/comments")) return [];
      return Array.from({ length: 40 }, (_, index) => ({
        id: index + 1,
        state: "COMMENT",
        body: "",
        user,
        comments_count: 1,
        submitted_at: at,
      }));
    },
    { clock: () => now },
  );
  const read = await slow.source.readReviews(3, signal);
  // The list, and the comments of ten reviews.
  expect(slow.asked.length).toBe(11);
  expect([read.items.length, read.malformed]).toEqual([10, 30]);
});

test("the comments on lines of a pull request of GitHub have a maximum, and those without reviews are not asked for", async () => {
  const line = (review: number) => ({
    pull_request_review_id: review,
    path: "a.txt",
    body: "x".repeat(20_000),
    user,
    side: "RIGHT",
    line: 3,
    original_line: 2,
    commit_id: "b".repeat(40),
    original_commit_id: "a".repeat(40),
    diff_hunk: "@@ -1 +1 @@",
    created_at: at,
    updated_at: at,
  });
  const review = { id: 7, state: "COMMENTED", body: "", user, submitted_at: at };
  const many = sourceOf(
    (path) => (path.includes("/comments") ? Array.from({ length: 100 }, () => line(7)) : [review]),
    { dialect: github },
  );
  const read = await many.source.readReviews(3, signal);
  const lines = read.items.flatMap((each) => each.lines);
  expect(lines.length).toBeLessThan(801);
  expect(lines[0]).toMatchObject({ line: 2, side: "new", commitId: "a".repeat(40) });
  expect(many.asked.filter((path) => path.includes("/comments")).length).toBeLessThanOrEqual(20);
  const none = sourceOf(() => [], { dialect: github });
  expect((await none.source.readReviews(3, signal)).items).toEqual([]);
  expect(none.asked).toEqual(["/pulls/3/reviews?page=1&per_page=100"]);
});

test("a listing of refs leaves out names below others, and is refused when it has too many", async () => {
  const id = "1".repeat(40);
  const of = (...names: string[]) => names.map((name) => `${id}\t${name}`);
  const taken = await list([
    "ref: refs/heads/main\tHEAD",
    ...of("HEAD", "refs/heads/main", "refs/heads/a", "refs/heads/a/b", "refs/heads/a/b/c"),
    ...of(
      "refs/heads/ab/c",
      "refs/tags/a/b",
      "refs/tags/v1",
      "refs/tags/v1^{}",
      "refs/pull/3/head",
    ),
    ...of("refs/heads/a..b", "refs/heads/x\ty"),
  ]);
  expect(taken.head).toBe("main");
  expect([...taken.refs.keys()]).toEqual([
    "refs/heads/main",
    "refs/heads/a",
    "refs/heads/ab/c",
    "refs/tags/a/b",
    "refs/tags/v1",
    "refs/pull/3/head",
  ]);
  expect(taken.skipped).toBe(4);
  const names = Array.from({ length: 100_001 }, (_, index) => `refs/heads/${index}`);
  await expect(list(of(...names))).rejects.toThrow(RemoteUnusable);
});

test("other work goes on while a long listing of deep names is read", async () => {
  const id = "1".repeat(40);
  const deep = "a/".repeat(80);
  const listing = list(Array.from({ length: 20_000 }, (_, at) => `${id}\trefs/heads/${deep}${at}`));
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      await setImmediate();
      turns += 1;
    }
  })();
  expect((await listing).refs.size).toBe(20_000);
  isOver = true;
  await others;
  // It is read in parts of 1,000: as lines, by names, and once more for names below others.
  expect(turns).toBeGreaterThanOrEqual(50);
});
