import { expect } from "vitest";
import type { TestDaemon } from "../daemon.ts";
import type { ForgePeople } from "./forge-people.ts";
import type { GitClient } from "./git-client.ts";

/** Repositories with branches and pull requests, of a person `mira` who exists. */
export function createPullRepositories(
  daemon: () => TestDaemon,
  people: ForgePeople,
  git: () => GitClient,
) {
  const { by } = people;
  return {
    /** Creates a repository with branches that add a file of their name. Returns its path. */
    async create(branches: readonly string[], fields: object = {}): Promise<string> {
      const name = await people.newRepository("mira", { auto_init: true, ...fields });
      const path = `/repos/mira/${name}`;
      for (const branch of branches) await addFile(path, branch, `${branch}.txt`, `${branch}\n`);
      return path;
    },
    addFile,

    /** Opens a pull request into `main`. */
    open: (path: string, head: string, more: object = {}, who = "mira") =>
      by(who, "POST", `${path}/pulls`, { head, base: "main", title: `Merge ${head}`, ...more }),

    async headOf(path: string, branch: string): Promise<string> {
      return (await by("mira", "GET", `${path}/branches/${branch}`)).json.commit.id;
    },

    /** Waits until a pull request has these members. */
    async expectPull(path: string, number: number, members: object): Promise<void> {
      await expect
        .poll(async () => (await by("mira", "GET", `${path}/pulls/${number}`)).json, {
          interval: 20,
          timeout: 60_000,
        })
        .toMatchObject(members);
    },

    /** The address of a repository for git, with the credentials of a person. */
    addressOf(path: string, who = "mira"): string {
      const start = daemon().url.replace("://", `://${who}:${people.tokenOf(who)}@`);
      return `${start}${path.replace("/repos", "")}.git`;
    },

    /** Clones a repository into a folder and checks out a branch. */
    async clone(path: string, folder: string, branch: string, who = "mira"): Promise<void> {
      const cloned = await git().run(
        "clone",
        "-q",
        "-b",
        branch,
        this.addressOf(path, who),
        folder,
      );
      expect(cloned.exitCode).toBe(0);
    },
  };

  /** Adds a file to a branch, which is made from `main` when it is missing. */
  async function addFile(path: string, branch: string, name: string, text: string) {
    const exists = (await by("mira", "GET", `${path}/branches/${branch}`)).status === 200;
    const added = await by("mira", "POST", `${path}/contents/${name}`, {
      content: Buffer.from(text).toString("base64"),
      message: `Add ${name}`,
      ...(exists ? { branch } : { new_branch: branch }),
    });
    expect(added.status).toBe(201);
  }
}
