import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

// Mails about pull requests and issues, as a mail server receives them.

let smtp: Awaited<ReturnType<typeof startSmtpServer>>;
let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const pulls = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  smtp = await startSmtpServer();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off", CROFT_SMTP_URL: smtp.url } });
  git = await createGitClient();
  for (const name of ["mira", "otto", "nora", "rosa"]) await people.newUser(name);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await smtp.close();
});

const mailsTo = (user: string) =>
  smtp.received
    .filter(({ to }) => to.includes(`${user}@example.org`))
    .map(({ source }) => {
      const end = source.indexOf("\r\n\r\n");
      const head = source.slice(0, end).replace(/\r\n[ \t]+/g, " ");
      const header = (name: string) => new RegExp(`^${name}: (.*)$`, "im").exec(head)?.[1];
      return { header, subject: header("Subject") ?? "", text: source.slice(end + 4) };
    });

/** Waits until a user has a mail with this text. Returns it. */
const waitFor = (user: string, text: string) =>
  vi.waitUntil(() => mailsTo(user).find((mail) => mail.text.includes(text)), {
    timeout: 60_000,
    interval: 20,
  });

test("people get mails about a pull request, in one thread, with the reason and a link", async () => {
  const path = await pulls.create(["one"], { private: true });
  const home = path.replace("/repos/", "");
  for (const name of ["otto", "nora"])
    await by("mira", "PUT", `${path}/collaborators/${name}`, { permission: "write" });
  await by("mira", "PUT", `${path}/subscription`);
  // Rosa is mentioned too, but may not read the repository.
  const body = "Please look, @nora and @rosa";
  const opened = await pulls.open(
    path,
    "one",
    { title: "A change", body, assignee: "otto" },
    "otto",
  );
  expect(opened.status).toBe(201);
  const page = `${daemon.url}/${home}/pulls/1`;
  const first = await waitFor("mira", "otto opened the pull request #1");
  expect(first.subject).toBe(`[${home}] A change (#1)`);
  expect(first.text).toContain(body);
  expect(first.text).toContain(`${page}\r\n`);
  expect(first.text).toContain("you take part in the pull request or watch the repository");
  const thread = first.header("References");
  expect(thread).toMatch(/^<issue-\d+@[\w.-]+>$/);
  expect(first.header("In-Reply-To")).toBeUndefined();
  expect(first.header("List-Id")).toMatch(
    new RegExp(`^${home} <${home.split("/")[1]}\\.mira\\.[\\w.-]+>$`),
  );
  expect(first.header("Auto-Submitted")).toBe("auto-generated");
  expect((await waitFor("nora", "otto opened")).text).toContain("you were mentioned");
  await by("mira", "PATCH", `${path}/pulls/1`, { assignees: ["nora"] });
  const assigned = await waitFor("nora", "mira assigned you to the pull request #1");
  expect(assigned.text).toContain("you are assigned");
  expect(assigned.subject).toBe(`Re: [${home}] A change (#1)`);
  expect(assigned.header("In-Reply-To")).toBe(thread);
  expect(assigned.header("References")).toBe(thread);
  await by("mira", "POST", `${path}/pulls/1/requested_reviewers`, { reviewers: ["nora"] });
  const asked = await waitFor("nora", "mira asks for your review of the pull request #1");
  expect(asked.text).toContain("your review is requested");
  const comment = await by("nora", "POST", `${path}/issues/1/comments`, { body: "A comment" });
  const commented = await waitFor("otto", "nora commented on the pull request #1");
  expect(commented.text).toContain("A comment");
  expect(commented.text).toContain(`${page}#issuecomment-${comment.json.id}\r\n`);
  await by("nora", "POST", `${path}/pulls/1/reviews`, {
    event: "APPROVED",
    body: "",
    comments: [{ path: "one.txt", body: "Well, @mira", new_position: 1 }],
  });
  expect((await waitFor("otto", "nora approved the pull request #1")).text).toContain(
    "Well, @mira",
  );
  expect((await waitFor("mira", "nora approved")).text).toContain("you were mentioned");
  await pulls.expectPull(path, 1, { mergeable: true });
  expect((await by("mira", "POST", `${path}/pulls/1/merge`, { do: "merge" })).status).toBe(200);
  await waitFor("otto", "mira merged the pull request #1");
  await waitFor("nora", "mira merged the pull request #1");
  // Nobody hears of what they do themselves, and nobody of what they may not read.
  expect(mailsTo("mira").some(({ text }) => /mira (?:merged|assigned|asks)/.test(text))).toBe(
    false,
  );
  expect(mailsTo("rosa")).toEqual([]);
});

test("mails about issues follow the wishes of their recipients, and who may read when they are sent", async () => {
  const path = await pulls.create([]);
  const home = path.replace("/repos/", "");
  const wish = (user: string, word: string) =>
    by(user, "PATCH", "/user/settings", { email_notifications: word });
  await wish("nora", "disabled");
  const before = mailsTo("nora").length;
  for (const name of ["nora", "rosa"]) await by(name, "PUT", `${path}/subscription`);
  await by("otto", "POST", `${path}/issues`, { title: "It\r\nleaks", body: "Here" });
  const mail = await waitFor("rosa", "otto opened the issue #1");
  expect(mail.subject).toMatch(new RegExp(`^\\[${home}\\] It ?leaks \\(#1\\)$`));
  expect(mail.text).toContain(`${daemon.url}/${home}/issues/1`);
  await by("otto", "PATCH", `${path}/issues/1`, { state: "closed" });
  await waitFor("rosa", "otto closed the issue #1");
  expect(mailsTo("nora")).toHaveLength(before);
  // A watcher who may no longer read gets none.
  await by("mira", "PUT", `${path}/collaborators/otto`, { permission: "read" });
  await by("mira", "PATCH", path, { private: true });
  const known = mailsTo("rosa").length;
  await by("mira", "PATCH", `${path}/issues/1`, { state: "open" });
  await waitFor("otto", "mira reopened the issue #1");
  expect(mailsTo("rosa")).toHaveLength(known);
});

test("a new collaborator and a new member of a team get one mail, unless they want none or added themselves", async () => {
  for (const name of ["vera", "silas"]) await people.newUser(name);
  await by("silas", "PATCH", "/user/settings", { email_notifications: "disabled" });
  await by("mira", "POST", "/user/repos", { name: "shed", private: true });
  const path = "/repos/mira/shed/collaborators";
  for (const [name, permission] of [
    ["silas", "read"],
    ["vera", "read"],
    ["vera", "write"],
  ] as const)
    expect((await by("mira", "PUT", `${path}/${name}`, { permission })).status).toBe(204);
  const added = await waitFor("vera", "a collaborator of the repository mira/shed");
  expect(added.subject).toBe("mira added you to mira/shed");
  expect(added.text).toContain(`${daemon.url}/mira/shed\r\n`);

  await by("mira", "POST", "/orgs", { username: "guild" });
  const team = (
    await by("mira", "POST", "/orgs/guild/teams", {
      ...{ name: "makers", permission: "read", units: ["repo.code"] },
    })
  ).json;
  for (const name of ["silas", "mira", "vera", "vera"])
    expect((await by("mira", "PUT", `/teams/${team.id}/members/${name}`)).status).toBe(204);
  const joined = await waitFor("vera", "a member of the team makers of guild");
  expect(joined.subject).toBe("mira added you to the team makers of guild");
  expect(mailsTo("vera")).toHaveLength(2);
  expect(mailsTo("silas")).toEqual([]);
  expect(mailsTo("mira").filter(({ subject }) => subject.includes("makers"))).toEqual([]);
});
