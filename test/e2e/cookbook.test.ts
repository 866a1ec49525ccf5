import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedCroft, serveCroft, startCroft } from "../support/croft.ts";
import { startReceiver } from "../support/receiver.ts";

// Each script of docs/cookbook is run by sh with the croft of this clone, on one daemon with a home of its own.

const cookbook = join(import.meta.dirname, "../../docs/cookbook");
const launcher = join(import.meta.dirname, "../../bin/croft.js");
const password = "Correct horse battery staple 7";

let home: string;
let work: string;
let daemon: ServedCroft;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs lines of a shell in the folder of the scripts' files. */
async function shell(lines: string, input = ""): Promise<Ended> {
  const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", lines], {
    cwd: work,
    env: {
      PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
      HOME: home,
      CROFT_HOME: join(home, "croft"),
      CROFT_CREDENTIAL_STORE: "file",
      COOKBOOK: cookbook,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended: { out: string; err: string } = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (ended.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (ended.err += chunk.toString()));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...ended };
}

/** The same, which must end well; returns its output. */
async function ok(lines: string): Promise<string> {
  const { code, out, err } = await shell(lines);
  expect(code, `${lines}\n${err}`).toBe(0);
  return out;
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-cookbook-"));
  work = join(home, "work");
  for (const folder of [work, join(home, "bin"), join(home, "croft")]) await mkdir(folder);
  await writeFile(
    join(home, "bin", "croft"),
    `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`,
    { mode: 0o755 },
  );
  await writeFile(join(home, ".gitconfig"), "[user]\nname = Boss\nemail = boss@example.org\n");
  await writeFile(join(work, "password.txt"), `${password}\n`);
  await ok(
    "CROFT_KEY_SOURCE=file croft init --username boss --email boss@example.org --password-stdin < password.txt",
  );
  daemon = await serveCroft([process.execPath, launcher], {
    home: join(home, "croft"),
    env: { HOME: home, CROFT_RATE_LIMITS: "off" },
  });
  await ok(`croft --quiet profile add admin
croft --quiet --profile admin login vault --email boss@example.org --password-stdin < password.txt
for name in mira noor; do
  croft --quiet vault register --handle $name --email $name@example.org --password-stdin < password.txt
done
croft --quiet login vault --email mira@example.org --password-stdin < password.txt
croft --quiet vault connection add local_folder --name Papers --setting root="$CROFT_HOME/files/mira"
croft --quiet admin user create --username otto --email otto@example.org --password-stdin --no-must-change-password < password.txt
croft --quiet repo create site --init --readme Default`);
}, 240_000);

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

const tried = new Set<string>();

/** Runs the script with these arguments, as a shell reads them, and with these variables. */
type Run = (line?: string, variables?: string) => Promise<Ended>;

/** Defines the test of one script: its environment and its expected effects. */
function script(name: string, check: (run: Run) => Promise<void>) {
  tried.add(`${name}.sh`);
  test(`${name}.sh runs`, { timeout: 240_000 }, () =>
    check(async (line = "", variables = "") => {
      const ended = await shell(`${variables} sh "$COOKBOOK/${name}.sh" ${line}`);
      // Beside an exit code that surprises, the reason.
      if (ended.code !== 0) process.stderr.write(`${name}: ${ended.code} ${ended.err}\n`);
      return ended;
    }),
  );
}

script("mirror-folder", async (run) => {
  await ok("mkdir -p notes/deep && echo one > notes/one.md && echo two > notes/deep/two.md");
  expect(await run("notes Papers:/notes")).toMatchObject({ code: 0 });
  await ok("rm notes/one.md");
  expect(await run("notes Papers:/notes")).toMatchObject({ code: 0 });
  expect(await ok("croft vault item tree Papers:/notes --jq '.[].path'")).toContain("two.md");
  expect(await ok("croft vault item list Papers:/notes --jq '.[].name'")).toBe("deep\n");
  await ok("mkdir empty");
  expect((await run("empty Papers:/notes")).code).toBe(2);
});

script("largest-files", async (run) => {
  await ok(
    "mkdir -p sizes && printf 12345 > sizes/five.txt && printf 123 > sizes/three.txt && printf 1 > sizes/one.txt",
  );
  await ok("croft vault item upload sizes Papers:/ --recursive");
  const { code, out } = await run("Papers:/sizes 2");
  expect(code).toBe(0);
  expect(out.split("\n").map((line) => line.split("\t")[0])).toEqual(["5", "3", ""]);
});

script("append-line", async (run) => {
  await ok("echo one > log.txt && croft vault item upload log.txt Papers:/log.txt");
  const both = await Promise.all([run("Papers:/log.txt two"), run("Papers:/log.txt three")]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  const lines = (await ok("croft vault item cat Papers:/log.txt")).trim().split("\n");
  expect(lines.toSorted()).toEqual(["one", "three", "two"]);
  expect((await run("Papers:/none.txt x")).code).toBe(6);
});

script("import-documents", async (run) => {
  await ok(
    "mkdir -p scans && echo 'the gas bill of May' > 'scans/gas bill.md' && echo 'a rent receipt' > scans/rent.md",
  );
  const first = await run("scans");
  expect(first.out.trim().split("\n")).toEqual([
    "uploaded gas bill.md (20 bytes)",
    "uploaded rent.md (15 bytes)",
  ]);
  expect(await run("scans")).toMatchObject({ code: 0, out: "" });
});

script("search-and-download", async (run) => {
  await expect
    .poll(() => ok("croft vault document list --status ready --jq length"), { timeout: 60_000 })
    .toBe("2\n");
  const { code, out } = await run("found gas bill");
  expect(code).toBe(0);
  const files = await readdir(join(work, "found"));
  expect(files).toEqual([expect.stringMatching(/-gas bill\.md$/)]);
  expect(out).toBe(`found/${files[0]}\n`);
  expect(await readFile(join(work, "found", files[0] ?? ""), "utf8")).toBe("the gas bill of May\n");
});

script("share-documents", async (run) => {
  await ok(`croft vault topic create Bills
id=$(croft vault document list --query gas --jq '.[0].id')
croft vault document edit "$id" --topic Bills`);
  expect((await run("Bills noor")).out).toContain("shared with noor");
  expect((await run("Bills noor")).out).toContain("noor has it already");
  expect((await run("Bills nobody-here")).code).toBe(12);
});

script("inbox-digest", async (run) => {
  await ok(`croft repo watch boss/site
croft token create otto --username otto --scope all --jq .sha1 > otto.txt
CROFT_FORGE_TOKEN=$(cat otto.txt) croft issue create boss/site --title "The page is empty"`);
  await expect
    .poll(() => ok("croft notification list --status unread --jq length"), { timeout: 60_000 })
    .toBe("1\n");
  expect((await run()).out).toContain("## boss/site\n- Issue: The page is empty <http");
  expect(await run()).toMatchObject({ code: 0, out: "" });
});

script("triage-issues", async (run) => {
  await ok(`croft label create boss/site bug --color d73a4a
croft issue create boss/site --title "The build FAILS"`);
  expect((await run("boss/site bug='crash|fails' docs=typo")).out).toBe("boss/site#2: bug\n");
  expect(await run("boss/site bug='crash|fails'")).toMatchObject({ code: 0, out: "" });
});

script("issue-on-failure", async (run) => {
  const line = "boss/site 'Nightly fails' sh -c 'echo went wrong; exit 4'";
  expect((await run(line)).code).toBe(4);
  expect((await run(line)).code).toBe(4);
  expect(await run("boss/site 'Nightly fails' true")).toMatchObject({ code: 0, out: "" });
  const found = await ok(
    `croft issue list boss/site --search Nightly --jq '.[] | "\\(.title) \\(.comments) \\(.body)"'`,
  );
  expect(found).toMatch(/^Nightly fails 1 `sh -c .*` ended with exit code 4:[^]*went wrong/);
});

script("create-users", async (run) => {
  await writeFile(
    join(work, "users.csv"),
    "ada,ada@example.org,Ada Lovelace\notto,x@example.org,Otto\n",
  );
  const { code, out, err } = await run("users.csv");
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(/^ada\tada@example\.org\t\S{12,}\n$/),
  });
  expect(err).toContain("The user otto exists already");
  expect(await ok("croft admin user view ada --jq .full_name")).toBe("Ada Lovelace\n");
});

script("set-up-project", async (run) => {
  const first = await run("foundry bells");
  expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/foundry\/bells\.git\n$/) });
  expect(await run("foundry bells")).toEqual(first);
  expect(await ok("croft label list foundry/bells --jq '.[].name'")).toBe("bug\nidea\n");
  expect(await ok("croft milestone list foundry/bells --jq length")).toBe("1\n");
});

script("inactive-users", async (run) => {
  const { code, out } = await run("90");
  expect(code).toBe(0);
  expect(out).toContain("ada\tada@example.org\tnever\n");
  await ok("croft admin user edit ada --prohibit-login true");
  expect((await run("90")).out).not.toContain("ada");
});

script("offboard-user", async (run) => {
  await ok("CROFT_FORGE_TOKEN=$(cat otto.txt) croft repo create legacy --init --readme Default");
  expect((await run("otto boss")).out).toBe("otto/legacy goes to boss\n");
  expect(await ok("croft repo view boss/legacy --jq .full_name")).toBe("boss/legacy\n");
  expect((await shell("CROFT_FORGE_TOKEN=$(cat otto.txt) croft api GET /api/v1/user")).code).toBe(
    4,
  );
});

script("rotate-token", async (run) => {
  const first = (await run("deploy read:user secret.txt")).out.trim();
  const second = (await run("deploy read:user secret.txt")).out.trim();
  expect(second).not.toBe(first);
  const names = await ok(
    `croft token list --all --jq '.[] | select(.name | startswith("deploy-")) | .name'`,
  );
  expect(names).toBe(`${second}\n`);
  expect(
    await ok("CROFT_FORGE_TOKEN=$(cat secret.txt) croft api GET /api/v1/user --jq .login"),
  ).toBe("boss\n");
});

script("failing-hooks", async (run) => {
  await using receiver = await startReceiver((_request, response) => response.writeHead(410).end());
  await writeFile(join(home, "bin", "mail"), '#!/bin/sh\ncat > "mail-to-$3"\n', { mode: 0o755 });
  expect(await run()).toMatchObject({ code: 0, out: "" });
  await ok(`croft admin hook create ${receiver.url}/hook --event repository
croft repo create hooked`);
  await expect
    .poll(() => ok("croft admin hook delivery list 1 --state failed --jq length"), {
      timeout: 60_000,
    })
    .toBe("1\n");
  const { code, out } = await run("root@example.org");
  expect(code).toBe(1);
  expect(out).toContain(`${receiver.url}/hook: `);
  expect(await readFile(join(work, "mail-to-root@example.org"), "utf8")).toBe(out);
});

script("audit-report", async (run) => {
  const { code, out } = await run("2026-01-01 audit.csv", "CROFT_PROFILE=admin");
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+\t\S+\t\S+$/m);
  expect((await readFile(join(work, "audit.csv"), "utf8")).split("\n").length).toBeGreaterThan(3);
});

script("clean-packages", async (run) => {
  await ok(`for version in 1.0 1.1 1.2; do
  echo $version > tool.bin
  croft api --service forge PUT /api/packages/boss/generic/tool/$version/tool.bin --input tool.bin
done`);
  const { code, out } = await run("boss generic tool 1");
  expect({ code, out }).toEqual({ code: 0, out: "deleted tool 1.1\ndeleted tool 1.0\n" });
});

script("publish-npm", async (run) => {
  await ok(`mkdir -p package && echo '{"name":"tools","version":"1.0.0"}' > package/package.json`);
  expect((await run("boss ./package")).code).toBe(0);
  expect(await ok("croft admin package list --type npm --jq '.[] | .name + .version'")).toBe(
    "tools1.0.0\n",
  );
  expect(
    await ok(`croft token list --all --jq '[.[] | select(.name | startswith("npm-"))] | length'`),
  ).toBe("0\n");
});

script("clone-all", async (run) => {
  expect((await run("mirrors")).out).toContain("cloned boss/site\n");
  expect((await run("mirrors")).out).toContain("updated boss/site\n");
  expect(await ok("git -C mirrors/boss/site.git log --oneline")).not.toBe("");
});

const workflow = `on: workflow_dispatch
jobs:
  build:
    runs-on: host
    steps:
      - uses: actions/checkout@v4
      - uses: ./upload
`;

/** An action that uploads an artifact by the service's own protocol: the usual one would have to be fetched from elsewhere. */
const upload = `const { ACTIONS_RESULTS_URL: server, ACTIONS_RUNTIME_TOKEN: token } = process.env;
const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
const [, run, job] = claims.scp.split(":");
const call = async (method, message) => {
  const answer = await fetch(
    new URL("/twirp/github.actions.results.api.v1.ArtifactService/" + method, server),
    {
      method: "POST",
      headers: { Authorization: "Bearer " + token, "Content-Type": "application/json" },
      body: JSON.stringify({ workflow_run_backend_id: run, workflow_job_run_backend_id: job, name: "site.txt", ...message }),
    },
  );
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};
const { signed_upload_url: url } = await call("CreateArtifact", { version: 4, mimeType: "text/plain" });
await fetch(url, { method: "PUT", body: "built" });
await call("FinalizeArtifact", { size: 5 });
`;

script("wait-for-run", async (run) => {
  await ok(`croft git setup --yes
git clone -q "$(croft repo view boss/site --jq .clone_url)" clone
mkdir -p clone/.gitea/workflows clone/upload`);
  await writeFile(join(work, "clone", ".gitea", "workflows", "build.yml"), workflow);
  const action = "name: upload\nruns: { using: node20, main: index.mjs }\n";
  await writeFile(join(work, "clone", "upload", "action.yml"), action);
  await writeFile(join(work, "clone", "upload", "index.mjs"), upload);
  await ok(`cd clone && git add -A && git commit -qm workflow && git push -q
croft runner register --labels host:host`);
  const runner = startCroft([process.execPath, launcher], ["runner", "run"], {
    home: join(home, "croft"),
    env: { HOME: home },
  });
  const ended = once(runner, "close");
  try {
    const log = "croft run log boss/site/$(croft run jobs boss/site/1 --jq '.[0].id')";
    const { code } = await run("boss/site build.yml main out");
    expect(code, code === 0 ? "" : await ok(log)).toBe(0);
    expect(await ok("find out -type f -exec cat {} +")).toBe("built");
  } finally {
    runner.kill("SIGTERM");
    await ended;
  }
});

script("back-up-home", async (run) => {
  await ok("echo 'a long passphrase of the backup' > passphrase.txt");
  const { code, out } = await run("backups passphrase.txt");
  expect(code).toBe(0);
  expect(await readdir(join(work, "backups"))).toEqual([out.trim().split("/").at(-1)]);
});

script("health-check", async (run) => {
  expect(await run()).toMatchObject({ code: 0, out: expect.stringMatching(/^OK: croft \S+/) });
  await daemon.end("SIGTERM");
  expect(await run()).toMatchObject({ code: 2, out: expect.stringContaining("CRITICAL") });
});

test("every script of the cookbook is run here and named in its list", async () => {
  const names = (await readdir(cookbook)).filter((name) => name.endsWith(".sh"));
  expect(names.filter((name) => !tried.has(name))).toEqual([]);
  expect(names).toHaveLength(22);
  const list = await readFile(join(cookbook, "README.md"), "utf8");
  expect(names.filter((name) => !list.includes(`(${name})`))).toEqual([]);
});
