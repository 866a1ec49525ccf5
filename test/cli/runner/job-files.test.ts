import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import {
  createJobFile,
  JobFileError,
  listJobFolder,
  openJobFile,
  readJobFile,
} from "../../../cli/runner/files/job-files.ts";
import { moveContents, removeFolder } from "../../../cli/runner/files/job-folders.ts";
import { createCommandFiles, readCommandFiles } from "../../../cli/runner/job/command-files.ts";
import { hashFiles } from "../../../cli/runner/job/hash-files.ts";
import { temporaryHome } from "../support/run-cli.ts";

const run = promisify(execFile);

/** A folder of a job beside a file of the runner's user that the job must not reach. */
async function createFolders() {
  const home = await temporaryHome();
  const [job, outside] = [join(home.path, "job"), join(home.path, "outside")];
  await mkdir(job);
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "SECRET=of-the-owner\n");
  return { job, outside, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

test("command files that a job replaced by something else fail its step with the reason, and nothing waits", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  const secret = join(outside, "secret");
  const socket = createServer();
  const replace = {
    "a link, not a file": (path: string) => symlink(secret, path),
    "a pipe, not a file": (path: string) => run("mkfifo", [path]),
    "a folder, not a file": (path: string) => mkdir(path),
    "a socket, not a file": (path: string) => once(socket.listen(path), "listening"),
    "larger than 16777216 bytes": async (path: string) => {
      await using file = await open(path, "w");
      await file.truncate(2 ** 42);
    },
  };
  const reasons: string[] = [];
  for (const [at, [reason, make]] of Object.entries(replace).entries()) {
    const files = await createCommandFiles(job, `step-${at}`);
    await removeFolder(files.output);
    await make(files.output);
    const read = readCommandFiles(files).then(String, (error: Error) => error.message);
    reasons.push(await read);
    expect(reasons.at(-1)).toBe(`GITHUB_OUTPUT: ${reason}`);
  }
  socket.close();
  // A removed file has no values.
  const files = await createCommandFiles(job, "removed");
  await removeFolder(files.env);
  expect((await readCommandFiles(files)).env).toEqual({});
  // A program takes no such variable.
  await writeFile(files.output, "a=b\0c\n");
  await expect(readCommandFiles(files)).rejects.toThrow("GITHUB_OUTPUT: a value has a NUL");
});

test("a file that the runner makes replaces nothing and follows no link", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  await symlink(join(outside, "secret"), join(job, "step-1-output"));
  await symlink(join(outside, "absent"), join(job, "dangling"));
  await expect(createCommandFiles(job, "step-1")).rejects.toThrow("something else has its name");
  await expect(createJobFile(join(job, "dangling"), "x")).rejects.toThrow(JobFileError);
  expect(await readFile(join(outside, "secret"), "utf8")).toBe("SECRET=of-the-owner\n");
  expect(await readdir(outside)).toEqual(["secret"]);
});

test("a folder that has become a link leads to no file and no entries outside of the job", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  await symlink(outside, join(job, "folder"));
  const through = join(job, "folder", "secret");
  await expect(openJobFile(job, through)).rejects.toThrow("outside of its folder");
  await expect(readJobFile(job, join(outside, "secret"), 100)).rejects.toThrow("outside");
  const names: string[] = [];
  for await (const { name } of listJobFolder(job, join(job, "folder"))) names.push(name);
  for await (const { name } of listJobFolder(job, outside)) names.push(name);
  expect(names).toEqual([]);
  expect(await hashFiles(job, ["folder/secret", "folder/**"])).toBe("");
});

test("a file that a job exchanges again and again is read as its own or refused, never as another's", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  await mkdir(join(job, "own"));
  await writeFile(join(job, "own", "secret"), "own");
  const script = `while [ ! -e stop ]; do ln -sfn "${outside}" now; mv -T now folder; ln -sfn own now; mv -T now folder; done`;
  const swapping = spawn("sh", ["-c", script], { cwd: job, stdio: "ignore" });
  const path = join(job, "folder", "secret");
  const seen = new Set<string>();
  for (let round = 0; round < 500; round += 1) {
    seen.add(await readJobFile(job, path, 100).then(String, (error: Error) => error.message));
    await hashFiles(job, ["folder/**"]);
  }
  const ended = once(swapping, "exit");
  await writeFile(join(job, "stop"), "");
  await ended;
  const allowed = new Set(["own", "outside of its folder", "undefined"]);
  expect([...seen].filter((each) => !allowed.has(each))).toEqual([]);
});

test("a file that never ends is read no further than its maximum", async () => {
  await using folders = await createFolders();
  const path = join(folders.job, "growing");
  await writeFile(path, "x".repeat(100));
  const writing = spawn("sh", ["-c", `yes >> "${path}"`], { stdio: "ignore", detached: true });
  const read = () => readJobFile(folders.job, path, 1_000_000).catch(String);
  await expect.poll(read, { interval: 1 }).toContain("larger than 1000000 bytes");
  const ended = once(writing, "close");
  if (writing.pid !== undefined) process.kill(-writing.pid, "SIGKILL");
  await ended;
});

test("hashFiles ends with its signal, and leaves out what has no content", async () => {
  await using folders = await createFolders();
  const { job } = folders;
  await run("mkfifo", [join(job, "pipe")]);
  await symlink("loop", join(job, "loop"));
  expect(await hashFiles(job, ["**"])).toBe("");
  await writeFile(join(job, "file"), "text");
  const signal = AbortSignal.abort();
  await expect(hashFiles(job, ["**"], { signal })).rejects.toThrow("took too long");
  expect(await hashFiles(join(job, "removed"), ["**"])).toBe("");
});

test("a checkout keeps files that it lacks, and replaces links and git's own folder", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  const fetched = join(outside, "fetched");
  for (const folder of ["src", ".git", "linked"])
    await mkdir(join(fetched, folder), { recursive: true });
  for (const file of ["src/new", ".git/config", "linked/secret"])
    await writeFile(join(fetched, file), "fetched");
  await mkdir(join(job, "src"));
  await mkdir(join(job, ".git", "hooks"), { recursive: true });
  await writeFile(join(job, "src", "built"), "kept");
  await symlink(outside, join(job, "linked"));
  await moveContents(fetched, job);
  expect(await readdir(join(job, "src"))).toEqual(["built", "new"]);
  expect(await readdir(join(job, ".git"))).toEqual(["config"]);
  expect(await readFile(join(job, "linked", "secret"), "utf8")).toBe("fetched");
  expect(await readFile(join(outside, "secret"), "utf8")).toBe("SECRET=of-the-owner\n");
});

test("whatever a job leaves is removed: no permissions, no names in text, pipes, links, very deep folders", async () => {
  await using folders = await createFolders();
  const { job, outside } = folders;
  // An administrator may remove everything anyway: the removal runs as another user then.
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  if (isRoot) await run("chmod", ["-R", "a+rwX", join(job, "..")]);
  const name = "d".repeat(200);
  const script = `mkdir -p closed/inner many; echo x > closed/inner/file; mkfifo pipe; ln -s '${outside}' link
    printf x > "$(printf 'name\\377')"; touch many/1 many/2; chmod 000 closed/inner; chmod 500 closed
    i=0; while [ $i -lt 60 ]; do mkdir ${name}; cd ${name}; i=$((i+1)); done; echo x > file`;
  await run("sh", ["-c", script], { cwd: job, ...user });
  const module = join(import.meta.dirname, "../../../cli/runner/files/job-folders.ts");
  const code = `import(${JSON.stringify(module)}).then(async ({ removeFolder }) => {
    if (${isRoot}) { process.setgid(65534); process.setuid(65534); }
    console.log(String(await removeFolder(${JSON.stringify(job)})));
  });`;
  expect((await run(process.execPath, ["-e", code])).stdout.trim()).toBe("undefined");
  expect(await readdir(join(job, ".."))).toEqual(["outside"]);
  expect(await readFile(join(outside, "secret"), "utf8")).toBe("SECRET=of-the-owner\n");
});
