import { CliError, DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { randomPassword, readNewSecret } from "../../support/secrets.ts";
import { version } from "../../version.ts";
import { commandDetails } from "../../tree/command.ts";

export const recoverAdmin = commandDetails({
  args: { "<username>": "an existing user of the forge" },
  flags: {
    "--password-stdin": "read the new password from standard input",
    "--random-password": "make a new password and print it",
    "--reset-2fa": "disable the second factor of the account",
  },
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
  examples: [
    [
      "Let an administrator who was deactivated sign in again, while the daemon is stopped",
      "croft daemon recover-admin keeper --random-password --yes",
    ],
    [
      "Also disable a second factor that was lost",
      "croft daemon recover-admin keeper --reset-2fa --password-stdin --yes < password.txt",
    ],
  ],
  /**
   * Makes an account of a stopped home an active forge administrator with a new password. Needs no sign-in: access to the
   * files of the home is the permission. @throws CliError `already_running`; `not_found` without a home or the account;
   * `invalid` for a password that breaks a rule
   */
  async run(cli, { username, reset2fa: resetTwoFactor = false, ...flags }) {
    if (flags.passwordStdin === true && flags.randomPassword === true)
      throw usageError("--password-stdin and --random-password exclude each other");
    const from =
      flags.passwordStdin === true ? "input" : flags.randomPassword === true ? "random" : "person";
    const { readAllSettings } = await import("../../profile/settings.ts");
    const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
    const data = paths.dataDirectory;
    if (cli.flags.dryRun) throw new DryRun({ recover_admin: { data, username } });
    await cli.prompts.require([
      { flag: "--yes", isMissing: !cli.flags.yes },
      { flag: "--password-stdin or --random-password", isMissing: from === "person" },
    ]);
    await cli.prompts.confirm(
      `Make ${username} an active administrator of the forge in ${data}, with a new password?`,
    );
    const password =
      from === "random"
        ? randomPassword(cli.system.random)
        : await readNewSecret(cli, {
            fromInput: from === "input",
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
    const shown = from === "random" ? password : null;
    const factor = resetTwoFactor ? ", without a second factor" : "";
    await cli.output.done(
      {
        recovered: true,
        username: name,
        password: shown,
        second_factor_reset: resetTwoFactor,
        data,
      },
      `${name} is an active administrator of the forge${factor}.${shown === null ? "" : ` The new password is ${shown}`}`,
    );
    cli.io.note(
      `"croft daemon start" starts the daemon, "croft login forge --username ${name}" signs in. Access tokens of the account still work: "croft token list" shows them.`,
    );
  },
});

function toFailure(error: unknown, username: string): unknown {
  const failure = toDaemonFailure(error, { conflict: "already_running", not_found: "not_found" });
  if (!(failure instanceof CliError) || failure.code !== "not_found") return failure;
  if (!failure.message.startsWith("user redirect")) return failure;
  return new CliError("not_found", `the forge has no user ${JSON.stringify(username)}`, {
    cause: error,
    hint: "name an existing account; nothing was changed",
  });
}
