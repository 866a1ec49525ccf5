import type { Setting } from "./declare.ts";
import { otherVariables } from "./declare.ts";
import { listSettings, toKey, toVariable } from "./settings.ts";

/** The reference page of all settings as Markdown. `docs/settings.md` is this text; a test compares. */
export function toSettingsReference(): string {
  const groups = Map.groupBy(listSettings(), ([, declared]) => declared.group);
  const sections = [...groups].map(([group, entries]) =>
    [
      `## ${group}`,
      "",
      "| Key | Variable | Flag | Default | Meaning |",
      "| --- | --- | --- | --- | --- |",
      ...entries.map(([name, declared]) =>
        row([
          declared.outsideFile ? "" : code(toKey(name)),
          code(toVariable(name)),
          declared.flag === undefined ? "" : code(declared.flag.split(" ")[0] ?? ""),
          defaultOf(declared),
          `${declared.help}. Takes ${declared.type.takes}.${declared.secret ? " Secret: never printed." : ""}`,
        ]),
      ),
    ].join("\n"),
  );
  const others = Object.entries(otherVariables).map(([name, help]) => row([code(name), help]));
  return `${[introduction, ...sections, ["## Other variables", "", "| Variable | Meaning |", "| --- | --- |", ...others].join("\n")].join("\n\n")}\n`;
}

const introduction = `# Settings

<!-- Generated from daemon/settings/settings.ts: run \`npx vitest run test/unit/daemon/settings -u\` after a change there. -->

A flag is stronger than an environment variable, a variable than the config file, the file than the default. Every
variable has a twin that ends in \`_FILE\` and names a file with the value, as container secrets do. An empty variable
counts as unset. Unknown keys and wrong types stop the program with exit code 2 and one line for each mistake. An unknown
\`CROFT_\` variable stops \`croft serve\`; other commands warn of it. \`croft config list\` shows every value and where it came from.

The config file is YAML, one \`key: value\` a line: it takes comments and lists, and \`croft config set\` changes one line
and keeps the rest. With \`CROFT_HOME\` it is \`config.yaml\` in that folder, which is the data folder too; \`state/\` below it
holds what can be lost. Without it:

| | Linux and others | macOS | Windows |
| --- | --- | --- | --- |
| Config file | \`$XDG_CONFIG_HOME/croft/config.yaml\` (\`~/.config\`) | \`~/Library/Application Support/croft/config.yaml\` | \`%APPDATA%\\croft\\config.yaml\` |
| Data folder | \`$XDG_DATA_HOME/croft\` (\`~/.local/share\`) | \`~/Library/Application Support/croft\` | \`%LOCALAPPDATA%\\croft\\data\` |
| State | \`$XDG_STATE_HOME/croft\` (\`~/.local/state\`) | \`state\` in the data folder | \`%LOCALAPPDATA%\\croft\\state\` |
| Cache | \`$XDG_CACHE_HOME/croft\` (\`~/.cache\`) | \`~/Library/Caches/croft\` | \`%LOCALAPPDATA%\\croft\\cache\` |

A relative path starts in the folder of the config file, or in the working directory when a flag or variable gives it;
\`~/\` is the home directory.`;

function defaultOf(declared: Setting<unknown>): string {
  if (declared.defaultText !== undefined) {
    return declared.defaultText;
  }
  const nowhere = {
    home: undefined,
    configFile: "",
    configDirectory: "",
    dataDirectory: "",
    stateDirectory: "",
    cacheDirectory: "",
  };
  const value = declared.default({ paths: nowhere, platform: "linux" });
  const displayed = declared.type.show ? declared.type.show(value) : value;
  return code(Array.isArray(displayed) ? displayed.join(",") : String(displayed));
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
