import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { restoreHome } from "../../../daemon/main.ts";
import type { Settings } from "../../../daemon/settings/settings.ts";
import { toBucketUrl } from "../../../daemon/settings/types.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { shapeOrList } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { readSecret } from "../../support/secrets.ts";
import { version } from "../../version.ts";
import { ADDRESS_HELP, readBackupAddress, withByteProgress } from "./backup-address.ts";
import { commandDetails, type FlagValues } from "../../tree/command.ts";

const restoreFlags = {
  "--from [address]": ADDRESS_HELP,
  "--list": "list the backups of --from instead, and restore nothing",
  "--database <copy>":
    "restore the database alone: latest, the name of a copy in backups/, or its path",
  "--with-keys": "restore the keys of the backup, which need its passphrase",
  "--passphrase-stdin": "read the passphrase from standard input",
} as const;

/** `file` is the archive, `-` for standard input; with `--from` the name of a backup, or `latest`. */
type RestoreLine = FlagValues<typeof restoreFlags> & { readonly file?: string };

export const restoreDaemon = commandDetails({
  args: {
    "[file]":
      'a backup that "croft daemon backup" wrote, or - for standard input; with --from the name of a backup, or latest',
  },
  flags: restoreFlags,
  output: shapeOrList(
    {
      restored: "boolean",
      copy: "string",
      kept: "string?",
      data: "string",
    },
    {
      name: "string",
      address: "string",
      bytes: "integer",
      created_at: "string",
      scheduled: "boolean",
      home: "string?",
    },
  ),
  writes: true,
  destructive: true,
  examples: [
    ["Restore a backup; the old home is kept beside it", "croft daemon restore home.tar --yes"],
    [
      "Restore the database alone, from the newest copy",
      "croft daemon restore --database latest --yes",
    ],
    [
      "Restore keys as well",
      "croft daemon restore sealed.tar --with-keys --passphrase-stdin --yes < passphrase.txt",
    ],
    ["List the backups in the bucket of backup_url", "croft daemon restore --from --list"],
    ["Restore the newest one of them", "croft daemon restore latest --from --yes"],
    ["Restore from standard input", "croft daemon restore - --yes < home.tar"],
  ],
  /** @throws CliError `usage` for a line of an earlier croft, which named a copy of the database without `--database` */
  async run(cli, flags) {
    const { file, from, list = false, database } = flags;
    if (database !== undefined && (file ?? from) === undefined)
      return restoreDatabase(cli, database);
    if (database !== undefined)
      throw usageError("a backup holds a database: give the file or --database, not both");
    if (list) return listBackups(cli, from ?? true);
    if (from === undefined && (file === undefined || file === "latest" || /\.db$/.test(file)))
      throw usageError(
        file === undefined
          ? "name a backup to restore"
          : `${JSON.stringify(file)} is a copy of the database, not a backup of the home`,
        file === undefined
          ? "croft daemon restore FILE, or --from s3://BUCKET/FOLDER, or --database latest for the database alone"
          : `croft daemon restore --database ${file}`,
      );
    if (from === undefined && file?.startsWith("s3://") === true)
      throw usageError(
        "the address of a bucket goes to --from",
        `croft daemon restore --from '${file}'`,
      );
    if (file === "-" && flags.passphraseStdin === true)
      throw usageError(
        "standard input cannot be both the archive and the passphrase",
        "write the archive to a file first",
      );
    await restoreArchive(cli, flags);
  },
});

/** Prints the backups in a bucket, oldest first. */
async function listBackups(cli: CliContext, from: string | true): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings } = readAllSettings(cli.system, cli.flags, {});
  const { place } = readBackupAddress("--from", from, settings);
  const daemon = await import("../../../daemon/main.ts");
  const found = await daemon
    .listBackups({ settings, clock: cli.clock }, place, cli.signal)
    .catch((error: unknown) => {
      throw toDaemonFailure(error, { invalid_argument: "invalid_config" });
    });
  const shown = found.map(({ name, address, bytes, createdAt, home }) => ({
    name,
    address,
    bytes,
    created_at: new Date(createdAt).toISOString(),
    scheduled: home !== undefined,
    home: home ?? null,
  }));
  await cli.output.list(wholeList(shown), backupColumns);
  if (shown.length === 0)
    cli.io.note(
      `There are no backups in ${toBucketUrl(place)}; "croft daemon backup --to" writes one.`,
    );
}

interface ShownBackup {
  readonly name: string;
  readonly bytes: number;
  readonly created_at: string;
  readonly scheduled: boolean;
}

const backupColumns: readonly Column<ShownBackup>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: ({ bytes }) => size(bytes) },
  { header: "created", cell: ({ created_at: created }) => time(created) },
  { header: "scheduled", cell: ({ scheduled }) => scheduled },
];

async function restoreArchive(cli: CliContext, line: RestoreLine): Promise<void> {
  const { withKeys = false, passphraseStdin = false } = line;
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const { source, shown } = toSource(cli, line, settings);
  if (source.kind === "file") await assertExists(source.path);
  if (cli.flags.dryRun) throw new DryRun({ restore: { file: shown, data } });
  await cli.prompts.require([
    { flag: "--yes", isMissing: !cli.flags.yes },
    {
      flag: "--passphrase-stdin",
      isMissing: withKeys && !passphraseStdin,
    },
  ]);
  await cli.prompts.confirm(`Replace ${data} with the backup ${shown}?`);
  const passphrase =
    withKeys || passphraseStdin
      ? await readSecret(cli, {
          fromInput: passphraseStdin,
          question: "Passphrase of the backup:",
          flag: "--passphrase-stdin",
        })
      : undefined;
  const daemon = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const input = { settings, paths, version, clock: cli.clock, process, logTo: stderr };
  const { signal } = cli;
  // A stop signal waits until the unpacked files are removed, or until all files are replaced.
  cli.holdStops();
  const restored = await withByteProgress(cli, shown, (onProgress) =>
    daemon
      .restoreHome(input, { from: source, passphrase, signal, onProgress })
      .catch((error: unknown) => {
        throw toDaemonFailure(error, {
          conflict: "already_running",
          not_found: "not_found",
          invalid_argument: source.kind === "bucket" ? "invalid_config" : "unsupported",
        });
      }),
  );
  const { kept: previous, keys, settingsLeftOut, archive } = restored;
  const advice = keyAdvice[keys];
  if (advice !== undefined) cli.io.warn(advice);
  if (settingsLeftOut.length > 0) cli.io.warn(settingsAdvice(settingsLeftOut));
  // The restored config.yaml may name another folder than the one before.
  const { repositoriesDir } = readAllSettings(cli.system, cli.flags, {}).settings;
  const repositories = join(data, "repositories");
  if (resolve(repositoriesDir) !== resolve(repositories))
    cli.io.warn(
      `The repositories were restored to ${repositories}, but repositories_dir names ${repositoriesDir}: ` +
        "move them there, or remove the setting.",
    );
  const before = previous === null ? "" : `; the replaced files are in ${previous}`;
  await cli.output.done(
    {
      restored: true,
      copy: archive,
      kept: previous,
      data,
      files: restored.files,
      keys,
      settings_left_out: settingsLeftOut,
    },
    `Restored ${data} from ${archive}, made ${restored.createdAt}${before}.`,
  );
  if (keys !== "missing")
    cli.io.note('"croft daemon start" starts it, "croft login forge" signs in.');
}

/** The steps to take before a restored home starts. */
const keyAdvice: Readonly<Partial<Record<string, string>>> = {
  missing:
    "The home has no master key and does not start without it. Copy keys/master.key of the former home into its keys/ " +
    "(mode 0600), or name a file with the key in CROFT_MASTER_KEY_FILE. A backup with keys is restored with --with-keys.",
  elsewhere:
    "The master key of this home was kept in the system's keyring or in the environment: on another machine, name a " +
    "file with the key in CROFT_MASTER_KEY_FILE. A backup with keys is restored with --with-keys.",
};

/** Names the secret settings to give again: only the sealed keys of a backup hold them. */
function settingsAdvice(keys: readonly string[]): string {
  return (
    `The restored config.yaml lacks secret settings. Give them again: ${keys.join(", ")}. ` +
    '"croft config set KEY --stdin" takes each from standard input. A backup with keys is restored with --with-keys, which restores them too.'
  );
}

/** Checks before any prompt that the backup exists. @throws CliError `not_found` */
async function assertExists(path: string): Promise<void> {
  if (
    await stat(path).then(
      (found) => !found.isDirectory(),
      () => false,
    )
  )
    return;
  throw new CliError("not_found", `there is no file ${path}`, {
    hint: '"croft daemon backup FILE" writes one; "croft daemon restore --from --list" lists those of a bucket',
  });
}

type RestoreSource = Parameters<typeof restoreHome>[1]["from"];

/** Returns the source of the archive and its name in messages. */
function toSource(
  cli: CliContext,
  { file, from }: RestoreLine,
  settings: Pick<Settings, "backupUrl">,
): { readonly source: RestoreSource; readonly shown: string } {
  if (from !== undefined) {
    const { place, name: named } = readBackupAddress("--from", from, settings);
    if (named !== undefined && file !== undefined)
      throw usageError("the address and the argument both name a backup: give one of them");
    const name = named ?? file ?? "latest";
    const shown = name === "latest" ? `latest of ${toBucketUrl(place)}` : toBucketUrl(place, name);
    return { source: { kind: "bucket", place, name }, shown };
  }
  if (file === "-")
    return { source: { kind: "stream", stream: cli.system.stdin }, shown: "of standard input" };
  const path = resolve(cli.system.workingDirectory, file ?? "");
  return { source: { kind: "file", path }, shown: path };
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
  const before = restored.kept === null ? "" : `; the replaced database is ${restored.kept}`;
  await cli.output.done(
    { restored: true, ...restored, data },
    `Restored the database of ${data} from ${restored.copy}${before}.`,
  );
}
