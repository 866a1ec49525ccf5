import { isDiskFull } from "../../../storage/system-errors.ts";
import { GitError } from "../../../storage/git/git.ts";
import { AppError } from "../../errors.ts";

/** Messages of git about a missing or unreadable object. */
const DAMAGE =
  /bad (?:object|tree|file)|missing (?:blob|tree|commit)|corrupt|unable to read|could not (?:read|parse)|failed to traverse|not a valid object|did not find|inflate/i;

/**
 * Runs `work` and converts failures of git to an `AppError`: a missing git, a moved folder, exhausted file descriptors,
 * a full disk, a damaged repository, and a timeout.
 */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitError && error.code === "missing")
      throw new AppError("unavailable", "git is not installed on the server", { cause: error });
    if (error instanceof GitError && error.code === "moved")
      throw new AppError("unavailable", "the repository is being moved, try again in a moment", {
        retryAfterSeconds: 1,
        cause: error,
      });
    if (error instanceof GitError && error.code === "busy")
      throw new AppError("unavailable", "the server is busy, try again in a moment", {
        retryAfterSeconds: 5,
        cause: error,
      });
    if (error instanceof GitError && error.code === "too_long")
      throw new AppError("unavailable", "git needs too much time or memory for this", {
        cause: error,
      });
    if (error instanceof GitError && DAMAGE.test(error.message))
      throw new AppError("unavailable", "git cannot read this repository: it is damaged", {
        cause: error,
      });
    if (isDiskFull(error))
      throw new AppError("storage_full", "The server's disk is full.", { cause: error });
    throw error;
  }
}
