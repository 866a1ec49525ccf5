import { resolve } from "node:path";
import type { CliContext } from "../../context.ts";
import { DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { readSecret } from "../../support/secrets.ts";
import type { CommandModule } from "../../tree/entry.ts";
import { version } from "../../version.ts";

export interface DaemonRestoreOptions {
  /** The archive of a whole home. */
  readonly file: string | undefined;
  /** A copy of the database alone: `latest`, a name, or a path. */
  readonly database: string | undefined;
  readonly withKeys: boolean;
  readonly passphraseStdin: boolean;
}

export const restoreDaemon = {
  operations: [],
  output: shape({
    restored: "boolean",
    copy: "string",
    kept: "string?",
    data: "string",
  }),
  writes: true,
  destructive: true,
  define(command, cli, run = runDaemonRestore): void {
    command
      .argument("[file]", 'a backup that "croft daemon backup" wrote')
      .option(
        "--database <copy>",
        "restore the database alone: latest, the name of a copy in backups/, or its path",
      )
      .option("--with-keys", "restore the keys of the backup, which need its passphrase")
      .option("--passphrase-stdin", "read the passphrase from standard input")
      .action((file: string | undefined, flags: RestoreFlags) =>
        run(cli, {
          file,
          database: flags.database,
          withKeys: flags.withKeys === true || flags.passphraseStdin === true,
          passphraseStdin: flags.passphraseStdin === true,
        }),
      );
  },
} satisfies CommandModule;

/** The flags of the line as commander hands them over. */
interface RestoreFlags {
  readonly database?: string;
  readonly withKeys?: true;
  readonly passphraseStdin?: true;
}

/** @throws CliError `usage` for a line of an earlier croft, which named a copy of the database without `--database` */
async function runDaemonRestore(cli: CliContext, options: DaemonRestoreOptions): Promise<void> {
  const { file, database } = options;
  if (database !== undefined && file === undefined) return restoreDatabase(cli, database);
  if (database !== undefined)
    throw usageError("a backup holds a database: give the file or --database, not both");
  if (file === undefined || file === "latest" || /\.db$/.test(file))
    throw usageError(
      file === undefined
        ? "name a backup to restore"
        : `${JSON.stringify(file)} is a copy of the database, not a backup of the home`,
      `croft daemon restore --database ${file ?? "latest"}`,
    );
  await restoreArchive(cli, file, options);
}

async function restoreArchive(
  cli: CliContext,
  file: string,
  { withKeys, passphraseStdin }: DaemonRestoreOptions,
): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const archive = resolve(cli.system.workingDirectory, file);
  if (cli.flags.dryRun) throw new DryRun({ restore: { file: archive, data } });
  await cli.prompts.confirm(`Replace ${data} with the backup ${archive}?`);
  const passphrase = withKeys
    ? await readSecret(cli, {
        fromInput: passphraseStdin,
        question: "Passphrase of the backup:",
        flag: "--passphrase-stdin",
      })
    : undefined;
  const { restoreHome } = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const restored = await restoreHome(
    { settings, paths, version, clock: cli.clock, process, logTo: stderr },
    { archive, passphrase },
  ).catch((error: unknown) => {
    throw toDaemonFailure(error, {
      conflict: "already_running",
      not_found: "not_found",
      invalid_argument: "unsupported",
    });
  });
  const { kept, keys } = restored;
  if (keys === "missing")
    cli.io.warn(
      "The home has no master key. Restore it with --with-keys, copy keys/ there, or set CROFT_MASTER_KEY_FILE.",
    );
  const before = kept === null ? "" : `; what was there is kept in ${kept}`;
  await cli.output.done(
    { restored: true, copy: archive, kept, data, files: restored.files, keys },
    `Restored ${data} from ${archive}, made ${restored.createdAt}${before}.`,
  );
  cli.io.note('"croft daemon start" starts it, "croft login forge" signs in.');
}

/**
 * Replaces this home's database by a copy and keeps the replaced one beside the copies. Files, repositories and keys stay
 * unchanged. @throws CliError `already_running` while a daemon runs on this home, `not_found` for a missing copy
 */
async function restoreDatabase(cli: CliContext, copy: string): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const from = /[\\/]/.test(copy) ? resolve(cli.system.workingDirectory, copy) : copy;
  if (cli.flags.dryRun) throw new DryRun({ restore: { copy: from, data } });
  await cli.prompts.confirm(`Replace the database in ${data} by ${from}?`);
  const { restore } = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const restored = await restore(
    { settings, paths, version, clock: cli.clock, process, logTo: stderr },
    from,
  ).catch((error: unknown) => {
    throw toDaemonFailure(error, {
      conflict: "already_running",
      not_found: "not_found",
      invalid_argument: "unsupported",
    });
  });
  const kept = restored.kept === null ? "" : `; what was there is kept as ${restored.kept}`;
  await cli.output.done(
    { restored: true, ...restored, data },
    `Restored the database of ${data} from ${restored.copy}${kept}.`,
  );
}
