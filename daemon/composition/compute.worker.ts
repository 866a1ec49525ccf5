import { createMaskRows } from "../forge/actions/secrets/masker.ts";
import { matchFieldPattern } from "../forge/pages/field-pattern.ts";
import { editorConfigOf } from "../forge/code/editor-config.ts";
import { searchPaths } from "../forge/code/path-search.ts";
import type { ComputeFunction, ComputeRequest } from "../forge/compute.ts";
import { readImageConfig, readManifest } from "../forge/packages/containers/manifest.ts";
import { compactNpmDocument } from "../forge/packages/npm/compact-document.ts";
import { matchNames } from "../forge/repositories/name-patterns.ts";
import { serveThread } from "../jobs/serve-thread.ts";
import { evaluateInThread } from "../workflows/evaluation.ts";
import { matchPull } from "../workflows/pull-triggers.ts";
import { matchActivity, matchPush } from "../workflows/triggers.ts";

// Entry of a worker thread that runs functions over values from users. A feature adds its functions here.
const functions: readonly ComputeFunction<never, unknown>[] = [
  compactNpmDocument,
  editorConfigOf,
  evaluateInThread,
  createMaskRows(),
  matchActivity,
  matchFieldPattern,
  matchNames,
  matchPull,
  matchPush,
  readImageConfig,
  readManifest,
  searchPaths,
];

serveThread(async ({ name, input }: ComputeRequest): Promise<unknown> => {
  const called = functions.find((each) => each.name === name);
  if (called === undefined) throw new Error(`the threads have no function ${name}`);
  return called.run(input as never);
});
