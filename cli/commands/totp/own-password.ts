import type { Command } from "commander";
import type { CallOptions } from "../../client/client.ts";
import { toBasic } from "../../client/basic.ts";
import type { CliContext } from "../../context.ts";
import { readSecret } from "../secret-input.ts";
import { findOwner } from "../token/token-owner.ts";

/** Flags of every command that changes how the caller signs in. */
export interface OwnPasswordFlags {
  readonly passwordStdin?: true;
  /** A code of the second factor that is on. */
  readonly code?: string;
}

export function addPasswordFlag(command: Command): Command {
  return command.option("--password-stdin", "read your password from standard input");
}

/** How a call is signed in with the caller's own password, which a token cannot stand for here. */
export async function signInByPassword(
  cli: CliContext,
  { passwordStdin, code }: OwnPasswordFlags,
): Promise<CallOptions> {
  // A dry run sends nothing, so nobody has to be asked.
  if (cli.flags.dryRun) return {};
  const { username } = await findOwner(cli, {});
  const password = await readSecret(cli, {
    fromInput: passwordStdin === true,
    question: `Password of ${username}:`,
    flag: "--password-stdin",
  });
  return {
    authorization: toBasic(username, password),
    ...(code === undefined ? {} : { headers: { "X-Gitea-OTP": code } }),
  };
}
