import { createConfig, lintFromString, type NormalizedProblem } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { forge, vault } from "../../../../daemon/contract/all.ts";
import { toOpenApi } from "../../../../daemon/http/openapi.ts";

// The OpenAPI documents pass the recommended rules of Redocly. What does not is listed here, with the reason.

/**
 * Pairs of paths with a fixed word of one where the other has a value. Gitea and the vault's own specification fixed both,
 * and the router prefers the fixed word: no value of the parameter equals it.
 */
const ambiguous: Readonly<Record<string, string>> = {
  "/api/v1/repos/{owner}/{repo}/issues/comments/{id}": "an index of an issue is a number",
  "/api/v1/repos/{owner}/{repo}/releases/tags/{tag}": "an id of a release is a number",
  "/api/packages/{owner}/npm/-/package/{scope}/{name}/dist-tags": "a scope begins with @",
  "/api/documents/uploads/{ticket}": "an id of a document is a UUID",
  "/api/documents/trash/{document_id}": "an id of a document is a UUID",
  "/api/documents/upload-sessions/{upload_id}": "an id of a document is a UUID",
};

/** Operations that refuse nothing but what the transport refuses of any request. */
const unrefused: readonly string[] = ["#/paths/~1api~1auth~1logout/post/responses"];

test.each([
  ["forge", forge],
  ["vault", vault],
])("the OpenAPI document of the %s passes the recommended rules", async (title, endpoints) => {
  const info = { title, version: "1", description: `The API of the ${title}` };
  const document = await toOpenApi(info, Object.values(endpoints));
  const problems = await lintFromString({
    source: JSON.stringify(document),
    absoluteRef: `${title}.json`,
    config: await createConfig({ extends: ["recommended"] }),
  });
  expect(problems.filter((problem) => !isExplained(problem)).map(describe)).toEqual([]);
});

function isExplained({ ruleId, message, location: [place] }: NormalizedProblem): boolean {
  if (ruleId === "operation-4xx-response") return unrefused.includes(place?.pointer ?? "");
  if (ruleId !== "no-ambiguous-paths") return false;
  return Object.keys(ambiguous).some((path) => message.includes(`\`${path}\``));
}

function describe({ ruleId, message, location: [place] }: NormalizedProblem): string {
  return `${ruleId}: ${message} (${place?.pointer ?? ""})`;
}
