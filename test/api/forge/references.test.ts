import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  for (const name of ["mira", "otto", "zoe"]) await people.newUser(name);
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Makes a repository of mira with issues 1 and 2, and a branch `topic`; otto may write. */
async function newRepository(fields: object = {}): Promise<string> {
  const name = await people.newRepository("mira", { auto_init: true, ...fields });
  const path = `/repos/mira/${name}`;
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "write" });
  for (const title of ["First", "Second"]) await by("mira", "POST", `${path}/issues`, { title });
  const file = { content: Buffer.from("one\ntwo\n").toString("base64"), new_branch: "topic" };
  expect((await by("mira", "POST", `${path}/contents/file.txt`, file)).status).toBe(201);
  return path;
}

const openPull = async (path: string, who: string, fields: object): Promise<number> => {
  const made = await by(who, "POST", `${path}/pulls`, { head: "topic", base: "main", ...fields });
  expect(made.status).toBe(201);
  return made.json.number;
};

interface Reference {
  readonly type: string;
  readonly ref_action: string;
  readonly ref_issue: { readonly number: number; readonly title: string } | null;
  readonly ref_comment: { readonly body: string } | null;
}

/** The references of a timeline as "type action #source comment". */
const references = async (path: string, number: number, who = "mira"): Promise<string[]> =>
  (await by(who, "GET", `${path}/issues/${number}/timeline`)).json
    .filter(({ type }: Reference) => type.endsWith("_ref"))
    .map((entry: Reference) =>
      [entry.type, entry.ref_action, `#${entry.ref_issue?.number}`, entry.ref_comment?.body]
        .filter((part) => part !== undefined)
        .join(" "),
    );

test("titles, descriptions, comments and reviews appear in the timelines of what they name, each once", async () => {
  const path = await newRepository();
  const home = path.replace("/repos/", "");
  const pull = await openPull(path, "mira", {
    title: "Better, see #2",
    body: `Closes #1. Reopens ${home}#2, not \`#2\`.`,
  });
  expect(await references(path, 1)).toEqual([`pull_ref closes #${pull}`]);
  expect(await references(path, 2)).toEqual([`pull_ref reopens #${pull}`]);
  const issue = await by("otto", "POST", `${path}/issues`, {
    title: "Third",
    body: `Closes #1, after !${pull}; !1 is an issue`,
  });
  const { number } = issue.json;
  expect(await references(path, 1)).toEqual([
    `pull_ref closes #${pull}`,
    `issue_ref none #${number}`,
  ]);
  expect(await references(path, pull)).toEqual([`issue_ref none #${number}`]);

  const comments = `${path}/issues/${number}/comments`;
  const comment = await by("otto", "POST", comments, { body: "See #2" });
  const address = `${daemon.url}/${home}/pulls/${pull}#issuecomment-1`;
  const edited = { body: `See #2 and ${address} and #${number}` };
  for (let count = 0; count < 2; count += 1)
    await by("otto", "PATCH", `${path}/issues/comments/${comment.json.id}`, edited);
  expect(await references(path, 2)).toEqual([
    `pull_ref reopens #${pull}`,
    `comment_ref none #${number} ${edited.body}`,
  ]);
  expect(await references(path, number)).toEqual([]);
  await by("otto", "POST", `${path}/pulls/${pull}/reviews`, {
    event: "COMMENT",
    body: `Fixes #${number}`,
    comments: [{ path: "file.txt", body: `As in #${number}`, new_position: 1 }],
  });
  const named = await references(path, number);
  expect(named.toSorted()).toEqual([
    `comment_ref closes #${pull} Fixes #${number}`,
    `comment_ref none #${pull} As in #${number}`,
  ]);

  // An edit adds references, changes what one says, and repeats none.
  await by("mira", "PATCH", `${path}/pulls/${pull}`, { body: `See #1 and #${number}` });
  expect(await references(path, 1)).toEqual([
    `pull_ref none #${pull}`,
    `issue_ref none #${number}`,
  ]);
  expect(await references(path, number)).toEqual([...named, `pull_ref none #${pull}`]);

  const page = await daemon.request(`/${home}/issues/1`, { headers: { accept: "text/html" } });
  expect(page.text).toContain(`<a href="/${home}/pulls/${pull}">`);
  expect(page.text).toContain("named this in");
  // A deleted comment names nothing.
  await by("otto", "DELETE", `${path}/issues/comments/${comment.json.id}`);
  expect(await references(path, 2)).toEqual([`pull_ref none #${pull}`]);
});

test("a pending review names nothing before it is submitted", async () => {
  const path = await newRepository();
  const pull = await openPull(path, "mira", { title: "Better" });
  const made = await by("otto", "POST", `${path}/pulls/${pull}/reviews`, {
    body: "Later",
    comments: [{ path: "file.txt", body: "As in #1", new_position: 1 }],
  });
  expect(made.status).toBe(200);
  expect(await references(path, 1)).toEqual([]);
  const submitted = { event: "COMMENT", body: "Fine" };
  await by("otto", "POST", `${path}/pulls/${pull}/reviews/${made.json.id}`, submitted);
  expect(await references(path, 1)).toEqual([`comment_ref none #${pull} As in #1`]);
});

test("references of private repositories are shown to their readers only, and nobody writes into timelines that they cannot read", async () => {
  const path = await newRepository();
  const secret = await newRepository({ private: true });
  const [home, secretHome] = [path, secret].map((each) => each.replace("/repos/", ""));
  await by("mira", "POST", `${secret}/issues`, { title: `Secret, see ${home}#1` });
  expect(await references(path, 1, "mira")).toEqual(["issue_ref none #3"]);
  const listed = await by("zoe", "GET", `${path}/issues/1/timeline`);
  expect(listed.json).toEqual([]);
  expect(listed.headers.get("x-total-count")).toBe("0");
  const page = await daemon.request(`/${home}/issues/1`, { headers: { accept: "text/html" } });
  expect(page.text).not.toContain("Secret");
  // zoe can guess the number of a private issue.
  await by("zoe", "POST", `${path}/issues`, { title: `Closes ${secretHome}#1` });
  expect(await references(secret, 1)).toEqual([]);
  // The words of a person without the right are a mention; the same for issues of repositories that take no changes.
  await by("zoe", "POST", `${path}/forks`, {});
  const other = await newRepository();
  const pull = await openPull(other, "otto", { title: `Closes ${home}#1 and closes ${home}#2` });
  expect(await references(path, 2)).toEqual([`pull_ref closes #${pull}`]);
  await by("zoe", "POST", `${other}/issues/${pull}/comments`, { body: `Closes #1` });
  expect(await references(other, 1)).toEqual([`comment_ref none #${pull} Closes #1`]);
  await by("mira", "PATCH", path, { archived: true });
  await by("mira", "POST", `${other}/issues`, { title: `See ${home}#2` });
  expect(await references(path, 2)).toEqual([`pull_ref closes #${pull}`]);
});
