import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTemplates } from "../../../../../daemon/forge/templates/templates.service.ts";

test("templates that could not be read are read again when they are asked for", async () => {
  const customDirectory = await mkdtemp(join(tmpdir(), "croft-templates-"));
  onTestFinished(() => rm(customDirectory, { recursive: true }));
  const templates = createTemplates({ customDirectory, warn: expect.unreachable });
  const folder = join(customDirectory, "gitignore");
  await symlink(folder, folder);
  await expect(templates.listIgnoreFiles()).rejects.toMatchObject({ code: "ELOOP" });
  await rm(folder);
  await mkdir(folder);
  await writeFile(join(folder, "Own"), "own\n");
  expect(await templates.listIgnoreFiles()).toContain("Own");
  expect(await templates.findIgnoreFile("Own")).toBe("own\n");
});
