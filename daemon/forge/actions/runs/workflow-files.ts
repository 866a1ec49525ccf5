import { type FolderFile, readFolderFiles } from "../../../../storage/git/folder-files.ts";
import type { Git } from "../../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { parseWorkflow, type Workflow } from "../workflows/workflow.ts";
import { WORKFLOW_BYTES_MAX, WorkflowError } from "../workflows/yaml-source.ts";
import { nextCronTime } from "./cron-times.ts";

/** Files of one commit that make runs. */
const FILES_MAX = 50;
/** Folders of workflow files; the first that has any hides the other. */
const FOLDERS = [".gitea/workflows", ".github/workflows"] as const;

export interface WorkflowFileDeps {
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

/** The workflow files of a commit, and the folder that has them. */
export interface WorkflowFiles {
  readonly folder: string;
  readonly files: readonly FolderFile[];
}

/** Returns the workflow files of a commit. @throws GitError */
export async function readWorkflowFiles(
  { git, locate }: WorkflowFileDeps,
  repository: ForgeRepository,
  commit: string,
): Promise<WorkflowFiles> {
  const directory = await locate(repository);
  for (const folder of FOLDERS) {
    const limits = { filesMax: FILES_MAX, bytesMax: WORKFLOW_BYTES_MAX };
    const files = await readFolderFiles(git, directory, {
      commit,
      folder,
      name: /^[^/]+\.ya?ml$/i,
      ...limits,
    });
    if (files.length > 0) return { folder, files };
  }
  return { folder: FOLDERS[0], files: [] };
}

/** Returns whether a repository runs workflows. */
export function hasActions({ settings, archivedAt }: ForgeRepository): boolean {
  return settings["has_actions"] !== false && archivedAt === undefined;
}

/** Parses a file; returns the reason with file and line when it is invalid. */
export function readWorkflow(file: string, text: string | undefined): Workflow | string {
  if (text === undefined) return `${file}:1: a workflow has at most ${WORKFLOW_BYTES_MAX} bytes`;
  try {
    const workflow = parseWorkflow(text);
    const times = workflow.triggers["schedule"]?.cron ?? [];
    const wrong = times.find((time) => nextCronTime(time, 0) === undefined);
    return wrong === undefined
      ? workflow
      : `${file}:1: on.schedule has the invalid time ${JSON.stringify(wrong)}`;
  } catch (error) {
    if (error instanceof WorkflowError) return `${file}:${error.line}: ${error.message}`;
    throw error;
  }
}
