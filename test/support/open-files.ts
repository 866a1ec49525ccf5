import { readdir, readlink } from "node:fs/promises";

/** Returns the files below a folder that this process holds open; empty where the system does not report them. */
export async function openFilesBelow(folder: string): Promise<string[]> {
  const open = await readdir("/proc/self/fd").catch(() => []);
  const targets = open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
  return (await Promise.all(targets)).filter((target) => target.startsWith(folder));
}
