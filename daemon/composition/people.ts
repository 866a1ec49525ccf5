import { networkInterfaces } from "node:os";
import { randomBytes } from "node:crypto";
import { findTaskCaller } from "../forge/actions/secrets/task-tokens.ts";
import { createForgeAccounts } from "../forge/accounts/accounts.ts";
import { createPasswordRules } from "../forge/accounts/password-rules.ts";
import { createPackageDependents } from "../forge/packages/packages.feature.ts";
import { createRepositoryDependents } from "../forge/repositories/dependents.ts";
import type { AdministratorsDeps } from "../home/administrators.ts";
import { createAddressCheck } from "../outbound/address-policy.ts";
import { createBreachLookup, createCommonPasswords } from "../outbound/breach/lookup.ts";
import { createGuardedDispatcher } from "../outbound/guarded-request.ts";
import type { Emit } from "../forge/events.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import { createVaultAccounts } from "../vault/accounts/accounts.ts";
import { openMailer, type ServiceDeps } from "./services.ts";

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

/**
 * Creates the account services of the forge on a database: the daemon's own, or a transaction of it.
 * @param emit publishes what the purge of an account does to repositories
 */
export function createForgePeople(
  deps: ServiceDeps,
  { queueMail }: Pick<Mailer, "queueMail">,
  emit: Emit,
) {
  const { input, stores, db, hasher, limiter, addresses, queue } = deps;
  const { settings, clock } = input;
  return createForgeAccounts({
    db,
    clock,
    random: randomBytes,
    passwords: hasher,
    rules: createPasswordRules({
      ...toForgeRules(deps),
      breaches: settings.passwordCheckPwn ? createBreaches(deps) : undefined,
    }),
    enqueue: queue.enqueue,
    findTaskCaller: (token) => findTaskCaller(db, token),
    publicUrl: addresses.publicUrl,
    sealer: stores.keyring,
    instanceName: settings.instanceName,
    limiter,
    queueMail,
    sendsMail: settings.smtpUrl !== undefined,
    provider: settings,
    repositories: createRepositoryDependents({ enqueue: queue.enqueue, emit }),
    packages: createPackageDependents(),
  });
}

/** The first administrators are created before there is anything that an event is about. */
const withoutEvents: Emit = () => Promise.resolve();

/** Creates the account services of the vault, as `createForgePeople` does. */
export function createVaultPeople(deps: ServiceDeps, { queueMail }: Pick<Mailer, "queueMail">) {
  const { input, stores, db, hasher, limiter, newId, addresses, queue } = deps;
  const { settings, clock } = input;
  return createVaultAccounts({
    db,
    clock,
    randomBytes,
    newId,
    hasher,
    breaches: createBreaches(deps),
    attempts: limiter,
    keys: stores.keyring,
    enqueue: queue.enqueue,
    queueMail,
    sendsMail: settings.smtpUrl !== undefined,
    publicUrl: addresses.publicUrl,
    frontendUrl: addresses.frontendUrl,
    settings,
  });
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
    createAccounts(tx, readyHasher) {
      const own = { ...deps, db: tx, hasher: readyHasher };
      const mailer = openMailer(deps);
      return {
        forge: createForgePeople(own, mailer, withoutEvents),
        vault: createVaultPeople(own, mailer),
      };
    },
  };
}

/** Returns the current addresses of this machine. */
function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address }) => address),
  );
}
