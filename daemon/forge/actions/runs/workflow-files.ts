import type { Database } from "../../../../storage/engine/database.ts";
import { type FolderFile, readFirstFolderFiles } from "../../../../storage/git/folder-files.ts";
import type { Git } from "../../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { followMoves } from "../../git/run-in-folder.ts";
import { WORKFLOW_BYTES_MAX } from "../../../workflows/yaml-source.ts";
import type { WorkflowParser } from "./workflow-parser.ts";

/** Maximum number of workflow files of one commit; a push of more has a failed run that says so (docs/workflows.md). */
const FILES_MAX = 200;
/** Folders of workflow files. The first one with files hides the other. */
const FOLDERS = [".gitea/workflows", ".github/workflows"] as const;

export interface WorkflowFileDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly parser: Pick<WorkflowParser, "parse">;
}

/** The workflow files of a commit, and the folder that has them. */
export interface WorkflowFiles {
  readonly folder: string;
  /** The first ones by name, up to the maximum. */
  readonly files: readonly FolderFile[];
  /** The name of the first file beyond the maximum. */
  readonly beyond: string | undefined;
}

/** Returns the workflow files of a commit. @throws GitError */
export function readWorkflowFiles(
  deps: WorkflowFileDeps,
  repository: ForgeRepository,
  commit: string,
): Promise<WorkflowFiles> {
  return followMoves(deps.db, repository, (current) => readFiles(deps, current, commit));
}

async function readFiles(
  { git, locate }: WorkflowFileDeps,
  repository: ForgeRepository,
  commit: string,
): Promise<WorkflowFiles> {
  const found = await readFirstFolderFiles(git, await locate(repository), {
    commit,
    folders: FOLDERS,
    name: /^[^/]+\.ya?ml$/i,
    filesMax: FILES_MAX + 1,
    bytesMax: WORKFLOW_BYTES_MAX,
  });
  if (found === undefined) return { folder: FOLDERS[0], files: [], beyond: undefined };
  const { folder, files } = found;
  return { folder, files: files.slice(0, FILES_MAX), beyond: files[FILES_MAX]?.name };
}

/** Returns why the first file beyond the maximum does not run. */
export function toExcessReason(folder: string, beyond: string): string {
  return `${folder} has more than ${FILES_MAX} workflow files: ${beyond} and those after it by name do not run`;
}
