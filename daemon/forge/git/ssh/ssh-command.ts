/** The programs of git that SSH clients may run. */
export type SshService = "git-upload-pack" | "git-receive-pack" | "git-upload-archive";

/** A command of a client: a service and the repository that it names. */
export type SshCommand = SshRepository &
  (
    | { readonly service: SshService }
    /** A client of Git LFS asks where it transfers large files. */
    | { readonly service: "git-lfs-authenticate"; readonly operation: "upload" | "download" }
  );

interface SshRepository {
  readonly owner: string;
  /** With or without `.git`. */
  readonly name: string;
}

const services: readonly string[] = ["git-upload-pack", "git-receive-pack", "git-upload-archive"];
/** Longest command that is parsed. */
const COMMAND_CHARACTERS_MAX = 1_024;

/**
 * Parses the command of a client: one of git's services, or the question of Git LFS, and the path of a repository,
 * `/owner/name.git`. No shell reads it. Returns undefined for anything else, such as another program, options, more arguments, and paths with other
 * segments.
 */
export function parseSshCommand(line: string): SshCommand | undefined {
  if (line.length > COMMAND_CHARACTERS_MAX) return undefined;
  const transfer = /^git-lfs-authenticate (.+) (upload|download)$/.exec(line);
  if (transfer !== null) {
    const repository = toRepository(transfer[1] ?? "");
    const operation = transfer[2] === "upload" ? "upload" : "download";
    return repository && { service: "git-lfs-authenticate", operation, ...repository };
  }
  // Old clients write "git upload-pack".
  const match = /^(git[- ][a-z]+-[a-z]+) (.+)$/.exec(line);
  const service = match?.[1]?.replace(" ", "-");
  const repository = toRepository(match?.[2] ?? "");
  if (service === undefined || !isService(service) || repository === undefined) return undefined;
  return { service, ...repository };
}

function toRepository(word: string): SshRepository | undefined {
  const path = unquote(word);
  if (path === undefined) return undefined;
  const parts = /^\/?([\w.-]+)\/([\w.-]+)\/?$/.exec(path);
  const [, owner, name] = parts ?? [];
  if (owner === undefined || name === undefined || isDots(owner) || isDots(name)) return undefined;
  return { owner, name };
}

function isService(word: string): word is SshService {
  return services.includes(word);
}

const isDots = (segment: string) => /^\.+$/.test(segment);

/** Removes the single quotes in which clients send a path. Names of repositories need no escapes. */
function unquote(word: string): string | undefined {
  const quoted = /^'([^']*)'$/.exec(word)?.[1];
  if (quoted !== undefined) return quoted;
  return /^[\w./-]+$/.test(word) ? word : undefined;
}
