import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Database } from "../../storage/engine/database.ts";
import type { Addresses } from "./addresses.ts";
import { createForgeAccounts, type ForgeAccountsDeps } from "../forge/accounts/accounts.ts";
import { createPackageDependents } from "../forge/packages/dependents.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import { createLimiter } from "../http/limits.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../utilities/logging.ts";
import type { DaemonInput } from "../main.ts";
import { createCommonPasswords } from "../outbound/breach/common-passwords.ts";
import { createBreachLookup } from "../outbound/breach/lookup.ts";
import { createMailer } from "../outbound/mail/mailer.ts";
import { createPasswordHasher, type PasswordHasher } from "../utilities/password-hasher.ts";
import type { Stores } from "./stores.ts";
import { createUuid7 } from "../utilities/uuid7.ts";
import { createVaultAccounts } from "../vault/accounts/accounts.ts";

/** How many sign-ins may wait for their turn to be hashed; beyond that clients are asked to come back. */
const HASHES_WAITING_MAX = 64;

/** What every service is made from. */
export interface ServiceDeps {
  readonly input: DaemonInput;
  readonly stores: Stores;
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly addresses: Addresses;
  readonly queue: JobQueue;
  readonly log: Log;
  /** Has hooks told of a new organization; absent where nothing is told. */
  readonly announceOrganization?: ForgeAccountsDeps["announceOrganization"];
}

/** The one hasher of the process: both APIs share its bound on memory. */
export function createHasher(): PasswordHasher {
  return createPasswordHasher({
    concurrency: availableParallelism(),
    queueMax: HASHES_WAITING_MAX,
  });
}

/** The people of both APIs, over any database: the daemon's own, or one transaction of it. */
export function createPeople(deps: ServiceDeps) {
  const { input, stores, db, hasher, addresses, queue, log, announceOrganization } = deps;
  const { settings, clock } = input;
  const limiter = createLimiter({ db, clock, enabled: settings.rateLimits });
  const mailer = createMailer({
    enqueue: queue.enqueue,
    keyring: stores.keyring,
    smtpUrl: settings.smtpUrl,
    from: settings.mailFrom,
    outbox: stores.directory.outbox,
    tmp: stores.directory.tmp,
    randomBytes,
  });
  const forge = createForgeAccounts({
    db,
    clock,
    random: randomBytes,
    passwords: hasher,
    publicUrl: addresses.publicUrl,
    sealer: stores.keyring,
    instanceName: settings.instanceName,
    addressKey: limiter.addressKey,
    limitSignIns: settings.rateLimits,
    queueMail: mailer.queueMail,
    repositories: createRepositoryDependents(queue.enqueue),
    ...(announceOrganization === undefined ? {} : { announceOrganization }),
    packages: createPackageDependents(),
  });
  const newId = createUuid7(clock, randomBytes);
  const vault = createVaultAccounts({
    db,
    clock,
    randomBytes,
    newId,
    hasher,
    breaches: createBreachLookup({
      url: settings.breachUrl,
      isCommon: createCommonPasswords(),
      warn: (message, cause) => log.warn({ err: cause }, message),
    }),
    attempts: limiter,
    keys: stores.keyring,
    enqueue: queue.enqueue,
    queueMail: mailer.queueMail,
    frontendUrl: addresses.frontendUrl,
    settings,
  });
  return { forge, vault, limiter, newId, mailer };
}
