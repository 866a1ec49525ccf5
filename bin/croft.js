#!/usr/bin/env node
// bin: how croft is started and built. This file is the only one that runs before the right Node is found, so it is plain
// JavaScript that Node 18 can parse and needs nothing but Node. It starts the build (dist/entry.js) or, without one, the
// sources (bin/entry.ts). Start here, then entry.ts, then build.ts.

/** better-sqlite3 and undici do not load on anything older. Kept in step with `engines` in package.json by a test. */
const oldestNode = [22, 19];

// Without a listener, SIGUSR1 (sent by mistake, such as by a log rotation) opens Node's debugger to every account of this
// machine.
if (process.platform !== "win32") process.on("SIGUSR1", () => undefined);

// Calls for files, name lookups, hashes of passwords and the syncs of commits share libuv's pool. With its usual 4 threads, four
// calls that hang, such as those of a mount that is away, would hold every commit. libuv reads this at the first of these calls.
process.env.UV_THREADPOOL_SIZE ??= "16";

returnLargeBlocks();
if (isGoodEnough(process.versions.node)) await startHere();
else await startOnBundledNode();

function isGoodEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
}

/**
 * On Linux, executes `croft serve` again with a setting that glibc reads only when a process starts: memory of 4 MiB and more
 * is given back as soon as it is freed. Otherwise each of the 16 threads keeps the 19 MiB of its last hashed password. After
 * sixty sign-ins a daemon takes 143 MiB instead of 390; it starts some 20 ms later.
 */
function returnLargeBlocks() {
  const { argv, env, execArgv, execPath, execve, platform, send } = process;
  if (platform !== "linux" || execve === undefined || send !== undefined) return;
  if (!argv.includes("serve") || env.MALLOC_MMAP_THRESHOLD_ !== undefined) return;
  const settings = { ...env, MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024) };
  execve.call(process, execPath, [execPath, ...execArgv, ...argv.slice(1)], settings);
}

/**
 * Runs croft in this process: no second process means no signals to pass on and no start-up paid twice. Node's modules are
 * taken by name, as an import of `node:fs` reads all it exports and costs six milliseconds.
 */
async function startHere() {
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { join } = process.getBuiltinModule("node:path");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  const root = join(import.meta.dirname, "..");
  const build = join(root, "dist", "entry.js");
  if (existsSync(build)) {
    enableCompileCache();
    await import(pathToFileURL(build).href);
    return;
  }
  const sources = join(root, "bin", "entry.ts");
  if (!existsSync(sources))
    fail(`there is no build in ${join(root, "dist")}; run "npm run build" in ${root}`);
  // Node strips types by itself, but not the JSX of the .tsx files: tsx does both.
  const tsx = await import("tsx/esm/api").catch(() => undefined);
  if (tsx === undefined)
    fail(`there is no build and no tsx to run the sources; run "npm ci" in ${root}`);
  // Looked for where the person is, not where croft is, unless it is named; without it, JSX is compiled for another React.
  const tsconfig = join(root, "tsconfig.json");
  tsx.register({ tsconfig: existsSync(tsconfig) && tsconfig });
  await import(pathToFileURL(sources).href);
}

/** Compiled code is kept in the user's own cache folder; Node's default is a shared temporary one. */
function enableCompileCache() {
  try {
    const { mkdirSync, realpathSync } = process.getBuiltinModule("node:fs");
    const { join } = process.getBuiltinModule("node:path");
    const named = join(cacheFolder(), "compile-cache");
    mkdirSync(named, { recursive: true, mode: 0o700 });
    const compileCache = realpathSync(named);
    if (isPrivate(compileCache))
      process.getBuiltinModule("node:module").enableCompileCache(compileCache);
  } catch {
    // A folder that cannot be written, or a user without a home of their own, costs some start-up time and nothing else.
  }
}

/** Code from this folder is run: other users must not be able to write or replace it. */
function isPrivate(folder) {
  if (process.getuid === undefined) return true;
  const { statSync } = process.getBuiltinModule("node:fs");
  const { dirname } = process.getBuiltinModule("node:path");
  const me = process.getuid();
  // A group with the user's own number is the user's alone, and its folders are often open to it.
  const isOpen = ({ gid, mode }) => (mode & (gid === me ? 0o002 : 0o022)) !== 0;
  const own = statSync(folder);
  if (own.uid !== me || isOpen(own)) return false;
  for (let at = dirname(folder); ; at = dirname(at)) {
    const above = statSync(at);
    // In a sticky folder, such as /tmp, only owners rename.
    const isSticky = (above.mode & 0o1000) !== 0;
    if ((above.uid !== me && above.uid !== 0) || (isOpen(above) && !isSticky)) return false;
    if (at === dirname(at)) return true;
  }
}

/** The same as in unpack.ts. Throws for a user who has no home of their own. */
function cacheFolder() {
  const { homedir, userInfo } = process.getBuiltinModule("node:os");
  const { isAbsolute, join } = process.getBuiltinModule("node:path");
  const { CROFT_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (CROFT_CACHE_DIR) return CROFT_CACHE_DIR;
  const named = process.platform === "win32" ? LOCALAPPDATA : XDG_CACHE_HOME;
  if (named !== undefined && isAbsolute(named)) return join(named, "croft");
  const home = isAbsolute(homedir()) ? homedir() : userInfo().homedir;
  const { uid } = process.getBuiltinModule("node:fs").statSync(home);
  // Files that root creates in a user's home could not be written by the user's own programs.
  if (process.getuid !== undefined && uid !== process.getuid() && uid !== 0)
    throw new Error(`${home} belongs to user ${uid}`);
  if (process.platform === "win32") return join(home, "AppData", "Local", "croft");
  if (process.platform === "darwin") return join(home, "Library", "Caches", "croft");
  return join(home, ".cache", "croft");
}

/** On the Node that CROFT_NODE names, else on the one that npm installed with croft, an optional dependency. */
async function startOnBundledNode() {
  const { dirname } = await import("node:path");
  const { fileURLToPath } = await import("node:url");
  const { spawn } = await import("node:child_process");
  const launcher = fileURLToPath(import.meta.url);
  const root = dirname(dirname(launcher));
  const node = process.env.CROFT_NODE || (await findBundledNode(root));
  if (node === undefined) {
    fail(
      `needs Node ${oldestNode.join(".")} or newer, this is ${process.versions.node} (${process.execPath}); ` +
        `install a newer Node, name one with CROFT_NODE, or ${await describeInstall(root)} to get one beside croft`,
    );
  }
  // Without CROFT_NODE, because a Node there that is too old would start itself endlessly.
  const env = { ...process.env, CROFT_NODE: "" };
  const child = spawn(node, [launcher, ...process.argv.slice(2)], { stdio: "inherit", env });
  const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
  for (const signal of forwarded) process.on(signal, () => forward(child, signal));
  const origin = process.env.CROFT_NODE ? ", which CROFT_NODE names" : "";
  child.once("error", (error) => fail(`cannot start ${node}${origin}: ${error.message}`));
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of forwarded) process.removeAllListeners(name);
    // The same end as the child's, so that a shell or a supervisor sees what happened.
    process.kill(process.pid, signal);
  });
}

/** A terminal sends its signals to both processes; sent on once more, the second one would cut a graceful stop short. */
function forward(child, signal) {
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  if (signal === "SIGTERM" || !onTerminal) child.kill(signal);
}

/**
 * The Node of npm's package for this platform: in croft's own node_modules, where install-node.js puts it, or beside croft
 * when it is itself installed; never further up.
 */
async function findBundledNode(root) {
  const { existsSync } = await import("node:fs");
  const { basename, dirname, join } = await import("node:path");
  const platform = process.platform === "win32" ? "win" : process.platform;
  // The one for Apple's own processors has a name unlike the others.
  const names = [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`];
  const file = process.platform === "win32" ? "node.exe" : "node";
  const beside = dirname(root);
  const folders = [
    join(root, "node_modules"),
    join(root, "bin", "node", "node_modules"),
    ...(basename(beside) === "node_modules" ? [beside] : []),
  ];
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name, "bin", file)))
    .find((node) => existsSync(node));
}

/** The npm command that adds what is missing, which differs between a clone and an installed package. */
async function describeInstall(root) {
  const { existsSync } = await import("node:fs");
  const { join } = await import("node:path");
  if (existsSync(join(root, "package-lock.json"))) return `run "npm ci" in ${root}`;
  return `run "npm install --no-workspaces --prefix ${join(root, "bin", "node")}"`;
}

function fail(message) {
  process.stderr.write(`croft: ${message}\n`);
  process.exit(1);
}
