import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findOldNode } from "../support/old-node.ts";
import { skipUnless } from "../support/skip.ts";

const root = join(import.meta.dirname, "..", "..");
const oldNode = findOldNode();
const asRoot = skipUnless(
  process.getuid?.() === 0,
  "only root can start a program as another user",
);
const withOldNode = skipUnless(oldNode, "no Node older than 22.19 on the PATH");

/** Stands in for croft: reports how it was started, then obeys its first argument. */
const program = `
const [verb, value] = process.argv.slice(2);
const lines = { pid: process.pid, version: process.versions.node, args: process.argv.slice(2), from: import.meta.url };
if (verb === "stdin") for await (const chunk of process.stdin) lines.stdin = (lines.stdin ?? "") + chunk;
if (verb === "wait") {
  const idle = setInterval(() => {}, 1000);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => { console.log(signal); clearInterval(idle); process.exitCode = 5; });
  }
}
console.log(JSON.stringify(lines));
if (verb === "exit") process.exitCode = Number(value);
if (verb === "die") process.kill(process.pid, value);
`;

let folder: string;
let running: ChildProcess[];

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "croft launcher ")));
  running = [];
  await mkdir(join(folder, "bin"));
  await mkdir(join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await copyFile(join(root, "bin", "croft.js"), join(folder, "bin", "croft.js"));
});

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

describe("on a Node that is new enough", () => {
  test("the build runs in the same process", async () => {
    await addBuild();
    const { child, ended } = start(process.execPath, ["list", "--json"]);
    const { stdout, code } = await ended;
    expect(JSON.parse(stdout)).toMatchObject({ pid: child.pid, args: ["list", "--json"] });
    expect(code).toBe(0);
  });

  test("without a build the sources run, JSX included", async () => {
    await linkPackages("tsx", "react");
    // The command runs in another folder than croft's, where no tsconfig.json says how JSX is compiled.
    await copyFile(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
    await writeFile(
      join(folder, "bin", "entry.ts"),
      'import { word } from "./word.tsx";\nconsole.log(word satisfies string);\n',
    );
    await writeFile(
      join(folder, "bin", "word.tsx"),
      "export const word: string = (<sources />).type;\n",
    );
    const { stdout, stderr, code } = await start(process.execPath, []).ended;
    expect({ stdout, stderr, code }).toEqual({ stdout: "sources\n", stderr: "", code: 0 });
  });

  test("a write is committed while eight reads hang", async () => {
    await linkPackages("tsx");
    await copyFile(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
    const pipe = join(folder, "pipe");
    // No program writes to the pipe, so each call that opens it hangs, as on a mount that is away.
    execFileSync("mkfifo", [pipe]);
    await writeFile(
      join(folder, "bin", "entry.ts"),
      `import { open } from "node:fs/promises";
import { openSqlite } from ${JSON.stringify(join(root, "storage/engine/sqlite.ts"))};
const db = openSqlite({ path: process.argv[2] ?? "", clock: Date.now });
for (let count = 0; count < 8; count += 1) open(process.argv[3] ?? "").catch(() => {});
await db.transaction((tx) => tx.run("CREATE TABLE kept (id INTEGER)"));
console.log("committed");
`,
    );
    const { firstLine } = start(process.execPath, [join(folder, "croft.db"), pipe]);
    expect(await firstLine).toBe("committed");
  });

  test("the build is preferred to the sources", async () => {
    await addBuild();
    await writeFile(join(folder, "bin", "entry.ts"), 'throw new Error("not this one");\n');
    const { stdout } = await start(process.execPath, []).ended;
    expect(JSON.parse(stdout).from).toContain("/dist/entry.js");
  });

  test("without a build and sources the launcher prints the command to run", async () => {
    const { stdout, stderr, code } = await start(process.execPath, []).ended;
    expect(stderr).toMatch(/^croft: there is no build in .*run "npm run build" in .*\n$/);
    expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
  });

  test("a link to the launcher finds the package it belongs to", async () => {
    await addBuild();
    const link = join(folder, "node_modules", "croft link");
    await symlink(join(folder, "bin", "croft.js"), link);
    const { stdout } = await start(process.execPath, ["a"], link).ended;
    expect(JSON.parse(stdout).args).toEqual(["a"]);
  });

  test.each([0o777, 0o707])(
    "a cache folder that others may write (mode %o) is not loaded from",
    async (mode) => {
      await addBuild();
      const folders = [join(folder, "cache"), join(folder, "cache", "croft", "compile-cache")];
      for (const open of folders) {
        await rm(join(folder, "cache"), { recursive: true, force: true });
        await mkdir(folders[1] ?? "", { recursive: true });
        await chmod(open, mode);
        expect((await start(process.execPath, []).ended).code).toBe(0);
        expect(await readdir(folders[1] ?? "")).toEqual([]);
      }
    },
  );

  test("a cache folder that is relative is ignored", async () => {
    await addBuild();
    await mkdir(join(folder, "home"));
    const env = { HOME: join(folder, "home"), XDG_CACHE_HOME: "cache" };
    const { code } = await start(process.execPath, [], undefined, env, { cwd: folder }).ended;
    expect(code).toBe(0);
    expect((await readdir(folder)).toSorted()).toEqual([
      "bin",
      "dist",
      "home",
      "node_modules",
      "package.json",
    ]);
    expect(await readdir(join(folder, "home", ".cache", "croft"))).toEqual(["compile-cache"]);
  });

  asRoot.test("root creates no files in another user's home", async () => {
    await addBuild();
    const home = join(folder, "home");
    await mkdir(home);
    await chown(home, 54_321, 54_321);
    const env = { HOME: home, XDG_CACHE_HOME: "" };
    expect((await start(process.execPath, [], undefined, env).ended).code).toBe(0);
    expect(await readdir(home)).toEqual([]);
  });

  asRoot.test("croft runs for a user without an entry in the user database", async () => {
    await addBuild();
    await chmod(folder, 0o755);
    const env = { XDG_CACHE_HOME: "" };
    const stranger = { uid: 54_321, gid: 54_321 };
    const { stderr, code } = await start(process.execPath, [], undefined, env, stranger).ended;
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  });
});

withOldNode.describe("on a Node that is too old", () => {
  beforeEach(addBuild);

  describe("with the Node in the package's own node_modules", () => {
    beforeEach(() => linkPackages(nodePackage));

    test("croft runs on that one, with the same arguments and standard input", async () => {
      const args = ["stdin", "two words", "", "--flag=ü 🙂", "line\nbreak"];
      const { child, ended } = start(oldNode ?? "", args);
      child.stdin?.end("from a pipe");
      const { stdout, stderr, code } = await ended;
      expect(JSON.parse(stdout)).toMatchObject({
        version: process.versions.node,
        args,
        stdin: "from a pipe",
      });
      expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    });

    test("the launcher passes on the exit code", async () => {
      const { code } = await start(oldNode ?? "", ["exit", "7"]).ended;
      expect(code).toBe(7);
    });

    test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
      "%s reaches it and it ends in its own time",
      async (signal) => {
        const { child, firstLine, ended } = start(oldNode ?? "", ["wait"]);
        const { pid } = JSON.parse(await firstLine);
        expect(pid).not.toBe(child.pid);
        child.kill(signal);
        const { stdout, code } = await ended;
        expect(stdout.trim().split("\n").slice(1)).toEqual([signal]);
        expect(code).toBe(5);
      },
    );

    test.each(["SIGKILL", "SIGTERM", "SIGSEGV"] as const)(
      "a launcher killed by %s ends with the same signal",
      async (signal) => {
        const result = await start(oldNode ?? "", ["die", signal]).ended;
        expect(result.signal).toBe(signal);
      },
    );

    test("a link to the launcher finds it too", async () => {
      const link = join(folder, "node_modules", "croft link");
      await symlink(join(folder, "bin", "croft.js"), link);
      const { stdout } = await start(oldNode ?? "", [], link).ended;
      expect(JSON.parse(stdout).version).toBe(process.versions.node);
    });
  });

  test("croft runs on a Node beside the installed package", async () => {
    const modules = join(folder, "node_modules");
    await mkdir(join(modules, "croft"));
    for (const name of ["bin", "dist", "package.json"]) {
      await cp(join(folder, name), join(modules, "croft", name), { recursive: true });
    }
    await linkPackages(nodePackage);
    const { stdout } = await start(oldNode ?? "", [], join(modules, "croft", "bin", "croft.js"))
      .ended;
    expect(JSON.parse(stdout).version).toBe(process.versions.node);
  });

  describe("after npm has installed croft", () => {
    /** Stands in for npm: installs the package of this platform into the folder that it is told, and counts its calls. */
    const npm = `
const { mkdirSync, symlinkSync, appendFileSync } = require("node:fs");
const place = process.argv[process.argv.indexOf("--prefix") + 1];
appendFileSync(process.env.CALLS, process.argv.slice(2).join(" ") + "\\n");
const home = place + "/node_modules/${nodePackage}";
mkdirSync(home + "/bin", { recursive: true });
mkdirSync(home + "/include");
symlinkSync(${JSON.stringify(process.execPath)}, home + "/bin/node");
`;

    async function runInstall(node: string): Promise<string> {
      const calls = join(folder, "calls");
      await writeFile(calls, "");
      await cp(join(root, "package.json"), join(folder, "package.json"));
      await cp(join(root, "bin", "install-node.js"), join(folder, "bin", "install-node.js"));
      await mkdir(join(folder, "bin", "node"));
      await cp(
        join(root, "bin", "node", "package.json"),
        join(folder, "bin", "node", "package.json"),
      );
      await mkdir(join(folder, "npm"));
      await writeFile(join(folder, "npm", "package.json"), '{"type":"commonjs"}');
      await writeFile(join(folder, "npm", "npm-cli.js"), npm);
      const { stderr, code } = await start(node, [], join(folder, "bin", "install-node.js"), {
        CALLS: calls,
        npm_execpath: join(folder, "npm", "npm-cli.js"),
      }).ended;
      expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
      return readFile(calls, "utf8");
    }

    test("npm adds the right Node beside croft, without its headers, and croft runs on it", async () => {
      const place = join(folder, "bin", "node");
      expect(await runInstall(oldNode ?? "")).toContain(`--prefix ${place}`);
      expect(await readdir(join(place, "node_modules", nodePackage))).toEqual(["bin"]);
      const { stdout } = await start(oldNode ?? "", []).ended;
      expect(JSON.parse(stdout).version).toBe(process.versions.node);
    });

    test("nothing is added where a Node of the clone is there", async () => {
      await linkPackages(nodePackage);
      expect(await runInstall(oldNode ?? "")).toBe("");
    });

    test("nothing is added where the machine's Node will do", async () => {
      expect(await runInstall(process.execPath)).toBe("");
    });
  });

  test("CROFT_NODE names the one to run on", async () => {
    const { stdout, stderr, code } = await start(oldNode ?? "", ["a"], undefined, {
      CROFT_NODE: process.execPath,
    }).ended;
    expect(JSON.parse(stdout)).toMatchObject({ version: process.versions.node, args: ["a"] });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  });

  test("a CROFT_NODE that is too old is reported once", async () => {
    const { stderr, code } = await start(oldNode ?? "", ["a"], undefined, {
      CROFT_NODE: oldNode ?? "",
    }).ended;
    expect(stderr.match(/needs Node/g)).toHaveLength(1);
    expect(code).toBe(1);
  });

  test("without another Node, one line names the required version", async () => {
    const { stdout, stderr, code } = await start(oldNode ?? "", ["serve"]).ended;
    expect(stderr).toMatch(
      /^croft: needs Node 22\.19 or newer, this is \d+\.\d+\.\d+ \(.*\); install a newer Node, name one with CROFT_NODE, or run "npm install --no-workspaces --prefix .*bin.node" to get one beside croft\n$/,
    );
    expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
  });
});

test("the launcher requires the Node version of package.json", async () => {
  const manifest: { engines: { node: string } } = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  );
  const launcher = await readFile(join(root, "bin", "croft.js"), "utf8");
  const [, major, minor] = /oldestNode = \[(\d+), (\d+)\]/.exec(launcher) ?? [];
  expect(manifest.engines.node).toBe(`>=${major}.${minor}`);
});

/** The package that brings Node for this platform. */
const nodePackage = `node-${process.platform}-${process.arch}`;

async function addBuild(): Promise<void> {
  await mkdir(join(folder, "dist"));
  await writeFile(join(folder, "dist", "entry.js"), program);
}

async function linkPackages(...names: string[]): Promise<void> {
  for (const name of names)
    await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
}

function start(
  node: string,
  args: readonly string[],
  launcher = join(folder, "bin", "croft.js"),
  env: Readonly<Record<string, string>> = {},
  options: Pick<SpawnOptions, "cwd" | "uid" | "gid"> = {},
) {
  const child = spawn(node, [launcher, ...args], {
    cwd: tmpdir(),
    ...options,
    env: { PATH: process.env["PATH"], XDG_CACHE_HOME: join(folder, "cache"), ...env },
  });
  running.push(child);
  let stdout = "";
  let stderr = "";
  const firstLine = new Promise<string>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      if (stdout.includes("\n")) resolve(stdout.slice(0, stdout.indexOf("\n")));
    });
  });
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "close").then(([code, signal]) => ({ stdout, stderr, code, signal }));
  return { child, firstLine, ended };
}
