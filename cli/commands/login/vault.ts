import { vault } from "../../client/operations.ts";
import type { Command } from "commander";
import { toStoredSession } from "../../client/vault-session.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import type { SecondFactor } from "./second-factor.ts";

export const operations = [vault.login];
export const output = shape({
  service: "string",
  handle: "string",
  email: "string",
  role: "string",
  profile: "string",
  url: "string",
});

/** What the command was given. */
export interface LoginVaultOptions {
  readonly email?: string;
  readonly passwordFromInput: boolean;
  readonly factor?: SecondFactor;
  readonly remember: boolean;
}

interface Flags {
  readonly email?: string;
  readonly passwordStdin?: true;
  readonly totp?: string;
  readonly backupCode?: string;
  readonly remember?: true;
}

export function define(command: Command, cli: CliContext, run = runLoginVault): void {
  command
    .option("--email <address>", "your e-mail address")
    .option("--password-stdin", "read the password from standard input")
    .option("--totp <code>", "a code of your authenticator app")
    .option("--backup-code <code>", "a backup code in place of it")
    .option("--remember", "stay signed in for 30 days instead of 16 hours")
    .action(({ email, passwordStdin, totp, backupCode, remember }: Flags) => {
      if (totp !== undefined && backupCode !== undefined)
        throw usageError("--totp and --backup-code exclude each other");
      const factor =
        totp !== undefined ? { totp } : backupCode === undefined ? undefined : { backupCode };
      return run(cli, {
        ...(email === undefined ? {} : { email }),
        passwordFromInput: passwordStdin === true,
        ...(factor === undefined ? {} : { factor }),
        remember: remember === true,
      });
    });
}

/** What one try to sign in is made with. */
export interface Attempt {
  readonly email: string;
  readonly password: string;
  readonly factor: SecondFactor | undefined;
}

/** What became of it. */
export type AttemptOutcome =
  | {
      readonly kind: "signed_in";
      readonly handle: string;
      readonly email: string;
      readonly role: string;
    }
  | { readonly kind: "code_needed" };

/**
 * Signs in to the vault and keeps the session. On a terminal what is missing is asked for on a screen of its own;
 * otherwise a second factor that was not given is `challenge_required`. The store is tried before the password is
 * asked for, so that no fresh session is lost.
 */
async function runLoginVault(cli: CliContext, options: LoginVaultOptions): Promise<void> {
  const profile = await cli.profiles.inUse();
  if (!cli.flags.dryRun) await cli.credentials.chooseStore(profile);
  const attempt = (given: Attempt) => tryLogin(cli, given, options.remember);
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
}

type SignedIn = Extract<AttemptOutcome, { kind: "signed_in" }>;

async function signIn(
  cli: CliContext,
  { email, passwordFromInput, factor }: LoginVaultOptions,
  attempt: (given: Attempt) => Promise<AttemptOutcome>,
): Promise<SignedIn> {
  if (!passwordFromInput && (await cli.prompts.canAsk())) {
    const { showSignIn } = await import("../../ui/sign-in.tsx");
    return showSignIn(cli, { email, factor }, attempt);
  }
  const address = email ?? (await cli.prompts.text("E-mail address:", "--email"));
  const { readSecret } = await import("../secret-input.ts");
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

/** One request. The session of a success is stored before anything else happens. */
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
