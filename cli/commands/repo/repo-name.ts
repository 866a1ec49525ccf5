import { usageError } from "../../errors.ts";

/** A repository by owner and name. */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

/** `owner/name` as its parts. @throws CliError `usage` */
export function toRepositoryName(given: string): RepositoryName {
  const [owner = "", repo = "", ...rest] = given.split("/");
  if (owner === "" || repo === "" || rest.length > 0)
    throw usageError(`a repository is named OWNER/NAME, not ${JSON.stringify(given)}`);
  return { owner, repo };
}
