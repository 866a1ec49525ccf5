import { readdir, readlink } from "node:fs/promises";

/** The files below a folder that this process holds open; none where the system does not tell. */
export async function openFilesBelow(folder: string): Promise<string[]> {
  const open = await readdir("/proc/self/fd").catch(() => []);
  const targets = open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  return (await Promise.all(targets)).filter((target) => target.startsWith(folder));
}
