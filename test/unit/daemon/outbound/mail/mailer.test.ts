import { type AddressInfo, createServer } from "node:net";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createJobQueue, type JobQueue } from "../../../../../daemon/jobs/queue.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import { composeMail, type MailMessage } from "../../../../../daemon/outbound/mail/compose.ts";
import { createMailer, type Mailer } from "../../../../../daemon/outbound/mail/mailer.ts";
import {
  listMails,
  OUTBOX_MAILS_MAX,
  readMail,
  writeMail,
} from "../../../../../daemon/outbound/mail/outbox.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createKeyring } from "../../../../../storage/keys/keyring.ts";
import { listJobs } from "../../../../../storage/tables/common/jobs.ts";
import { countJobs } from "../../../../support/storage/count-jobs.ts";
import { startSmtpServer } from "../../../../support/smtp-server.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};
const keyring = createKeyring([{ version: 1, bytes: Buffer.alloc(32, 1) }], randomBytes);
const link = `https://croft.example/password-reset/confirm?token=${"aB3-_.".repeat(60)}&x=1`;
const message: MailMessage = {
  to: "mira@example.org",
  subject: "Your password on croft",
  text: `Hello mira,\n\nchoose a password here:\n${link}\n\n.\nBye\n`,
};

let folder: string;
let db: Database;
let queue: JobQueue;
let now: number;
const outbox = () => join(folder, "outbox");

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-mail-"));
  await mkdir(outbox());
  await mkdir(join(folder, "tmp"));
  now = Date.UTC(2026, 10, 20, 9, 30);
  db = await openTestDatabase({ clock: () => now });
  queue = createJobQueue({ db, clock: () => now, random: () => 0, log, owner: "a", alone: true });
});
afterEach(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

function makeMailer(smtpUrl?: string): Mailer {
  const mailer = createMailer({
    mayRead: () => Promise.resolve(true),
    enqueue: queue.enqueue,
    keyring,
    smtpUrl,
    from: "croft <croft@croft.example>",
    outbox: outbox(),
    tmp: join(folder, "tmp"),
    randomBytes,
  });
  queue.register(mailer.job);
  return mailer;
}

const send = (mailer: Mailer, changes: Partial<MailMessage> = {}) =>
  db.transaction((tx) => mailer.queueMail(tx, { ...message, ...changes }));

describe("the outbox", () => {
  test("gets a mail as a private file whose link is in one piece", async () => {
    await send(makeMailer());
    await queue.runDue();
    const [name = ""] = await readdir(outbox());
    expect(name).toMatch(/^20261120T093000000Z-[0-9a-f]{24}\.eml$/);
    expect((await stat(join(outbox(), name))).mode & 0o777).toBe(0o600);
    const source = await readFile(join(outbox(), name), "utf8");
    expect(source).toContain(`\r\n${link}\r\n`);
    expect(source).toContain("To: mira@example.org\r\n");
    expect(source).toContain("Auto-Submitted: auto-generated\r\n");
    expect(source).toContain("X-Auto-Response-Suppress: All\r\n");
    expect(source).toContain("Date: Fri, 20 Nov 2026 09:30:00 +0000\r\n");
    expect(source.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
  });

  test("the outbox is listed newest first and read with its text decoded", async () => {
    const mailer = makeMailer();
    await send(mailer);
    now += 1;
    await send(mailer, {
      subject: "Grüße aus dem Schließfach 🔑 ".repeat(8).trim(),
      text: `Zürich: ${link}\nlö\n`,
    });
    await queue.runDue();
    const mails = await listMails(outbox());
    expect(mails).toMatchObject([
      { to: "mira@example.org", subject: "Grüße aus dem Schließfach 🔑 ".repeat(8).trim() },
      {
        from: "croft <croft@croft.example>",
        subject: "Your password on croft",
        date: "Fri, 20 Nov 2026 09:30:00 +0000",
      },
    ]);
    expect((await readMail(outbox(), mails[0]?.id ?? ""))?.text).toBe(`Zürich: ${link}\nlö\n`);
    expect((await readMail(outbox(), mails[1]?.id ?? ""))?.text).toBe(message.text);
  });

  test("reads nothing but mails of its own", async () => {
    await writeFile(join(folder, "secret.eml"), "secret");
    expect(await readMail(outbox(), "../secret")).toBeUndefined();
    expect(await readMail(outbox(), "none")).toBeUndefined();
  });

  test("keeps a bounded number of mails", async () => {
    for (let n = 0; n < OUTBOX_MAILS_MAX; n++) {
      await writeFile(join(outbox(), `1${String(n).padStart(4, "0")}.eml`), "");
    }
    const mail = await composeMail(message, { id: "x", from: "a@b", date: new Date(now) });
    await writeMail({ outbox: outbox(), tmp: join(folder, "tmp") }, mail!);
    const names = await readdir(outbox());
    expect(names).toHaveLength(OUTBOX_MAILS_MAX);
    expect(names).not.toContain("10000.eml");
  });
});

describe("a queued mail", () => {
  test("a queued mail is not sent when its transaction is rolled back", async () => {
    const mailer = makeMailer();
    const undone = db.transaction(async (tx) => {
      await mailer.queueMail(tx, message);
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    await queue.runDue();
    expect(await readdir(outbox())).toEqual([]);
  });

  test("a queued mail is sealed while it waits", async () => {
    await send(makeMailer());
    const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
    expect(JSON.stringify(job)).not.toMatch(/mira|token|password/);
  });

  test("a queued mail to an invalid address is dead-lettered, and the request succeeds", async () => {
    await send(makeMailer(), { to: "no address" });
    await queue.runDue();
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 1 });
  });
});

describe("injecting headers", () => {
  const injection =
    "x\r\nBcc: eve@evil.example\r\n\r\nbody\nBcc: eve@evil.example\u2028Bcc: eve@evil.example";

  test("injecting headers by the subject makes no header", async () => {
    const mail = await composeMail(
      { ...message, subject: injection },
      { id: "x", from: "a@b.example", date: new Date(now) },
    );
    const [head = "", ...body] = mail?.source.toString().split("\r\n\r\n") ?? [];
    expect(head.split("\r\n").filter((line) => /^bcc/i.test(line))).toEqual([]);
    expect(body.join("\r\n\r\n")).toBe(message.text.replaceAll("\n", "\r\n"));
    expect(mail?.envelope).toEqual({ from: "a@b.example", to: "mira@example.org" });
  });

  test("injecting headers by the sender's name makes no header", async () => {
    const mail = await composeMail(message, {
      id: "x",
      from: `${injection} <a@b.example>`,
      date: new Date(now),
    });
    const [head = ""] = mail?.source.toString().split("\r\n\r\n") ?? [];
    expect(head.split("\r\n").filter((line) => /^bcc/i.test(line))).toEqual([]);
    expect(mail?.envelope.to).toBe("mira@example.org");
  });

  test.each([
    "mira@example.org\r\nBcc: eve@evil.example",
    "mira@example.org, eve@evil.example",
    "mira@example.org;eve@evil.example",
    "<mira@example.org> SIZE=1",
    "a@b@c",
    "",
    "@",
  ])("injecting headers by the recipient is refused: %j", async (to) => {
    expect(
      await composeMail({ ...message, to }, { id: "x", from: "a@b", date: new Date(now) }),
    ).toBeUndefined();
  });
});

describe("a mail server", () => {
  test("gets the mail with its envelope, lines of one dot included", async () => {
    const server = await startSmtpServer();
    await send(makeMailer(server.url));
    await queue.runDue();
    await server.close();
    expect(server.received).toMatchObject([
      { from: "croft@croft.example", to: ["mira@example.org"] },
    ]);
    expect(server.received[0]?.source).toContain(`\r\n${link}\r\n\r\n.\r\nBye`);
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
    expect(await readdir(outbox())).toEqual([]);
  });

  test("a server that requires authentication gets the user and password of the address", async () => {
    const seen: unknown[] = [];
    const server = await startSmtpServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        seen.push({ username, password });
        done(null, { user: username });
      },
    });
    await send(makeMailer(`smtp://mi%40ra:p%2Fw@127.0.0.1:${server.port}`));
    await queue.runDue();
    await server.close();
    expect(seen).toEqual([{ username: "mi@ra", password: "p/w" }]);
    expect(server.received).toHaveLength(1);
  });

  test("a mail server that sends a byte now and then loses its connection at the end of the job's time", async () => {
    const [connected, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const server = createServer((socket) => {
      // A greeting of many lines that never ends.
      const timer = setInterval(() => socket.write("220-wait\r\n"), 5);
      socket.once("data", () => connected.resolve());
      socket
        .on("error", () => undefined)
        .once("close", () => {
          clearInterval(timer);
          closed.resolve();
        });
      connected.resolve();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const mailer = makeMailer(`smtp://127.0.0.1:${port}`);
    await send(mailer);
    const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
    const ended = new AbortController();
    const sent = mailer.job.run(job?.payload, { id: 1, attempt: 1, signal: ended.signal });
    await connected.promise;
    ended.abort(new Error("the time is over"));
    await expect(sent).rejects.toThrow();
    await closed.promise;
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  test("a mail server that is away gets the mail when it is back, under the same id", async () => {
    let isBroken = true;
    const ids: string[] = [];
    const server = await startSmtpServer({
      onData(stream, _session, done) {
        let source = "";
        stream.on("data", (part: Buffer) => (source += part.toString()));
        stream.on("end", () => {
          ids.push(/^Message-ID: (.*)$/m.exec(source)?.[1]?.trim() ?? "");
          done(isBroken ? Object.assign(new Error("try later"), { responseCode: 451 }) : null);
        });
      },
    });
    await send(makeMailer(server.url));
    await queue.runDue();
    expect(await countJobs(db)).toMatchObject({ waiting: 1 });
    isBroken = false;
    now += 10_000;
    await queue.runDue();
    await server.close();
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test("a mail server that is not there has the mail wait, and no password is kept with the error", async () => {
    const server = await startSmtpServer();
    await server.close();
    await send(makeMailer(`smtp://mira:hunter2@127.0.0.1:${server.port}`));
    await queue.runDue();
    const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
    expect(job).toMatchObject({ state: "waiting", attempts: 1 });
    expect(job?.lastError).toContain("ECONNREFUSED");
    expect(JSON.stringify(job)).not.toContain("hunter2");
  });

  test("a permanent refusal of the recipient ends the job", async () => {
    const server = await startSmtpServer({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error("no such user"), { responseCode: 550 })),
    });
    await send(makeMailer(server.url));
    await queue.runDue();
    await server.close();
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 1 });
  });
});
