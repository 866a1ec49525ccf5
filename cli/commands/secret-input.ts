import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

/** Where a secret may come from besides the person. */
export interface SecretSource {
  /** `--…-stdin` was given. */
  readonly fromInput: boolean;
  readonly question: string;
  /** The flag that a refusal names. */
  readonly flag: string;
}

/** A secret from standard input or, on a terminal, from the person. Never from a flag's value. */
export async function readSecret(
  cli: Pick<CliContext, "io" | "prompts">,
  { fromInput, question, flag }: SecretSource,
): Promise<string> {
  if (!fromInput) return cli.prompts.secret(question, flag);
  const secret = await cli.io.readInput(64 * 1024);
  if (secret === "") throw new CliError("missing_input", `${flag}: standard input is empty`);
  return secret;
}

/** A new secret: asked for twice when a person types it, because nobody sees what was typed. */
export async function readNewSecret(
  cli: Pick<CliContext, "io" | "prompts">,
  source: SecretSource,
): Promise<string> {
  const secret = await readSecret(cli, source);
  if (source.fromInput) return secret;
  const again = await cli.prompts.secret(
    `${source.question.replace(/:$/, "")} again:`,
    source.flag,
  );
  if (again !== secret) throw new CliError("cancelled", "the two do not match; nothing was done");
  return secret;
}
