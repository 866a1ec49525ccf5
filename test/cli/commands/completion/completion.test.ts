import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipUnless } from "../../../support/skip.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;
const has = (program: string) => spawnSync(program, ["-c", "true"]).status === 0;

test.each(shells)("the script for %s names the commands and flags", async (shell) => {
  const ran = await runCli(["completion", shell], { home: "/nowhere" });
  expect(ran.code).toBe(0);
  for (const word of ["admin user", "item", "upload", "--search", "__complete"])
    expect(ran.out).toContain(word);
  expect(ran.out).not.toContain("undefined");
  const { json } = await runCli(["completion", shell, "--json"], { home: "/nowhere" });
  expect(json()).toEqual({ shell, script: ran.out });
});

/** Names that a shell must quote: a backslash, a quote, command substitutions. */
const names = ["docs/", "a b.txt", "ä's.txt", "back\\slash/", "$(touch pwned)", "q`x`.txt"];

interface ShellCompletion {
  /** The completions that the shell offers. */
  readonly offered: readonly string[];
  /** The words that it has sent to croft, with a blank between them; undefined when it did not ask. */
  readonly sent: string | undefined;
}

/** Runs a shell with its completion script and this program, and a stand-in for croft that completes values. */
async function askShell(
  shell: "bash" | "zsh" | "fish",
  words: readonly string[],
  program: string,
): Promise<ShellCompletion> {
  await using home = await temporaryHome();
  const script = join(home.path, "script");
  await writeFile(script, (await runCli(["completion", shell], { home: home.path })).out);
  await writeFile(join(home.path, "names"), names.map((name) => `home:/${name}\tfile\n`).join(""));
  const croft = join(home.path, "croft");
  await writeFile(
    croft,
    `#!/bin/sh
shift 2 # __complete --
printf '%s\\n' "$*" >> "\${0%/*}/asked"
case "$*" in
*home:/*) cat "\${0%/*}/names" ;;
"vault item "*) printf '%s\\tfolder\\n' 'home:/' 'nas:/' ;;
*) printf '%s\\tdescribed\\n' one two ;;
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
  const sent = await readFile(join(home.path, "asked"), "utf8").catch(() => undefined);
  return {
    offered: ran.stdout.split("\n").filter((word) => word !== ""),
    sent: sent?.replace(/\n$/, ""),
  };
}

/** Returns bash's completions of the last word of a line. */
function completeInBash(line: string, breaks = " \t\n\"'><=;|&(:"): Promise<ShellCompletion> {
  const words = line.split(" ").map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const program = `source ./script; COMP_WORDBREAKS='${breaks.replaceAll("'", "'\\''")}'; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _croft; printf '%s\n' "\${COMPREPLY[@]}"`;
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
    ["croft config get ", ["one", "two"]],
    ["croft version --profile ", ["one", "two"]],
    ["croft --profile ", ["one", "two"]],
    ["croft job list --state w", ["waiting"]],
    ["croft admin user edit mira --admin ", ["true", "false"]],
    ["croft issue edit mira/notes#1 --label b", []],
    ["croft issue list mira/notes --state ", ["open", "closed", "all"]],
    ["croft issue list mira/notes -s ", ["open", "closed", "all"]],
    ["croft issue create mira/notes ", []],
    ["croft repo view ", ["one", "two"]],
    ["croft repo branch view mira/notes ", ["one", "two"]],
    ["croft repo branch create mira/notes ", []],
    ["croft notification mark 1 2 ", ["one", "two"]],
    ["croft vault item download --output ", []],
    ["croft vault item upload x", []],
    ["croft vault item upload x n", ["nas:/"]],
    ["croft vault item list n", ["nas:/"]],
    ["croft vault item ls n", ["nas:/"]],
    // Readline splits the word at the equals sign too.
    ["croft issue list mira/notes --state = o", ["open"]],
    ["croft issue list mira/notes --state =", ["open", "closed", "all"]],
    ["croft issue list --state=o mira/notes --state = c", ["closed"]],
    ["croft issue list --repo = t", ["two"]],
    ["croft version --profile = ", ["one", "two"]],
    // Readline splits the word at the colon: the part before it is on the line already.
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
    ["croft token create x --scope write : rep", ["repository"]],
    // Within quotes a colon ends no word, and other characters are special.
    ['croft vault item cat "home:/$', ["home:/\\$(touch pwned)"]],
    ['croft vault item cat "home:/q', ["home:/q\\`x\\`.txt"]],
    ["croft vault item cat 'home:/ä", ["home:/ä'\\''s.txt"]],
    ["croft vault connection view ", ["one", "two"]],
  ])("%s is completed", async (line, words) => {
    expect((await completeInBash(line)).offered).toEqual(words);
  });

  test.each([
    ["croft issue list mira/notes --state=o", ["--state=open"]],
    ["croft issue list --repo=", ["--repo=one", "--repo=two"]],
    ["croft vault item download --output=scr", ["--output=script"]],
  ])("%s is one word, and completed whole, where equals signs end no word", async (line, words) => {
    expect((await completeInBash(line, " \t\n")).offered).toEqual(words);
  });

  test.each([
    ["croft repo branch view mira/notes ma", "repo branch view mira/notes ma"],
    ["croft --profile work vault item ls ho", "--profile work vault item ls ho"],
    ["croft vault item copy 'home:/a&b' nas : /x\\y", "vault item copy home:/a&b nas:/xy"],
    ["croft issue view mira/notes#", "issue view mira/notes#"],
    // The script does not call croft for fixed words or for free text.
    ["croft repo branch create mira/notes x", undefined],
    ["croft job list --state w", undefined],
    ["croft issue view --js", undefined],
  ])("%s sends the words of the line", async (line, sent) => {
    expect((await completeInBash(line)).sent).toBe(sent);
  });
});

/** Returns the arguments of zsh's own functions, which quote by themselves. `quote` is the open quote. */
function completeInZsh(line: string, quote: string): Promise<ShellCompletion> {
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
    ["croft job list --state ", "", expect.arrayContaining(["waiting"])],
    ["croft repo branch view mira/notes ", "", ["one", "two"]],
    ["croft repo branch create mira/notes ", "", []],
    ["croft vault item download --output ", "", ["files"]],
    ["croft job list --state=w", "", expect.arrayContaining(["waiting"])],
    ["croft issue list --repo=o", "", ["one", "two"]],
    ["croft vault item download --output=x", "", ["files"]],
    ["croft vault item upload x", "", ["home:/", "nas:/", "files"]],
    ["croft vault item put home:/", "", expect.not.arrayContaining(["files"])],
    ["croft vault item ls home:/", "", ["home:/docs/", "home:/back\\slash/", ...files()]],
    ["croft vault item ls home:/", '"', ["home:/docs/", "home:/back\\slash/", ...files()]],
  ])("%s is completed (in quotes %j)", async (line, quote, words) => {
    expect((await completeInZsh(line, quote)).offered).toEqual(words);
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
    ["croft job list --state w", ["waiting"]],
    ["croft job list --state=w", ["--state=waiting"]],
    ["croft issue list --repo=t", ["--repo=two"]],
    ["croft vault item download --output=scr", ["--output=script"]],
    ["croft repo branch view mira/notes ", ["one", "two"]],
    ["croft repo branch create mira/notes ", []],
    ["croft vault item ls n", ["nas:/"]],
    ["croft vault item ls home:/do", ["home:/docs/"]],
    ["croft vault item cat home:/a\\ b", ["home:/a b.txt"]],
    ['croft vault item cat "home:/a b', ["home:/a b.txt"]],
    ["croft vault item cat 'home:/ä", ["home:/ä's.txt"]],
    ["croft vault item put script home:/ba", ["home:/back\\slash/"]],
    ["croft vault item download --output scr", ["script"]],
  ])("%s is completed", async (line, words) => {
    const quoted = `'${line.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    const { offered } = await askShell(
      "fish",
      ["--no-config", "-c"],
      `source ./script; complete -C ${quoted}`,
    );
    expect(offered.map((one) => one.split("\t")[0]).sort()).toEqual([...words].sort());
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
