import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect } from "vitest";

// The lines of a shell on pages of documentation are run by bash with the croft of this clone, each page in a folder of its own. A
// line that cannot run here is in `elsewhere` of its page.

const clone = join(import.meta.dirname, "../..");

/** What a person types at a terminal, as flags. */
export const password = "--password-stdin < ~/password.txt";
export const passphrase = "--passphrase-stdin < ~/passphrase.txt";

/** How the lines of one page run. */
export interface Guide {
  /** Lines that make what the page assumes. */
  readonly before?: string;
  /** What a person types after the line, as flags. */
  readonly typed?: Readonly<Record<string, string>>;
  /** Lines that are replaced. */
  readonly instead?: Readonly<Record<string, string>>;
  /** Lines that are left out, with the test of the same command or the reason. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  /** Lines that end well if the page did what it says. */
  readonly after?: string;
}

export type FollowedPages = Awaited<ReturnType<typeof openPages>>;

/** Opens a folder as the home of a user, who follows pages. The homes of croft below it share an address. */
export async function openPages() {
  const root = await mkdtemp(join(tmpdir(), "croft-guides-"));
  const url = await findFreeAddress();
  const followed = new Set<string>();
  for (const folder of ["bin", "srv", "secrets"]) await mkdir(join(root, folder));
  const files = {
    "bin/croft": `#!/bin/sh\nexec '${process.execPath}' '${join(clone, "bin/croft.js")}' "$@"\n`,
    "bin/systemctl": "#!/bin/sh\nexit 0\n",
    "password.txt": "Correct horse battery staple 7\n",
    "passphrase.txt": "a long passphrase of the backup\n",
    ".gitconfig": "[user]\nname = Keeper\nemail = keeper@example.org\n",
  };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(root, name), text, { mode: 0o700 });

  /** Runs lines of a shell in a folder below the home of the user. */
  async function shell(folder: string, lines: string, home = "croft") {
    const work = join(root, folder);
    await mkdir(work, { recursive: true });
    const child = spawn("bash", ["--norc", "-euxo", "pipefail", "-c", lines], {
      cwd: work,
      env: {
        PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
        HOME: root,
        CROFT_HOME: join(root, home),
        CROFT_CREDENTIAL_STORE: "file",
        CROFT_KEY_SOURCE: "file",
        CROFT_BREACH_URL: "off",
        CROFT_RATE_LIMITS: "off",
        CROFT_PORT: new URL(url).port,
        CROFT_SSH: "off",
        NPM_CONFIG_AUDIT: "false",
        NPM_CONFIG_UPDATE_NOTIFIER: "false",
        NPM_CONFIG_REGISTRY: `${url}/api/packages/keeper/npm/`,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let log = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, out, log };
  }

  async function ok(folder: string, lines: string, home?: string): Promise<string> {
    const { code, out, log } = await shell(folder, lines, home);
    expect(code, `${log.slice(-3_000)}\n${out.slice(-1_000)}`).toBe(0);
    return out;
  }

  /** The lines with the addresses and folders of this test. */
  function atThisMachine(lines: string): string {
    return lines
      .replaceAll("/srv/", `${root}/srv/`)
      .replaceAll("/run/secrets/", `${root}/secrets/`)
      .replaceAll("https://forge.example.org", url)
      .replaceAll("https://croft.example.org", url)
      .replaceAll("127.0.0.1:7420", new URL(url).host);
  }

  return {
    shell,
    /** The pages that were followed, from the folder of the clone. */
    followed,

    /** Runs the lines of a page. */
    async follow(page: string, guide: Guide, home?: string): Promise<void> {
      const { before = "", typed = {}, instead = {}, elsewhere = {}, after = "" } = guide;
      followed.add(page);
      const lines = await linesOf(page);
      for (const line of [typed, instead, elsewhere].flatMap((each) => Object.keys(each)))
        expect(lines, `${page} has lost a line`).toContain(line);
      const run = lines
        .filter((line) => !(line in elsewhere))
        .map((line) => instead[line] ?? `${line} ${typed[line] ?? ""}`);
      const [work, proof] = [[before, ...run].join("\n"), after].map(atThisMachine);
      const folder = basename(page, ".md");
      await ok(folder, work ?? "", home);
      await ok(folder, proof ?? "", home);
    },

    async close(): Promise<void> {
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Returns the lines of the blocks of a shell on a page, those of several lines as one, without comments. */
export async function linesOf(page: string): Promise<string[]> {
  const text = await readFile(join(clone, page), "utf8");
  return [...text.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, block = ""]) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((line) => line.replace(/\s+# .*$/, ""))
      .filter((line) => line.trim() !== ""),
  );
}

/** An address at which nothing listens. The home keeps it when its daemon is restarted. */
async function findFreeAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}
