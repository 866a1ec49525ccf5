import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { runCli, temporaryHome } from "../cli/support/run-cli.ts";
import { skipUnless } from "../support/skip.ts";
import { hasTmux, openTmux } from "../support/tmux.ts";

// The shells themselves in a terminal: the screen after a Tab. croft completes words; a stand-in lists names as a daemon would.

/** Names that a shell must quote, and the beginning of each. */
const names = [
  ["a", "a b.txt", "a\\ b.txt"],
  ["q", "q'uote $(touch pwned).txt", "q\\'uote\\ \\$\\(touch\\ pwned\\).txt"],
  ["d", "docs/", "docs/"],
  ["m", "my folder/", "my\\ folder/"],
] as const;

/** How each shell is started with its script, without the configuration of the machine. */
const shells = {
  bash: "bash --norc",
  zsh: "zsh -f",
  fish: "fish --no-config",
} as const;

const loads = {
  bash: "PS1='ready> '; source ./script",
  zsh: "fpath=(./functions $fpath); autoload -U compinit; compinit -u; PS1='ready> '",
  fish: "source ./script; function fish_prompt; echo -n 'ready> '; end",
} as const;

for (const shell of ["bash", "zsh", "fish"] as const) {
  const isThere = hasTmux && spawnSync(shell, ["-c", "true"]).status === 0;
  skipUnless(isThere, `tmux or ${shell} is not installed`)(
    `${shell} completes words of croft and names of the daemon, and quotes them`,
    async () => {
      await using home = await temporaryHome();
      const script = (await runCli(["completion", shell], { home: home.path })).out;
      await mkdir(join(home.path, "functions"));
      for (const file of ["script", "functions/_croft"])
        await writeFile(join(home.path, file), script);
      const lines = names.map(([, name]) => `home:/${name}\tfile\n`).join("");
      await writeFile(join(home.path, "names"), lines);
      const croft = join(import.meta.dirname, "..", "..", "bin", "croft.js");
      await writeFile(
        join(home.path, "croft"),
        `#!/bin/sh
for last; do :; done
case "$last" in
home:/*) grep -F "$last" '${home.path}/names' ;;
*) exec '${process.execPath}' '${croft}' "$@" ;;
esac
`,
        { mode: 0o700 },
      );
      await using terminal = await openTmux(shells[shell], {
        columns: 100,
        rows: 24,
        cwd: home.path,
        env: { HOME: home.path, PATH: `${home.path}:${process.env["PATH"]}` },
      });
      await terminal.press(/[$#%>] *$/m, loads[shell], "Enter");
      await terminal.press(/ready> *$/m, "croft milestone cr", "Tab");
      await terminal.press("croft milestone create", "C-c");
      await terminal.press(/ready> *$/m, "croft job list --state=w", "Tab");
      await terminal.press("croft job list --state=waiting", "C-c");
      for (const [begin, , quoted] of names) {
        await terminal.press(/ready> *$/m, `croft vault item cat home:/${begin}`, "Tab");
        await terminal.sees(`croft vault item cat home:/${quoted}`);
        // The line is left without being run.
        await terminal.press(quoted, "C-c");
      }
      // A second Tab goes on behind the quote that the first one has closed, and must not lose it.
      if (shell === "bash") {
        await terminal.press(/ready> *$/m, "croft vault item cat 'home:/m", "Tab");
        await terminal.press("'home:/my folder/'", "Tab");
        await terminal.sees("croft vault item cat home:/my\\ folder/");
      }
      expect(existsSync(join(home.path, "pwned"))).toBe(false);
    },
  );
}
