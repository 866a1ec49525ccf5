import { hash } from "node:crypto";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { takeBackupCode } from "../../../storage/tables/vault/backup-codes.ts";
import { takeTotpStep } from "../../../storage/tables/vault/totp.ts";
import {
  findVaultUser,
  findVaultUserByEmail,
  replacePasswordHash,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { assertNever } from "../../errors.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { type AttemptCounter, countSignIn } from "./attempts.ts";
import { hashBackupCode } from "./backup-codes.ts";
import type { Client } from "./client.ts";
import { REFRESH_SECONDS, REMEMBERED_SECONDS } from "./refresh-cookie.ts";
import { badCredentials } from "./refusals.ts";
import { fingerprintOfAccount, type ResetTokens } from "./reset-tokens.ts";
import type { IssuedTokens, PendingTokens, SessionIssuer } from "./session-issue.ts";
import { findTotpStep } from "../../utilities/totp.ts";
import type { TotpSecrets } from "./totp-secrets.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** The input of a sign-in. Absent codes are undefined. */
export interface SignInInput {
  readonly email: string;
  readonly password: string;
  readonly totpCode: string | undefined;
  readonly backupCode: string | undefined;
  readonly rememberMe: boolean;
}

/** The result of a sign-in with the right password. */
export type SignInOutcome =
  | { readonly kind: "signed_in"; readonly tokens: IssuedTokens }
  | { readonly kind: "password_change_required"; readonly userId: AccountId }
  | {
      readonly kind: "totp_required";
      /** Proves the password, for the second step of a page: see `answerChallenge`. */
      readonly challenge: string;
    };

export type SignIn = ReturnType<typeof createSignIn>;

export interface SignInDeps {
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly attempts: AttemptCounter;
  readonly totpSecrets: TotpSecrets;
  /** Sign tokens for accounts whose password was right. */
  readonly challenges: ResetTokens;
  readonly sessions: SessionIssuer;
}

/** What an account with a second factor answers after its password. Absent codes are undefined. */
export type ChallengeAnswer = Pick<SignInInput, "totpCode" | "backupCode" | "rememberMe"> & {
  readonly challenge: string;
};

/** The result of the transaction. A refusal is a value, because an error would roll back its audit record. */
type Admission =
  | { readonly kind: "admitted"; readonly tokens: PendingTokens }
  | { readonly kind: "wrong_password" }
  | { readonly kind: "refused"; readonly text: string }
  | { readonly kind: "password_change_required"; readonly userId: AccountId }
  | { readonly kind: "totp_required"; readonly user: VaultUser };

/** Sign-in to the vault. */
export function createSignIn(deps: SignInDeps) {
  return {
    /**
     * Runs the eight steps of a sign-in in an order that reveals nothing about accounts. Throws `rate_limited` at step 1,
     * `invalid_credentials` at steps 2, 3, 6 and 7, and `unavailable` when the queue of the password hasher is full.
     */
    async signIn(input: SignInInput, client: Client): Promise<SignInOutcome> {
      // 1. Counts first, so that responses for a locked address reveal nothing.
      await countSignIn(deps.attempts, input.email);

      // 2. An unknown address and a wrong password are indistinguishable, also in time.
      const user = await findVaultUserByEmail(deps.db, input.email);
      const { fits, outdated } = await deps.hasher.verify(user?.passwordHash ?? "", input.password);
      if (user === undefined || !fits) return wrongPassword(user?.id, input, client);
      const rehashed = outdated ? await deps.hasher.hash(input.password) : undefined;

      const admission = await deps.db.transaction((tx) =>
        admit(tx, { user, rehashed, input, client }),
      );
      return admission.kind === "wrong_password"
        ? wrongPassword(user.id, input, client)
        : complete(admission, client);
    },

    /**
     * Ends a sign-in whose password was right, with a code. Throws as `signIn`, and `invalid_credentials` for a
     * challenge that has expired or whose account has another password since.
     */
    async answerChallenge(
      { challenge, ...codes }: ChallengeAnswer,
      client: Client,
    ): Promise<SignInOutcome> {
      const claims = await deps.challenges.read(challenge);
      const user = claims && (await findVaultUser(deps.db, claims.userId));
      if (user === undefined || fingerprintOfAccount(user) !== claims?.replaces)
        throw badCredentials("This sign-in took too long. Begin again.");
      await countSignIn(deps.attempts, user.email);
      const admission = await deps.db.transaction((tx) =>
        admit(tx, { user, rehashed: undefined, input: codes, client }),
      );
      if (admission.kind === "wrong_password")
        throw badCredentials("This sign-in took too long. Begin again.");
      return complete(admission, client);
    },

    /**
     * Signs in to the account of an identity that a provider has confirmed. The second factor and a required change of the
     * password hold as after the password. Throws `invalid_credentials` for a deactivated account.
     */
    async signInByIdentity(userId: AccountId, client: Client): Promise<SignInOutcome> {
      const user = await findVaultUser(deps.db, userId);
      if (user === undefined) throw badCredentials("The account was deleted");
      const input = { totpCode: undefined, backupCode: undefined, rememberMe: false };
      const admission = await deps.db.transaction((tx) =>
        admit(tx, { user, rehashed: undefined, input, client }),
      );
      if (admission.kind === "wrong_password")
        throw badCredentials("This sign-in took too long. Begin again.");
      return complete(admission, client);
    },

    /**
     * Begins a session of an account that has just proved itself by the link of a mail. Undefined for an account with a
     * second factor, which the link does not replace, and for one that may not sign in.
     */
    async signInByLink(userId: AccountId, client: Client): Promise<IssuedTokens | undefined> {
      const tokens = await deps.db.transaction(async (tx) => {
        const user = await findVaultUser(tx, userId);
        const isAdmitted = user?.isActive === true && !user.passwordMustChange && !user.totpEnabled;
        return isAdmitted
          ? begin(tx, { user, client, totpUsed: false, refreshSeconds: REFRESH_SECONDS })
          : undefined;
      });
      return tokens && deps.sessions.complete(tokens, client);
    },
  };

  async function complete(
    admission: Exclude<Admission, { kind: "wrong_password" }>,
    client: Client,
  ): Promise<SignInOutcome> {
    switch (admission.kind) {
      case "admitted":
        return {
          kind: "signed_in",
          tokens: await deps.sessions.complete(admission.tokens, client),
        };
      case "password_change_required":
        return admission;
      case "totp_required": {
        const userId = admission.user.id;
        const replaces = fingerprintOfAccount(admission.user);
        return {
          kind: "totp_required",
          challenge: await deps.challenges.issue({ userId, replaces }),
        };
      }
      case "refused":
        throw badCredentials(admission.text);
      default:
        return assertNever(admission);
    }
  }

  /** Runs steps 3 to 8 in a transaction that holds the lock of the account. */
  async function admit(
    tx: Transaction,
    attempt: {
      readonly user: VaultUser;
      readonly rehashed: string | undefined;
      readonly input: Pick<SignInInput, "totpCode" | "backupCode" | "rememberMe">;
      readonly client: Client;
    },
  ): Promise<Admission> {
    const { input, client, rehashed } = attempt;
    const user = await findVaultUser(tx, attempt.user.id);
    // The password changed during its verification.
    if (user === undefined || user.passwordHash !== attempt.user.passwordHash)
      return { kind: "wrong_password" };

    // 3.
    if (!user.isActive) return { kind: "refused", text: "Account deactivated" };
    // 4.
    if (user.passwordMustChange) return { kind: "password_change_required", userId: user.id };
    if (user.totpEnabled) {
      // 5.
      if (input.totpCode === undefined && input.backupCode === undefined)
        return { kind: "totp_required", user };
      // 6. A code from the app takes precedence over a backup code.
      if (input.totpCode !== undefined) {
        if (!(await takeTotpCode(tx, user, input.totpCode)))
          return { kind: "refused", text: "Incorrect code" };
      }
      // 7.
      else if (!(await takeCode(tx, user, input.backupCode ?? "", client)))
        return { kind: "refused", text: "Invalid or already used code" };
    }

    // 8.
    if (rehashed !== undefined)
      await replacePasswordHash(tx, user.id, { from: user.passwordHash, to: rehashed });
    const totpUsed = user.totpEnabled && input.totpCode !== undefined;
    const refreshSeconds = input.rememberMe ? REMEMBERED_SECONDS : REFRESH_SECONDS;
    return {
      kind: "admitted",
      tokens: await begin(tx, { user, client, totpUsed, refreshSeconds }),
    };
  }

  async function begin(
    tx: Transaction,
    {
      totpUsed,
      ...session
    }: {
      readonly user: VaultUser;
      readonly client: Client;
      readonly totpUsed: boolean;
      readonly refreshSeconds: number;
    },
  ): Promise<PendingTokens> {
    const { user, client } = session;
    await insertAudit(tx, {
      eventType: "auth.login",
      userId: user.id,
      actorId: user.id,
      ipAddress: client.address,
      metadata: { totp_used: totpUsed },
    });
    return deps.sessions.begin(tx, session);
  }

  async function takeTotpCode(tx: Transaction, user: VaultUser, code: string): Promise<boolean> {
    const secret = openSecret(user);
    const step = findTotpStep({ secret, code, now: tx.now, lastStep: user.totpLastStep });
    return step !== undefined && (await takeTotpStep(tx, user.id, step));
  }

  async function takeCode(
    tx: Transaction,
    user: VaultUser,
    code: string,
    client: Client,
  ): Promise<boolean> {
    const totpSecret = openSecret(user);
    const isValid = await takeBackupCode(
      tx,
      user.id,
      hashBackupCode({ code, userId: user.id, totpSecret }),
    );
    if (isValid)
      await insertAudit(tx, {
        eventType: "auth.backup_code_used",
        userId: user.id,
        actorId: user.id,
        ipAddress: client.address,
      });
    return isValid;
  }

  function openSecret(user: VaultUser): string {
    return deps.totpSecrets.open(user.totpSecret ?? "", "totp_secret", user.id);
  }

  async function wrongPassword(
    userId: AccountId | undefined,
    input: SignInInput,
    client: Client,
  ): Promise<never> {
    await deps.db.transaction((tx) =>
      insertAudit(tx, {
        eventType: "auth.login_failed",
        userId,
        ipAddress: client.address,
        metadata: { email_hash: hash("sha256", input.email, "hex").slice(0, 16) },
      }),
    );
    throw badCredentials("Incorrect email or password");
  }
}
