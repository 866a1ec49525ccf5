import { type Command, Option } from "commander";
import { usageError } from "../errors.ts";

/** The flags of a command of the forge that takes a code of the second factor. */
export interface TotpFlags {
  readonly totp?: string | undefined;
  /** The name of the flag in earlier versions. */
  readonly otp?: string | undefined;
}

/** Adds `--totp`, and `--otp` as a hidden alias for scripts of earlier versions. */
export function addTotpFlag(command: Command): Command {
  return command
    .option("--totp <code>", "a code of your authenticator app")
    .addOption(new Option("--otp <code>", "the former name of --totp").hideHelp());
}

/** Returns the code. @throws CliError `usage` when both flags were given */
export function readTotp({ totp, otp }: TotpFlags): string | undefined {
  if (totp !== undefined && otp !== undefined)
    throw usageError("--otp is the former name of --totp: give one of them");
  return totp ?? otp;
}

/** Returns the header that carries the code. */
export function toTotpHeaders(code: string | undefined): {
  readonly headers?: Readonly<Record<string, string>>;
} {
  return code === undefined ? {} : { headers: { "X-Gitea-OTP": code } };
}
