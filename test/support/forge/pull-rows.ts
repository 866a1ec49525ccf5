import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import { insertUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { insertIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertPull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { insertRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "./forge-rows.ts";

/**
 * Makes a repository in an empty folder, with the branch `topic` and a file that names `otto` as an owner, and the rows of a
 * pull request of mira from it.
 */
export async function insertPullRows(db: Database, directory: string): Promise<IssueId> {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Mira", "-c", "user.email=mira@croft.example", ...args], {
      cwd: directory,
      encoding: "utf8",
    }).trim();
  /** Commits a file and returns the commit. */
  function commit(path: string, text: string): string {
    writeFileSync(join(directory, path), text);
    git("add", ".");
    git("commit", "-q", "-m", path);
    return git("rev-parse", "HEAD");
  }
  mkdirSync(join(directory, "docs"));
  git("init", "-q", "-b", "main");
  const baseCommit = commit("docs/CODEOWNERS", ".*\\.txt @otto\n");
  git("switch", "-q", "-c", "topic");
  const headCommit = commit("notes.txt", "a note");
  return db.transaction(async (tx) => {
    const mira = await insertUser(tx, newUserRow("mira", {}));
    await insertUser(tx, newUserRow("otto", {}));
    const repository = await insertRepository(tx, newRepositoryRow(mira, "notes", {}));
    const issue = await insertIssue(tx, {
      repositoryId: repository.id,
      authorId: mira.id,
      title: "Add a note",
      body: "",
      ref: "",
      isClosed: false,
      dueAt: undefined,
      isPull: true,
    });
    await insertPull(tx, {
      issueId: issue.id,
      repositoryId: repository.id,
      baseBranch: "main",
      headRepositoryId: repository.id,
      headBranch: "topic",
      headCommit,
      baseCommit,
      allowsMaintainerEdit: false,
    });
    return issue.id;
  });
}
