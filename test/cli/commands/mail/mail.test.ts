import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { composeMail } from "../../../../daemon/outbound/mail/compose.ts";
import { writeMail } from "../../../../daemon/outbound/mail/outbox.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const id = (day: number) => `202611${day}T093000000Z-m${day}`;

/** Puts a mail into the outbox of a home, as the daemon does. */
async function deliver(home: string, day: number, subject: string, text: string): Promise<void> {
  const folders = { outbox: join(home, "outbox"), tmp: join(home, "tmp") };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  const mail = await composeMail(
    { to: "mira@example.org", subject, text },
    {
      id: `m${day}`,
      from: "croft <croft@localhost>",
      date: new Date(Date.UTC(2026, 10, day, 9, 30)),
    },
  );
  if (mail === undefined) throw new Error("no mail");
  await writeMail(folders, mail);
}

test("mails of the outbox are listed newest first, and shown as they read", async () => {
  await using home = await temporaryHome();
  await deliver(home.path, 20, "Your password on croft", "Choose one here:\nhttp://x/?token=a.b.c");
  await deliver(home.path, 21, "Grüße", "Schöne Grüße");

  const listed = await runCli(["mail", "list", "--json"], { home: home.path });
  expect(listed.json()).toEqual([
    expect.objectContaining({ id: id(21), subject: "Grüße", date: "2026-11-21T09:30:00.000Z" }),
    expect.objectContaining({ id: id(20), to: "mira@example.org", bytes: expect.any(Number) }),
  ]);
  const newest = await runCli(["mail", "show", "--json=subject,text"], { home: home.path });
  expect(newest.json()).toEqual({ subject: "Grüße", text: "Schöne Grüße\n" });
  const { out } = await runCli(["mail", "show", id(20)], { home: home.path });
  expect(out).toMatch(
    /^From: croft <croft@localhost>\nTo: mira@example\.org\nSubject: Your password/,
  );
  expect(out).toContain("\n\nChoose one here:\nhttp://x/?token=a.b.c\n");
});

test("an outbox without mails is an empty list, and show fails", async () => {
  await using home = await temporaryHome();
  expect((await runCli(["mail", "list", "--json"], { home: home.path })).json()).toEqual([]);
  const none = await runCli(["mail", "show", "--json"], { home: home.path });
  expect(none.error()).toMatchObject({ code: "not_found", message: "the outbox is empty" });
});

test("an id is not a path", async () => {
  await using home = await temporaryHome();
  await deliver(home.path, 20, "Hello", "x");
  await writeFile(join(home.path, "secret.eml"), "Subject: secret\r\n\r\nsecret");
  const ran = await runCli(["mail", "show", "../secret", "--json"], { home: home.path });
  expect(ran).toMatchObject({ out: "" });
  expect(ran.error()).toMatchObject({ code: "not_found", message: 'there is no mail "../secret"' });
});

test("the content of a mail cannot control the terminal", async () => {
  await using home = await temporaryHome();
  await mkdir(join(home.path, "outbox"));
  await writeFile(join(home.path, "outbox", "made.eml"), "Subject: a\r\n\r\n\u001b]0;owned\u0007b");
  const ran = await runCli(["mail", "show", "made"], { home: home.path, terminal: true });
  expect(ran.out).not.toContain("\u001b]0;");
});
