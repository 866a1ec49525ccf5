import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";

// The machine's own twine and pip against the registry. Packages are made by hand: pip needs no build tool for a wheel.

const SLOW_MS = 300_000;
const PASSWORD = "user-password";
const python = process.env["CROFT_TEST_PYTHON"] ?? "python3";
const hasTools = ["pip", "twine"].every(canRun);

function canRun(module: string): boolean {
  try {
    execFileSync(python, ["-m", module, "--version"], { stdio: "ignore" });
    return true;
  } catch {
    // Not installed: the skipped test says so.
    return false;
  }
}

let daemon: TestDaemon;
let folder: string;
let token: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  folder = await mkdtemp(join(tmpdir(), "croft-pypi-"));
  await daemon.request("/api/v1/admin/users", {
    token: daemon.first?.forge.token ?? "",
    json: {
      username: "mira",
      email: "mira@example.org",
      password: PASSWORD,
      must_change_password: false,
      visibility: "private",
    },
  });
  const made = await daemon.request("/api/v1/users/mira/tokens", {
    basic: `mira:${PASSWORD}`,
    json: { name: "twine", scopes: ["write:package"] },
  });
  token = made.json.sha1;
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await daemon[Symbol.asyncDispose]();
});

const run = (...args: readonly string[]): Promise<{ exitCode: number; output: string }> =>
  new Promise((resolve) => {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      PIP_CONFIG_FILE: "/dev/null",
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PIP_NO_INPUT: "1",
      PYTHON_KEYRING_BACKEND: "keyring.backends.null.Keyring",
    };
    execFile(python, ["-m", ...args], { cwd: folder, env }, (error, output, errors) =>
      resolve({
        exitCode: error === null ? 0 : Number(error.code ?? 1),
        output: `${output}${errors}`,
      }),
    );
  });

/** Makes a wheel with Python's own zip, and returns its path. */
async function makeWheel(name: string, version: string, metadata: string): Promise<string> {
  const tree = join(folder, `${name}-${version}`);
  const info = join(tree, `${name}-${version}.dist-info`);
  await mkdir(info, { recursive: true });
  await writeFile(join(tree, `${name}.py`), `version = "${version}"\n`);
  await writeFile(
    join(info, "METADATA"),
    `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n${metadata}`,
  );
  await writeFile(
    join(info, "WHEEL"),
    "Wheel-Version: 1.0\nGenerator: croft\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
  );
  await writeFile(join(info, "RECORD"), "");
  const wheel = join(folder, `${name}-${version}-py3-none-any.whl`);
  execFileSync(
    python,
    ["-m", "zipfile", "-c", wheel, `${name}.py`, `${name}-${version}.dist-info`],
    {
      cwd: tree,
    },
  );
  return wheel;
}

skipUnless(hasTools, "pip or twine is not installed").test(
  "twine publishes, and pip installs from the registry what it needs, also from a private owner",
  async () => {
    const registry = `${daemon.url}/api/packages/mira/pypi`;
    const base = await makeWheel("croft_base", "1.2", "Summary: Base\n");
    const old = await makeWheel("croft_tool", "1.0", "Requires-Dist: croft-base>=1\n");
    const next = await makeWheel("croft_tool", "2.0", "Requires-Python: >=99\n");
    const credentials = ["--username", "mira", "--password", token, "--non-interactive"];
    const published = await run(
      ...["twine", "upload", "--repository-url", registry, ...credentials, base, old, next],
    );
    expect(published).toMatchObject({ exitCode: 0 });
    const again = await run("twine", "upload", "--repository-url", registry, ...credentials, base);
    expect(again.exitCode).not.toBe(0);
    expect(again.output).toContain("409");
    const index = `${registry.replace("//", `//mira:${token}@`)}/simple/`;
    const target = join(folder, "installed");
    // Version 2.0 needs a Python that does not exist.
    const install = ["pip", "install", "--no-cache-dir", "--target", target, "--index-url", index];
    const installed = await run(...install, "Croft.Tool");
    expect(installed).toMatchObject({ exitCode: 0 });
    expect(await readFile(join(target, "croft_tool.py"), "utf8")).toBe('version = "1.0"\n');
    expect(await readFile(join(target, "croft_base.py"), "utf8")).toBe('version = "1.2"\n');
    const refused = await run(
      ...["pip", "download", "--no-cache-dir", "--index-url", `${registry}/simple/`, "croft-base"],
    );
    expect(refused.exitCode).not.toBe(0);
  },
  SLOW_MS,
);
