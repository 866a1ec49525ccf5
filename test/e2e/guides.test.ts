import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findNpm } from "../support/forge/npm-client.ts";
import {
  type FollowedPages,
  type Guide,
  linesOf,
  openPages,
  passphrase,
  password,
} from "../support/followed-pages.ts";
import { skipUnless } from "../support/skip.ts";

// The guides are followed one after the other: the first one creates the home that the others use.

const guides = join(import.meta.dirname, "../../docs/guides");
const asMira = `croft --quiet login vault --email mira@example.org ${password}`;
const toPage = (name: string) => `docs/guides/${name}.md`;

let pages: FollowedPages;
const follow = (name: string, guide: Guide, home?: string) =>
  pages.follow(toPage(name), guide, home);

beforeAll(async () => {
  pages = await openPages();
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
  await pages.shell("ci", "kill $(cat runner.pid) || true; croft daemon stop");
  await pages.close();
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
  const names = (await readdir(guides)).map((name) => name.replace(/\.md$/, ""));
  const withLines = await Promise.all(
    names.map(async (name) => (await linesOf(toPage(name))).length > 0),
  );
  const left = names.filter((name, at) => withLines[at] && !pages.followed.has(toPage(name)));
  expect(left).toEqual(findNpm() === undefined ? ["registries"] : []);
});
