import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { readNewSecret } from "../../support/secrets.ts";
import type { CommandModule } from "../../tree/entry.ts";
import { version } from "../../version.ts";

export interface DaemonBackupOptions {
  /** A new file, or `-` for standard output. */
  readonly file: string;
  readonly withKeys: boolean;
  readonly passphraseStdin: boolean;
}

export const backupDaemon = {
  operations: [],
  output: shape({
    backed_up: "boolean",
    file: "string",
    files: "integer",
    bytes: "integer",
    keys: "boolean",
    data: "string",
  }),
  writes: true,
  define(command, cli, run = runDaemonBackup): void {
    command
      .argument("<file>", "a new file, or - for standard output")
      .option("--with-keys", "include the keys, sealed with a passphrase")
      .option("--passphrase-stdin", "read the passphrase from standard input")
      .action((file: string, flags: { withKeys?: true; passphraseStdin?: true }) =>
        run(cli, {
          file,
          withKeys: flags.withKeys === true,
          passphraseStdin: flags.passphraseStdin === true,
        }),
      );
  },
} satisfies CommandModule;

/**
 * Writes a backup of this home, whether its daemon runs or not. A file appears under its name when it is whole.
 * @throws CliError `conflict` when the file exists, `not_found` without a home, `unsupported` with a database on a server
 */
async function runDaemonBackup(cli: CliContext, options: DaemonBackupOptions): Promise<void> {
  const { file, withKeys, passphraseStdin } = options;
  const isStream = file === "-";
  if (isStream && (cli.output.isMachine || cli.io.isOutputTerminal))
    throw usageError("the archive goes to standard output: send it to a file or a program");
  if (passphraseStdin && !withKeys) throw usageError("--passphrase-stdin needs --with-keys");
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const path = resolve(cli.system.workingDirectory, file);
  if (cli.flags.dryRun) throw new DryRun({ backup: { data, file: isStream ? "-" : path } });
  const passphrase = withKeys
    ? await readNewSecret(cli, {
        fromInput: passphraseStdin,
        question: "Passphrase for the keys:",
        flag: "--passphrase-stdin",
      })
    : undefined;
  const { backUp } = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const input = { settings, paths, version, clock: cli.clock, process, logTo: stderr };
  const writeTo = (write: (chunk: Uint8Array) => Promise<void>) =>
    backUp(input, {
      passphrase,
      write: (chunk) => {
        cli.signal.throwIfAborted();
        return write(chunk);
      },
    }).catch((error: unknown) => {
      throw toDaemonFailure(error, { not_found: "not_found", invalid_argument: "unsupported" });
    });
  const { files, bytes } = await (isStream
    ? writeTo((chunk) => cli.io.write(chunk))
    : writeFileWhole(path, writeTo));
  const sentence = `Backed up ${data}: ${files} files, ${bytes} bytes${isStream ? "" : ` in ${path}`}.`;
  if (isStream) return cli.io.note(sentence);
  await cli.output.done(
    { backed_up: true, file: path, files, bytes, keys: withKeys, data },
    sentence,
  );
}

/** Writes a file beside its place, syncs and renames it. A crash leaves `<path>.partial`, which the next run replaces. */
async function writeFileWhole<Result>(
  path: string,
  work: (write: (chunk: Uint8Array) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new CliError("conflict", `${path} exists`, { hint: "name a new file" });
  const partial = `${path}.partial`;
  const file = await open(partial, "w", 0o600).catch((error: Error) => {
    throw new CliError("file_error", `${dirname(path)} cannot be written: ${error.message}`, {
      cause: error,
    });
  });
  try {
    const result = await work((chunk) => file.writeFile(chunk));
    await file.sync();
    await file.close();
    await rename(partial, path);
    return result;
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}
