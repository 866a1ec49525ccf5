import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { clientEnvironment } from "./git-client.ts";

/** A commit that `git fast-import` makes; texts are written byte by byte as latin1. */
export interface ImportedCommit {
  readonly message: string | Buffer;
  /** As git stores it: name, address, seconds and zone. */
  readonly author?: string;
  readonly encoding?: string;
  /** Files by path. A path is latin1, so that it can have any byte. */
  readonly files: Iterable<ImportedFile>;
}

export interface ImportedFile {
  readonly path: string;
  /** Octal; a file without it. */
  readonly mode?: string;
  /** The id of a commit for a submodule. */
  readonly content: string | Buffer | { readonly id: string };
}

const MIRA = "Mira <mira@example.org> 1700000000 +0000";

/** Makes a bare repository of commits on `main`, with names and contents that no working copy could hold. */
export async function importRepository(
  folder: string,
  name: string,
  commits: readonly ImportedCommit[],
): Promise<void> {
  const directory = join(folder, name);
  await mkdir(directory);
  const env = clientEnvironment(folder);
  const start = (...args: string[]) =>
    spawn("git", args, { cwd: directory, env, stdio: ["pipe", "ignore", "inherit"] });
  await once(
    start("init", "-q", "--bare", "-b", "main").on("spawn", () => undefined),
    "close",
  );
  // Compressing large files takes longer than everything else that tests do with them.
  const fast = ["-c", "core.compression=0", "-c", "pack.compression=0"];
  const child = start(...fast, "fast-import", "--quiet", "--date-format=raw-permissive");
  const write = async (part: string | Buffer) => {
    const bytes = typeof part === "string" ? Buffer.from(part, "latin1") : part;
    if (!child.stdin.write(bytes)) await once(child.stdin, "drain");
  };
  const data = async (content: string | Buffer) => {
    const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : content;
    await write(`data ${bytes.byteLength}\n`);
    await write(bytes);
    await write("\n");
  };
  for (const { message, author = MIRA, encoding, files } of commits) {
    await write(`commit refs/heads/main\nauthor ${author}\ncommitter ${author}\n`);
    if (encoding !== undefined) await write(`encoding ${encoding}\n`);
    await data(message);
    for (const { path, mode = "100644", content } of files) {
      const isInline = typeof content === "string" || Buffer.isBuffer(content);
      await write(`M ${mode} ${isInline ? "inline" : content.id} ${quote(path)}\n`);
      if (isInline) await data(content);
    }
  }
  child.stdin.end("done\n");
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}

/** Quotes every byte that is no plain character, as C does. */
function quote(path: string): string {
  const escaped = path.replace(
    /[^\w./-]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${escaped}"`;
}
