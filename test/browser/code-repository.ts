import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { TestDaemon } from "../support/daemon.ts";
import type { ForgePeople } from "../support/forge/forge-people.ts";
import { createGitClient } from "../support/forge/git-client.ts";

/** HTML that would run a script or load a picture, as the name of a file or branch. */
export const HOSTILE_FILE = `'"><img src=x onerror=alert(1)>.txt`;
export const HOSTILE_BRANCH = `x"><img/src=x/onerror=alert(1)>'&amp;`;
const HOSTILE_MESSAGE = `Change <script>alert(1)</script> "it" <img src=x onerror=alert(1)>`;

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const code = (count: number, changed = -1) =>
  Array.from({ length: count }, (_, at) =>
    at === changed
      ? `export const value${at} = "other"; // changed`
      : `export const value${at} = ${at};`,
  ).join("\n") + "\n";

const files: readonly (readonly [string, string | Buffer])[] = [
  ["README.md", "# Tea\n\nA *kettle*, see [the guide](docs/guide.md).\n\n![dot](docs/dot.png)\n"],
  ["src/app.ts", code(60)],
  ["src/long.ts", code(900)],
  ["src/deep/one/two/inner.ts", "export const inner = 1;\n"],
  ["docs/guide.md", "# Guide\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"],
  ["docs/table.csv", "name,count\ntea,3\n"],
  [
    "docs/note.ipynb",
    JSON.stringify({
      nbformat: 4,
      nbformat_minor: 5,
      metadata: {},
      cells: [{ cell_type: "markdown", metadata: {}, source: ["# Cell"] }],
    }),
  ],
  ["docs/dot.png", PNG],
  ["docs/sound.mp3", Buffer.from([0xff, 0xfb, 0x90, 0])],
  ["docs/film.mp4", Buffer.from([0, 0, 0, 24])],
  ["docs/paper.pdf", "%PDF-1.4\n"],
  ["docs/bytes", Buffer.from([0, 1, 2, 0])],
  ["windows.txt", "one\r\ntwo\r\nthree\r\n"],
  ["latin.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])],
  ["long line.txt", "a very long line ".repeat(200)],
  [
    "large.bin",
    `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 123456\n`,
  ],
  [`names/${HOSTILE_FILE}`, "hostile name\n"],
  ["names/with\ttab.txt", "tab\n"],
  [
    "names/a rather long name of a file that must break somewhere on a narrow screen of a phone.txt",
    "x\n",
  ],
];

/** Makes the repository `mira/tea` with files of each kind, hostile names, tags and a topic branch. */
export async function makeCodeRepository(daemon: TestDaemon, people: ForgePeople): Promise<void> {
  await people.api("POST", "/admin/users/mira/repos", {
    name: "tea",
    description: "A kettle, and what belongs to it",
  });
  await using git = await createGitClient();
  await git.run("init", "-q", "-b", "main", "work");
  const folder = join(git.folder, "work");
  const run = async (...args: string[]) =>
    expect(await git.in("work", ...args), args.join(" ")).toMatchObject({ exitCode: 0 });
  const commit = async (message: string, author = "Mira <mira@example.org>") => {
    await run("add", "-A");
    await run("commit", "-q", "-m", message, "--author", author);
  };
  for (const [path, content] of files) {
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  await writeFile(Buffer.concat([Buffer.from(`${folder}/names/`), Buffer.from([0xff, 0xfe])]), "y");
  await symlink("src/app.ts", join(folder, "link"));
  await symlink("../outside", join(folder, "broken"));
  await commit("Begin with a kettle");
  await run("tag", "-a", "v1.0", "-m", "The first one");
  await writeFile(join(folder, "src/app.ts"), code(60, 20));
  await commit("Change a value\n\nWith a reason in the body.", "Noor <noor@example.org>");
  await rename(join(folder, "src/app.ts"), join(folder, "src/main.ts"));
  await commit("Move the program");
  await writeFile(join(folder, "src/main.ts"), code(60, 21));
  await writeFile(join(folder, "src/long.ts"), code(900).replaceAll("value", "number"));
  await writeFile(join(folder, "names", HOSTILE_FILE), "hostile name\nand a line\n");
  await commit(HOSTILE_MESSAGE, `"Ilya" &amp; co <ilya@example.org>`);
  await run("branch", HOSTILE_BRANCH);
  await run("checkout", "-q", "-b", "topic", "main~1");
  await writeFile(join(folder, "topic.txt"), "a topic\n");
  await commit("A topic");
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/tea.git`;
  await run("push", "-q", "--follow-tags", address, "main", "topic", HOSTILE_BRANCH);
}
