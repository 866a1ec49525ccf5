import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import type { Progress } from "../../output/progress.ts";
import { openSource } from "./item/send-file.ts";
import { trackTransfer } from "./item/transfer.ts";

/** Returns the files, and those in folders at any depth, in order. Links and devices in folders are left out. */
export async function listFiles(
  cli: CliContext,
  words: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const word of words) {
    const path = resolve(cli.system.workingDirectory, word);
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      // The upload reports what is missing.
      () => false,
    );
    if (!isFolder) {
      found.push(word);
      continue;
    }
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const inside = entries.filter((entry) => entry.isFile());
    found.push(...inside.map((entry) => join(entry.parentPath, entry.name)).toSorted());
  }
  if (found.length === 0) throw usageError(`${words.join(", ")} has no files`);
  return found;
}

/** Uploads one file, or standard input, as a document. */
export async function uploadFile(
  cli: CliContext,
  path: string,
  filename: string,
  progress: Progress,
) {
  const source = await openSource(cli, path);
  return trackTransfer(progress, filename, (shown) => {
    shown.begin(source.size);
    return cli.client.upload(
      vault.uploadDocument,
      {},
      {
        fields: { filename },
        fileField: "file",
        filename,
        contentType: "application/octet-stream",
        size: source.size,
        canRestart: source.canRestart,
        open: source.open,
        onProgress: shown.update,
      },
    );
  }).finally(() => source.close?.());
}
