import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import { toBasic } from "../../client/basic.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { readSecret } from "../secret-input.ts";

export const operations = [forge.createToken, forge.getCurrentUser];
export const output = shape({
  service: "string",
  username: "string",
  profile: "string",
  url: "string",
});

/** What the command was given. */
export interface LoginForgeOptions {
  /** Needed with a password; a token knows its user. */
  readonly username?: string;
  readonly secret: "password_input" | "token_input" | "person";
  /** A code of the second factor. */
  readonly otp?: string;
}

interface Flags {
  readonly username?: string;
  readonly passwordStdin?: true;
  readonly tokenStdin?: true;
  readonly otp?: string;
}

export function define(command: Command, cli: CliContext, run = runLoginForge): void {
  command
    .option("--username <name>", "your user name")
    .option("--password-stdin", "read the password from standard input")
    .option("--token-stdin", "read an access token from standard input")
    .option("--otp <code>", "a code of your second factor")
    .action(({ username, passwordStdin, tokenStdin, otp }: Flags) => {
      if (passwordStdin === true && tokenStdin === true)
        throw usageError("--password-stdin and --token-stdin exclude each other");
      return run(cli, {
        ...(username === undefined ? {} : { username }),
        secret:
          passwordStdin === true
            ? "password_input"
            : tokenStdin === true
              ? "token_input"
              : "person",
        ...(otp === undefined ? {} : { otp }),
      });
    });
}

/**
 * Signs in to the forge: keeps a given token, or has one made with the password, which itself is not kept. The store
 * is tried before anything secret is asked for.
 */
async function runLoginForge(cli: CliContext, options: LoginForgeOptions): Promise<void> {
  const profile = await cli.profiles.inUse();
  if (!cli.flags.dryRun) await cli.credentials.chooseStore(profile);
  const made =
    options.secret === "token_input" ? await useToken(cli) : await makeToken(cli, options);
  const { url } = await cli.client.target();
  // Read again: choosing the store has given a new profile its id.
  const known = await cli.profiles.inUse();
  await cli.credentials.write(known, "forge", { token: made.token, token_id: made.tokenId, url });
  await cli.profiles.updateProfile(profile.name, (one) => ({
    ...one,
    forge: { username: made.username },
  }));
  await cli.output.done(
    { service: "forge", username: made.username, profile: profile.name, url },
    `Signed in to the forge at ${url} as ${made.username}.`,
  );
}

interface MadeToken {
  readonly username: string;
  readonly token: string;
  /** Null for a token that was given: it is not ours to delete at logout. */
  readonly tokenId: number | null;
}

async function useToken(cli: CliContext): Promise<MadeToken> {
  const token = await readSecret(cli, {
    fromInput: true,
    question: "Token:",
    flag: "--token-stdin",
  });
  const options = { authorization: `token ${token}` };
  const { body } = await cli.client.call(forge.getCurrentUser, {}, options);
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
  const { body } = await cli.client.call(
    forge.createToken,
    { params: { username }, body: { name: `croft-cli-${suffix}`, scopes: ["all"] } },
    {
      authorization: toBasic(username, password),
      ...(options.otp === undefined ? {} : { headers: { "X-Gitea-OTP": options.otp } }),
    },
  );
  return { username, token: body.sha1, tokenId: body.id };
}
