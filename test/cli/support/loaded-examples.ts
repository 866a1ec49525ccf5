import { createContext } from "../../../cli/context.ts";
import { neverStopping } from "../../../cli/report.ts";
import { commands } from "../../../cli/program.ts";
import { loadAllCommands } from "../../../cli/tree/command-tree.ts";
import type { Example } from "../../../cli/tree/entry.ts";
import { fakeSystem } from "./run-cli.ts";

/** The examples of each visible command by its words, such as `admin user list`. */
export async function loadExamplesByLine(): Promise<Readonly<Record<string, readonly Example[]>>> {
  const loaded = await loadAllCommands(
    createContext(fakeSystem({ home: "/nowhere" }), neverStopping),
    commands,
  );
  const visible = loaded.filter(({ hidden }) => !hidden);
  return Object.fromEntries(visible.map(({ line, examples }) => [line, examples]));
}
