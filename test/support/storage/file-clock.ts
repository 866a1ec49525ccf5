import { randomUUID } from "node:crypto";
import { rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Waits until the clock of the file system, which ticks every few milliseconds, has advanced since `path` was created
 * or changed: times cannot distinguish changes within one tick.
 */
export async function tickAfter(path: string): Promise<void> {
  const { ctimeNs } = await stat(path, { bigint: true });
  const probe = join(tmpdir(), `croft-tick-${randomUUID()}`);
  for (;;) {
    await writeFile(probe, "");
    const now = await stat(probe, { bigint: true });
    await rm(probe);
    if (now.ctimeNs > ctimeNs) return;
  }
}
