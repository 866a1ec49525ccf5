import { describe, expect, test } from "vitest";
import { run } from "../../../cli/main.ts";
import { type FakeSystemOptions, fakeSystem } from "../support/run-cli.ts";

async function show(options: Partial<FakeSystemOptions> = {}) {
  const system = fakeSystem({ home: "/nowhere", terminal: true, ...options });
  const code = await run(["repo", "create", "--help"], system);
  return { code, paged: system.paged, out: system.written.out() };
}

describe("a help page that is longer than the terminal", () => {
  test("is shown by less when PAGER names no other pager", async () => {
    const { code, paged, out } = await show();
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(paged).toEqual([
      { pager: "less", text: expect.stringContaining("Examples:") as string },
    ]);
  });

  test("is shown by the pager of PAGER", async () => {
    const { paged } = await show({ env: { PAGER: "most -s" } });
    expect(paged).toMatchObject([{ pager: "most -s" }]);
  });

  test.each<[string, Partial<FakeSystemOptions>]>([
    ["PAGER=cat", { env: { PAGER: "cat" } }],
    ["an empty PAGER", { env: { PAGER: "" } }],
    ["a dumb terminal", { env: { TERM: "dumb" } }],
    ["a pipe", { terminal: { in: true, out: false, err: true } }],
    ["an input that is not a terminal", { terminal: { in: false, out: true, err: true } }],
  ])("is printed with %s", async (_, options) => {
    const { paged, out } = await show(options);
    expect(paged).toEqual([]);
    expect(out).toContain("Examples:");
  });

  test("is printed when the pager does not start", async () => {
    const { code, out } = await show({ hasPager: false });
    expect(code).toBe(0);
    expect(out).toContain("Examples:");
  });
});
