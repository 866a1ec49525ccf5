import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import {
  createWorkflowRepository,
  type WorkflowRepository,
} from "../../support/forge/workflow-repository.ts";
import { withOneDaemon } from "../../support/skip.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

let smtp: Awaited<ReturnType<typeof startSmtpServer>>;
let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  smtp = await startSmtpServer();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off", CROFT_SMTP_URL: smtp.url } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await smtp.close();
});

const workflow = (label: string, name = "CI") =>
  `name: ${JSON.stringify(name)}\non: [push, workflow_dispatch]\njobs: { a: { runs-on: ${label}, steps: [{ run: "true" }] } }\n`;

async function newRepository(name: string) {
  const owner = await people.newUser();
  const repository = createWorkflowRepository({ daemon, people, git }, owner, name);
  await repository.create();
  const runPushed = async (count: number, result: string) => {
    await repository.push({ "ci.yml": workflow(name) }, `change ${count}`);
    const run = await repository.waitForRuns(count);
    await repository.work(result);
    return run;
  };
  return { owner, repository, runPushed };
}

/** The mails about runs. */
const mailsTo = (user: string) =>
  smtp.received
    .filter(({ to }) => to.includes(`${user}@example.org`))
    .map(({ source }) => {
      const end = source.indexOf("\r\n\r\n");
      const head = source.slice(0, end).replace(/\r\n[ \t]+/g, " ");
      const subject = /^Subject: (.*)$/im.exec(head)?.[1] ?? "";
      return { head, subject, text: source.slice(end + 4) };
    })
    .filter(({ subject }) => subject.includes("] Run "));

/**
 * Waits until a user has received `count` mails. Mails are sent in the order of the runs, so a later wait detects an
 * extra one.
 */
async function waitForMails(user: string, count: number) {
  await vi.waitUntil(() => mailsTo(user).length >= count, { timeout: 60_000, interval: 20 });
  expect(mailsTo(user)).toHaveLength(count);
  return mailsTo(user);
}

const setPreference = async (user: string, word: string) => {
  const set = await people.by(user, "PATCH", "/user/settings", { email_notifications: word });
  expect(set).toMatchObject({ status: 200, json: { email_notifications: word } });
};

async function dispatch(repository: WorkflowRepository, by: string): Promise<void> {
  const path = `${repository.api}/workflows/ci.yml/dispatches`;
  expect((await people.by(by, "POST", path, { ref: "main" })).status).toBe(204);
}

describe("the user who started a run", () => {
  test("the user who started a run gets a mail when it fails and when the next one succeeds, and no other mail", async () => {
    const { owner, runPushed } = await newRepository("news");
    await runPushed(1, "SUCCESS");
    const failed = await runPushed(2, "FAILURE");
    const [first] = await waitForMails(owner, 1);
    expect(first?.subject).toBe(
      `[${owner}/news] Run failed: CI, main (${String(failed["head_sha"]).slice(0, 10)})`,
    );
    expect(first?.head).toContain("Auto-Submitted: auto-generated");
    expect(first?.text.split("\r\n")).toEqual([
      `Hello ${owner},`,
      "",
      `run 2 of the workflow CI in ${owner}/news on croft failed.`,
      "",
      "Branch: main",
      `Commit: ${String(failed["head_sha"])}`,
      "Event: push",
      "Failed jobs: a",
      "",
      `${daemon.url}/${owner}/news/actions/runs/${failed.id}`,
      "",
      "You get this mail because you started the run. To get none:",
      "croft account edit --email-notifications disabled",
      "",
    ]);
    await runPushed(3, "CANCELLED");
    await runPushed(4, "SUCCESS");
    await runPushed(5, "SUCCESS");
    await runPushed(6, "FAILURE");
    const [, second, third] = await waitForMails(owner, 3);
    expect(second?.subject).toContain("Run recovered: CI, main");
    expect(second?.text).toContain("succeeded, after the run before it had failed.");
    expect(second?.text).not.toContain("Failed jobs");
    expect(third?.subject).toContain("Run failed: CI, main");
  });

  test("the user who started a run gets mails about all runs with andyourown, and none with disabled", async () => {
    const { owner, runPushed } = await newRepository("wishes");
    await setPreference(owner, "disabled");
    await runPushed(1, "FAILURE");
    await setPreference(owner, "andyourown");
    await runPushed(2, "SUCCESS");
    await runPushed(3, "SUCCESS");
    const subjects = (await waitForMails(owner, 2)).map(({ subject }) => subject);
    expect(subjects.map((subject) => /Run (\w+)/.exec(subject)?.[1]).toSorted()).toEqual([
      "recovered",
      "succeeded",
    ]);
    const refused = await people.by(owner, "PATCH", "/user/settings", {
      email_notifications: "onmention",
    });
    expect(refused.status).toBe(422);
  });

  test("the user who started a failed run gets a mail when another user's run fixes the workflow, unless access was lost", async () => {
    const { owner, repository, runPushed } = await newRepository("mended");
    const helper = await people.newUser();
    const asCollaborator = `/repos/${owner}/mended/collaborators/${helper}`;
    await people.by(owner, "PATCH", `/repos/${owner}/mended`, { private: true });
    await people.by(owner, "PUT", asCollaborator, { permission: "write" });
    await runPushed(1, "SUCCESS");
    await dispatch(repository, helper);
    await repository.work("FAILURE");
    await waitForMails(helper, 1);
    await dispatch(repository, owner);
    await repository.work("SUCCESS");
    await waitForMails(owner, 1);
    const [, mended] = await waitForMails(helper, 2);
    expect(mended?.text).toContain("because you started the run that failed before");

    await dispatch(repository, helper);
    await people.by(owner, "DELETE", asCollaborator);
    await repository.work("FAILURE");
    await dispatch(repository, owner);
    await repository.work("SUCCESS");
    await waitForMails(owner, 2);
    expect(mailsTo(helper)).toHaveLength(2);
  });
});

withOneDaemon(
  "a queued mail is not sent to a user who has lost access or has left the team",
  async () => {
    const release = Promise.withResolvers<void>();
    const held: string[] = [];
    await using slow = await startHeldServer(release.promise, (to) => held.push(to));
    await using busy = await startTestDaemon({
      env: { CROFT_RATE_LIMITS: "off", CROFT_SMTP_URL: slow.url },
    });
    const someone = createForgePeople(() => busy);
    await using busyGit = await createGitClient();
    const [owner, helper] = [await someone.newUser(), await someone.newUser()];
    const welcome = (name: string) =>
      someone.api("POST", "/admin/users", {
        username: name,
        email: `${name}@example.org`,
        password: "a-Long-passw0rd!",
        send_notify: true,
      });
    const around = { daemon: busy, people: someone, git: busyGit };
    const repository = createWorkflowRepository(around, owner, "held");
    await repository.create();
    await someone.by(owner, "PATCH", `/repos/${owner}/held`, { private: true });
    const asCollaborator = `/repos/${owner}/held/collaborators/${helper}`;
    await someone.by(owner, "PUT", asCollaborator, { permission: "write" });
    await repository.push({ "ci.yml": workflow("held") });
    await repository.waitForRuns(1);
    await repository.work("SUCCESS");
    // A daemon sends two mails at a time: with these in progress, the next one waits. The first is that to the new collaborator.
    await welcome("first");
    await vi.waitUntil(() => held.length === 2, { timeout: 60_000 });
    const path = `${repository.api}/workflows/ci.yml/dispatches`;
    expect((await someone.by(helper, "POST", path, { ref: "main" })).status).toBe(204);
    await repository.work("FAILURE");
    await someone.by(owner, "DELETE", asCollaborator);
    const guest = await someone.newUser();
    await someone.by(owner, "POST", "/orgs", { username: "guild" });
    const { json: team } = await someone.by(owner, "POST", "/orgs/guild/teams", {
      ...{ name: "makers", permission: "read", units: ["repo.code"] },
    });
    for (const method of ["PUT", "DELETE"])
      expect((await someone.by(owner, method, `/teams/${team.id}/members/${guest}`)).status).toBe(
        204,
      );
    await welcome("last");
    release.resolve();
    await vi.waitUntil(() => held.includes("last@example.org"), { timeout: 60_000 });
    expect(held.toSorted()).toEqual(["first", "last", helper].map((name) => `${name}@example.org`));
  },
);

/** An SMTP server that answers mails after `until`. */
async function startHeldServer(until: Promise<void>, onMail: (to: string) => void) {
  const server = await startSmtpServer({
    onData(stream, session, done) {
      stream.resume();
      stream.on("end", () => {
        for (const { address } of session.envelope.rcptTo) onMail(address);
        void until.then(() => done());
      });
    },
  });
  return { url: server.url, [Symbol.asyncDispose]: () => server.close() };
}

test("names of workflows, jobs and users add no headers and no lines to a mail", async () => {
  const injection = "CI\r\nBcc: eve@evil.example\r\n\r\nsee http://evil.example\u2028x";
  const { owner, repository } = await newRepository("hostile");
  await people.by(owner, "PATCH", "/user/settings", { full_name: "Mira\u202E\tLind" });
  const file = `name: ${JSON.stringify(injection)}
on: push
jobs:
  a:
    name: ${JSON.stringify(`${injection}${"j".repeat(300)}`)}
    runs-on: hostile
    steps: [{ run: "true" }]
`;
  await repository.push({ "ci.yml": file });
  await repository.waitForRuns(1);
  await repository.work("FAILURE");
  const [mail] = await waitForMails(owner, 1);
  expect(smtp.received.at(-1)?.to).toEqual([`${owner}@example.org`]);
  expect(mail?.head).not.toMatch(/^bcc/im);
  const text = Buffer.from(mail?.text.replaceAll("=\r\n", "") ?? "").toString();
  expect(text).toContain("Hello Mira Lind,");
  expect(text).not.toMatch(/^(?:Bcc|see)/m);
  expect(text.split("\n").every((line) => line.length < 400)).toBe(true);
});

test("without a mail server runs queue no mails, which would displace others in the outbox", async () => {
  await using quiet = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const quietPeople = createForgePeople(() => quiet);
  await using quietGit = await createGitClient();
  const owner = await quietPeople.newUser();
  const around = { daemon: quiet, people: quietPeople, git: quietGit };
  const repository = createWorkflowRepository(around, owner, "quiet");
  await repository.create();
  await repository.push({ "ci.yml": workflow("quiet") });
  await repository.waitForRuns(1);
  await repository.work("FAILURE");
  const { json } = await quietPeople.by(owner, "GET", "/notifications");
  expect(json.map(({ subject }: { subject: { type: string } }) => subject.type)).toContain(
    "Commit",
  );
  expect(await readdir(join(quiet.home, "outbox")).catch(() => [])).toEqual([]);
});
