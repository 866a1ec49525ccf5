import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

/** The source of a secret other than a prompt. */
interface SecretSource {
  /** `--…-stdin` was given. */
  readonly fromInput: boolean;
  readonly question: string;
  /** The flag that a refusal names. */
  readonly flag: string;
}

/** Reads a secret from standard input or a prompt. A secret is never the value of a flag. */
export async function readSecret(
  cli: Pick<CliContext, "io" | "prompts">,
  { fromInput, question, flag }: SecretSource,
): Promise<string> {
  if (!fromInput) return cli.prompts.secret(question, flag);
  const secret = await cli.io.readInput(64 * 1024);
  if (secret === "") throw new CliError("missing_input", `${flag}: standard input is empty`);
  return secret;
}

/** Reads several secrets from standard input, a line each, in the order of their names. */
export async function readSecretLines(
  cli: Pick<CliContext, "io">,
  names: readonly string[],
  flag: string,
): Promise<Record<string, string>> {
  const lines = (await cli.io.readInput(64 * 1024)).replace(/\r?\n$/, "").split(/\r?\n/);
  if (lines.length !== names.length || lines.includes(""))
    throw new CliError(
      "missing_input",
      names.length === 1
        ? `${flag}: standard input must be one line`
        : `${flag}: standard input must be ${names.length} lines`,
    );
  return Object.fromEntries(names.map((name, at) => [name, lines[at] ?? ""]));
}

/** How often a person may type a new secret. */
const TRIES_MAX = 3;

interface NewSecretSource extends SecretSource {
  /** Printed before the prompt. */
  readonly rules?: string;
  /** Returns the rule that a typed secret breaks. */
  readonly findProblem?: (secret: string) => string | undefined;
}

/**
 * Reads a new secret. A typed one is prompted for twice, because it is not shown, and again when it breaks a rule or the two
 * differ. @throws CliError `cancelled` after three tries
 */
export async function readNewSecret(
  cli: Pick<CliContext, "io" | "prompts">,
  source: NewSecretSource,
): Promise<string> {
  if (source.fromInput) return readSecret(cli, source);
  if (source.rules !== undefined && (await cli.prompts.canAsk())) cli.io.note(source.rules);
  const question = `${source.question.replace(/:$/, "")} again:`;
  let problem = "";
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (problem !== "") cli.io.note(problem);
    const secret = await readSecret(cli, source);
    const broken = source.findProblem?.(secret);
    if (broken === undefined && (await cli.prompts.secret(question, source.flag)) === secret)
      return secret;
    problem = broken ?? "the two do not match";
  }
  throw new CliError("cancelled", `${problem}; nothing was done`, {
    hint: "run the command again",
  });
}

/**
 * Four groups of five characters without look-alikes: about 98 bits, with all classes of characters that password rules
 * may require.
 */
export function randomPassword(random: (length: number) => Uint8Array): string {
  const pick = (from: string) => from.charAt(toIndex(random, from.length));
  const group = () => Array.from({ length: 5 }, () => pick(lower + digits)).join("");
  return [pick(upper) + group(), group(), group(), group() + pick(digits)].join("-");
}

const lower = "abcdefghjkmnpqrstuvwxyz";

const upper = "ABCDEFGHJKLMNPQRSTUVWXYZ";

const digits = "23456789";

/** All indexes are equally likely: bytes beyond the last whole multiple are discarded. */
function toIndex(random: (length: number) => Uint8Array, length: number): number {
  const limit = 256 - (256 % length);
  for (;;) {
    const [byte = 0] = random(1);
    if (byte < limit) return byte % length;
  }
}
