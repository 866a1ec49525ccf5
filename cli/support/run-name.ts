import { usageError } from "../errors.ts";
import { type RepositoryName, toRepositoryName } from "./repository.ts";

export interface RunName extends RepositoryName {
  /** The id of a run or job. */
  readonly id: number;
}

/** Reads `OWNER/NAME/ID`. Throws `usage` for anything else. */
export function toRunName(text: string): RunName {
  const at = text.lastIndexOf("/");
  const id = Number(text.slice(at + 1));
  if (at === -1 || !Number.isSafeInteger(id) || id < 1)
    throw usageError(`a run or job is named OWNER/NAME/ID, not ${JSON.stringify(text)}`);
  return { ...toRepositoryName(text.slice(0, at)), id };
}
