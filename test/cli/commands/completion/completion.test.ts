import { spawnSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
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

/** What bash offers for a line whose last word is being typed. */
async function completeInBash(line: string): Promise<string[]> {
  await using home = await temporaryHome();
  const { out } = await runCli(["completion", "bash"], { home: home.path });
  const script = join(home.path, "completion.bash");
  // A croft that answers for values, so that no real one is asked.
  const croft = join(home.path, "croft");
  await writeFile(
    croft,
    `#!/bin/sh
case "$2 $3" in
"items home:/"*) printf '%s\\tfile\\n' 'home:/docs/' 'home:/a b.txt' 'home:/$(touch pwned)' ;;
items*) printf '%s\\tfolder\\n' 'home:/' 'nas:/' ;;
*) printf '%s\\tdescribed\\n' "$2-one" "$2-two" ;;
esac
`,
  );
  await chmod(croft, 0o700);
  await writeFile(script, out);
  const words = line.split(" ").map((word) => `'${word}'`);
  const program = `source ${script}; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _croft; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const ran = spawnSync("bash", ["--norc", "--noprofile", "-c", program], {
    env: { PATH: `${home.path}:${process.env["PATH"]}` },
    encoding: "utf8",
  });
  expect(ran.stderr).toBe("");
  return ran.stdout.split("\n").filter((word) => word !== "");
}

skipUnless(has("bash"), "bash is not installed").describe("in bash", () => {
  test.each([
    ["croft adm", ["admin"]],
    ["croft daemon st", ["status", "stop"]],
    ["croft admin user li", ["list"]],
    ["croft --profile work admin user li", ["list"]],
    ["croft admin user list --sea", ["--search"]],
    ["croft config list --format ", ["json", "csv", "tsv", "yaml"]],
    ["croft config get ", ["settings-one", "settings-two"]],
    ["croft version --profile ", ["profiles-one", "profiles-two"]],
    ["croft vault item upload ", []],
    ["croft vault item list n", ["nas:/"]],
    // As readline takes it apart: what stands before the colon is on the line already.
    ["croft vault item list home :", ["/"]],
    ["croft vault item list home : /", ["/docs/", "/a\\ b.txt", "/\\$\\(touch\\ pwned\\)"]],
    ["croft vault item cat home : /do", ["/docs/"]],
    ["croft vault connection view ", ["connections-one", "connections-two"]],
  ])("%s is completed", async (line, words) => {
    expect(await completeInBash(line)).toEqual(words);
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
  test("of a kind are printed with what they are", async () => {
    await using home = await temporaryHome();
    await runCli(["profile", "add", "work", "--url", "https://croft.example"], { home: home.path });
    expect((await runCli(["__complete", "profiles"], { home: home.path })).out).toBe(
      "work\thttps://croft.example\n",
    );
    expect((await runCli(["__complete", "settings"], { home: home.path })).out).toContain(
      "public_url\t",
    );
  });

  test("of connections come from the daemon", async () => {
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

  test("of items come folder by folder, without names that a terminal would act on", async () => {
    await using home = await temporaryHome();
    const connection = { id: "c1", display_name: "home", provider: "local_folder" };
    const items = [
      { name: "docs", kind: "folder", provider_item_id: "docs" },
      { name: "a b.txt", kind: "file", provider_item_id: "a" },
      { name: "x\u001b]0;y\u0007", kind: "file", provider_item_id: "x" },
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
    expect(await complete("home:/do")).toBe("home:/docs/\tfolder\nhome:/a b.txt\tfile\n");
  });

  test("that cannot be had are none, quietly", async () => {
    const ran = await runCli(["__complete", "connections"], { home: "/nowhere" });
    expect(ran).toMatchObject({ code: 0, out: "", err: "" });
  });
});
