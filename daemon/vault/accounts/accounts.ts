// Registration, sign-in, sessions, passwords and the second factor. Start here: one factory wires
// up the services of this folder. sign-in.service.ts follows the order of the document.
import type { Database } from "../../../storage/engine/database.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import { INVITATION_SECONDS } from "../../contract/invitations.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { createAccessTokens } from "./access-tokens.ts";
import { createAuthentication } from "./authentication.ts";
import type { AttemptCounter } from "./attempts.ts";
import { createMachineTokens } from "./machine-tokens.service.ts";
import { createProfile } from "./profile.service.ts";
import { createIdentities } from "./identities.service.ts";
import { createInvitationLinks } from "./invitation-links.ts";
import { createRegistration } from "./registration.service.ts";
import { createPasswords } from "./passwords.service.ts";
import { createResetMails, type QueueMail } from "./reset-mails.ts";
import { createResetTokens, RESET_SECONDS } from "./reset-tokens.ts";
import { createSessionIssuer } from "./session-issue.ts";
import { createSessions } from "./sessions.service.ts";
import { createSignIn } from "./sign-in.service.ts";
import { createTotp } from "./totp.service.ts";
import { createTotpSecrets } from "./totp-secrets.ts";

/** Seals secrets and derives the signing keys of tokens; see storage/keys. */
export interface AccountKeys extends Sealer {
  /** 32 bytes for each known master key, newest first. */
  deriveAll(purpose: string): readonly Uint8Array[];
}

/** The settings of accounts. */
export interface AccountSettings {
  readonly allowRegistration: boolean;
  readonly accessTokenSeconds: number;
  readonly defaultQuotaBytes: number;
  /** The name of this server in authenticator apps and mails. */
  readonly instanceName: string;
  readonly oidcCreateAccounts: boolean;
  readonly oidcVaultAdminGroup: string | undefined;
}

export interface VaultAccountsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A cryptographically strong source. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** UUID v7. */
  readonly newId: () => string;
  readonly hasher: PasswordHasher;
  readonly breaches: BreachLookup;
  readonly attempts: AttemptCounter;
  readonly keys: AccountKeys;
  readonly enqueue: Enqueue;
  readonly queueMail: QueueMail;
  /** Whether a mail server is set up. */
  readonly sendsMail: boolean;
  /** The address of the daemon, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Base of the reset link, without a trailing slash; known once the daemon listens. */
  readonly frontendUrl: () => string;
  readonly settings: AccountSettings;
}

/** The services of the vault's accounts. */
export type VaultAccounts = ReturnType<typeof createVaultAccounts>;

/** How long a browser may take for the second factor after the password. */
const CHALLENGE_SECONDS = 300;

/** Wires up the services of accounts, without starting anything. */
export function createVaultAccounts(deps: VaultAccountsDeps) {
  const { db, clock, newId, randomBytes, hasher, breaches, attempts, keys, settings } = deps;
  const { instanceName } = settings;
  const accessTokens = createAccessTokens({
    keys: keys.deriveAll("vault-access-token"),
    clock,
    newId,
    lifetimeSeconds: settings.accessTokenSeconds,
  });
  const issuer = createSessionIssuer({ accessTokens, randomBytes, newId });
  const totpSecrets = createTotpSecrets(keys);
  const resetTokens = createResetTokens({
    keys: keys.deriveAll("vault-password-reset"),
    clock,
    lifetimeSeconds: RESET_SECONDS,
  });
  const invitationTokens = createResetTokens({
    keys: keys.deriveAll("vault-password-reset"),
    clock,
    lifetimeSeconds: INVITATION_SECONDS,
  });
  const challenges = createResetTokens({
    keys: keys.deriveAll("vault-second-factor"),
    clock,
    lifetimeSeconds: CHALLENGE_SECONDS,
  });
  const resetMails = createResetMails({ ...deps, resetTokens, instanceName });
  const machineTokens = createMachineTokens({ db, clock, randomBytes, newId });
  return {
    authentication: createAuthentication({ db, accessTokens, machineTokens }),
    registration: createRegistration({ db, newId, hasher, breaches, ...settings }),
    signIn: createSignIn({ db, hasher, attempts, totpSecrets, challenges, sessions: issuer }),
    sessions: createSessions({ db, clock, sessions: issuer }),
    passwords: createPasswords({ db, hasher, breaches, attempts, resetTokens, resetMails }),
    totp: createTotp({ db, randomBytes, totpSecrets, instanceName }),
    profile: createProfile({ db }),
    machineTokens,
    /** Register its job with the queue. */
    resetMails,
    identities: createIdentities({ db, newId, settings }),
    invitationLinks: createInvitationLinks({ ...deps, invitationTokens, instanceName }),
  };
}
