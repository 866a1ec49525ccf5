import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder of mode 0700 and its missing ancestors. Node's own `recursive` never returns where an existing
 * folder cannot contain another one, as in /proc.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const make = async () => {
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (error) {
      const isThere = codeOf(error) === "EEXIST" && (await stat(path)).isDirectory();
      if (!isThere) throw error;
    }
  };
  try {
    await make();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makePrivateFolder(dirname(path));
    await make();
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
