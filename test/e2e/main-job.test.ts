import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { mainJob } from "./main-job.ts";

test("the main job runs end to end on the built command", async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-main-job-"));
  try {
    await mainJob([process.execPath, join(import.meta.dirname, "../../bin/croft.js")], home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
