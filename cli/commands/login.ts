import { toBasic } from "../client/authorize.ts";
import { forge, vault } from "../client/operations.ts";
import { toStoredSession } from "../client/vault-session.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { findStoredToken, revokeToken } from "../support/token-owner.ts";
import { waitOutLimits } from "../support/rate-limit.ts";
import {
  type Attempt,
  type AttemptOutcome,
  type SecondFactor,
} from "../support/sign-in-attempt.ts";
import { readSecret } from "../support/secrets.ts";
import { toTotpHeaders, totpFlag } from "../support/flag-values.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("forge", "Sign in to the forge", {
    flags: {
      "--username <name>": "your user name",
      "--password-stdin": "read the password from standard input",
      "--token-stdin": "read an access token from standard input",
      ...totpFlag,
    },
    /** The former token of the profile is deleted, which nothing uses any more. */
    destructive: false,
    calls: [forge.createToken, forge.getCurrentUser, forge.deleteToken, forge.deleteCurrentToken],
    output: shape({
      service: "string",
      username: "string",
      profile: "string",
      url: "string",
    }),
    examples: [
      [
        "Sign in with a password",
        "croft login forge --username mira --password-stdin < password.txt",
      ],
      ["Sign in with an access token", "croft login forge --token-stdin < token.txt"],
    ],
    /**
     * Signs in to the forge: stores a given token, or creates one with the password, which is not stored. Tests the credential
     * store before it prompts for a secret.
     */
    async run(cli, flags) {
      const { username, passwordStdin, tokenStdin } = flags;
      if (passwordStdin === true && tokenStdin === true)
        throw usageError("--password-stdin and --token-stdin exclude each other");
      const secret =
        passwordStdin === true ? "password_input" : tokenStdin === true ? "token_input" : "person";
      await cli.prompts.require([
        { flag: "--username", isMissing: username === undefined && secret !== "token_input" },
        { flag: "--password-stdin or --token-stdin", isMissing: secret === "person" },
      ]);
      const profile = await cli.profiles.inUse();
      if (!cli.flags.dryRun) await cli.credentials.chooseStore(profile);
      const made =
        secret === "token_input" ? await useToken(cli) : await makeToken(cli, { secret, ...flags });
      const { url } = await cli.client.target();
      // Read again, because choosing the store assigns an id to a new profile.
      const known = await cli.profiles.inUse();
      const former = await findStoredToken(cli, known);
      await cli.credentials.write(known, "forge", {
        token: made.token,
        token_id: made.tokenId,
        url,
      });
      await cli.profiles.updateProfile(profile.name, (one) => ({
        ...one,
        forge: { username: made.username },
      }));
      // The new token is stored: nothing uses the former one any more.
      if (former !== undefined && former.token !== made.token && former.url === url)
        await revokeToken(cli, known, former).catch((error: unknown) => {
          if (!(error instanceof CliError)) throw error;
          if (error.code === "invalid_credentials" || error.code === "not_found") return;
          cli.io.note(`The former token may still be valid: ${error.message}`);
        });
      await cli.output.done(
        { service: "forge", username: made.username, profile: profile.name, url },
        `Signed in to the forge at ${url} as ${made.username}.`,
      );
    },
  }),
  command("vault", "Sign in to the vault", {
    flags: {
      "--email <address>": "your e-mail address",
      "--password-stdin": "read the password from standard input",
      "--totp <code>": "a code of your authenticator app",
      "--backup-code <code>": "a backup code instead of a code of the app",
      "--remember":
        "keep the session for 30 days instead of 16 hours until its first use, which makes it 16 hours",
    },
    calls: [vault.login],
    output: shape({
      service: "string",
      handle: "string",
      email: "string",
      role: "string",
      profile: "string",
      url: "string",
    }),
    prompted: ["--email", "--password-stdin"],
    examples: [
      ["Sign in", "croft login vault --email mira@example.org --password-stdin < password.txt"],
      [
        "Stay signed in for 30 days",
        "croft login vault --email mira@example.org --remember --password-stdin < password.txt",
      ],
    ],
    /**
     * Signs in to the vault and stores the session. On a terminal a screen prompts for missing values; otherwise a missing
     * second factor is `challenge_required`. Tests the credential store before it prompts for the password, so that no new
     * session is lost.
     */
    async run(cli, { email: typed, passwordStdin, totp, backupCode, remember = false }) {
      if (totp !== undefined && backupCode !== undefined)
        throw usageError("--totp and --backup-code exclude each other");
      const factor =
        totp !== undefined ? { totp } : backupCode === undefined ? undefined : { backupCode };
      const options = {
        ...(typed === undefined ? {} : { email: typed }),
        passwordFromInput: passwordStdin === true,
        ...(factor === undefined ? {} : { factor }),
      };

      const profile = await cli.profiles.inUse();
      if (!cli.flags.dryRun) await cli.credentials.chooseStore(profile);
      const attempt = (credentials: Attempt) => tryLogin(cli, credentials, remember);
      const signedIn = await signIn(cli, options, attempt);
      await cli.profiles.updateProfile(profile.name, (one) => ({
        ...one,
        vault: { email: signedIn.email, handle: signedIn.handle },
      }));
      const { url } = await cli.client.target();
      const { handle, email, role } = signedIn;
      await cli.output.done(
        { service: "vault", handle, email, role, profile: profile.name, url },
        `Signed in to the vault at ${url} as ${handle} (${email}).`,
      );
    },
  }),
];

export interface LoginForgeOptions {
  /** Required with a password; a token identifies its user. */
  readonly username?: string;
  readonly secret: "password_input" | "token_input" | "person";
  /** A code of the second factor. */
  readonly totp?: string;
}

interface MadeToken {
  readonly username: string;
  readonly token: string;
  /** Null for a token that croft did not create: logout must not delete it. */
  readonly tokenId: number | null;
}

async function useToken(cli: CliContext): Promise<MadeToken> {
  const token = await readSecret(cli, {
    fromInput: true,
    question: "Token:",
    flag: "--token-stdin",
  });
  const options = { authorization: `token ${token}` };
  const { body } = await waitOutLimits(cli, () =>
    cli.client.call(forge.getCurrentUser, {}, options),
  );
  return { username: body.username, token, tokenId: null };
}

async function makeToken(cli: CliContext, options: LoginForgeOptions): Promise<MadeToken> {
  const username = options.username ?? (await cli.prompts.text("User name:", "--username"));
  const password = await readSecret(cli, {
    fromInput: options.secret === "password_input",
    question: "Password:",
    flag: "--password-stdin or --token-stdin",
  });
  const suffix = Buffer.from(cli.system.random(4)).toString("hex");
  const attempt = (totp: string | undefined) =>
    waitOutLimits(cli, () =>
      cli.client.call(
        forge.createToken,
        { params: { username }, body: { name: `croft-cli-${suffix}`, scopes: ["all"] } },
        {
          authorization: toBasic(username, password),
          ...toTotpHeaders(totp),
        },
      ),
    );
  const { body } = await attempt(options.totp).catch(async (error: unknown) => {
    const code = await askForCode(cli, options, error);
    if (code === "") throw error;
    return attempt(code);
  });
  return { username, token: body.sha1, tokenId: body.id };
}

/**
 * Prompts for a code of the second factor after a refused sign-in without one; returns an empty text when there is none to
 * send. The forge answers a missing code as it answers a wrong password, so that it does not confirm the password.
 */
async function askForCode(
  cli: CliContext,
  { secret, totp }: LoginForgeOptions,
  error: unknown,
): Promise<string> {
  const isRefused = error instanceof CliError && error.code === "invalid_credentials";
  if (!isRefused || totp !== undefined || secret !== "person") return "";
  cli.io.warn(error.message);
  const question = "Code of your authenticator app (Enter if the account has no second factor):";
  return (await cli.prompts.text(question, "--totp", "")).replaceAll(/\s/g, "");
}

export interface LoginVaultOptions {
  readonly email?: string;
  readonly passwordFromInput: boolean;
  readonly factor?: SecondFactor;
}

type SignedIn = Extract<AttemptOutcome, { kind: "signed_in" }>;

async function signIn(
  cli: CliContext,
  { email, passwordFromInput, factor }: LoginVaultOptions,
  attempt: (credentials: Attempt) => Promise<AttemptOutcome>,
): Promise<SignedIn> {
  if (!passwordFromInput && (await cli.prompts.canAsk())) {
    const { showSignIn } = await import("../ui/sign-in.tsx");
    return showSignIn(cli, { email, factor }, attempt);
  }
  const address = email ?? (await cli.prompts.text("E-mail address:", "--email"));
  const { readSecret } = await import("../support/secrets.ts");
  const password = await readSecret(cli, {
    fromInput: passwordFromInput,
    question: "Password:",
    flag: "--password-stdin",
  });
  const outcome = await attempt({ email: address, password, factor });
  if (outcome.kind === "signed_in") return outcome;
  throw new CliError("challenge_required", "a code of the second factor is needed", {
    service: "vault",
    hint: "give --totp CODE or --backup-code CODE",
  });
}

/** Sends one sign-in request and stores the session at once if it succeeds. */
async function tryLogin(
  cli: CliContext,
  { email, password, factor }: Attempt,
  remember: boolean,
): Promise<AttemptOutcome> {
  const { body, raw } = await cli.client.call(
    vault.login,
    {
      body: {
        email,
        password,
        totp_code: factor !== undefined && "totp" in factor ? factor.totp : undefined,
        backup_code: factor !== undefined && "backupCode" in factor ? factor.backupCode : undefined,
        remember_me: remember,
      },
    },
    { authorization: "none", accept: (answer) => answer.status === 200 },
  );
  if ("requires_totp" in body) return { kind: "code_needed" };
  if ("requires_password_change" in body)
    throw new CliError("challenge_required", "the password must be changed first", {
      httpStatus: 200,
      service: "vault",
      hint: `"croft vault password reset --email ${email}" mails a link for a new one`,
    });
  const { url } = await cli.client.target();
  const session = toStoredSession(raw, url, cli.clock());
  await cli.credentials.write(await cli.profiles.inUse(), "vault", session);
  return { kind: "signed_in", ...body.user };
}
