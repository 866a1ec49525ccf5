import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Database } from "../../storage/engine/database.ts";
import { toUserId } from "../../storage/tables/forge/ids.ts";
import { findTaskCaller } from "../forge/actions/secrets/task-tokens.ts";
import { createForgeAccounts } from "../forge/accounts/accounts.ts";
import { createPasswordRules } from "../forge/accounts/password-rules.ts";
import { isReaderAt } from "../forge/notifications/notify.ts";
import { createPackageDependents } from "../forge/packages/packages.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import type { AdministratorsDeps } from "../home/administrators.ts";
import type { DaemonInput } from "../home/daemon-input.ts";
import type { Addresses } from "../http/addresses.ts";
import type { Limiter } from "../http/limits.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { createAddressCheck } from "../outbound/address-policy.ts";
import { createBreachLookup, createCommonPasswords } from "../outbound/breach/lookup.ts";
import { createGuardedDispatcher } from "../outbound/guarded-request.ts";
import { machineAddresses } from "../outbound/machine-addresses.ts";
import { createMailer, type Mailer } from "../outbound/mail/mailer.ts";
import type { Log } from "../utilities/logging.ts";
import { createPasswordHasher, type PasswordHasher } from "../utilities/password-hasher.ts";
import { createVaultAccounts } from "../vault/accounts/accounts.ts";
import type { Stores } from "./stores.ts";

/** Maximum number of passwords that wait for hashing; further requests are answered with 503. */
const HASHES_WAITING_MAX = 64;

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
    concurrency: availableParallelism(),
    queueMax: HASHES_WAITING_MAX,
  });
}

/** Creates the mailer of both APIs. Its job must be registered once. */
export function openMailer({ input: { settings }, stores, queue, db }: ServiceDeps): Mailer {
  return createMailer({
    enqueue: queue.enqueue,
    keyring: stores.keyring,
    smtpUrl: settings.smtpUrl,
    from: settings.mailFrom,
    outbox: stores.directory.outbox,
    tmp: stores.directory.tmp,
    mayRead: ({ userId, repositoryId }, address) =>
      isReaderAt(db, { userId: toUserId(userId), repositoryId, address }),
    randomBytes,
  });
}

/** Creates the dispatcher of requests to addresses that users name, within the address policy. */
export function openGuardedDispatcher({ input, addresses }: ServiceDeps) {
  return createGuardedDispatcher({
    check: createAddressCheck({
      policy: input.settings.addressPolicy,
      own: addresses.own,
      machine: machineAddresses,
    }),
  });
}

function createBreaches(
  { input: { settings }, log }: Pick<ServiceDeps, "input" | "log">,
  level: "warn" | "debug" = "warn",
) {
  return createBreachLookup({
    url: settings.breachUrl,
    isCommon: createCommonPasswords(),
    warn: (message, cause) => log[level]({ err: cause }, message),
  });
}

/** Creates the account services of both APIs on a database: the daemon's own, or a transaction of it. */
export function createPeople(deps: ServiceDeps, { queueMail }: Pick<Mailer, "queueMail">) {
  const { input, stores, db, hasher, limiter, newId, addresses, queue } = deps;
  const { settings, clock } = input;
  const breaches = createBreaches(deps);
  const forge = createForgeAccounts({
    db,
    clock,
    random: randomBytes,
    passwords: hasher,
    rules: createPasswordRules({
      ...toForgeRules(deps),
      breaches: settings.passwordCheckPwn ? breaches : undefined,
    }),
    enqueue: queue.enqueue,
    findTaskCaller: (token) => findTaskCaller(db, token),
    publicUrl: addresses.publicUrl,
    sealer: stores.keyring,
    instanceName: settings.instanceName,
    attempts: limiter,
    queueMail,
    repositories: createRepositoryDependents(queue.enqueue),
    packages: createPackageDependents(),
  });
  const vault = createVaultAccounts({
    db,
    clock,
    randomBytes,
    newId,
    hasher,
    breaches,
    attempts: limiter,
    keys: stores.keyring,
    enqueue: queue.enqueue,
    queueMail,
    frontendUrl: addresses.frontendUrl,
    settings,
  });
  return { forge, vault };
}

function toForgeRules({ input: { settings } }: Pick<ServiceDeps, "input">) {
  return { lengthMin: settings.minPasswordLength, characters: settings.passwordComplexity };
}

/** Returns what the creation of the first administrators needs: account services on its transaction. */
export function toAdministratorsDeps(deps: ServiceDeps): AdministratorsDeps {
  const { db, hasher, input } = deps;
  return {
    db,
    dataDirectory: input.paths.dataDirectory,
    hasher,
    rules: createPasswordRules({ ...toForgeRules(deps), breaches: undefined }),
    // A command line has no log for a failure of the breach service.
    breaches: createBreaches(deps, "debug"),
    createAccounts: (tx, readyHasher) =>
      createPeople({ ...deps, db: tx, hasher: readyHasher }, openMailer(deps)),
  };
}
