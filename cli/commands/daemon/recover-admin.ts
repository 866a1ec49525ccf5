import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { randomPassword, readNewSecret } from "../../support/secrets.ts";
import type { CommandModule } from "../../tree/entry.ts";
import { version } from "../../version.ts";

export interface RecoverAdminOptions {
  readonly username: string;
  readonly password: "input" | "random" | "person";
  readonly resetTwoFactor: boolean;
}

interface RecoverAdminFlags {
  readonly passwordStdin?: true;
  readonly randomPassword?: true;
  readonly reset2fa?: true;
}

export const recoverAdmin = {
  operations: [],
  output: shape({
    recovered: "boolean",
    username: "string",
    password: "string?",
    second_factor_reset: "boolean",
    data: "string",
  }),
  writes: true,
  destructive: true,
  prompted: ["--yes", "--password-stdin or --random-password"],
  define(command, cli, run = runRecoverAdmin): void {
    command
      .argument("<username>", "an existing user of the forge")
      .option("--password-stdin", "read the new password from standard input")
      .option("--random-password", "make a new password and print it")
      .option("--reset-2fa", "disable the second factor of the account")
      .action((username: string, flags: RecoverAdminFlags) => {
        if (flags.passwordStdin === true && flags.randomPassword === true)
          throw usageError("--password-stdin and --random-password exclude each other");
        const password =
          flags.passwordStdin === true
            ? "input"
            : flags.randomPassword === true
              ? "random"
              : "person";
        return run(cli, { username, password, resetTwoFactor: flags.reset2fa === true });
      });
  },
} satisfies CommandModule;

/**
 * Makes an account of a stopped home an active forge administrator with a new password. Needs no sign-in: access to the
 * files of the home is the permission. @throws CliError `already_running`; `not_found` without a home or the account;
 * `invalid` for a password that breaks a rule
 */
async function runRecoverAdmin(cli: CliContext, options: RecoverAdminOptions): Promise<void> {
  const { username, resetTwoFactor } = options;
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  if (cli.flags.dryRun) throw new DryRun({ recover_admin: { data, username } });
  await cli.prompts.require([
    { flag: "--yes", isMissing: !cli.flags.yes },
    { flag: "--password-stdin or --random-password", isMissing: options.password === "person" },
  ]);
  await cli.prompts.confirm(
    `Make ${username} an active administrator of the forge in ${data}, with a new password?`,
  );
  const password =
    options.password === "random"
      ? randomPassword(cli.system.random)
      : await readNewSecret(cli, {
          fromInput: options.password === "input",
          question: `New password of ${username}:`,
          flag: "--password-stdin or --random-password",
          rules: `At least ${settings.minPasswordLength} characters.`,
        });
  const { recoverAdmin: recover } = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const name = await recover(
    { settings, paths, version, clock: cli.clock, process, logTo: stderr },
    { username, password, resetTwoFactor },
  ).catch((error: unknown) => {
    throw toFailure(error, username);
  });
  const shown = options.password === "random" ? password : null;
  const factor = resetTwoFactor ? ", without a second factor" : "";
  await cli.output.done(
    { recovered: true, username: name, password: shown, second_factor_reset: resetTwoFactor, data },
    `${name} is an active administrator of the forge${factor}.${shown === null ? "" : ` The new password is ${shown}`}`,
  );
  cli.io.note(
    `"croft daemon start" starts the daemon, "croft login forge --username ${name}" signs in. Access tokens of the account still work: "croft token list" shows them.`,
  );
}

function toFailure(error: unknown, username: string): unknown {
  const failure = toDaemonFailure(error, { conflict: "already_running", not_found: "not_found" });
  if (!(failure instanceof CliError) || failure.code !== "not_found") return failure;
  if (!failure.message.startsWith("user redirect")) return failure;
  return new CliError("not_found", `the forge has no user ${JSON.stringify(username)}`, {
    cause: error,
    hint: "name an existing account; nothing was changed",
  });
}
