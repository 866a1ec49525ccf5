import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Database } from "../../storage/engine/database.ts";
import { toUserId } from "../../storage/tables/forge/ids.ts";
import type { DaemonInput } from "../home/daemon-input.ts";
import type { Addresses } from "../http/addresses.ts";
import type { Limiter } from "../http/limits.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { createMailer, type Mailer } from "../outbound/mail/mailer.ts";
import type { Log } from "../utilities/logging.ts";
import { createPasswordHasher, type PasswordHasher } from "../utilities/password-hasher.ts";
import type { Stores } from "./stores.ts";

/** Maximum number of passwords that wait for hashing; further requests are answered with 503. */
const HASHES_WAITING_MAX = 64;

/** Most passwords that are hashed at the same time: half of libuv's threads (bin/croft.js), so that commits and files have others. */
const HASHES_MAX = 8;

/** The dependencies of all services. */
export interface ServiceDeps {
  readonly input: DaemonInput;
  readonly stores: Stores;
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly limiter: Limiter;
  /** Generates UUIDs of version 7. */
  readonly newId: () => string;
  readonly addresses: Addresses;
  readonly queue: JobQueue;
  readonly log: Log;
}

/** Creates the hasher of the process: both APIs share its bound on memory. */
export function createHasher({ passwordCost }: DaemonInput): PasswordHasher {
  return createPasswordHasher({
    ...(passwordCost && { cost: passwordCost }),
    concurrency: Math.min(availableParallelism(), HASHES_MAX),
    queueMax: HASHES_WAITING_MAX,
  });
}

/** Creates the mailer of both APIs. Its job must be registered once. */
export function openMailer({ input: { settings, clock }, stores, queue, db }: ServiceDeps): Mailer {
  return createMailer({
    enqueue: queue.enqueue,
    keyring: stores.keyring,
    smtpUrl: settings.smtpUrl,
    from: settings.mailFrom,
    outbox: stores.directory.outbox,
    tmp: stores.directory.tmp,
    mayRead: async (reader, address) => {
      // Loaded by the job that sends the first mail of a kind.
      if ("vault" in reader) {
        const { isMailMeant } = await import("../vault/accounts/mail-recipients.ts");
        return isMailMeant(db, reader, { address, now: clock() });
      }
      const { isAccountAt, isMemberAt, isReaderAt } =
        await import("../forge/notifications/notify.ts");
      const userId = toUserId(reader.userId);
      if ("teamId" in reader) return isMemberAt(db, { ...reader, userId, address });
      if (!("repositoryId" in reader))
        return isAccountAt(db, { ...reader, userId, address, now: clock() });
      const { repositoryId, part: kind } = reader;
      return isReaderAt(db, { userId, repositoryId, address, kind });
    },
    randomBytes,
  });
}
