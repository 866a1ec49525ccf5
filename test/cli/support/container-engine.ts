import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A stand-in for docker: a container is a folder, its mounts are links in it, and programs run on this machine with the
 * paths of the container replaced. What is mounted for reading is copied before each program, so that no program
 * changes it.
 */
const ENGINE = `#!/usr/bin/env node
const { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const { spawnSync } = require("node:child_process");
const home = __dirname;
const [verb, ...words] = process.argv.slice(2);
appendFileSync(join(home, "calls"), JSON.stringify([verb, ...words]) + "\\n");
if (existsSync(join(home, "fails-" + verb))) { console.error("Cannot connect to the Docker daemon"); process.exit(1); }
const root = (name) => join(home, "containers", name);
const inside = (name, text) => text.replaceAll(/\\/(workspace|croft)\\//g, (found) => root(name) + found);
const mount = (name) => {
  mkdirSync(root(name), { recursive: true });
  const copied = [];
  for (const [at, word] of words.entries()) {
    if (word !== "--volume") continue;
    const [from, to, mode] = words[at + 1].split(":");
    mkdirSync(dirname(join(root(name), to)), { recursive: true });
    if (mode === "ro") copied.push([from, to]);
    else symlinkSync(from, join(root(name), to));
  }
  writeFileSync(join(root(name), "copied"), JSON.stringify(copied));
};
const named = () => words[words.indexOf("--name") + 1];
if (verb === "create") {
  const image = words[words.indexOf("tail") + 1];
  if (image === "no/such:image") { console.error("pull access denied"); process.exit(125); }
  mount(named());
  console.log("created " + named());
} else if (verb === "exec") {
  if (words[0] === "--user") words.splice(0, 2);
  const [name, program, ...rest] = words;
  for (const [from, to] of JSON.parse(readFileSync(join(root(name), "copied"), "utf8"))) {
    rmSync(join(root(name), to), { recursive: true, force: true });
    cpSync(from, join(root(name), to), { recursive: true });
  }
  const last = rest.map((word) => inside(name, word));
  const script = rest[0] && rest[0].endsWith(".sh") ? last[0] : undefined;
  if (script) {
    const text = inside(name, readFileSync(script, "utf8"));
    writeFileSync(script, text);
    const step = /'([^']*\\/script-[^']*)'/.exec(text)?.[1];
    if (step) writeFileSync(step, inside(name, readFileSync(step, "utf8")));
  }
  process.exit(spawnSync(program, last, { stdio: "inherit" }).status ?? 137);
} else if (verb === "cp") {
  const [name, to] = words[1].split(":");
  cpSync(words[0], realpathSync(join(root(name), to)), { recursive: true, verbatimSymlinks: true });
} else if (verb === "run") {
  mount(named());
  const script = inside(named(), words.at(-1));
  process.exit(spawnSync("sh", ["-c", script], { stdio: "inherit" }).status ?? 137);
} else if (verb === "rm") rmSync(root(words.at(-1)), { recursive: true, force: true });
`;

/** Installs the stand-in for docker in a folder. */
export async function installEngine(folder: string) {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "docker");
  await writeFile(path, ENGINE);
  await chmod(path, 0o755);
  return {
    path,
    /** Lets calls with this verb fail from now on, as without docker's daemon. */
    failAt: (verb: string) => writeFile(join(folder, `fails-${verb}`), ""),
    /** Returns the arguments of each call so far. */
    calls: async () =>
      (await readFile(join(folder, "calls"), "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as string[]),
  };
}
