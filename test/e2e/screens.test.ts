import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { type CroftCommand, croftJson, type ServedCroft, serveCroft } from "../support/croft.ts";
import { skipUnless } from "../support/skip.ts";
import { hasTmux, openTmux, type TmuxTerminal } from "../support/tmux.ts";

// The screens as people see them: a daemon, a real terminal, keys pressed in it.

const root = join(import.meta.dirname, "../..");
const croft: CroftCommand = [process.execPath, join(root, "bin/croft.js")];
const password = "Correct-Horse-7-Battery";

const inTmux = skipUnless(hasTmux, "tmux is not installed");

let home = "";
let served: ServedCroft | undefined;
let token = "";

async function forge(path: string, body: object, sudo: string): Promise<void> {
  const answer = await fetch(`${served?.url}/api/v1${path}`, {
    method: "POST",
    headers: { Authorization: `token ${token}`, Sudo: sudo, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}

const openIssue = (title: string, body: string) =>
  forge("/repos/mira/website/issues", { title, body }, "mira");

/** Runs a line of croft in a terminal of this size. */
function open(
  line: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  env: Readonly<Record<string, string>> = {},
): Promise<TmuxTerminal> {
  const program = croft.map((word) => `'${word}'`).join(" ");
  return openTmux(`echo before; ${program} ${line}; echo "left with $?"`, {
    columns,
    rows,
    cwd: join(home, "work"),
    env: { ...environment(), ...env },
  });
}

const environment = () => ({
  HOME: home,
  CROFT_HOME: home,
  CROFT_KEY_SOURCE: "file",
  CROFT_CREDENTIAL_STORE: "file",
  CROFT_URL: served?.url ?? "",
});

inTmux.describe("in a real terminal", () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "croft-screens-"));
    await mkdir(join(home, "work"));
    const around = { home };
    const admin = ["--username", "keeper", "--email", "keeper@example.org", "--password-stdin"];
    const made = await croftJson<{ forge: { token: string } }>(
      croft,
      ["init", ...admin],
      around,
      password,
    );
    token = made.forge.token;
    const papers = join(home, "files", "mira", "papers");
    await mkdir(join(papers, "Contracts"), { recursive: true });
    await writeFile(join(papers, "notes 用語.txt"), "first line\nsecond line\n");
    await writeFile(join(papers, "Contracts", "signed.pdf"), Buffer.alloc(300_000, 7));
    served = await serveCroft(croft, around);
    const at = { home, env: { CROFT_URL: served.url } };
    const run = (line: string, stdin = "") => croftJson<unknown>(croft, line.split(" "), at, stdin);
    await run("admin user create --username mira --email mira@example.org --random-password");
    await forge("/admin/users/mira/repos", { name: "website" }, "keeper");
    await openIssue("Footer overlaps the imprint", "@keeper the **footer** is in the way");
    await openIssue("用語集：「添付ファイル」の訳 🎉", "@keeper please");
    await run("vault register --handle mira --email mira@example.org --password-stdin", password);
    await run("login vault --email mira@example.org --password-stdin", password);
    await run("vault connection add local_folder --name Papers --setting root=" + papers);
  }, 240_000);

  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    if (home !== "") await rm(home, { recursive: true, force: true });
  });

  inTmux("the inbox is read, marked and left, in 80x24", async () => {
    await using terminal = await open("notification inbox", { columns: 80, rows: 24 });
    const first = await terminal.sees(/2 unread, live/);
    expect(first[0]).toMatch(/^Inbox: unread and pinned {2,}2 unread, live$/);
    expect(first[2]).toMatch(/^❯ \* mira\/website {2}用語集：「添付ファイル」の訳 🎉 +(now|\d+m)$/);
    expect(first[3]).toMatch(/^ {2}\* mira\/website {2}Footer overlaps the imprint +(now|\d+m)$/);
    expect(first[22]).toMatch(/^Enter open .* q leave$/);
    expect(first.slice(23).join("")).toBe("");
    expect(first.every((row) => row.length <= 79)).toBe(true);

    await openIssue("Just happened", "@keeper look");
    await terminal.sees(
      /❯ \* mira\/website {2}用語集[\s\S]*3 unread|3 unread[\s\S]*❯ \* mira\/website {2}用語集/,
    );
    await terminal.press("Just happened", "j", "Enter");
    await terminal.press(/mira wrote:\n\n@keeper[^\n]* the footer is in the way/, "q");
    // The count is the daemon's, and comes after the mark.
    await terminal.press(/2 unread[\s\S]*❯ {3}mira\/website {2}Footer/, "z");
    await terminal.press(/3 unread[\s\S]*❯ \* mira\/website {2}Footer/, "p");
    await terminal.press(/2 unread[\s\S]*❯ \^ mira\/website {2}Footer/, "a");
    await terminal.press("Mark 2 unread threads as read? (y/n)", "y");
    await terminal.press(/0 unread[\s\S]*Marked 2 threads as read/, "q");
    const left = await terminal.sees("left with 0");
    expect(left.slice(0, 2)).toEqual(["before", "left with 0"]);
  });

  inTmux("the inbox is usable in 40x12 without colour, and follows the window", async () => {
    await using terminal = await open(
      "notification inbox",
      { columns: 40, rows: 12 },
      { NO_COLOR: "1" },
    );
    const rows = await terminal.sees(/\d unread, live/);
    expect(rows[0]).toMatch(/^Inbox +\d+ unread, live$/);
    // oxlint-disable-next-line no-control-regex -- colours are control sequences
    expect(await terminal.painted()).not.toMatch(/\u001b\[[\d;]*m/);
    await terminal.press("q leave", "f");
    await terminal.press("all threads", "?");
    await terminal.press("move by one thread", "x");
    await terminal.resize(100, 30);
    await terminal.press("a all", "C-c");
    await terminal.sees("left with 130");
  });

  inTmux("Ctrl-Z gives the terminal back to the shell, and fg draws the screen again", async () => {
    await using terminal = await openTmux("PS1='ready> ' bash --norc -i", {
      columns: 80,
      rows: 24,
      cwd: join(home, "work"),
      env: environment(),
    });
    const program = croft.map((word) => `'${word}'`).join(" ");
    await terminal.press("ready>", `${program} notification inbox`, "Enter");
    for (const round of ["first", "second"]) {
      await terminal.press(/^Inbox[^\n]*unread, live/, "C-z");
      const shell = await terminal.sees(/Stopped.*\n[^]*ready>$/m);
      expect(shell.join("\n")).not.toContain("unread, live");
      // The terminal echoes again, and lines are read as lines.
      const modes = `stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo; echo ${round}`;
      await terminal.press("ready>", modes, "Enter");
      const seen = new RegExp(`icanon\\necho\\n${round}`);
      await terminal.press(seen, "fg; echo left with $?", "Enter");
    }
    await terminal.press(/^Inbox[^\n]*unread, live/, "q");
    // The sign-in is drawn line by line.
    const signIn = `clear; ${program} login vault --email mira@example.org`;
    await terminal.press("left with 0", signIn, "Enter");
    await terminal.press("Password (not shown)", "C-z");
    await terminal.press(/Stopped/, "clear; fg; echo left with $?", "Enter");
    await terminal.press("Password (not shown)", "C-c");
    await terminal.sees("left with 130");
  });

  inTmux("storages are browsed and changed, in 80x24", async () => {
    await using terminal = await open("vault item browse", { columns: 80, rows: 24 });
    await terminal.press(/❯ {2}Papers {2}local_folder/, "Enter");
    const rows = await terminal.sees(/Papers:\/ {2,}listed [\s\S]*❯ {2}Contracts\//);
    expect(rows[2]).toMatch(/^ {3}name +size {2}changed$/);
    expect(rows[4]).toMatch(/^ {3}notes 用語\.txt +23 B +(now|\d+m)$/);
    await terminal.press("❯  Contracts/", "Enter");
    await terminal.press("❯  signed.pdf", "d");
    await terminal.press("Save into: ./▏", "Enter");
    await terminal.press("Saved ./signed.pdf", "n");
    await terminal.press("New folder: ▏", "drafts", "Enter");
    await terminal.press("❯  drafts/", "h");
    await terminal.press(/❯ {2}Contracts\/[\s\S]*notes/, "j", "r");
    await terminal.press("New name: notes 用語.txt▏", "C-u", "plan.txt", "Enter");
    await terminal.press("❯  plan.txt", "Enter");
    await terminal.press(/first line\nsecond line/, "q");
    await terminal.press("❯  plan.txt", "x");
    await terminal.press("Delete plan.txt? (y/n)", "y");
    await terminal.press("Deleted plan.txt. It is in the storage's trash.", "q");
    await terminal.sees("left with 0");
    expect(await readFile(join(home, "work", "signed.pdf"))).toHaveLength(300_000);
    const kept = await readdir(join(home, "files", "mira", "papers"), { recursive: true });
    expect(kept).toContain("Contracts/drafts");
    expect(kept).not.toContain("plan.txt");
  });

  inTmux("storages are browsed in 40x12 without colour", async () => {
    await using terminal = await open(
      "vault item browse Papers:/",
      { columns: 40, rows: 12 },
      { NO_COLOR: "1" },
    );
    const rows = await terminal.sees("❯  Contracts/");
    expect(rows[0]).toMatch(/^Papers:\/ +listed (just now|\d+ minutes? ago)$/);
    expect(rows.every((row) => row.length < 40)).toBe(true);
    // oxlint-disable-next-line no-control-regex -- colours are control sequences
    expect(await terminal.painted()).not.toMatch(/\u001b\[[\d;]*m/);
    await terminal.press("q leave", "q");
    await terminal.sees("left with 0");
  });
});
