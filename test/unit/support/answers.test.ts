import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import { findGaps, readAnswers } from "../../support/answers.ts";

const [called, failed, missing] = (allEndpoints as readonly Endpoint[]).slice(0, 3);

test("the answers of a run are compared with the contract", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-answers-"));
  try {
    const file = join(folder, "answers");
    const [one = "", other = ""] = [called?.name, failed?.name];
    await writeFile(file, `${one} 200\n${one} 418\n${other} 401\n${one} 200\n${one} 429\n`);
    const endpoints = [called, failed, missing].filter((each) => each !== undefined);
    const gaps = findGaps(endpoints, await readAnswers(file));
    expect(gaps.uncalled).toEqual([missing?.name]);
    expect(gaps.unsuccessful).toEqual([other]);
    expect(gaps.undeclared).toEqual([`${one} 418`]);
    expect(gaps.unseen).toContain(`${other} 200`);
    expect(gaps.unseen).not.toContain(`${one} 200`);
  } finally {
    await rm(folder, { recursive: true });
  }
});
