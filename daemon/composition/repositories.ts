import { createGit, GitError } from "../../storage/git/git.ts";
import { createGitLauncher } from "../../storage/git/git-launcher.ts";
import { openRepositoryFiles } from "../../storage/git/repository-files.ts";
import { createRepositoryFolders } from "../forge/repositories/repository-folders.ts";
import type { ServiceDeps } from "./services.ts";

/** The files of repositories. */
export type OpenRepositories = Awaited<ReturnType<typeof openRepositories>>;

/**
 * Opens the repository folder, and completes or undoes interrupted changes there. Without git on `PATH` it logs a warning,
 * and everything except repositories works.
 */
export async function openRepositories(deps: ServiceDeps) {
  const { db, input, queue, log, newId } = deps;
  const directory = input.settings.repositoriesDir;
  const searchPath = process.env["PATH"] ?? "";
  const launcher = createGitLauncher({
    program: input.scriptProgram ?? [process.execPath],
    searchPath,
    onLost: (reason) => log.warn({ err: reason }, "lost the process that runs git"),
  });
  const git = createGit({ searchPath, launcher: input.gitLauncher ?? launcher });
  const files = await openRepositoryFiles({ git, root: directory });
  const isAlone = db.dialect === "sqlite";
  const folders = createRepositoryFolders({ db, git, files, newId, log, isAlone, jobs: queue });
  await folders.recover();
  await git.run(["--version"], { directory }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error;
    log.warn({ err: error }, "failed to run git: repositories are unavailable");
  });
  return {
    git,
    files,
    folders,
    /** Whether no other process uses the same folder: with PostgreSQL several daemons may. */
    isAlone,
    close: launcher.close,
  };
}
