import { expect, test } from "vitest";
import { isEnabled, toTaskList } from "../../../../../daemon/forge/cron/gitea-tasks.ts";
import type { CronTask } from "../../../../../daemon/jobs/cron-task.ts";

const task = (name: string): CronTask => ({
  name,
  schedule: "@midnight",
  run: async () => undefined,
});

test("the list of tasks has Gitea's in Gitea's order, then those of croft alone", () => {
  const list = toTaskList([task("export_audit"), task("cleanup_actions"), task("git_gc_repos")]);
  const names = list.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.at(0)).toBe("update_mirrors");
  expect(names.at(-1)).toBe("export_audit");
  expect(list.filter(isEnabled).map(({ name }) => name)).toEqual([
    "git_gc_repos",
    "cleanup_actions",
    "export_audit",
  ]);
});

test("a task of Gitea that croft does not have is listed with the schedule of a disabled one", () => {
  const [first] = toTaskList([]);
  expect(first).toEqual({ name: "update_mirrors", schedule: "-" });
});
