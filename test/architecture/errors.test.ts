import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOfCode } from "../../daemon/http/replies.ts";
import { root } from "./source-tree.ts";

test("docs/errors.md lists exactly the codes that exist, each with the status it gets", () => {
  const rows = readFileSync(join(root, "docs", "errors.md"), "utf8").matchAll(
    /^\| `(\w+)` \| (\d{3}) \|/gm,
  );
  const documented = Object.fromEntries(
    rows.map(([, code = "", status]) => [code, Number(status)]),
  );
  expect(documented).toEqual(statusOfCode);
});
