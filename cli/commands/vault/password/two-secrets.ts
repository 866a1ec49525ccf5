import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { readNewSecret, readSecret } from "../../secret-input.ts";

/** What stands on which line of standard input, or is asked for. */
export interface TwoQuestions {
  readonly fromInput: boolean;
  /** The flag that a refusal names. */
  readonly flag: string;
  readonly first: string;
  readonly second: string;
}

/** A secret and a new one: two lines of standard input, or asked for, the new one twice. */
export async function readTwoSecrets(
  cli: Pick<CliContext, "io" | "prompts">,
  { fromInput, flag, first, second }: TwoQuestions,
): Promise<{ readonly given: string; readonly fresh: string }> {
  if (!fromInput) {
    const given = await readSecret(cli, { fromInput, flag, question: first });
    return { given, fresh: await readNewSecret(cli, { fromInput, flag, question: second }) };
  }
  const [given = "", fresh = "", ...more] = (await cli.io.readInput(64 * 1024)).split(/\r?\n/);
  if (given === "" || fresh === "" || more.length > 0)
    throw new CliError("missing_input", `${flag}: standard input must be two lines`);
  return { given, fresh };
}
