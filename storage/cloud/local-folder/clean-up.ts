import { lstat, readdir, unlink } from "node:fs/promises";
import type { Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { openOwn } from "./root.ts";

/** Removes the temporary files of uploads whose process is gone, as a crash leaves them. */
export async function cleanUp(root: Folder): Promise<void> {
  const tmp = await openOwn(root, "tmp");
  try {
    for (const name of await readdir(tmp.self)) {
      const owner = /^upload-(\d+)-/.exec(name)?.[1];
      if (owner === undefined) continue;
      const found = await unless(["ENOENT"], lstat(tmp.at(name)));
      if (!found.ok || !isAbandoned(Number(owner), found.value.birthtimeMs)) continue;
      await unless(["ENOENT"], unlink(tmp.at(name)));
    }
  } finally {
    await tmp.close();
  }
}

/** A process id may be another process' by now; then the file is older than that process can be told to be. */
function isAbandoned(pid: number, bornAt: number): boolean {
  if (pid === process.pid) return bornAt < performance.timeOrigin;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
