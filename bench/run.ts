import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

// `npm run bench`: runs every benchmark, one after the other, each in its own process. `npm run bench -- storage` runs only the named ones.
const requested = process.argv.slice(2);
const names = (await readdir(import.meta.dirname))
  .filter((name) => name.endsWith(".bench.ts"))
  .filter((name) => requested.length === 0 || requested.some((part) => name.includes(part)))
  .toSorted();

for (const name of names) {
  console.log(`\n== ${name.replace(".bench.ts", "")}`);
  const child = spawn(process.execPath, ["--import", "tsx", join(import.meta.dirname, name)], {
    stdio: "inherit",
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) process.exitCode = 1;
}
