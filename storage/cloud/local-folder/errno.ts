import type { Failure, ReadFailure } from "../outcomes.ts";

/** Returns the errno of a failed system call, or undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error && "code" in error
    ? String(error.code)
    : undefined;
}

/** Calls that create a name. */
const NAMING = ["open", "mkdir", "link", "rename"];

function syscallOf(error: unknown): string {
  return error instanceof Error && "syscall" in error ? String(error.syscall) : "";
}

/** Maps a failed system call to an outcome. Any other error is a bug and rethrown. */
export function toFailure(error: unknown): Failure {
  const note = errnoOf(error);
  switch (note) {
    case undefined:
      throw error;
    case "ENOENT":
    case "ENOTDIR":
      return { kind: "stale", note };
    case "EEXIST":
    case "ENOTEMPTY":
      return { kind: "conflict", note };
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ELOOP":
      return { kind: "forbidden", note };
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return { kind: "quota_exceeded", note };
    case "ENAMETOOLONG":
    case "EILSEQ":
      return { kind: "invalid_name", rule: note === "EILSEQ" ? "not_unicode" : "too_long", note };
    case "EINVAL":
      // Foreign file systems also report characters such as a colon this way.
      return NAMING.includes(syscallOf(error))
        ? { kind: "invalid_name", rule: "refused_by_provider", note }
        : { kind: "offline", sent: true, note };
    case "ETXTBSY":
      return { kind: "locked", note };
    case "EXDEV":
      return { kind: "unsupported", reason: "other_filesystem", note };
    case "EMFILE":
    case "ENFILE":
    case "EAGAIN":
    case "EBUSY":
      return { kind: "offline", sent: false, note };
    default:
      return { kind: "offline", sent: true, note };
  }
}

/** Maps the same for reads, where a missing entry is `not_found`. */
export function toReadFailure(error: unknown): ReadFailure {
  const failure = toFailure(error);
  return failure.kind === "stale" ? { ...failure, kind: "not_found" } : failure;
}

/** Runs one system call and returns undefined when it fails with one of `codes`. */
export async function unless<T>(
  codes: readonly string[],
  call: Promise<T>,
): Promise<
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly code: string }
> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    const code = errnoOf(error);
    if (code === undefined || !codes.includes(code)) throw error;
    return { ok: false, code };
  }
}
