import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findNpm } from "../support/forge/npm-client.ts";
import { skipUnless } from "../support/skip.ts";

// The lines of a shell in docs/guides are run by bash with the croft of this clone, each page in a folder of its own. The
// first page creates the home that the others use. A line that cannot run here is in `elsewhere` of its page.

const guides = join(import.meta.dirname, "../../docs/guides");
const launcher = join(import.meta.dirname, "../../bin/croft.js");

const password = "--password-stdin < ~/password.txt";
const passphrase = "--passphrase-stdin < ~/passphrase.txt";

/** How the lines of one page run. */
interface Guide {
  /** Lines that make what the page assumes. */
  readonly before?: string;
  /** What a person types after the line, as flags. */
  readonly typed?: Readonly<Record<string, string>>;
  /** Lines that are replaced. */
  readonly instead?: Readonly<Record<string, string>>;
  /** Lines that are left out, with the test of the same command or the reason. */
  readonly elsewhere?: Readonly<Record<string, string>>;
  /** Lines that end well if the page did what it says. */
  readonly after?: string;
}

const asMira = `croft --quiet login vault --email mira@example.org ${password}`;

const followed = new Set<string>();
let root: string;
let url: string;

/** Runs lines of a shell in a folder below the home of the user. */
async function shell(folder: string, lines: string, home = "croft") {
  const work = join(root, folder);
  await mkdir(work, { recursive: true });
  const child = spawn("bash", ["--norc", "-euxo", "pipefail", "-c", lines], {
    cwd: work,
    env: {
      PATH: `${join(root, "bin")}:${process.env["PATH"]}`,
      HOME: root,
      CROFT_HOME: join(root, home),
      CROFT_CREDENTIAL_STORE: "file",
      CROFT_KEY_SOURCE: "file",
      CROFT_BREACH_URL: "off",
      CROFT_RATE_LIMITS: "off",
      CROFT_PORT: new URL(url).port,
      CROFT_SSH: "off",
      NPM_CONFIG_AUDIT: "false",
      NPM_CONFIG_UPDATE_NOTIFIER: "false",
      NPM_CONFIG_REGISTRY: `${url}/api/packages/keeper/npm/`,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let log = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, log };
}

async function ok(folder: string, lines: string, home?: string): Promise<string> {
  const { code, out, log } = await shell(folder, lines, home);
  expect(code, `${log.slice(-3_000)}\n${out.slice(-1_000)}`).toBe(0);
  return out;
}

/** The lines of the blocks of a shell on a page, those of several lines as one. */
async function linesOf(page: string): Promise<string[]> {
  const text = await readFile(join(guides, `${page}.md`), "utf8");
  return [...text.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, block = ""]) =>
    block
      .replaceAll("\\\n", " ")
      .split("\n")
      .filter((line) => line.trim() !== ""),
  );
}

/** Runs the lines of a page. */
async function follow(page: string, guide: Guide, home?: string): Promise<void> {
  const { before = "", typed = {}, instead = {}, elsewhere = {}, after = "" } = guide;
  followed.add(page);
  const lines = await linesOf(page);
  for (const line of [typed, instead, elsewhere].flatMap((each) => Object.keys(each)))
    expect(lines, `${page}.md has lost a line`).toContain(line);
  const run = lines
    .filter((line) => !(line in elsewhere))
    .map((line) => instead[line] ?? `${line} ${typed[line] ?? ""}`);
  const [work, proof] = [[before, ...run].join("\n"), after].map((text) => atThisMachine(text));
  await ok(page, work ?? "", home);
  await ok(page, proof ?? "", home);
}

/** The lines with the addresses and folders of this test. */
function atThisMachine(lines: string): string {
  return lines
    .replaceAll("/srv/", `${root}/srv/`)
    .replaceAll("/run/secrets/", `${root}/secrets/`)
    .replaceAll("https://forge.example.org", url)
    .replaceAll("https://croft.example.org", url)
    .replaceAll("127.0.0.1:7420", new URL(url).host);
}

/** An address at which nothing listens. The home keeps it when its daemon is restarted. */
async function findFreeAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "croft-guides-"));
  for (const folder of ["bin", "srv", "secrets"]) await mkdir(join(root, folder));
  const files = {
    "bin/croft": `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`,
    "bin/systemctl": "#!/bin/sh\nexit 0\n",
    "password.txt": "Correct horse battery staple 7\n",
    "passphrase.txt": "a long passphrase of the backup\n",
    ".gitconfig": "[user]\nname = Keeper\nemail = keeper@example.org\n",
  };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(root, name), text, { mode: 0o700 });
  url = await findFreeAddress();
  await follow("getting-started", {
    before: "echo 'Dear Mira' > letter.pdf",
    typed: {
      "croft init --username keeper --email keeper@example.org": password,
      "croft git setup": "--yes",
      "croft --profile mira vault register --handle mira --email mira@example.org": password,
      "croft --profile mira login vault --email mira@example.org": password,
      "croft login vault --email keeper@example.org": password,
      "croft daemon install": "--no-start --yes",
      "croft daemon backup home.tar --with-keys": passphrase,
    },
    instead: {
      "croft --profile mira vault document upload letter.pdf":
        "croft --profile mira vault document upload ../letter.pdf",
    },
    after: `test "$(croft pr view keeper/notes#2 --jq .merged)" = true
test "$(croft issue view keeper/notes#1 --jq .state)" = closed
test -s notes/home.tar
croft daemon uninstall --yes`,
  });
}, 240_000);

afterAll(async () => {
  await shell("ci", "kill $(cat runner.pid) || true; croft daemon stop");
  await rm(root, { recursive: true, force: true });
});

const limits = { timeout: 240_000 };

test("the guide of scripts runs", limits, () =>
  follow("scripting", {
    before: "croft token create scripts --scope all --jq .sha1 > ~/secrets/croft",
  }),
);

test("the guide of connected storage runs", limits, () =>
  follow("cloud-storage", {
    before: `${asMira}
mkdir -p "$CROFT_HOME/files/mira/cloud/letters" photos notes
for file in report.pdf photos/a.jpg notes/a.md "$CROFT_HOME/files/mira/cloud/letters/2026.pdf"; do
  echo "an invoice" > "$file"
done`,
    instead: {
      "croft vault connection add webdav --name Cloud":
        "croft vault connection add local_folder --name Cloud --setting root=cloud",
    },
    elsewhere: {
      "croft vault connection add onedrive --name Work": "test/conformance/cloud-onedrive.test.ts",
      "croft vault connection add s3 --name Archive": "test/conformance/cloud-s3-servers.test.ts",
    },
    after: "croft vault item cat Cloud:/photos/a.jpg && croft vault item cat Cloud:/notes/a.md",
  }),
);

test("the guide of synchronized folders runs", limits, () =>
  follow("two-way-sync", {
    before: `${asMira}
mkdir -p "$CROFT_HOME/files/mira" notes
croft vault connection add local_folder --name Papers --setting root=. --if-absent
echo first > notes/a.md`,
    elsewhere: {
      "croft vault item sync notes Papers:/notes --both --watch": "test/e2e/two-way-sync.test.ts",
    },
    after: `test "$(croft vault item cat Papers:/notes/a.md)" = first`,
  }),
);

test("the guide of moving runs", limits, () =>
  follow("moving", {
    before: asMira,
    typed: { "croft daemon backup home.tar --with-keys": passphrase },
    elsewhere: {
      "croft repo import https://gitea.example.org/mira/cabin --service gitea":
        "test/cli/commands/repo/import.test.ts",
      "croft daemon restore home.tar --with-keys": "the guide of backups",
      "croft vault document import export --from paperless":
        "test/cli/commands/vault/moving.test.ts",
    },
    after: "grep -q letter.pdf papers/croft-documents.json",
  }),
);

test("the guide of phones runs", limits, () =>
  follow("phone", {
    before: asMira,
    instead: {
      "croft vault token create phone --scope write":
        "croft vault token create phone --scope write --jq .token > token",
      'curl --fail -u mira@example.org:TOKEN -X PROPFIND -H "Depth: 1" https://croft.example.org/dav/':
        'curl --fail -u "mira@example.org:$(cat token)" -X PROPFIND -H "Depth: 1" https://croft.example.org/dav/',
    },
    typed: { "croft vault token revoke phone": "--yes" },
    after: `! curl --fail -u "mira@example.org:$(cat token)" -X PROPFIND https://croft.example.org/dav/`,
  }),
);

skipUnless(findNpm(), "npm is not installed")(
  "the guide of registries runs",
  () =>
    follow("registries", {
      before: `echo '{"name":"@keeper/tools","version":"1.0.0"}' > package.json
echo tool > tool.tar.gz`,
      instead: {
        "npm install @keeper/tools": `mkdir ~/user && cp .npmrc ~/user
(cd ~/user && echo '{"name":"user","version":"1.0.0"}' > package.json && npm install @keeper/tools)`,
      },
      typed: { "croft package delete keeper generic tool 1.0": "--yes" },
      elsewhere: {
        'twine upload --repository-url http://127.0.0.1:7420/api/packages/keeper/pypi --username keeper --password "$PACKAGES_TOKEN" dist/*':
          "test/e2e/pypi.test.ts",
        "pip install --index-url http://127.0.0.1:7420/api/packages/keeper/pypi/simple/ tools":
          "test/e2e/pypi.test.ts",
        'echo "$PACKAGES_TOKEN" | docker login 127.0.0.1:7420 --username keeper --password-stdin':
          "test/api/forge/oci-conformance.test.ts",
        "docker tag tools 127.0.0.1:7420/keeper/tools:1.0": "docker alone",
        "docker push 127.0.0.1:7420/keeper/tools:1.0": "test/api/forge/oci-conformance.test.ts",
        "docker pull 127.0.0.1:7420/keeper/tools:1.0": "test/api/forge/oci-conformance.test.ts",
      },
      after: `test -s ~/user/node_modules/@keeper/tools/package.json
! grep "$(croft token list --jq '.[0].token_last_eight')" .npmrc`,
    }),
  limits.timeout,
);

test("the guide of workflows runs", limits, () =>
  follow("ci", {
    before: `git clone -q http://127.0.0.1:7420/keeper/notes.git notes
mkdir -p notes/.gitea/workflows
cat > notes/.gitea/workflows/test.yaml <<'END'
on: [push, pull_request, workflow_dispatch]
jobs:
  test:
    runs-on: host
    steps:
      - run: echo tested
END
git -C notes add . && git -C notes commit -qm "Add a test" && git -C notes push -q
echo a-key > key.txt`,
    instead: {
      "croft runner run --capacity 2":
        "croft runner run --capacity 2 > runner.log 2>&1 & echo $! > runner.pid",
    },
    after: `test "$(croft run list keeper/notes --jq '.[].conclusion' | sort -u)" = success
croft secret list --repo keeper/notes | grep DEPLOY_KEY`,
  }),
);

test("the guides of https and of several machines name settings that exist", limits, async () => {
  await follow(
    "tls",
    {
      before: "touch ~/croft.crt",
      elsewhere: {
        "croft daemon restart": "a port of its own; test/api/transport.test.ts serves https",
        "croft --profile home login forge --username mira": "test/cli/commands/login",
      },
    },
    "tls",
  );
  await follow(
    "several-machines",
    {
      before: "echo postgres://croft:secret@db.lan/croft > database-address.txt",
      elsewhere: { "croft daemon restart": "test/api/several-daemons.test.ts" },
    },
    "several",
  );
});

test("the guide of backups runs, and the home is restored", limits, () => {
  const bucket = "test/e2e/home-examples.test.ts";
  return follow("backup", {
    before: "mkdir -p /srv/backups && cp ~/passphrase.txt .",
    typed: {
      "croft daemon backup home.tar --with-keys": passphrase,
      "croft --home trial daemon restore home.tar --with-keys": `${passphrase} --yes`,
      "croft daemon restore home.tar --with-keys": `${passphrase} --yes`,
    },
    elsewhere: {
      "croft config set backup_url 's3://backups/laptop?endpoint=https://nas.lan:9000'": bucket,
      "croft config set backup_access_key_id --stdin < id.txt": bucket,
      "croft config set backup_secret_access_key --stdin < secret.txt": bucket,
      "croft daemon restore --from --list": bucket,
      "croft daemon restore latest --from --with-keys": bucket,
    },
    after: "croft repo view keeper/notes && croft daemon check",
  });
});

test("every guide with lines of a shell is followed here", async () => {
  const pages = (await readdir(guides)).map((name) => name.replace(/\.md$/, ""));
  const withLines = await Promise.all(pages.map(async (page) => (await linesOf(page)).length > 0));
  expect(pages.filter((page, at) => withLines[at] && !followed.has(page))).toEqual(
    findNpm() === undefined ? ["registries"] : [],
  );
});
