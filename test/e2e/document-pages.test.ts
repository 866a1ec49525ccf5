import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type FollowedPages,
  type Guide,
  linesOf,
  openPages,
  passphrase,
  password,
} from "../support/followed-pages.ts";

// The lines of a shell on the pages of docs and in the README run as those of the guides do. The README creates the home that the
// others use.

const docs = join(import.meta.dirname, "../../docs");
const asMira = `croft --quiet login vault --email mira@example.org ${password}`;
const first = "printf '%s' 'Choose-1-long-password' |";
const asKeeper = `${first} croft --quiet login vault --email keeper@example.org --password-stdin`;

let pages: FollowedPages;
const follow = (page: string, guide: Guide) => pages.follow(page, guide);

beforeAll(async () => {
  pages = await openPages();
  const build = "test/e2e/executable.smoke.ts";
  const init = `${first} npx croft init --username keeper --email keeper@example.org --password-stdin`;
  const pull = 'npx croft pr create keeper/notes --head topic --title "Say it louder"';
  const folder = "npx croft vault connection add local_folder --name Papers --setting root=.";
  await follow("README.md", {
    before: `printf '#!/bin/sh\\nexec "$@"\\n' > ~/bin/npx && chmod 700 ~/bin/npx
echo "a heating invoice" > letter.pdf`,
    typed: {
      "npx croft vault register --handle mira --email mira@example.org": password,
      "npx croft login vault --email mira@example.org": password,
      "npx croft daemon install": "--no-start --yes",
      "npx croft daemon backup home.tar --with-keys": passphrase,
    },
    instead: {
      [init]: `${init}\ncroft daemon start\ncroft git setup --yes`,
      [pull]: `git -C notes switch -q -c topic && echo louder > notes/said
git -C notes add . && git -C notes commit -qm Louder && git -C notes push -q origin topic
${pull}`,
      [folder]: `mkdir -p "$CROFT_HOME/files/mira" && ${folder}`,
      "npx croft people add mira --email mira@example.org": `${asKeeper}
npx croft people add ada --email ada@example.org`,
    },
    elsewhere: {
      "npm ci && npm start": "test/e2e/daemon-start.test.ts",
      "npm run build && dist/croft install": build,
      "npx croft runner register && npx croft runner run": "the guide of workflows",
      "npx croft vault item browse": "test/cli/ui/browse.test.ts",
      "npx croft dashboard": "test/cli/ui/dashboard.test.ts",
      "npm run build": build,
      "npm ci && npm test": "this run",
    },
    after: `test "$(croft pr view keeper/notes#2 --jq .merged)" = true
test "$(croft issue view keeper/notes#1 --jq .title)" = "Say hello"
croft release view keeper/notes v1.0.0
test -s home.tar
${asMira}
croft vault document list --jq '.[].filename' | grep letter.pdf
croft daemon uninstall --yes`,
  });
}, 240_000);

afterAll(async () => {
  await pages.shell("README", "croft daemon stop");
  await pages.close();
});

const limits = { timeout: 240_000 };

test("the page of documents runs", limits, () => {
  const remove = "croft vault document delete bill.pdf";
  const link = "croft vault link create bill.pdf --max-downloads 1 --password --qr";
  return follow("docs/documents.md", {
    before: `${asMira}
croft --quiet vault register --handle noor --email noor@example.org ${password}
echo "a tax bill of 2025" > bill.pdf
echo "a corrected tax bill" > corrected.pdf
mkdir -p scans "$CROFT_HOME/files/mira/2026" && echo "a scan" > scans/a.txt
echo "a report" > "$CROFT_HOME/files/mira/2026/report.pdf"
croft vault topic create Inbox`,
    instead: {
      [`${remove} && croft vault document trash restore bill.pdf`]: `${remove} --yes && croft vault document trash restore bill.pdf`,
      "croft vault preference set default-storage webdav":
        "croft vault preference set default-storage local_folder",
      [link]: `${link.replace("--password", "--password-stdin")} < ~/password.txt`,
      "croft vault link delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --yes":
        "croft vault link delete $(croft vault link list --jq '.[0].id') --yes",
    },
    after: `grep -q "a tax bill" papers/bill.pdf && test -s papers/letter.pdf
croft vault preference set default-storage internal
croft vault document download bill.pdf -o now.pdf && grep -q corrected now.pdf
test "$(croft vault link list --jq length)" = 3`,
  });
});

test("the page of notifications runs", limits, () =>
  follow("docs/notifications.md", {
    before: "echo 'It squeaks.' > squeak.txt",
    instead: {
      "croft notification watch mira/notes": "croft notification watch keeper/notes",
      'croft issue create mira/notes --title "The gate squeaks" --body-file squeak.txt --assignee nora':
        'croft issue create keeper/notes --title "The gate squeaks" --body-file squeak.txt --assignee keeper',
      "croft issue edit mira/notes#3 --close": "croft issue edit keeper/notes#3 --close",
    },
    elsewhere: {
      "croft notification inbox": "test/cli/ui/inbox.test.ts",
      "croft notification list --follow": "test/cli/commands/notification",
      "croft notification mark 12 15 --as pinned": "test/cli/commands/notification",
    },
    after: `test "$(croft issue view keeper/notes#3 --jq .state)" = closed`,
  }),
);

test("the page of people runs", limits, () =>
  follow("docs/people.md", {
    before: asKeeper,
    instead: {
      "croft people add mira --email mira@example.org":
        "croft people add bea --email bea@example.org",
      "croft people add mira --email mira@example.org --link":
        "croft people add cleo --email cleo@example.org --link",
    },
    after: "croft people list --jq '.[].name' | grep cleo",
  }),
);

test(
  "the pages whose lines need another program or machine name the tests of their commands",
  limits,
  async () => {
    await follow("docs/vault-webdav.md", {
      before: asMira,
      elsewhere: {
        "rclone config create vault webdav url=https://croft.example.org/dav vendor=other user=mira@example.org pass=TOKEN":
          "test/conformance/webdav-clients.test.ts",
        "rclone copy ~/Papers vault:documents/topics/Papers":
          "test/conformance/webdav-clients.test.ts",
        "rclone mount vault: ~/Vault --vfs-cache-mode writes": "a mount",
        "sudo mount -t davfs -o uid=$USER https://croft.example.org/dav/ /mnt/vault": "a mount",
      },
      after: "croft vault token list --jq '.[].name' | grep laptop",
    });
    const ai = "test/api/vault/ai-config.test.ts";
    await follow("docs/vault-ai.md", {
      elsewhere: {
        "croft vault admin ai test ollama --model llama3.2": ai,
        "croft vault admin ai set ollama --model llama3.2": ai,
        "croft vault admin ai set openai --model gpt-5-mini --key-stdin < key.txt": ai,
        "croft vault admin ai set openai --active false": ai,
        "croft vault admin ai set ollama --model llama3.2 --embedding-model nomic-embed-text": ai,
        'croft vault search --semantic "invoices for the car"':
          "test/api/vault/semantic-search.test.ts",
      },
    });
    await follow("docs/vault-inbox.md", {
      elsewhere: { "CROFT_INBOX=on croft serve": "test/api/vault/inbox.test.ts" },
    });
    const upgrade = "test/e2e/upgrade.test.ts";
    await follow("docs/upgrading.md", {
      elsewhere: {
        "croft daemon restore --database latest --yes": upgrade,
        "croft daemon start": upgrade,
      },
    });
  },
);

test("every page of docs with lines of a shell is followed here", async () => {
  const names = (await readdir(docs)).filter((name) => name.endsWith(".md"));
  const withLines = await Promise.all(
    names.map(async (name) => (await linesOf(`docs/${name}`)).length > 0),
  );
  const left = names.filter((name, at) => withLines[at] && !pages.followed.has(`docs/${name}`));
  // Its lines build and run an image.
  expect(left).toEqual(["container.md"]);
});
