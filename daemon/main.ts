// daemon: the server process. This file and composition/ are the composition root: settings in, a listening daemon out.
// Only they name concrete adapters; all other code receives its dependencies.
// The nouns `serve`, `init`, `mail`, `key` and `daemon` of the command line import it when they run.
import { randomBytes, randomUUID } from "node:crypto";
import { toDataDirectory } from "../storage/data-directory.ts";
import { hasMasterKey } from "../storage/keys/master-key.ts";
import { createGit } from "../storage/git/git.ts";
import { addKey, retireOldKeys } from "../storage/keys/open.ts";
import type { RestoredDatabase } from "../storage/restore-database.ts";
import { writePrivately } from "../storage/keys/private-file.ts";
import { compose, type Composed } from "./composition/compose.ts";
import { openStores, type Stores, toBackupInput, toKeyringOptions } from "./composition/stores.ts";
import type { SettingPaths } from "./settings/paths.ts";
import { listSettings, type Settings } from "./settings/settings.ts";
import { AppError } from "./errors.ts";
import { createHasher, type ServiceDeps } from "./composition/services.ts";
import {
  type AdministratorsDeps,
  createAdministrators,
  type FirstAdministrator,
  type Initialised,
  initialiseOnce,
} from "./home/administrators.ts";
import type { AdministratorRecovery } from "./forge/accounts/recover-administrator.ts";
import { createAddresses } from "./http/addresses.ts";
import {
  listenEverywhere,
  type ListeningEverywhere,
  toListenError,
  toSshPort,
} from "./http/listen.ts";
import { createDoor } from "./http/server.ts";
import type { SshServer } from "./forge/git/ssh/ssh-server.ts";
import { createLimiter } from "./http/limits.ts";
import { openCertificate, watchCertificate } from "./http/tls.ts";
import { createJobQueue } from "./jobs/queue.ts";
import { type KeyRotation, rotateMasterKey } from "../storage/keys/rotation.ts";
import { createLogger, type Log } from "./utilities/logging.ts";
import { createUuid7 } from "./utilities/uuid7.ts";
import { listMails, type OutboxMail, readMail } from "./outbound/mail/outbox.ts";
import type {
  backUpHome,
  backUpHomeToBucket,
  ListedBackup,
  listBackupsIn,
} from "./home/backups.ts";
import type { checkStores, collectObjects } from "./home/check.ts";
import type { DaemonInput } from "./home/daemon-input.ts";
import type { restoreArchive } from "./home/restore-archive.ts";
import type { RestoredHome } from "../storage/backup/restore-backup.ts";
import type { BackupSummary } from "../storage/backup/write-backup.ts";
import type { CheckFinding } from "../storage/check/check-home.ts";
import type { DeletedObjects } from "../storage/check/delete-unreferenced.ts";

/** A daemon that accepts requests. */
export interface RunningDaemon {
  /** The addresses that it listens on, http first. */
  readonly urls: readonly string[];
  /** The port on which it serves git over SSH; undefined when that is off. */
  readonly sshPort: number | undefined;
  readonly dataDirectory: string;
  /** The administrators that were created because the home had not been initialised; shown once. Undefined on later starts. */
  readonly firstStart: (Initialised & { readonly password: string }) | undefined;
  /**
   * Stops gracefully: accepts no new requests, lets running ones finish within `shutdown_seconds`, releases jobs, checkpoints
   * the write-ahead log and releases the lock. A second call waits for the first.
   */
  stop(): Promise<void>;
}

/**
 * Starts a daemon on its data directory. In a new home it first creates both administrators (user name `keeper`) with a
 * generated password. Refuses with `AppError` `conflict` when another daemon holds the directory, with `StorageError` or
 * `DataDirectoryError` when it cannot be used, with `ListenError` when the port is in use.
 */
export async function startDaemon(input: DaemonInput): Promise<RunningDaemon> {
  const log = await openLog(input);
  const unwatch = input.onUnhandled?.((error, origin) =>
    log.error({ err: error, origin }, "survived an error that no code handled"),
  );
  const stores = await openStores(input, log);
  if (stores.keyring.isRotating)
    log.warn({}, "the rotation of the master key is incomplete: `croft key rotate` resumes it");
  const undo: (() => Promise<void>)[] = [async () => unwatch?.(), () => stores.close()];
  try {
    const deps = toServiceDeps(input, stores, log);
    const composed = await compose(deps);
    const openTls = () =>
      openCertificate(input.settings.tls, {
        keysDirectory: stores.directory.keys,
        hosts: deps.addresses.names(),
        clock: input.clock,
        writePrivately,
      });
    const certificate = await openTls();
    const door = createDoor(composed.handler);
    const listening = await listenEverywhere(input.settings, door.handler, certificate);
    undo.push(() => listening.stop(0));
    const { clock } = input;
    const replace = listening.replaceCertificate;
    const watch = certificate && watchCertificate({ open: openTls, replace, log: deps.log, clock });
    await watch?.look();
    undo.push(async () => watch?.[Symbol.dispose]());
    deps.addresses.listening(listening.urls);
    const ssh = await composed.openSsh();
    const sshPort = ssh && (await listenSsh(ssh, input.settings));
    if (ssh !== undefined) undo.push(() => ssh.stop(0));
    if (sshPort !== undefined) deps.addresses.listeningSsh(sshPort);
    await stores.lock.announce(listening.urls);
    undo.push(() => composed.stop());
    await composed.start();
    // Last: a start that fails would not show the administrators' password.
    const firstStart = await initialiseOnce(deps.db, () => loadAdministratorsDeps(deps));
    door.open();
    deps.log.info(
      { urls: listening.urls, ssh_port: sshPort, version: input.version },
      "croft is ready",
    );
    let stopping: Promise<void> | undefined;
    return {
      urls: listening.urls,
      sshPort,
      dataDirectory: input.paths.dataDirectory,
      firstStart,
      stop: () => {
        watch?.[Symbol.dispose]();
        return (stopping ??= stopAll(deps, composed, [
          listening,
          ...(ssh === undefined ? [] : [ssh]),
        ]).finally(() => unwatch?.()));
      },
    };
  } catch (error) {
    for (const step of undo.toReversed())
      await step().catch((cause: unknown) =>
        log.warn({ err: cause }, "failed to clean up after a failed start"),
      );
    throw error;
  }
}

/** Starts to listen for SSH. Throws `ListenError` when the port is in use or not permitted. */
async function listenSsh(ssh: SshServer, settings: Settings): Promise<number> {
  const port = toSshPort(settings);
  try {
    return await ssh.listen(settings.host, port);
  } catch (error) {
    throw toListenError(error as NodeJS.ErrnoException, settings.host, port, "--ssh-port");
  }
}

/**
 * Initialises a home without serving it: data directory, master key, the forge's site administrator with an access token of
 * scope `all`, the vault's administrator with the same e-mail and password. Refuses with `AppError` `conflict`, without any
 * change, when the home is initialised or a daemon holds it, and with `unprocessable` a password that the accounts could not
 * choose.
 */
export async function initialise(
  input: DaemonInput,
  first: FirstAdministrator,
): Promise<Initialised> {
  const log = await openLog(input);
  const stores = await openStores(input, log);
  try {
    const deps = await loadAdministratorsDeps(toServiceDeps(input, stores, log));
    return await createAdministrators(deps, first, true);
  } finally {
    await stores.close();
  }
}

/**
 * Rotates the master key of a home that no daemon serves. Refuses with `AppError` `not_found` without a home and `conflict`
 * when a daemon holds it; throws `MasterKeyError` when the present key cannot be loaded.
 */
export async function rotateKey(
  input: DaemonInput,
  options: { readonly skipUnreadable: boolean },
): Promise<KeyRotation> {
  const { settings, paths } = input;
  const { keys } = toDataDirectory(paths.dataDirectory);
  await assertHasKey(input);
  const stores = await openStores(input, await openLog(input));
  try {
    const { db, keyring } = stores;
    const { sealAgainIn } = await import("./composition/seal-again.ts");
    const at = toKeyringOptions(settings, { keys }, false);
    return await rotateMasterKey({
      db,
      keyring,
      addKey: () => addKey(at),
      retireOldKeys: () => retireOldKeys(at),
      sealAgainIn,
      ...options,
    });
  } finally {
    await stores.close();
  }
}

/**
 * Makes an account of a home that no daemon serves an active site administrator of the forge with a new password, and
 * returns its name. Refuses with `AppError` `not_found` without a home or the account, `conflict` when a daemon holds the
 * home, `unprocessable` for a password that breaks a rule.
 */
export async function recoverAdmin(
  input: DaemonInput,
  recovery: AdministratorRecovery,
): Promise<string> {
  await assertHasKey(input);
  const log = await openLog(input);
  const stores = await openStores(input, log);
  try {
    const { recoverAdministrator } = await import("./forge/accounts/recover-administrator.ts");
    const deps = await loadAdministratorsDeps(toServiceDeps(input, stores, log));
    return await recoverAdministrator(deps, recovery);
  } finally {
    await stores.close();
  }
}

/** Refuses with `not_found` a home that was never started: opening it would create it. */
async function assertHasKey({ paths }: Pick<DaemonInput, "paths">): Promise<void> {
  const { keys, root } = toDataDirectory(paths.dataDirectory);
  if (!(await hasMasterKey(keys)))
    throw new AppError("not_found", `${root} has no master key: it was never started`);
}

/**
 * Replaces the database of the data directory by a copy: a name in its `backups/`, `latest`, or an absolute path. Refuses
 * with `AppError` `conflict` while a daemon holds the directory, `not_found` for a missing copy, and with `StorageError` when
 * the copy cannot be used; the present database is untouched then.
 */
export async function restore(input: DaemonInput, copy: string): Promise<RestoredDatabase> {
  const { restoreCopy } = await import("./home/database-copies.ts");
  return restoreCopy(input, copy);
}

/**
 * Writes a backup of the home, served or not. Refuses with `AppError` `not_found` without a home and `invalid_argument` when
 * the database is on a server; throws `StorageError`.
 */
export async function backUp(
  input: DaemonInput,
  options: Parameters<typeof backUpHome>[1],
): Promise<BackupSummary> {
  const { backUpHome } = await import("./home/backups.ts");
  return backUpHome(toBackupInput(input), options);
}

/**
 * Uploads a backup of the home to a folder of a bucket, as one object that appears when it is whole. Refuses as `backUp`
 * does, with `invalid_argument` also when the bucket or its key is wrong, and with `provider_failed` when the server fails.
 */
export async function backUpToBucket(
  input: DaemonInput,
  options: Parameters<typeof backUpHomeToBucket>[1],
): Promise<BackupSummary & { readonly address: string }> {
  const { backUpHomeToBucket } = await import("./home/backups.ts");
  return backUpHomeToBucket({ ...toBackupInput(input), random: Math.random }, options);
}

/** Lists the backups in a folder of a bucket, oldest first. Refuses with `AppError` as `backUpToBucket` does. */
export async function listBackups(
  input: Pick<DaemonInput, "settings" | "clock">,
  place: Parameters<typeof listBackupsIn>[1],
  signal: AbortSignal,
): Promise<readonly ListedBackup[]> {
  const { listBackupsIn } = await import("./home/backups.ts");
  return listBackupsIn({ ...input, random: Math.random }, place, signal);
}

/**
 * Replaces the home by a backup and keeps the replaced files. Refuses with `AppError` `conflict` while a daemon holds the
 * home and `not_found` without the archive; throws `StorageError` when the archive is damaged, with nothing replaced.
 */
export async function restoreHome(
  input: DaemonInput,
  options: Parameters<typeof restoreArchive>[1],
): Promise<RestoredHome & { readonly archive: string }> {
  const { restoreArchive } = await import("./home/restore-archive.ts");
  return restoreArchive({ ...input, random: Math.random }, options);
}

/**
 * Checks the database, objects, repositories and cache of the home, served or not, and yields the faults. With
 * `repair`, no daemon may hold the home. Refuses with `AppError` `not_found` without a home, `invalid_argument` when
 * the database is on a server, `conflict` when a daemon holds a home to repair; throws `StorageError`.
 */
export async function* check(
  input: DaemonInput,
  options: Omit<Parameters<typeof checkStores>[1], "git">,
): AsyncGenerator<CheckFinding, void, void> {
  const { checkStores } = await import("./home/check.ts");
  yield* checkStores(input, {
    ...options,
    git: createGit({ searchPath: process.env["PATH"] ?? "" }),
  });
}

/**
 * Deletes the bytes of files that were deleted. Refuses with `AppError` `not_found` without a home, `invalid_argument` when
 * the database or the objects are on a server, `conflict` when a daemon holds the home.
 */
export async function collectGarbage(
  input: DaemonInput,
  options: Parameters<typeof collectObjects>[1],
): Promise<DeletedObjects> {
  const { collectObjects } = await import("./home/check.ts");
  return collectObjects(input, options);
}

/** Lists the mails that a home without a mail server keeps as files, newest first. Needs neither daemon nor lock. */
export function listOutbox({ dataDirectory }: SettingPaths): Promise<OutboxMail[]> {
  return listMails(toDataDirectory(dataDirectory).outbox);
}

/** Returns one of these mails with its text; undefined for an unknown id. */
export function readOutbox(
  { dataDirectory }: SettingPaths,
  id: string,
): ReturnType<typeof readMail> {
  return readMail(toDataDirectory(dataDirectory).outbox, id);
}

/** Loads the account services of both APIs, which the first start needs and later ones do not. */
async function loadAdministratorsDeps(deps: ServiceDeps): Promise<AdministratorsDeps> {
  const { toAdministratorsDeps } = await import("./composition/people.ts");
  return toAdministratorsDeps(deps);
}

function openLog({ settings, clock, logTo, recordTo }: DaemonInput): Promise<Log> {
  return createLogger({
    level: settings.logLevel,
    format: settings.logFormat,
    to: logTo,
    recordTo,
    clock,
    secrets: secretsOf(settings),
  });
}

function toServiceDeps(input: DaemonInput, stores: Stores, log: Log): ServiceDeps {
  const { settings, clock } = input;
  return {
    input,
    stores,
    db: stores.db,
    hasher: createHasher(input),
    limiter: createLimiter({ db: stores.db, clock, enabled: settings.rateLimits }),
    newId: createUuid7(clock, randomBytes),
    addresses: createAddresses(settings),
    queue: createJobQueue({
      db: stores.db,
      clock,
      random: Math.random,
      log,
      owner: randomUUID(),
      alone: stores.db.dialect === "sqlite",
    }),
    log,
  };
}

/** Returns the secret settings, which the log redacts. */
function secretsOf(settings: Settings): string[] {
  return listSettings()
    .filter(([, setting]) => setting.secret)
    .map(([name]) => settings[name])
    .filter((value) => typeof value === "string");
}

async function stopAll(
  deps: ServiceDeps,
  composed: Composed,
  listening: readonly Pick<ListeningEverywhere, "stop">[],
): Promise<void> {
  deps.log.info({}, "croft is stopping");
  composed.beginStop();
  const graceMs = deps.input.settings.shutdownSeconds * 1000;
  await Promise.all(listening.map((each) => each.stop(graceMs)));
  await composed.stop();
  await deps.stores.close();
}
