import { existsSync, realpathSync } from "node:fs";
import { chmod, copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { type CliContext, createContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { toShellWord } from "../output/shell-word.ts";
import { neverStopping } from "../report.ts";
import type { System } from "../system.ts";
import {
  findInstalledCroft,
  findLastingProgram,
  warnUnlessLasting,
} from "../support/lasting-program.ts";
import { loadAllCommands } from "../tree/command-tree.ts";
import { version } from "../version.ts";
import { commandDetails } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

export const install = (commands: readonly Entry[]) =>
  commandDetails({
    flags: {
      "--prefix <folder>": "the folder of bin and share; ~/.local by default",
      "--remove": "remove the installed files",
    },
    output: shape({
      installed: "boolean",
      files: { type: "array", items: { type: "string" } },
    }),
    writes: true,
    destructive: true,
    examples: [
      ["Show what would be installed", "croft install --dry-run"],
      ["Install into a folder", "croft install --prefix tools --yes"],
    ],
    /**
     * Installs croft for one user: the program, completions of three shells and the manual. Each file replaces its
     * predecessor by a rename, so that a running croft keeps the file that it has.
     * @throws CliError `unsupported` on Windows
     */
    async run(cli, { prefix, remove = false }) {
      const { system } = cli;
      if (system.platform === "win32")
        throw new CliError("unsupported", "croft does not install itself on Windows", {
          hint: 'put croft.exe into a folder on the Path; "croft completion powershell --help" adds completion',
        });
      const root =
        prefix === undefined
          ? join(system.homeDirectory, ".local")
          : resolve(system.workingDirectory, prefix);
      const files = await listFiles(cli, root, commands);
      const paths = files.map(({ path }) => path);
      if (cli.flags.dryRun) throw new DryRun({ [remove ? "remove" : "install"]: paths });
      if (await cli.prompts.canAsk()) for (const path of paths) cli.io.note(path);
      if (remove) {
        await cli.prompts.confirm(`Remove these files?`);
        for (const path of paths) await rm(path, { force: true });
        return cli.output.done({ installed: false, files: paths }, `Removed croft from ${root}.`);
      }
      warnUnlessLasting(cli);
      await cli.prompts.confirm(`Write these ${paths.length} files?`);
      for (const file of files) await replaceFile(file);
      const bin = join(root, "bin");
      const isOnPath = (system.env["PATH"] ?? "").split(delimiter).includes(bin);
      const advice = isOnPath ? "" : ` Add ${bin} to your PATH.`;
      await cli.output.done(
        { installed: true, files: paths },
        `Installed croft ${version} in ${root}.${advice} Completion works in new shells; zsh needs ${join(root, zshFolder)} in its fpath.`,
      );
    },
  });

/** One file of the installation. */
interface InstalledFile {
  readonly path: string;
  readonly mode: number;
  /** A file to copy, or the text. */
  readonly content: { readonly copyOf: string } | { readonly text: string };
}

const zshFolder = join("share", "zsh", "site-functions");

async function listFiles(
  cli: CliContext,
  root: string,
  commands: readonly Entry[],
): Promise<readonly InstalledFile[]> {
  const { completionScripts } = await import("./completion/scripts.ts");
  const { toManPages } = await import("../tree/man-page.ts");
  const loaded = await loadAllCommands(createContext(cli.system, neverStopping), commands);
  const text = (path: readonly string[], content: string): InstalledFile => ({
    path: join(root, ...path),
    mode: 0o644,
    content: { text: content },
  });
  return [
    ...toProgramFile(cli.system, join(root, "bin", "croft")),
    text(["share", "bash-completion", "completions", "croft"], completionScripts.bash),
    text([zshFolder, "_croft"], completionScripts.zsh),
    text(["share", "fish", "vendor_completions.d", "croft.fish"], completionScripts.fish),
    ...toManPages(loaded, version).map((page) =>
      text(["share", "man", "man1", page.fileName], page.text),
    ),
  ];
}

/**
 * The single executable is copied. For an installed package or a clone, a script starts the launcher in its folder. No
 * file when the program of that name on the PATH is this one already, as after `npm install --global`.
 */
function toProgramFile(system: System, path: string): readonly InstalledFile[] {
  const { program } = findLastingProgram(system);
  const [first, ...rest] = program;
  const launcher = rest.at(-1) ?? first;
  const found = findInstalledCroft(system);
  const isPlaced =
    found !== undefined && found !== path && realpathSync(found) === realpathSync(launcher);
  if (isPlaced) return [];
  if (rest.length === 0) return [{ path, mode: 0o755, content: { copyOf: first } }];
  const script = `#!/bin/sh\nexec ${program.map(toShellWord).join(" ")} "$@"\n`;
  return [{ path, mode: 0o755, content: { text: script } }];
}

async function replaceFile({ path, mode, content }: InstalledFile): Promise<void> {
  if (
    "copyOf" in content &&
    existsSync(path) &&
    realpathSync(path) === realpathSync(content.copyOf)
  )
    return;
  const partial = `${path}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await rm(partial, { force: true });
    if ("copyOf" in content) await copyFile(content.copyOf, partial);
    else await writeFile(partial, content.text, { flag: "wx" });
    await chmod(partial, mode);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw new CliError("file_error", `${path} cannot be written: ${(error as Error).message}`, {
      cause: error,
      hint: "name another folder with --prefix",
    });
  }
}
