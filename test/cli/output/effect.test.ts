import { expect, test } from "vitest";
import { toDryRunText, toEffectRows } from "../../../cli/output/effect.ts";

test("a list in an effect gets a row for each element", () => {
  const effect = {
    plan: [
      { action: "copy", path: "a\tb", size: 2 },
      { action: "delete", path: "c", size: null },
    ],
    urls: ["http://one"],
    empty: [],
    request: { method: "POST" },
  };
  expect(toEffectRows(effect)).toBe(
    [
      "plan\tcopy\ta\\tb\t2",
      "plan\tdelete\tc\t",
      "urls\thttp://one",
      "empty\t",
      'request\t{"method":"POST"}',
      "",
    ].join("\n"),
  );
});

test("a dry run shows lists and texts line by line", () => {
  const write = { file: "/unit", text: "[Unit]\nDescription=croft\n" };
  const text = toDryRunText({ write, run: [["systemctl", "--user", "daemon-reload"]], remove: [] });
  expect(text).toBe(
    [
      "Would do, without --dry-run:",
      "write:",
      "  /unit",
      "  [Unit]",
      "  Description=croft",
      "run:",
      "  systemctl  --user  daemon-reload",
      "remove: nothing",
    ].join("\n"),
  );
});

test("a dry run shows requests as JSON", () => {
  const text = toDryRunText({ request: { method: "DELETE", url: "http://x", body: null } });
  expect(text).toContain('"method": "DELETE"');
  expect(text).toContain('"body": null');
});
