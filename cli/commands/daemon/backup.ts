import { open, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { backUp } from "../../../daemon/main.ts";
import {
  type BucketSetting,
  isLongPassphrase,
  PASSPHRASE_CHARACTERS_MIN,
  toBucketUrl,
} from "../../../daemon/settings/types.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { shape, toObjectSchema } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { toPartPath } from "../../support/file-names.ts";
import { createPartFolders, toOwnerMark } from "../../support/part-files.ts";
import { putNew } from "../../support/save-stream.ts";
import { readNewSecret } from "../../support/secrets.ts";
import { version } from "../../version.ts";
import { ADDRESS_HELP, readBackupAddress, withByteProgress } from "./backup-address.ts";
import { commandDetails } from "../../tree/command.ts";

export const backupDaemon = commandDetails({
  args: { "[file]": "a new file, or - for standard output" },
  flags: {
    "--to [address]": ADDRESS_HELP,
    "--with-keys": "include the keys, sealed with a passphrase",
    "--passphrase-stdin": "read the passphrase from standard input",
  },
  output: shape({
    backed_up: "boolean",
    file: "string",
    files: "integer",
    bytes: "integer",
    keys: "boolean",
    data: "string",
    left_out: { type: "array", items: toObjectSchema({ path: "string", reason: "string" }) },
    left_out_count: "integer",
  }),
  writes: true,
  examples: [
    ["Back up the home without its keys", "croft daemon backup home.tar"],
    [
      "Back it up with its keys, sealed with a passphrase",
      "croft daemon backup sealed.tar --with-keys --passphrase-stdin < passphrase.txt",
    ],
    ["Send the backup to another program", "croft daemon backup - | gzip > home.tar.gz"],
    ["Upload it to the bucket that the setting backup_url names", "croft daemon backup --to"],
  ],
  /**
   * Writes a backup of this home; its daemon may be running. A file or an object in a bucket appears under its name
   * when it is complete.
   * @throws CliError `conflict` when the file exists, `not_found` without a home, `unsupported` with a database on a
   * server
   */
  async run(cli, { file, to, withKeys = false, passphraseStdin = false }) {
    if ((file === undefined) === (to === undefined))
      throw usageError(
        file === undefined ? "name a destination for the backup" : "give a file or --to, not both",
        "croft daemon backup FILE, croft daemon backup - for standard output, or --to s3://BUCKET/FOLDER",
      );
    if (file?.startsWith("s3://") === true)
      throw usageError(
        "the address of a bucket goes to --to",
        `croft daemon backup --to '${file}'`,
      );
    const isStream = file === "-";
    if (isStream && (cli.output.isMachine || cli.io.isOutputTerminal))
      throw usageError(
        "the archive goes to standard output: send it to a file or a program",
        "croft daemon backup - | gzip > home.tar.gz",
      );
    if (passphraseStdin && !withKeys) throw usageError("--passphrase-stdin needs --with-keys");
    const { readAllSettings } = await import("../../profile/settings.ts");
    const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
    const data = paths.dataDirectory;
    const address = to === undefined ? undefined : readBackupAddress("--to", to, settings);
    if (address?.name !== undefined)
      throw usageError(
        "--to names a folder: croft names the backup by the time",
        "leave out the name",
      );
    const path = resolve(cli.system.workingDirectory, file ?? "");
    const shown = address === undefined ? (isStream ? "-" : path) : toBucketUrl(address.place);
    if (cli.flags.dryRun) throw new DryRun({ backup: { data, file: shown } });
    const passphrase = withKeys ? await readNewPassphrase(cli, passphraseStdin) : undefined;
    const { pid, userId, stderr, processMark } = cli.system;
    const process = { pid, mark: processMark(pid), userId };
    const input = { settings, paths, version, clock: cli.clock, process, logTo: stderr };
    const written: BackupSummary & { readonly address?: string } =
      address !== undefined
        ? await writeBucket(cli, input, { place: address.place, passphrase })
        : isStream
          ? await writeTo(cli, input, "backup", {
              passphrase,
              target: undefined,
              write: (chunk) => cli.io.write(chunk),
            })
          : await writeFileWhole(cli, path, (archive) =>
              writeTo(cli, input, path, { passphrase, ...archive }),
            );
    const { files, bytes, leftOut, leftOutCount } = written;
    const name = written.address ?? path;
    const sentence = `Backed up ${data}: ${files} files, ${bytes} bytes${isStream ? "" : ` in ${name}`}.`;
    if (isStream) cli.io.note(sentence);
    else
      await cli.output.done(
        {
          backed_up: true,
          file: name,
          files,
          bytes,
          keys: withKeys,
          data,
          left_out: leftOut,
          left_out_count: leftOutCount,
        },
        sentence,
      );
    if (leftOutCount > 0) cli.io.warn(toLeftOutText(leftOut, leftOutCount));
    if (!withKeys)
      cli.io.note(
        "It holds no keys: a home restored from it does not start without the master key of this one. Back up with " +
          "--with-keys, or keep a copy of keys/ in another place.",
      );
  },
});

type DaemonInput = Parameters<typeof backUp>[0];

type BackupSummary = Awaited<ReturnType<typeof backUp>>;

const REASONS: Readonly<Record<BackupSummary["leftOut"][number]["reason"], string>> = {
  link: "a symbolic link",
  special: "a device, socket or named pipe",
  name: "its name is not valid UTF-8",
  unreadable: "it cannot be read",
  truncated: "it became shorter or unreadable meanwhile; the rest is zeros",
};

/** One line for each file that the archive lacks, and how many more there are. */
function toLeftOutText(leftOut: BackupSummary["leftOut"], count: number): string {
  const more = count - leftOut.length;
  return [
    `croft: the backup does not hold ${count === 1 ? "this" : `these ${count}`} as in the home:`,
    ...leftOut.map(({ path, reason }) => `  ${sanitizeLine(path)}: ${REASONS[reason]}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join("\n");
}

/** @throws CliError `invalid` for a passphrase that is too short */
async function readNewPassphrase(cli: CliContext, fromInput: boolean): Promise<string> {
  const rule = `at least ${PASSPHRASE_CHARACTERS_MIN} characters`;
  const passphrase = await readNewSecret(cli, {
    fromInput,
    question: "Passphrase for the keys:",
    flag: "--passphrase-stdin",
    rules: `A passphrase has ${rule}.`,
  });
  if (isLongPassphrase(passphrase)) return passphrase;
  throw new CliError("invalid", `the passphrase must have ${rule}`, {
    hint: "give several words; nothing was written",
  });
}

/** The destination of a backup's bytes. */
interface Archive {
  /** The file that grows; undefined for a pipe. */
  readonly target: string | undefined;
  readonly write: (chunk: Uint8Array) => Promise<void>;
  readonly flush?: () => Promise<void>;
}

async function writeTo(
  cli: CliContext,
  input: DaemonInput,
  name: string,
  archive: Archive & { readonly passphrase: string | undefined },
): Promise<BackupSummary> {
  const { backUp } = await import("../../../daemon/main.ts");
  const { signal } = cli;
  return withByteProgress(cli, name, (onProgress) =>
    backUp(input, { ...archive, signal, onProgress }).catch((error: unknown) => {
      throw toDaemonFailure(error, { not_found: "not_found", invalid_argument: "unsupported" });
    }),
  );
}

/** Uploads the backup, with its progress. A stop signal waits until the upload is aborted. */
async function writeBucket(
  cli: CliContext,
  input: DaemonInput,
  { place, passphrase }: { readonly place: BucketSetting; readonly passphrase: string | undefined },
): Promise<BackupSummary & { readonly address: string }> {
  const { backUpToBucket } = await import("../../../daemon/main.ts");
  cli.holdStops();
  const { signal } = cli;
  return withByteProgress(cli, toBucketUrl(place), (onProgress) =>
    backUpToBucket(input, { place, passphrase, signal, onProgress }).catch((error: unknown) => {
      throw toDaemonFailure(error, {
        not_found: "not_found",
        invalid_argument: "invalid_config",
        conflict: "conflict",
      });
    }),
  );
}

/**
 * Writes a file beside its place, syncs and renames it. A crash leaves a part file, which the next backup to the same file
 * removes.
 */
async function writeFileWhole<Result>(
  { system }: CliContext,
  path: string,
  work: (archive: Archive) => Promise<Result>,
): Promise<Result> {
  if ((await stat(path).catch(() => undefined)) !== undefined)
    throw new CliError("conflict", `${path} exists`, { hint: "name a new file" });
  await createPartFolders().sweep(path, system);
  // No other backup to the same name writes to this file.
  const partial = toPartPath(path, toOwnerMark(system));
  const file = await open(partial, "wx", 0o600).catch((error: Error) => {
    throw new CliError("file_error", `${dirname(path)} cannot be written: ${error.message}`, {
      cause: error,
      hint: "name a file in a folder that exists and that you may write to",
    });
  });
  try {
    const result = await work({
      target: partial,
      write: (chunk) => file.writeFile(chunk),
      flush: () => file.datasync(),
    });
    await file.sync();
    await file.close();
    await putNew(partial, path);
    return result;
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}
