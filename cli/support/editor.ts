import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "../../storage/start-process.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun, toCliError, usageError } from "../errors.ts";

/** The flag of commands that open an editor. */
export const editorFlag = {
  "--editor <command>": "the editor; VISUAL or EDITOR when it is left out",
} as const;

/** Returns the command of the editor. @throws CliError `usage` when none is set */
export function findEditor(
  { system: { env } }: CliContext,
  given: string | undefined,
  hint = "set EDITOR, or give --editor",
): string {
  const program = given ?? env["VISUAL"] ?? env["EDITOR"];
  if (program === undefined || program.trim() === "") throw usageError("no editor is set", hint);
  return program;
}

/** Runs an editor on the terminal until it ends. The command may have arguments; the path is passed as one word. */
export async function runEditor(cli: CliContext, program: string, path: string): Promise<void> {
  const { env, platform } = cli.system;
  const stdio = ["inherit", cli.io.isOutputTerminal ? "inherit" : 2, "inherit"] as const;
  // Ctrl-C belongs to the editor.
  cli.holdStops();
  const editor =
    platform === "win32"
      ? startProcess(`${program} "${path}"`, [], { stdio, shell: true, env: { ...env } })
      : startProcess("/bin/sh", ["-c", `${program} "$1"`, "sh", path], { stdio, env: { ...env } });
  const { exitCode, error } = await editor.exited;
  if (error !== undefined) throw error;
  if (exitCode !== 0)
    throw new CliError("cancelled", `the editor ended with ${exitCode ?? "a signal"}`, {
      hint: "nothing was replaced",
    });
}

/** Returns the SHA-256 of a file, in hex. */
export async function hashOf(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

/**
 * Opens an editor on a text and sends what it saves. Does nothing when the text was not changed. When the editor or `send`
 * fails, an edited text is kept in a file, and the error says where.
 */
export async function editText<T>(
  cli: CliContext,
  {
    program,
    name,
    text,
  }: { readonly program: string; readonly name: string; readonly text: string },
  send: (edited: string) => Promise<T>,
): Promise<T | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "croft-edit-"));
  const path = join(folder, name);
  let isKept = false;
  try {
    await writeFile(path, text, { mode: 0o600 });
    await runEditor(cli, program, path);
    const edited = await readFile(path, "utf8");
    if (edited === text) return undefined;
    return await send(edited);
  } catch (error) {
    if (error instanceof DryRun) throw error;
    // The editor may have saved before it failed.
    const edited = await readFile(path, "utf8").catch(() => text);
    isKept = edited !== text;
    if (!isKept) throw error;
    const failure = toCliError(error);
    throw new CliError(failure.code, failure.message, {
      ...failure.details,
      hint: `your version is kept in ${path}`,
    });
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true });
  }
}
