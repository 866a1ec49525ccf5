import { describeStrengthRules } from "../../../daemon/contract/password-rules.ts";
import type { z } from "zod";
import type { quota, user } from "../../../daemon/contract/vault/auth.ts";
import { vault } from "../../client/operations.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret } from "../../support/secrets.ts";
import { commandDetails } from "../../tree/command.ts";

export const register = commandDetails({
  flags: {
    "--handle <handle>": { help: "your name in the vault", required: true },
    "--email <address>": { help: "your e-mail address", required: true },
    "--password-stdin": "read the password from standard input",
  },
  calls: [vault.register],
  output: resourceOf(vault.register, 201),
  takesValuesOf: [vault.register],
  prompted: ["--password-stdin"],
  examples: [
    [
      "Register and choose a password",
      "croft vault register --handle mira --email mira@example.org --password-stdin < password.txt",
    ],
    [
      "Show the request only",
      "croft vault register --handle mira --email mira@example.org --password-stdin --dry-run < password.txt",
    ],
  ],
  /** Registers an account in the vault. It does not sign in. */
  async run(cli, { passwordStdin, ...rest }) {
    const options = { ...rest, passwordFromInput: passwordStdin === true };

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
  },
});

export const me = commandDetails({
  calls: [vault.me],
  output: resourceOf(vault.me),
  examples: [
    ["Show your account", "croft vault me"],
    ["Print your handle", "croft vault me --jq .handle"],
  ],
  async run(cli) {
    const { body } = await cli.client.call(vault.me);
    await cli.output.resource(body, accountColumns);
  },
});

export const showQuota = commandDetails({
  calls: [vault.myQuota],
  output: resourceOf(vault.myQuota),
  examples: [
    ["Show your storage usage", "croft vault quota"],
    ["Print it as YAML", "croft vault quota --format yaml"],
  ],
  /** Prints the caller's storage quota. Connected storages do not count. */
  async run(cli) {
    const { body } = await cli.client.call(vault.myQuota);
    await cli.output.resource(body, quotaColumns);
  },
});

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
