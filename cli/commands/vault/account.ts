import { describeStrengthRules } from "../../../daemon/contract/vault/password-rules.ts";
import type { z } from "zod";
import type { quota, user } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret } from "../../support/secrets.ts";
import type { CommandModule } from "../../tree/entry.ts";

export interface RegisterOptions {
  readonly handle: string;
  readonly email: string;
  readonly passwordFromInput: boolean;
}

interface Flags {
  readonly handle: string;
  readonly email: string;
  readonly passwordStdin?: true;
}

export const register = {
  operations: [vault.register],
  output: resourceOf(vault.register, 201),
  takesValuesOf: [vault.register],
  prompted: ["--password-stdin"],
  define(command, cli, run = runRegister): void {
    command
      .requiredOption("--handle <handle>", "your name in the vault")
      .requiredOption("--email <address>", "your e-mail address")
      .option("--password-stdin", "read the password from standard input")
      .action(({ passwordStdin, ...rest }: Flags) =>
        run(cli, { ...rest, passwordFromInput: passwordStdin === true }),
      );
  },
} satisfies CommandModule;

/** Registers an account in the vault. It does not sign in. */
async function runRegister(cli: CliContext, options: RegisterOptions): Promise<void> {
  const { handle, email, passwordFromInput } = options;
  const password = await readNewSecret(cli, {
    fromInput: passwordFromInput,
    question: "Password:",
    flag: "--password-stdin",
    rules: `${describeStrengthRules()}.`,
  });
  const { body } = await cli.client.call(
    vault.register,
    { body: { handle, email, password } },
    { authorization: "none" },
  );
  await cli.output.resource(body, accountColumns);
}

export const me = {
  operations: [vault.me],
  output: resourceOf(vault.me),
  define(command, cli, run = runMe): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

async function runMe(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.me);
  await cli.output.resource(body, accountColumns);
}

export const showQuota = {
  operations: [vault.myQuota],
  output: resourceOf(vault.myQuota),
  define(command, cli, run = runQuota): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's storage quota. Connected storages do not count. */
async function runQuota(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.myQuota);
  await cli.output.resource(body, quotaColumns);
}

/** A vault account, line by line. */
const accountColumns: readonly Column<z.output<typeof user>>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "handle", cell: ({ handle }) => handle },
  { header: "email", cell: ({ email }) => email },
  { header: "role", cell: ({ role }) => role },
  { header: "second factor", cell: ({ totp_enabled: totpEnabled }) => totpEnabled },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

/** A storage quota, line by line. */
export const quotaColumns: readonly Column<z.output<typeof quota>>[] = [
  { header: "used", cell: (one) => size(one.used_bytes) },
  { header: "limit", cell: (one) => size(one.limit_bytes) },
  { header: "free", cell: (one) => size(Math.max(0, one.limit_bytes - one.used_bytes)) },
];
