import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createPool, toServerName } from "../../../../storage/engine/postgres-pool.ts";

test("an address with sslmode=require causes no warning of the driver on standard error", async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(warning.message);
  process.on("warning", note);
  try {
    // No server listens on port 9; the mode is read before connecting.
    const pool = await createPool("postgres://croft@127.0.0.1:9/croft?sslmode=require");
    await expect(pool.connect()).rejects.toThrow("ECONNREFUSED");
    await pool.end();
    await setImmediate();
  } finally {
    process.off("warning", note);
  }
  expect(warnings).toEqual([]);
});

test("an address with another sslmode is refused, not taken for one that asks for TLS", async () => {
  await expect(createPool("postgres://u:hunter2@127.0.0.1:9/croft?sslmode=of")).rejects.toThrow(
    /^sslmode in the database's address takes disable, .*, not "of"$/,
  );
});

test("a server is named without credentials, also by the folder of its socket", () => {
  expect(toServerName("postgres://u:hunter2@db:5432/croft")).toBe("db:5432/croft");
  expect(toServerName("postgres:///croft?host=/run/pg&password=hunter2")).toBe("/run/pg/croft");
});
