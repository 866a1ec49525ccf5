import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { skipUnless } from "../../../support/skip.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;
const has = (program: string) => spawnSync(program, ["-c", "true"]).status === 0;

test.each(shells)("the script for %s asks croft", async (shell) => {
  const ran = await runCli(["completion", shell], { home: "/nowhere" });
  expect(ran.code).toBe(0);
  expect(ran.out).toContain("croft __complete ");
  expect(ran.out).not.toContain("undefined");
  const { json } = await runCli(["completion", shell, "--json"], { home: "/nowhere" });
  expect(json()).toEqual({ shell, script: ran.out });
});

test.each([
  ["'a b", "a b"],
  ["'it''s'", "it's"],
  ['"a b', "a b"],
  ['"say ""hi"" for `$5"', 'say "hi" for $5'],
  ['--repo="keeper/no', "--repo=keeper/no"],
  ["--title='The gate", "--title=The gate"],
  ["--title=The` gate", "--title=The gate"],
  ["keeper/notes#7", "keeper/notes#7"],
  ["", ""],
])("the script for PowerShell reads the typed word %s as %s", async (typed, plain) => {
  const { out } = await runCli(["completion", "powershell"], { home: "/nowhere" });
  const [, pattern = ""] = /::Replace\(\$wordToComplete, '(.+)', \{$/m.exec(out) ?? [];
  // .NET reads the expression as JavaScript does. The replacements are those of the script.
  const expression = new RegExp(pattern.replaceAll("''", "'"), "g");
  const read = typed.replace(
    expression,
    (found: string, single: string = "", double: string = "", escaped: string = "") => {
      if (found.startsWith("'")) return single.replaceAll("''", "'");
      if (!found.startsWith('"')) return escaped;
      return double.replaceAll('""', '"').replaceAll(/`(.)/g, "$1");
    },
  );
  expect(read).toBe(plain);
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
*"--output="*) printf '\\tfiles\\n' ;;
*"--output "*) printf '\\tfiles\\n' ;;
*--state=*) printf '%s\\t\\n' --state=open --state=closed '--state=too heated' ;;
*write:*) printf '%s\\t\\n' write:issue write:repository ;;
"vault item upload "*) printf '%s\\tfolder\\n' 'home:/' 'nas:/'; printf '\\tfiles\\n' ;;
"nothing "*) ;;
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
    ["croft ", ["one", "two"]],
    ["croft nothing ", []],
    // Readline splits the word at the equals sign too.
    ["croft issue list --state = o", ["open", "closed", "too\\ heated"]],
    ["croft issue list --state =", ["open", "closed", "too\\ heated"]],
    ["croft vault item download --output = scr", []],
    // Readline splits the word at the colon: the part before it is on the line already.
    [
      "croft vault item cat home : /",
      [
        "/docs/",
        "/a\\ b.txt",
        "/ä\\'s.txt",
        "/back\\\\slash/",
        "/\\$\\(touch\\ pwned\\)",
        "/q\\`x\\`.txt",
      ],
    ],
    ["croft token create x --scope write : rep", ["issue", "repository"]],
    // Within quotes a colon ends no word, and other characters are special.
    [
      'croft vault item cat "home:/',
      expect.arrayContaining(["home:/\\$(touch pwned)", "home:/q\\`x\\`.txt"]),
    ],
    ["croft vault item cat 'home:/", expect.arrayContaining(["home:/ä'\\''s.txt"])],
  ])("%s is completed", async (line, words) => {
    expect((await completeInBash(line)).offered).toEqual(words);
  });

  test.each([
    ["croft issue list --state=o", ["--state=open", "--state=closed", "--state=too\\ heated"]],
    ["croft vault item download --output=scr", ["--output=script"]],
  ])("%s is one word, and completed whole, where equals signs end no word", async (line, words) => {
    expect((await completeInBash(line, " \t\n")).offered).toEqual(words);
  });

  test.each([
    ["croft repo branch view mira/notes ma", "repo branch view mira/notes ma"],
    ["croft --profile work vault item ls ho", "--profile work vault item ls ho"],
    ["croft vault item copy 'home:/a&b' nas : /x\\y", "vault item copy home:/a&b nas:/xy"],
    ["croft issue view mira/notes#", "issue view mira/notes#"],
    ["croft issue list --state = 'o", "issue list --state=o"],
    ["croft ", ""],
  ])("%s sends the words of the line", async (line, sent) => {
    expect((await completeInBash(line)).sent).toBe(sent);
  });
});

/** Returns the arguments of zsh's own functions, which quote by themselves. `quote` is the open quote. */
function completeInZsh(line: string, quote: string): Promise<ShellCompletion> {
  const words = line.split(" ").map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const program = `compdef() { :; }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@"; }
compset() { :; }
_files() { print files; }
source ./script
words=(${words.join(" ")}) CURRENT=${words.length} PREFIX=\${words[-1]} QIPREFIX=${quote === "" ? "" : `\\${quote}`}
_croft`;
  return askShell("zsh", ["-f", "-c"], program);
}

skipUnless(has("zsh"), "zsh is not installed").describe("in zsh", () => {
  test.each([
    ["croft ", "", ["one", "two"]],
    ["croft nothing ", "", []],
    ["croft issue list --state=o", "", ["--state=open", "--state=closed", "--state=too heated"]],
    ["croft vault item download --output ", "", ["files"]],
    ["croft vault item download --output=x", "", ["files"]],
    ["croft vault item upload x", "", ["home:/", "nas:/", "files"]],
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
    ["croft ", ["one", "two"]],
    ["croft nothing ", []],
    ["croft issue list --state=o", ["--state=open"]],
    ["croft vault item download --output=scr", ["--output=script"]],
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
