import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createPool } from "../../../../storage/engine/postgres-pool.ts";

test("an address with sslmode=require makes the driver say nothing on standard error", async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(warning.message);
  process.on("warning", note);
  try {
    // Port 9 answers nobody; the mode is read before that.
    const pool = await createPool("postgres://croft@127.0.0.1:9/croft?sslmode=require");
    await expect(pool.connect()).rejects.toThrow("ECONNREFUSED");
    await pool.end();
    await setImmediate();
  } finally {
    process.off("warning", note);
  }
  expect(warnings).toEqual([]);
});
