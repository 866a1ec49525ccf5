import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipUnless } from "../../../support/skip.ts";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { signIn } from "../../support/signed-in.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;
const has = (program: string) => spawnSync(program, ["-c", "true"]).status === 0;

test.each(shells)("the script for %s names the commands and flags", async (shell) => {
  const ran = await runCli(["completion", shell], { home: "/nowhere" });
  expect(ran.code).toBe(0);
  const flag = shell === "fish" ? "-l search" : "--search";
  for (const word of ["admin user", "item", "upload", flag, "__complete"])
    expect(ran.out).toContain(word);
  expect(ran.out).not.toContain("undefined");
  const { json } = await runCli(["completion", shell, "--json"], { home: "/nowhere" });
  expect(json()).toEqual({ shell, script: ran.out });
});

/** Names that a shell must quote; a backslash, a quote, what would be run. */
const names = ["docs/", "a b.txt", "ä's.txt", "back\\slash/", "$(touch pwned)", "q`x`.txt"];

/** What a shell says when it is given its script and this program, with a croft beside it that answers for values. */
async function askShell(
  shell: "bash" | "zsh" | "fish",
  words: readonly string[],
  program: string,
): Promise<string[]> {
  await using home = await temporaryHome();
  const script = join(home.path, "script");
  await writeFile(script, (await runCli(["completion", shell], { home: home.path })).out);
  await writeFile(join(home.path, "names"), names.map((name) => `home:/${name}\tfile\n`).join(""));
  const croft = join(home.path, "croft");
  await writeFile(
    croft,
    `#!/bin/sh
case "$2 $3" in
"items home:/"*) cat "\${0%/*}/names" ;;
items*) printf '%s\\tfolder\\n' 'home:/' 'nas:/' ;;
*) printf '%s\\tdescribed\\n' "$2-one" "$2-two" ;;
esac
`,
    { mode: 0o700 },
  );
  const ran = spawnSync(shell, [...words, program], {
    cwd: home.path,
    env: { PATH: `${home.path}:${process.env["PATH"]}`, HOME: home.path, LANG: "C.UTF-8" },
    encoding: "utf8",
  });
  expect(ran.stderr).toBe("");
  return ran.stdout.split("\n").filter((word) => word !== "");
}

/** What bash offers for a line whose last word is being typed. */
function completeInBash(line: string): Promise<string[]> {
  const words = line.split(" ").map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const program = `source ./script; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _croft; printf '%s\n' "\${COMPREPLY[@]}"`;
  return askShell("bash", ["--norc", "--noprofile", "-c"], program);
}

skipUnless(has("bash"), "bash is not installed").describe("in bash", () => {
  test.each([
    ["croft adm", ["admin"]],
    ["croft daemon st", ["start", "status", "stop"]],
    ["croft admin user li", ["list"]],
    ["croft --profile work admin user li", ["list"]],
    ["croft admin user list --sea", ["--search"]],
    ["croft admin user ls --sea", ["--search"]],
    ["croft config list --format ", ["json", "csv", "tsv", "yaml"]],
    ["croft config get ", ["settings-one", "settings-two"]],
    ["croft version --profile ", ["profiles-one", "profiles-two"]],
    ["croft vault item download --output ", []],
    ["croft vault item upload x", []],
    ["croft vault item upload x n", ["nas:/"]],
    ["croft vault item list n", ["nas:/"]],
    ["croft vault item ls n", ["nas:/"]],
    // As readline takes it apart: what stands before the colon is on the line already.
    ["croft vault item list home :", ["/"]],
    [
      "croft vault item list home : /",
      [
        "/docs/",
        "/a\\ b.txt",
        "/ä\\'s.txt",
        "/back\\\\slash/",
        "/\\$\\(touch\\ pwned\\)",
        "/q\\`x\\`.txt",
      ],
    ],
    ["croft vault item cat home : /do", ["/docs/"]],
    ["croft vault item cat home : /back\\\\s", ["/back\\\\slash/"]],
    // Within quotes a colon ends no word, and other characters are special.
    ['croft vault item cat "home:/$', ["home:/\\$(touch pwned)"]],
    ['croft vault item cat "home:/q', ["home:/q\\`x\\`.txt"]],
    ["croft vault item cat 'home:/ä", ["home:/ä'\\''s.txt"]],
    ["croft vault connection view ", ["connections-one", "connections-two"]],
  ])("%s is completed", async (line, words) => {
    expect(await completeInBash(line)).toEqual(words);
  });
});

/** What zsh's own functions are given; it quotes by itself. `quote` is the one that is open. */
function completeInZsh(line: string, quote: string): Promise<string[]> {
  const words = line.split(" ").map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const program = `compdef() { :; }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@"; }
_describe() { print -rl -- \${(@)\${(@P)2}%%:*}; }
_files() { print files; }
source ./script
words=(${words.join(" ")}) CURRENT=${words.length} PREFIX=\${words[-1]} QIPREFIX=${quote === "" ? "" : `\\${quote}`}
_croft`;
  return askShell("zsh", ["-f", "-c"], program);
}

skipUnless(has("zsh"), "zsh is not installed").describe("in zsh", () => {
  test.each([
    ["croft vault item list --pa", "", expect.arrayContaining(["--page"])],
    ["croft daemon x", "", expect.arrayContaining(["status", "stop"])],
    ["croft config list --format ", "", ["json", "csv", "tsv", "yaml"]],
    ["croft vault item download --output ", "", ["files"]],
    ["croft vault item upload x", "", ["home:/", "nas:/", "files"]],
    ["croft vault item put home:/", "", expect.not.arrayContaining(["files"])],
    ["croft vault item ls home:/", "", ["home:/docs/", "home:/back\\slash/", ...files()]],
    ["croft vault item ls home:/", '"', ["home:/docs/", "home:/back\\slash/", ...files()]],
  ])("%s is completed (in quotes %j)", async (line, quote, words) => {
    expect(await completeInZsh(line, quote)).toEqual(words);
  });
});

function files(): string[] {
  return names.filter((name) => !name.endsWith("/")).map((name) => `home:/${name}`);
}

skipUnless(has("fish"), "fish is not installed").describe("in fish", () => {
  test.each([
    ["croft daemon st", ["start", "status", "stop"]],
    ["croft admin user ls --sea", ["--search"]],
    ["croft config list --format ", ["csv", "json", "tsv", "yaml"]],
    ["croft vault item ls n", ["nas:/"]],
    ["croft vault item ls home:/do", ["home:/docs/"]],
    ["croft vault item cat home:/a\\ b", ["home:/a b.txt"]],
    ['croft vault item cat "home:/a b', ["home:/a b.txt"]],
    ["croft vault item cat 'home:/ä", ["home:/ä's.txt"]],
    ["croft vault item put script home:/ba", ["home:/back\\slash/"]],
    ["croft vault item download --output scr", ["script"]],
  ])("%s is completed", async (line, words) => {
    const quoted = `'${line.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    const said = await askShell(
      "fish",
      ["--no-config", "-c"],
      `source ./script; complete -C ${quoted}`,
    );
    expect(said.map((one) => one.split("\t")[0]).sort()).toEqual([...words].sort());
  });
});

describe("the scripts are valid in", () => {
  for (const [shell, flag] of [
    ["bash", "-n"],
    ["zsh", "-n"],
    ["fish", "--no-execute"],
  ] as const)
    skipUnless(has(shell), `${shell} is not installed`)(shell, async () => {
      await using home = await temporaryHome();
      const script = join(home.path, "script");
      await writeFile(script, (await runCli(["completion", shell], { home: home.path })).out);
      expect(spawnSync(shell, [flag, script], { encoding: "utf8" })).toMatchObject({
        status: 0,
        stderr: "",
      });
    });
});

describe("values", () => {
  test("values of a kind are printed with what they are", async () => {
    await using home = await temporaryHome();
    await runCli(["profile", "add", "work", "--url", "https://croft.example"], { home: home.path });
    expect((await runCli(["__complete", "profiles"], { home: home.path })).out).toBe(
      "work\thttps://croft.example\n",
    );
    expect((await runCli(["__complete", "settings"], { home: home.path })).out).toContain(
      "public_url\t",
    );
  });

  test.each([
    ["documents", "GET /api/documents", { id: "d1", filename: "bill.pdf" }, "d1\tbill.pdf\n"],
    ["shares", "GET /api/shares", { id: "s1", recipient_handle: "noor" }, "s1\twith noor\n"],
    ["handles", "GET /api/shares", { id: "s1", recipient_handle: "noor" }, "noor\t\n"],
    ["topics", "GET /api/topics", { name: "Taxes", description: "VAT" }, "Taxes\tVAT\n"],
  ])("values of %s come from the daemon", async (kind, route, item, out) => {
    await using home = await temporaryHome();
    const body = { items: [item], total: 1, page: 1, per_page: 100 };
    await using daemon = await fakeDaemon({ [route]: { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect((await runCli(["__complete", kind], { home: home.path })).out).toBe(out);
  });

  test("values of connections come from the daemon", async () => {
    await using home = await temporaryHome();
    const body = {
      items: [{ display_name: "home", provider: "local_folder" }],
      total: 1,
      page: 1,
      per_page: 100,
    };
    await using daemon = await fakeDaemon({ "GET /api/cloud/connections": { body } });
    await signIn(home.path, { url: daemon.url, vault: {} });
    expect((await runCli(["__complete", "connections"], { home: home.path })).out).toBe(
      "home\tlocal_folder\n",
    );
  });

  test("values of items come folder by folder, without names that a terminal would act on", async () => {
    await using home = await temporaryHome();
    const connection = { id: "c1", display_name: "home", provider: "local_folder" };
    const items = [
      { name: "docs", kind: "folder", provider_item_id: "docs" },
      { name: "a b.txt", kind: "file", provider_item_id: "a" },
      { name: "x\u001b]0;y\u0007", kind: "file", provider_item_id: "x" },
      { name: "two\nlines", kind: "file", provider_item_id: "two" },
      { name: "back\\slash", kind: "file", provider_item_id: "b" },
    ];
    await using daemon = await fakeDaemon({
      "GET /api/cloud/connections": {
        body: { items: [connection], total: 1, page: 1, per_page: 100 },
      },
      "GET /api/cloud/connections/c1/items": { body: { items, next_cursor: null } },
    });
    await signIn(home.path, { url: daemon.url, vault: {} });
    const complete = async (word: string) =>
      (await runCli(["__complete", "items", word], { home: home.path })).out;
    expect(await complete("ho")).toBe("home:/\tlocal_folder\n");
    expect(await complete("home:/do")).toBe(
      "home:/docs/\tfolder\nhome:/a b.txt\tfile\nhome:/back\\slash\tfile\n",
    );
  });

  test("values that cannot be had are omitted without an error", async () => {
    const ran = await runCli(["__complete", "connections"], { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
  });
});
