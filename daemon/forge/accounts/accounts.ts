// daemon/forge/accounts: users, their tokens, second factors, keys, addresses and badges, and how requests authenticate.
// Start here: the factory of the services. accounts.routes.ts has the callers' own routes, admin.routes.ts the administrators'.
import type { Database } from "../../../storage/engine/database.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import { createKeysetCursors } from "../../../storage/tables/forge/accounts/keyset-cursors.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { Route } from "../../http/handle.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { adminRoutes } from "./admin.routes.ts";
import type { ForgeUrls } from "../urls.ts";
import { accountRoutes } from "./accounts.routes.ts";
import { createFollowers } from "./followers.service.ts";
import { profileRoutes } from "./profile.routes.ts";
import { createOwnSettings } from "./settings.service.ts";
import { type AuthenticationDeps, createAuthentication } from "./authentication.ts";
import { createBadges } from "./badges.service.ts";
import type { AccountDependents } from "./remove-user.ts";
import { createIdentities, type IdentitiesDeps } from "./identities.service.ts";
import { createInvitations } from "./invitations.service.ts";
import { createPublicKeys } from "./keys.service.ts";
import { createOwnEmails } from "./emails.service.ts";
import { createOwnPassword } from "./own-password.service.ts";
import { createPasswordResets, type PasswordResetsDeps } from "./password-reset.service.ts";
import type { PasswordRules } from "./password-rules.ts";
import { createSecondFactors } from "./second-factors.service.ts";
import { createSignInAttempts, type SignInAttemptsDeps } from "./sign-in-attempts.ts";
import { createTokens } from "./tokens.service.ts";
import { createUsers } from "./users.service.ts";
import { createWelcomeMail, type QueueMail } from "./welcome-mail.ts";

export interface ForgeAccountsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array;
  readonly passwords: PasswordHasher;
  readonly rules: PasswordRules;
  /** The configured public address without a trailing slash. */
  readonly publicUrl: () => string;
  /** Seals the secrets of second factors. */
  readonly sealer: Sealer;
  /** The server's name in authenticator apps and mails. */
  readonly instanceName: string;
  /** Counts sign-ins and requests for links. */
  readonly limiter: SignInAttemptsDeps & PasswordResetsDeps["limiter"];
  readonly enqueue: Enqueue;
  readonly findTaskCaller: AuthenticationDeps["findTaskCaller"];
  /** Adds a mail to the queue in the caller's transaction. */
  readonly queueMail: QueueMail;
  /** Whether a mail server is set up. */
  readonly sendsMail: boolean;
  /** What the sign-in by a provider may do. */
  readonly provider: IdentitiesDeps["settings"];
  /** The repositories of accounts. */
  readonly repositories?: AccountDependents;
  /** The packages of accounts. */
  readonly packages?: AccountDependents;
}

export type ForgeAccounts = ReturnType<typeof createForgeAccounts>;

/** The accounts of the forge. */
export function createForgeAccounts(deps: ForgeAccountsDeps) {
  const urls: ForgeUrls = { publicUrl: deps.publicUrl };
  const cursors = createKeysetCursors();
  const queueWelcomeMail = createWelcomeMail({ ...deps, urls });
  const users = createUsers({ ...deps, cursors, queueWelcomeMail });
  const tokens = createTokens(deps);
  const secondFactors = createSecondFactors(deps);
  const attempts = createSignInAttempts(deps.limiter);
  const authentication = createAuthentication({
    ...deps,
    tokens,
    secondFactors,
    attempts,
    urls,
  });
  return {
    users,
    emails: createOwnEmails(deps.db),
    settings: createOwnSettings(deps),
    followers: createFollowers(deps),
    tokens,
    secondFactors,
    ownPassword: createOwnPassword({ ...deps, attempts }),
    passwordResets: createPasswordResets({ ...deps, urls }),
    signInAttempts: attempts,
    passwordRules: deps.rules,
    identities: createIdentities({ db: deps.db, users, settings: deps.provider }),
    invitations: createInvitations({ ...deps, urls }),
    publicKeys: createPublicKeys(deps),
    badges: createBadges(deps.db),
    authentication,
    urls,
    /** Returns whether no user exists yet. */
    isEmpty: (): Promise<boolean> => users.isEmpty(),
    /**
     * Creates the first account of a new server: a site administrator with a token of scope `all`. The rules for passwords
     * are those of any account. Throws `conflict` if a user exists.
     */
    async createFirstSiteAdministrator({
      username,
      email,
      password,
    }: {
      readonly username: string;
      readonly email: string;
      readonly password: string;
    }): Promise<{ readonly user: ForgeUser; readonly token: string }> {
      if (!(await users.isEmpty()))
        throw new AppError("conflict", "The forge already has accounts.");
      const user = await users.create({
        sourceId: 0,
        loginName: "",
        username,
        fullName: "",
        email,
        password,
        mustChangePassword: false,
        notify: false,
        restricted: false,
        visibility: "public",
        isAdmin: true,
        createdAt: undefined,
        isFirst: true,
      });
      const made = await tokens.create({ scope: undefined }, username, {
        name: "croft init",
        scopes: ["all"],
      });
      return { user, token: made.secret };
    },
  };
}

/**
 * Returns every route of users, tokens and their administration, except the pictures in `avatarRoutes`.
 */
export function peopleRoutes(accounts: ForgeAccounts): Route[] {
  return [...accountRoutes(accounts), ...profileRoutes(accounts), ...adminRoutes(accounts)];
}
