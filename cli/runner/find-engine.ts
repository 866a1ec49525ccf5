import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { System } from "../system.ts";

/** Returns the path of docker or podman on the search path; undefined when there is neither. */
export async function findEngine(env: System["env"]): Promise<string | undefined> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  for (const name of ["docker", "podman"])
    for (const folder of folders) {
      const path = join(folder, name);
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path;
    }
  return undefined;
}
