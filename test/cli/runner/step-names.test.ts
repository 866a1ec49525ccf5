import { expect, test } from "vitest";
import { toStepNames } from "../../../cli/runner/job/steps.ts";

test("a step is named by its id, its action or as a script, and repeated names get a number", () => {
  const steps: readonly (readonly [id: string | undefined, uses: string | undefined])[] = [
    [undefined, undefined],
    ["build", undefined],
    [undefined, undefined],
    [undefined, "actions/checkout@v4"],
    [undefined, "actions/checkout@v4"],
    [undefined, "owner/tools/sub-folder@main"],
    [undefined, "./local"],
    ["__run_3", undefined],
    [undefined, undefined],
    [undefined, "https://forge.example/a/b@v1\nx"],
  ];
  expect(toStepNames(steps.map(([id, uses]) => ({ id, uses })))).toEqual([
    "__run",
    "build",
    "__run_2",
    "__actions_checkout",
    "__actions_checkout_2",
    "__owner_tools_sub_folder",
    "__self",
    "__run_3",
    "__run_4",
    "__forge_example_a_b",
  ]);
});
