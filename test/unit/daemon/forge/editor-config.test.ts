import { afterAll, expect, test } from "vitest";
import { editorConfigOf } from "../../../../daemon/forge/code/editor-config.ts";
import { createTestCompute } from "../../../support/forge/compute.ts";

const compute = createTestCompute();
afterAll(() => compute.close());

test("hard sections of an .editorconfig leave the event loop to other work", async () => {
  const section = (at: number) => `[/${"*a".repeat(120)}${at}]\nindent_size = 2\n`;
  const hard = Array.from({ length: 200 }, (_, at) => section(at)).join("");
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const input = { text: `[*]\ncharset = utf-8\n${hard}`, path: `${"a".repeat(4_000)}b` };
  const computed = await compute.run(editorConfigOf, input, "1");
  clearInterval(timer);
  expect(computed).toEqual({ kind: "done", value: { charset: "utf-8" } });
  expect(turns).toBeGreaterThan(5);
});
