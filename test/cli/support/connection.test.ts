import { expect, test } from "vitest";
import { pickConnection, type WireConnection } from "../../../cli/support/connection.ts";

const papers = { id: "01a2078a-c1fe-7725-9f75-eab37bdaaa06", display_name: "Papers" };
const scans = { id: "01a2078b-d1fe-7725-9f75-eab37bdaaa07", display_name: "Scans" };
const connect = (...ones: readonly (typeof papers)[]) =>
  ones.map((one) => ({ ...one, provider: "local_folder" })) as unknown as WireConnection[];

test("a connection is found by the beginning of its id when no other id begins so", () => {
  const all = connect(papers, scans);
  expect(pickConnection(all, "01a2078b")).toMatchObject(scans);
  expect(() => pickConnection(all, "01a2")).toThrow('"01a2" names several connections');
  expect(() => pickConnection(all, "01a")).toThrow('there is no connection "01a"');
});

test("two connections of one name are refused with their ids", () => {
  const all = connect(papers, { ...scans, display_name: "Papers" });
  expect(() => pickConnection(all, "papers")).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({
        hint: `name one by its id: ${papers.id} (local_folder), ${scans.id} (local_folder)`,
      }) as unknown,
    }) as Error,
  );
});

test("the address of its top names a connection", () => {
  const all = connect(papers, scans);
  for (const word of ["Papers:/", "papers:", "01a2078a:/"])
    expect(pickConnection(all, word)).toMatchObject(papers);
  expect(() => pickConnection(all, "Papers:/sub")).toThrow("there is no connection");
  expect(() => pickConnection(all, "Other:/")).toThrow('there is no connection "Other"');
});
