import { join } from "node:path";
import type { ExpressionValue } from "../../../daemon/workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../../../daemon/workflows/mapping.ts";
import {
  parseYaml,
  PayloadError,
  type StepDefinition,
  toMapping,
  toSteps,
} from "../job/payload.ts";
import { findRealPath, JobFileError, readJobFile } from "../files/job-files.ts";

/** The description of an action. */
export interface ActionFile {
  readonly name: string;
  readonly inputs: readonly ActionInput[];
  readonly runs: ActionRuns;
}

interface ActionInput {
  readonly name: string;
  readonly isRequired: boolean;
  /** May be an expression. */
  readonly default: ExpressionValue;
}

type ActionRuns =
  | {
      readonly using: "composite";
      readonly steps: readonly StepDefinition[];
      /** Templates by the name of the output. */
      readonly outputs: Mapping;
    }
  | {
      readonly using: "node";
      readonly main: string;
      readonly pre: string | undefined;
      readonly preIf: string;
      readonly post: string | undefined;
      readonly postIf: string;
    };

const FILE_BYTES_MAX = 1024 * 1024;

/**
 * Reads `action.yml` or `action.yaml` of a folder within `root`. Undefined without such a file.
 * @throws PayloadError for an invalid file, for a kind of action that is not supported, and for a folder outside of `root`
 */
export async function readActionFile(
  root: string,
  folder: string,
): Promise<ActionFile | undefined> {
  for (const name of ["action.yml", "action.yaml"]) {
    const path = join(folder, name);
    // A link within the repository is followed; one that leads elsewhere is refused below.
    const text = await read(root, (await findRealPath(root, path)) ?? path, name);
    if (text !== undefined) return toActionFile(parseYaml(text, name));
  }
  return undefined;
}

async function read(root: string, path: string, name: string): Promise<string | undefined> {
  try {
    return await readJobFile(root, path, FILE_BYTES_MAX);
  } catch (error) {
    if (error instanceof JobFileError) throw new PayloadError(`${name}: ${error.message}`);
    throw error;
  }
}

function toActionFile(file: Mapping): ActionFile {
  return {
    name: String(file["name"] ?? ""),
    inputs: Object.entries(toMapping(file["inputs"])).map(([name, value]) => ({
      name,
      isRequired: isMapping(value) && value["required"] === true,
      default: isMapping(value) ? (value["default"] ?? "") : "",
    })),
    runs: toRuns(toMapping(file["runs"]), toMapping(file["outputs"])),
  };
}

function toRuns(runs: Mapping, outputs: Mapping): ActionRuns {
  const using = String(runs["using"] ?? "");
  const text = (key: string) => (typeof runs[key] === "string" ? runs[key] : undefined);
  if (using === "composite")
    return {
      using,
      steps: toSteps(runs["steps"]),
      outputs: Object.fromEntries(
        Object.entries(outputs).map(([name, value]) => [name, toMapping(value)["value"] ?? ""]),
      ),
    };
  const main = text("main");
  if (/^node\d+$/.test(using) && main !== undefined)
    return {
      using: "node",
      main,
      pre: text("pre"),
      preIf: text("pre-if") ?? "always()",
      post: text("post"),
      postIf: text("post-if") ?? "always()",
    };
  throw new PayloadError(
    using === "docker"
      ? "actions that are container images are not supported"
      : `runs.using ${JSON.stringify(using)} is not supported: composite or node with main`,
  );
}
