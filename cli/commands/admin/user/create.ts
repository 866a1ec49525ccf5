import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { randomPassword } from "../../random-password.ts";
import { readNewSecret } from "../../secret-input.ts";
import { userColumns } from "./user-columns.ts";

export const operations = [forge.createUser];
export const output = resourceOf(forge.createUser, 201, { password: "string" });

/** What the command was given. */
export interface UserCreateOptions {
  readonly username: string;
  readonly email: string;
  readonly fullName?: string;
  readonly password: { readonly from: "input" | "random" | "person" };
  /** Undefined leaves it to the server. */
  readonly mustChangePassword?: boolean;
  readonly visibility?: string;
  readonly restricted?: true;
}

interface Flags extends Omit<UserCreateOptions, "password"> {
  readonly passwordStdin?: true;
  readonly randomPassword?: true;
}

export function define(command: Command, cli: CliContext, run = runUserCreate): void {
  command
    .requiredOption("--username <name>", "the user's name")
    .requiredOption("--email <address>", "the user's e-mail address")
    .option("--full-name <name>", "the user's full name")
    .option("--password-stdin", "read the password from standard input")
    .option("--random-password", "make a password and print it with the user")
    .option("--must-change-password", "the password must be changed at the first sign-in")
    .option("--no-must-change-password", "the password may stay")
    .option("--visibility <visibility>", "public, limited or private")
    .option("--restricted", "the user sees only what was explicitly shared")
    .action((flags: Flags) => {
      const { passwordStdin, randomPassword: random, ...rest } = flags;
      if (passwordStdin === true && random === true)
        throw usageError("--password-stdin and --random-password exclude each other");
      const from = passwordStdin === true ? "input" : random === true ? "random" : "person";
      // Commander makes a flag with a `--no-` twin true when neither is given.
      const isChosen = command.getOptionValueSource("mustChangePassword") === "cli";
      const { mustChangePassword, ...others } = rest;
      return run(cli, {
        ...others,
        ...(isChosen && mustChangePassword !== undefined ? { mustChangePassword } : {}),
        password: { from },
      });
    });
}

/** Creates a user of the forge. A password that was made is shown this once. */
async function runUserCreate(cli: CliContext, options: UserCreateOptions): Promise<void> {
  const isRandom = options.password.from === "random";
  const password = isRandom
    ? randomPassword(cli.system.random)
    : await readNewSecret(cli, {
        fromInput: options.password.from === "input",
        question: "Password:",
        flag: "--password-stdin or --random-password",
      });
  const { body } = await cli.client.call(forge.createUser, {
    body: {
      username: options.username,
      email: options.email,
      password,
      full_name: options.fullName,
      must_change_password: options.mustChangePassword,
      visibility: options.visibility,
      restricted: options.restricted,
    },
  });
  if (!isRandom) return cli.output.resource(body, userColumns);
  await cli.output.resource({ ...body, password }, [
    ...userColumns,
    { header: "password", cell: () => password },
  ]);
}
