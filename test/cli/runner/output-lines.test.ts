import { expect, test } from "vitest";
import { createJobLog } from "../../../cli/runner/job/job-log.ts";
import { createStepOutput, parseWorkflowCommand } from "../../../cli/runner/job/step-output.ts";
import { createLineSplitter } from "../../../cli/runner/places/job-processes.ts";
import { createMasker } from "../../../cli/runner/report/masker.ts";

/** Feeds text to a step's output in pieces and returns the rows of the log. */
function rowsOf(text: string, pieceBytes = 7) {
  const rows: string[] = [];
  const masker = createMasker();
  masker.add("hunter2-secret");
  const sender = {
    add: (row: string) => void rows.push(row),
    length: 0,
    isFull: false,
    drained: () => Promise.resolve(),
    end: () => Promise.resolve(),
  };
  const log = createJobLog(sender, masker);
  const { sink, values } = createStepOutput({ log, masker, isDebug: false });
  const lines = createLineSplitter(sink.lineCharacters, sink.line);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes)
    lines.push(bytes.subarray(at, at + pieceBytes));
  lines.end();
  return { rows, values };
}

test("joins lines from pieces of any size", () => {
  expect(rowsOf("ä one\r\n\ntwo hunter2-secret\nlast", 1).rows).toEqual([
    "ä one",
    "",
    "two ***",
    "last",
  ]);
});

test("a line of ten million characters is cut, with a secret at the cut masked", () => {
  const text = `${"x".repeat(64 * 1024 - 5)}hunter2-secret${"y".repeat(10_000_000)}`;
  const { rows } = rowsOf(text, 65_536);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.length).toBeLessThan(66_000);
  expect(rows[0]).toMatch(/x\*\*\*y+ \[\d+ characters cut\]$/);
});

test("stop-commands without a token stops nothing", () => {
  const { rows } = rowsOf("::stop-commands::\n::add-mask::other-secret\nother-secret\n");
  expect(rows).toEqual(["::warning::stop-commands needs a token; commands continue", "***"]);
});

test("commands between stop-commands and its token are text", () => {
  const { rows, values } = rowsOf(
    [
      "::stop-commands::0a1b",
      "::set-output name=a::1",
      "::0a1b::",
      "::set-output name=b::2",
      "::debug::hidden",
      "::error file=x::shown",
      "::set-env name=A::1",
    ].join("\n"),
  );
  expect(rows).toEqual([
    "::set-output name=a::1",
    "::warning::set-output is deprecated: write to the file GITHUB_OUTPUT instead",
    "::error file=x::shown",
    "::error::set-env is disabled: write to the file GITHUB_ENV instead",
  ]);
  expect([...values.outputs]).toEqual([["b", "2"]]);
});

test("add-mask hides a value from then on", () => {
  expect(rowsOf("token-1234\n::add-mask::token-1234\ntoken-1234\n").rows).toEqual([
    "token-1234",
    "***",
  ]);
});

test("a command has properties and escaped text", () => {
  expect(parseWorkflowCommand("::error file=a%3Ab,line=3::one%0Atwo%25")).toEqual({
    name: "error",
    properties: { file: "a:b", line: "3" },
    text: "one\ntwo%",
  });
  expect(parseWorkflowCommand("no ::error::command")).toBeUndefined();
});
