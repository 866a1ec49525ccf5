import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type RepositoryName, toRepositoryName } from "../repo/repo-name.ts";

/** An issue by repository and number. */
export interface IssueName extends RepositoryName {
  readonly index: string;
}

/** `owner/name#number` as its parts. @throws CliError `usage` */
export function toIssueName(given: string): IssueName {
  const [repository = "", index = "", ...rest] = given.split("#");
  if (!/^[1-9]\d{0,14}$/.test(index) || rest.length > 0)
    throw usageError(`an issue is named OWNER/NAME#NUMBER, not ${JSON.stringify(given)}`);
  return { ...toRepositoryName(repository), index };
}

/** A text as it was given, or from standard input when it is `-`. */
export async function readText(cli: CliContext, given: string): Promise<string> {
  return given === "-" ? cli.io.readInput(TEXT_BYTES_MAX) : given;
}

const TEXT_BYTES_MAX = 1024 * 1024;
